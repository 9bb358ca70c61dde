#include "gate/commit_order.h"

#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_parent(const struct wf_commit *of, const struct wf_commit *c)
{
    for (size_t i = 0; c->commit[0] != '\0' && i < of->parents; i++) {
        if (strcmp(of->parent[i], c->commit) == 0) {
            return true;
        }
    }
    return false;
}

static size_t place_in(const char *const *order, size_t n, const char *commit)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(order[i], commit) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

struct sorting {
    const struct wf_commit *c;
    size_t n;
    size_t *place;   /* in the order given, SIZE_MAX: not in it */
    size_t *waiting; /* for how many others */
    bool *done;
};

/* Whether i has to come after k. */
static bool waits(const struct sorting *s, size_t i, size_t k)
{
    if (s->place[i] != SIZE_MAX && s->place[k] != SIZE_MAX) {
        return s->place[k] < s->place[i];
    }
    return i != k && is_parent(&s->c[i], &s->c[k]);
}

/* The earliest that waits for nobody; without one (a circle), the earliest. */
static size_t pick(const struct sorting *s)
{
    size_t ready = SIZE_MAX, any = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        if (s->done[i]) {
            continue;
        }
        if (any == SIZE_MAX || strcmp(s->c[i].at, s->c[any].at) < 0) {
            any = i;
        }
        if (s->waiting[i] == 0 &&
            (ready == SIZE_MAX || strcmp(s->c[i].at, s->c[ready].at) < 0)) {
            ready = i;
        }
    }
    return ready != SIZE_MAX ? ready : any;
}

static void prepare(const struct sorting *s, const char *const *order, size_t count)
{
    for (size_t i = 0; i < s->n; i++) {
        s->place[i] = place_in(order, count, s->c[i].commit);
    }
    for (size_t i = 0; i < s->n; i++) {
        for (size_t k = 0; k < s->n; k++) {
            s->waiting[i] += waits(s, i, k);
        }
    }
}

enum wf_status wf_commit_sort(const struct wf_commit *c,
                              size_t n,
                              const char *const *order,
                              size_t order_count,
                              size_t *ret,
                              struct wf_error *err)
{
    struct sorting s = { .c = c,
                         .n = n,
                         .place = wf_calloc(n + 1, sizeof(*s.place)),
                         .waiting = wf_calloc(n + 1, sizeof(*s.waiting)),
                         .done = wf_calloc(n + 1, sizeof(*s.done)) };
    enum wf_status status = WF_OK;
    if (s.place == NULL || s.waiting == NULL || s.done == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory to sort %zu commits", n);
        goto out;
    }
    prepare(&s, order, order_count);
    for (size_t i = 0; i < n; i++) {
        ret[i] = pick(&s);
        s.done[ret[i]] = true;
        for (size_t k = 0; k < n; k++) {
            s.waiting[k] -= !s.done[k] && s.waiting[k] > 0 && waits(&s, k, ret[i]);
        }
    }
out:
    free(s.place);
    free(s.waiting);
    free(s.done);
    return status;
}

enum wf_status wf_commit_line(const struct wf_commit *c,
                              size_t n,
                              size_t good,
                              size_t bad,
                              size_t *ret,
                              size_t *ret_count,
                              struct wf_error *err)
{
    size_t count = 0, at = bad;
    if (c[good].commit[0] == '\0' || c[bad].commit[0] == '\0') {
        return wf_errorf(err, WF_EINVAL,
                         "the %s pack does not know its commit (no provenance)",
                         c[good].commit[0] == '\0' ? "good" : "bad");
    }
    if (strcmp(c[good].commit, c[bad].commit) == 0) {
        return wf_errorf(err, WF_EINVAL, "the good and the bad pack are of one commit");
    }
    while (count < n) {
        ret[count++] = at;
        if (strcmp(c[at].commit, c[good].commit) == 0) {
            break;
        }
        const char *first = c[at].parents > 0 ? c[at].parent[0] : "";
        size_t next = SIZE_MAX;
        for (size_t i = 0; i < n && first[0] != '\0'; i++) {
            next = next == SIZE_MAX && strcmp(c[i].commit, first) == 0 ? i : next;
        }
        if (next == SIZE_MAX) {
            return wf_errorf(
                err, WF_ENOTFOUND,
                "from the bad commit %.12s back, no pack has commit "
                "%.12s, the first parent of %.12s%s",
                c[bad].commit, first[0] != '\0' ? first : "(none)", c[at].commit,
                first[0] == '\0' ? ": the two histories do not meet on this line" : "");
        }
        at = next;
    }
    if (strcmp(c[ret[count - 1]].commit, c[good].commit) != 0) {
        return wf_errorf(err, WF_EINVAL, "the parents of the packs run in a circle");
    }
    ret[count - 1] = good;
    for (size_t i = 0; i < count / 2; i++) {
        const size_t other = ret[count - 1 - i];
        ret[count - 1 - i] = ret[i];
        ret[i] = other;
    }
    *ret_count = count;
    return WF_OK;
}
