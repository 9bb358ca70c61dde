/* One block: six labelings that were equally likely, and how much better the drawn one
 * fits an effect beyond the margin than the other five. */
#include "gate/exact.h"
#include "gate/gate_internal.h"

static const uint8_t masks[WF_GATE_MASK_COUNT] = {
#define X(mask) mask,
    WF_GATE_MASKS(X)
#undef X
};

bool wf_gate_is_mask(unsigned mask)
{
    for (unsigned i = 0; i < WF_GATE_MASK_COUNT; i++) {
        if (masks[i] == mask) {
            return true;
        }
    }
    return false;
}

unsigned wf_gate_mask(unsigned i)
{
    return masks[i];
}

static double sum_of(const double r[WF_GATE_SLOTS], unsigned mask)
{
    double sum = 0;

    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        sum += (mask >> i & 1U) != 0 ? r[i] : 0;
    }
    return sum;
}

/* The two slots of masks[k], for the loop that all the time goes into. */
static const uint8_t slots[WF_GATE_MASK_COUNT][2] = {
    { 0, 1 }, { 0, 2 }, { 1, 2 }, { 0, 3 }, { 1, 3 }, { 2, 3 },
};

struct weights {
    double log_own; /* of the drawn labeling's weight, relative to the largest */
    double own;     /* the weight */
    double mean;    /* of the six weights: 1/6 to 1 */
};

static struct weights weigh(const double y[WF_GATE_SLOTS],
                            unsigned mask,
                            double d,
                            double eta,
                            int sign)
{
    double r[WF_GATE_SLOTS];
    double t[WF_GATE_MASK_COUNT];
    struct weights ret = { .own = 0 };
    double most = 0;

    for (unsigned i = 0; i < WF_GATE_SLOTS; i++) {
        r[i] = sign * (y[i] - ((mask >> i & 1U) != 0 ? d : 0));
    }
    for (unsigned k = 0; k < WF_GATE_MASK_COUNT; k++) {
        t[k] = eta * (r[slots[k][0]] + r[slots[k][1]]);
        most = k == 0 || t[k] > most ? t[k] : most;
    }
    for (unsigned k = 0; k < WF_GATE_MASK_COUNT; k++) {
        double weight = wf_exact_exp(t[k] - most);
        ret.mean += weight;
        if (masks[k] == mask) {
            ret.own = weight;
            ret.log_own = t[k] - most;
        }
    }
    ret.mean = ret.mean / WF_GATE_MASK_COUNT;
    return ret;
}

double wf_gate_block_log_e(const double y[WF_GATE_SLOTS],
                           unsigned mask,
                           double d,
                           double eta,
                           int sign)
{
    struct weights w = weigh(y, mask, d, eta, sign);

    return w.log_own - wf_exact_log(w.mean);
}

double gate_block_log_blend(const double y[WF_GATE_SLOTS],
                            unsigned mask,
                            double d,
                            double eta,
                            int sign)
{
    struct weights w = weigh(y, mask, d, eta, sign);
    double e = w.own / w.mean;

    return wf_exact_log(GATE_BLEND + (1 - GATE_BLEND) * e);
}

double gate_block_difference(const double y[WF_GATE_SLOTS], unsigned mask)
{
    return 0.5 * sum_of(y, mask) - 0.5 * sum_of(y, ~mask & 15U);
}
