/* Host attention kernels with one mistake each: the rows of attention_faults.def. One
 * plain online softmax in f32, key by key, that is right; where keys and rows lie is in
 * host_attention_layout.c, the arithmetic in host_attention_row.c. */
#ifndef WF_TESTS_MUTANTS_HOST_ATTENTION_H
#define WF_TESTS_MUTANTS_HOST_ATTENTION_H

#include "core/dtype.h"
#include "packs/library_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum attention_fault {
#define X(name) ATT_##name,
#include "tests/mutants/attention_faults.def"
#undef X
    ATT_FAULT_COUNT
};

#define ATT_MAX_DIM 512

struct att_mat {
    enum wf_dtype type;
    unsigned char *data;
    uint64_t bytes;
};

struct att_job {
    enum attention_fault fault;
    bool paged, head_major, causal;
    int64_t batch, q_len, kv_len, q_heads, kv_heads, group, d, dv, page_size;
    int64_t width; /* of a row of Q and K: d, whatever the kernel believes */
    int64_t window_left, window_right, total_q;
    double scale, q_scale, k_scale, v_scale, cap;
    struct att_mat q, k, v, o;
    float *lse;
    uint64_t lse_bytes;
    int32_t *qo_indptr, *kv_indptr, *kv_indices, *last_page_len;
    unsigned launches;
};

/* One query of one head. */
struct att_row {
    int64_t sequence, head, kv_head;
    int64_t i, q_len, kv_len; /* query i of q_len */
    int64_t row;              /* in Q and O */
};

/* host_attention_layout.c */
void att_believe(struct att_job *j);
int64_t att_q_start(const struct att_job *j, int64_t sequence);
int64_t att_kv_len(const struct att_job *j, int64_t sequence);
int64_t att_kv_head(const struct att_job *j, int64_t head);
/* Keys [lo, hi) that the query sees. */
void att_visible(const struct att_job *j,
                 const struct att_row *r,
                 int64_t *lo,
                 int64_t *hi);
/* Element e of key (or value) `key` of the row's sequence. */
double att_key(const struct att_job *j,
               const struct att_row *r,
               bool value,
               int64_t key,
               int64_t e);
double att_element(const struct att_mat *x, int64_t at);
void att_set(const struct att_mat *x, int64_t at, double v);

/* host_attention_row.c: writes O and lse of one row. */
void att_compute(struct att_job *j, const struct att_row *r);

#endif
