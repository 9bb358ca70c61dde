#include "tune/tournament.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text) text,
    WF_TUNE_OUTCOMES(X)
#undef X
};

const char *wf_tune_outcome_name(enum wf_tune_outcome o)
{
    return (unsigned)o < WF_TUNE_OUTCOME_COUNT ? names[o] : "";
}

bool wf_tune_outcome_parse(const char *text, enum wf_tune_outcome *ret)
{
    for (int i = 0; text != NULL && i < WF_TUNE_OUTCOME_COUNT; i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret = (enum wf_tune_outcome)i;
            return true;
        }
    }
    return false;
}

enum wf_status wf_tournament_init(struct wf_tournament *t,
                                  size_t candidates,
                                  double alpha,
                                  struct wf_error *err)
{
    if (candidates == 0 || candidates > WF_TUNE_MAX_CANDIDATES) {
        return wf_errorf(err, WF_EINVAL, "a tournament has 1 to %d candidates, not %zu",
                         WF_TUNE_MAX_CANDIDATES, candidates);
    }
    if (!(alpha > 0 && alpha < 1)) {
        return wf_errorf(err, WF_EINVAL,
                         "a tournament's error rate is between 0 and 1, not %g", alpha);
    }
    *t = (struct wf_tournament){ .candidates = candidates, .alpha = alpha, .next = 1 };
    return WF_OK;
}

bool wf_tournament_next(const struct wf_tournament *t,
                        size_t *ret_champion,
                        size_t *ret_challenger,
                        double *ret_alpha)
{
    if (t->next >= t->candidates) {
        return false;
    }
    *ret_champion = t->champion;
    *ret_challenger = t->next;
    *ret_alpha = t->alpha / (double)(t->candidates - 1);
    return true;
}

void wf_tournament_take(struct wf_tournament *t, enum wf_tune_outcome o)
{
    if (t->next >= t->candidates) {
        return;
    }
    if (o == WF_TUNE_FASTER || o == WF_TUNE_BASE_WRONG) {
        t->champion = t->next;
        t->replaced++;
    }
    t->next++;
}

size_t wf_tune_least(const double *cycles,
                     const unsigned *rank,
                     size_t count,
                     size_t incumbent,
                     double margin)
{
    double least = (double)INFINITY;
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        least = cycles[i] < least ? cycles[i] : least; /* NAN is not */
    }
    for (size_t i = 0; i < count; i++) {
        if (!(cycles[i] <= least * (1 + margin)) || !isfinite(cycles[i])) {
            continue;
        }
        if (i == incumbent) {
            return i;
        }
        best = best == count || rank[i] < rank[best] ? i : best;
    }
    return best;
}
