#include "gate/bisect.h"

#include "core/buf.h"

#include <stdlib.h>

struct wf_bisect {
    size_t n;
    size_t *group;
    enum wf_bisect_mark *mark;
};

static const char *const names[] = {
#define X(name, text) text,
    WF_BISECT_MARKS(X)
#undef X
};

const char *wf_bisect_mark_name(enum wf_bisect_mark m)
{
    return names[m];
}

enum wf_status wf_bisect_create(const size_t *group,
                                size_t n,
                                struct wf_bisect **ret,
                                struct wf_error *err)
{
    if (n < 2) {
        return wf_errorf(err, WF_EINVAL, "a search needs a good and a bad pack");
    }
    if (group[0] == group[n - 1]) {
        return wf_errorf(err, WF_EINVAL,
                         "the good and the bad pack have the same code for this "
                         "kernel: there is nothing to find between them");
    }
    struct wf_bisect *b = wf_calloc(1, sizeof(*b));
    if (b != NULL) {
        b->n = n;
        b->group = wf_calloc(n, sizeof(*b->group));
        b->mark = wf_calloc(n, sizeof(*b->mark));
    }
    if (b == NULL || b->group == NULL || b->mark == NULL) {
        wf_bisect_free(b);
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu packs", n);
    }
    for (size_t i = 0; i < n; i++) {
        b->group[i] = group[i];
    }
    wf_bisect_learn(b, 0, WF_BISECT_GOOD);
    wf_bisect_learn(b, n - 1, WF_BISECT_BAD);
    *ret = b;
    return WF_OK;
}

void wf_bisect_free(struct wf_bisect *b)
{
    if (b != NULL) {
        free(b->group);
        free(b->mark);
        free(b);
    }
}

enum wf_bisect_mark wf_bisect_mark_of(const struct wf_bisect *b, size_t i)
{
    return b->mark[i];
}

void wf_bisect_learn(struct wf_bisect *b, size_t i, enum wf_bisect_mark mark)
{
    for (size_t k = 0; k < b->n; k++) {
        const bool open =
            b->mark[k] == WF_BISECT_UNKNOWN || b->mark[k] == WF_BISECT_SKIP;
        if (b->group[k] == b->group[i] && open) {
            b->mark[k] = mark;
        }
    }
}

void wf_bisect_range(const struct wf_bisect *b, size_t *ret_good, size_t *ret_bad)
{
    size_t good = b->n - 1;
    while (b->mark[good] != WF_BISECT_GOOD) {
        good--;
    }
    size_t bad = good + 1;
    while (b->mark[bad] != WF_BISECT_BAD) {
        bad++;
    }
    *ret_good = good;
    *ret_bad = bad;
}

bool wf_bisect_next(const struct wf_bisect *b, size_t *ret)
{
    size_t good = 0, bad = 0;
    wf_bisect_range(b, &good, &bad);
    const size_t middle = good + (bad - good) / 2;
    for (size_t d = 0; d < bad - good; d++) {
        if (middle >= good + 1 + d && b->mark[middle - d] == WF_BISECT_UNKNOWN) {
            *ret = middle - d;
            return true;
        }
        if (middle + d < bad && b->mark[middle + d] == WF_BISECT_UNKNOWN) {
            *ret = middle + d;
            return true;
        }
    }
    return false;
}

size_t wf_bisect_left(const struct wf_bisect *b)
{
    size_t good = 0, bad = 0, left = 0;
    wf_bisect_range(b, &good, &bad);
    for (size_t i = good + 1; i < bad; i++) {
        left += b->mark[i] == WF_BISECT_UNKNOWN;
    }
    return left;
}

size_t wf_bisect_steps(size_t n)
{
    size_t steps = 1;
    for (size_t reach = 1; n > 1 && reach < n - 1; reach *= 2) {
        steps++;
    }
    return steps;
}

double wf_bisect_step_alpha(double alpha, size_t planned, size_t k)
{
    if (k < planned) {
        return 0.9 * alpha / (double)planned;
    }
    const double j = (double)(k - planned) + 1;
    return 0.1 * alpha / (j * (j + 1));
}
