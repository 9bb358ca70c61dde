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

/* exp of twice that is far from overflow. */
#define MOST_EXPONENT 300.0

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

static void evidence_slowly(const double y[WF_GATE_SLOTS],
                            unsigned mask,
                            const struct wf_gate_margins *m,
                            double eta,
                            double ret_log[W_COUNT])
{
    ret_log[W_SLOWER] = gate_block_log_blend(y, mask, m->d0, eta, +1);
    ret_log[W_FASTER] = gate_block_log_blend(y, mask, -m->d0, eta, -1);
    ret_log[W_PASS] = gate_block_log_blend(y, mask, m->d1, eta, -1);
}

static double log_blend_of_inverse(double mean)
{
    return wf_exact_log(GATE_BLEND + (1 - GATE_BLEND) * (WF_GATE_MASK_COUNT / mean));
}

/* The three directions weigh the same six sums of slots. Of a labeling p that shares k
 * of its two slots with the drawn one b, with x = exp(eta (sum_p y - sum_b y)):
 *
 *   slower:  x   exp(eta d0 (2 - k))       faster, pass: 1/x in the place of x,
 *   relative to the weight of b            and -d1 in the place of d0 for pass
 *
 * k is 2 for b, 0 for its complement and 1 for the four others: five exponentials do
 * for what would take eighteen. */
void gate_block_evidence(const double y[WF_GATE_SLOTS],
                         unsigned mask,
                         const struct wf_gate_margins *m,
                         double eta,
                         double ret_log[W_COUNT])
{
    double own = sum_of(y, mask);
    double other = 0, other_inverse = 0; /* sums over the four */
    double far = 0, far_inverse = 0;     /* of the complement */
    double g0;
    double g1;

    for (unsigned k = 0; k < WF_GATE_MASK_COUNT; k++) {
        double t = eta * ((y[slots[k][0]] + y[slots[k][1]]) - own);
        double x;
        if (masks[k] == mask) {
            continue;
        }
        if (!(t < MOST_EXPONENT && t > -MOST_EXPONENT)) {
            evidence_slowly(y, mask, m, eta, ret_log);
            return;
        }
        x = wf_exact_exp(t);
        if ((masks[k] & mask) == 0) {
            far = x;
            far_inverse = 1 / x;
        } else {
            other += x;
            other_inverse += 1 / x;
        }
    }
    if (!(eta * m->d1 < MOST_EXPONENT / 2)) {
        evidence_slowly(y, mask, m, eta, ret_log);
        return;
    }
    g0 = wf_exact_exp(eta * m->d0);
    g1 = wf_exact_exp(-(eta * m->d1));
    ret_log[W_SLOWER] = log_blend_of_inverse(1 + g0 * (other + g0 * far));
    ret_log[W_FASTER] =
        log_blend_of_inverse(1 + g0 * (other_inverse + g0 * far_inverse));
    ret_log[W_PASS] = log_blend_of_inverse(1 + g1 * (other_inverse + g1 * far_inverse));
}

double gate_block_difference(const double y[WF_GATE_SLOTS], unsigned mask)
{
    return 0.5 * sum_of(y, mask) - 0.5 * sum_of(y, ~mask & 15U);
}
