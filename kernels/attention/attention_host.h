/* Private to the host library kernel: the problem as it sees it, and its parts. Shares
 * nothing with the op's reference; only core's number formats are used by both. */
#ifndef WF_KERNELS_ATTENTION_ATTENTION_HOST_H
#define WF_KERNELS_ATTENTION_ATTENTION_HOST_H

#include "core/dtype.h"
#include "packs/library_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_KEYS 64 /* keys a block */

struct host_matrix { /* rows of elements somewhere in memory */
    unsigned char *data;
    enum wf_dtype type;
    size_t width;              /* bytes of an element */
    int64_t page, token, head; /* strides in elements; page: of a paged K or V */
};

struct host_problem {
    bool paged, causal;
    int64_t batch, q_len, kv_len; /* lengths of the dense layout */
    int64_t q_heads, kv_heads, group, d, dv, page_size;
    int64_t window_left, window_right;
    float scale; /* with q_scale and k_scale */
    float soft_cap, v_scale;
    struct host_matrix q, k, v, o;
    float *lse;                                                        /* or NULL */
    const int32_t *qo_indptr, *kv_indptr, *kv_indices, *last_page_len; /* or NULL */
};

/* Rows of one sequence that one thread computes together, for all heads of a group. */
struct host_item {
    int64_t sequence, kv_head, first_row, rows;
};

/* attention_host_problem.c: 0, or a WF_LIB_ code with the reason in message. */
int host_problem_read(const struct wf_lib_problem *in,
                      struct host_problem *ret,
                      char *message,
                      size_t message_bytes);
int64_t host_q_start(const struct host_problem *p, int64_t sequence);
int64_t host_kv_len(const struct host_problem *p, int64_t sequence);
/* First byte of a row of Q or O. */
unsigned char *host_row(const struct host_matrix *m, int64_t row, int64_t head);
/* Bytes of key j of the sequence, in K or in V. */
const unsigned char *host_key(const struct host_problem *p,
                              const struct host_item *item,
                              bool values,
                              int64_t j);

/* attention_host_compute.c */
struct host_scratch; /* opaque: one thread's buffers */
struct host_scratch *host_scratch_create(const struct host_problem *p, int64_t rows);
void host_scratch_destroy(struct host_scratch *s);
void host_compute(const struct host_problem *p,
                  const struct host_item *item,
                  struct host_scratch *s);

/* attention_host_pool.c: threads that wait for work. run() calls fn(ctx, thread) once
 * on each of them, the caller included, and returns when all are done. */
struct host_pool; /* opaque */
struct host_pool *host_pool_create(int threads);
void host_pool_destroy(struct host_pool *pool);
int host_pool_threads(const struct host_pool *pool);
void host_pool_run(struct host_pool *pool,
                   void (*fn)(void *ctx, int thread),
                   void *ctx);

#endif
