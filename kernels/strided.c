/* Taking storage positions apart. */
#include "kernels/strided.h"

#include "core/parse.h"

#define MAX_ELEMENTS (INT64_C(1) << 60)

/* Dimension numbers by stride, the widest first; those of one index and those that all
 * share one place (stride 0) say nothing about positions. */
static int order_dims(const struct wf_tensor *t, int order[WF_MAX_DIMS])
{
    int count = 0;
    for (int d = 0; d < t->ndim; d++) {
        int at = count;
        if (t->dim[d] < 2 || t->stride[d] == 0) {
            continue;
        }
        for (; at > 0 && t->stride[order[at - 1]] < t->stride[d]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = d;
        count++;
    }
    return count;
}

void wf_strided_init(struct wf_strided *s, const struct wf_tensor *t)
{
    int order[WF_MAX_DIMS];
    const int count = order_dims(t, order);
    *s = (struct wf_strided){ .elements = t->elements };
    for (int i = 0; i < count; i++) {
        const int64_t dim = t->dim[order[i]], stride = t->stride[order[i]];
        const int last = s->count - 1;
        if (s->count > 0 && s->stride[last] == dim * stride) {
            s->dim[last] *= dim;
            s->stride[last] = stride;
            continue;
        }
        s->dim[s->count] = dim;
        s->stride[s->count++] = stride;
    }
}

uint64_t wf_strided_run(const struct wf_strided *s, uint64_t at, bool *ret_used)
{
    uint64_t rest = at;
    /* Up to the end of the smallest block around it. A block may end before its last
     * inner one would: the next batch may begin right behind the last row's values. */
    uint64_t left = s->elements - at;
    for (int i = 0; i < s->count; i++) {
        const uint64_t stride = (uint64_t)s->stride[i], dim = (uint64_t)s->dim[i];
        const uint64_t end = stride == 1 ? dim : dim * stride;
        if (rest >= end) {
            *ret_used = false;
            return left;
        }
        if (stride == 1) {
            *ret_used = true;
            return dim - rest;
        }
        rest %= stride;
        left = stride - rest < left ? stride - rest : left;
    }
    *ret_used = rest == 0;
    return rest == 0 ? 1 : left;
}

enum wf_status wf_strided_check(const struct wf_tensor *t,
                                const char *const *names,
                                struct wf_error *err)
{
    int order[WF_MAX_DIMS];
    int64_t span = 1;
    for (int i = order_dims(t, order) - 1; i >= 0; i--) {
        const int d = order[i];
        int64_t skipped;
        if (t->stride[d] < span) {
            return wf_errorf(err, WF_EINVAL,
                             "%s is %lld; it must be at least %lld, or elements of %s "
                             "overlap",
                             names[d], (long long)t->stride[d], (long long)span,
                             t->name);
        }
        if (!wf_mul_i64(t->dim[d] - 1, t->stride[d], &skipped) ||
            !wf_add_i64(skipped, span, &span) || span > MAX_ELEMENTS) {
            return wf_errorf(err, WF_ERANGE,
                             "%s is %lld; tensor %s would have more than "
                             "2^60 elements",
                             names[d], (long long)t->stride[d], t->name);
        }
    }
    return WF_OK;
}

enum wf_status wf_strided_span(const struct wf_tensor *t,
                               int64_t *ret,
                               struct wf_error *err)
{
    int64_t span = 1, used = 1;
    for (int d = 0; d < t->ndim; d++) {
        int64_t skipped;
        if (t->dim[d] == 0) {
            *ret = 0;
            return WF_OK;
        }
        if (!wf_mul_i64(t->dim[d] - 1, t->stride[d], &skipped) ||
            !wf_add_i64(skipped, span, &span) || !wf_mul_i64(used, t->dim[d], &used) ||
            span > MAX_ELEMENTS || used > MAX_ELEMENTS) {
            return wf_errorf(err, WF_EINVAL, "tensor %s has more than 2^60 elements",
                             t->name);
        }
    }
    *ret = span;
    return WF_OK;
}

int64_t wf_strided_align(const struct wf_tensor *t)
{
    const uint64_t width = wf_dtype_bytes(t->dtype);
    uint64_t all = WF_STRIDED_MAX_ALIGN | t->base_bytes;
    for (int d = 0; d < t->ndim; d++) {
        if (t->dim[d] > 1 && t->stride[d] > 1) {
            all |= (uint64_t)t->stride[d] * width;
        }
    }
    return (int64_t)(all & (~all + 1));
}
