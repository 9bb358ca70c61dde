/* Where the elements of a strided tensor lie in its storage, and where gaps are. Every
 * dimension steps over whole blocks of the dimensions with smaller strides, so that a
 * storage position is taken apart by dividing by the strides, the widest first. */
#ifndef WF_KERNELS_STRIDED_H
#define WF_KERNELS_STRIDED_H

#include "kernels/case.h"

struct wf_strided {
    int count; /* dimensions with more than one index, neighbours that are dense merged
                */
    int64_t dim[WF_MAX_DIMS], stride[WF_MAX_DIMS]; /* widest stride first */
    uint64_t elements;                             /* of storage */
};

void wf_strided_init(struct wf_strided *s, const struct wf_tensor *t);
/* From storage position `at` (below `elements`) on: how many elements belong to the
 * tensor (*ret_used true) or lie in a gap (false); at least 1. */
uint64_t wf_strided_run(const struct wf_strided *s, uint64_t at, bool *ret_used);
/* EINVAL names the dimension whose blocks overlap; `names` has one name a dimension. */
enum wf_status wf_strided_check(const struct wf_tensor *t,
                                const char *const *names,
                                struct wf_error *err);
/* Elements from the first to the last, both included; 0 when a dimension is 0. ERANGE
 * from 2^60 elements on. */
enum wf_status wf_strided_span(const struct wf_tensor *t,
                               int64_t *ret,
                               struct wf_error *err);
/* Bytes: the largest power of two, at most WF_STRIDED_MAX_ALIGN, that divides the
 * address of every row (run of neighbouring elements) of the tensor. */
#define WF_STRIDED_MAX_ALIGN 256u
int64_t wf_strided_align(const struct wf_tensor *t);

#endif
