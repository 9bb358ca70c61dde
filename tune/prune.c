#include "tune/prune.h"

#include <math.h>

bool wf_tune_within(double value, double least, double most)
{
    return !(value < least) && !(value > most);
}

bool wf_tune_dominates(const double *a, const double *b, const int *worse, size_t n)
{
    bool better = false;
    for (size_t i = 0; i < n; i++) {
        const double gain = worse[i] * (b[i] - a[i]); /* of a over b */
        if (worse[i] == 0) {
            continue;
        }
        if (isnan(gain) || gain < 0) {
            return false;
        }
        better = better || gain > 0.01 * fabs(b[i]);
    }
    return better;
}
