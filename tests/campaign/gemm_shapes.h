/* Sizes of products, read from lists that others publish.
 *
 *   .json   a suite of ours: M, N, K of its gemm cases
 *   .csv    a heading with the columns M, N and K (AITER's tuned tables); # is a remark
 *   .yaml   flow maps with M, N and K (hipblaslt-bench's problem sets)
 *
 * Sizes that a list repeats count once, in the order of their first appearance. */
#ifndef WF_TESTS_GEMM_SHAPES_H
#define WF_TESTS_GEMM_SHAPES_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct gemm_shape {
    int64_t m, n, k;
};

struct gemm_shapes {
    struct gemm_shape *at; /* owned */
    size_t count;
};

/* Appends what the text holds; the end of `source`, a file's name, tells the format.
 * EPARSE and EINVAL name source and line, also where there is no size at all. */
enum wf_status gemm_shapes_parse(const char *text,
                                 size_t len,
                                 const char *source,
                                 struct gemm_shapes *ret,
                                 struct wf_error *err);
enum wf_status gemm_shapes_read(const char *path,
                                struct gemm_shapes *ret,
                                struct wf_error *err);
void gemm_shapes_free(struct gemm_shapes *shapes);

#endif
