/* A case of the attention op with all its tensors in memory, for tests: data sets from
 * lists in the source, inputs that a test may overwrite element by element, the host
 * kernel, and the check against a reference over the same memory. */
#ifndef WF_TESTS_KERNELS_ATTENTION_FIXTURE_H
#define WF_TESTS_KERNELS_ATTENTION_FIXTURE_H

#include "kernels/attention/attention_ref.h"

#include <stdint.h>

struct fx_ints {
    const int32_t *v;
    size_t n;
};
#define FX_LIST(...)                                                                   \
    {                                                                                  \
        (const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / 4 \
    }

/* Members left out are not in the data set. */
struct fx_table {
    struct fx_ints kv_indptr, kv_indices, kv_last_page_len, qo_indptr;
    const char *num_pages, *page_size; /* metadata */
};

struct fx {
    struct wf_case *c;
    const struct attention *a;
    struct wf_dataset *ds;
    unsigned char *data[ATTENTION_TENSOR_COUNT]; /* NULL when it has no bytes */
};

/* Parses `json` (with "op" and, where there is a table, "page_table" added). */
enum wf_status fx_parse(struct fx *f,
                        const char *json,
                        const struct fx_table *table,
                        struct wf_error *err);
/* As fx_parse, which must succeed; fills inputs and poisons outputs. */
void fx_open(struct fx *f, const char *json, const struct fx_table *table);
/* A page table over sequences of the given lengths: ids permuted by the seed, two spare
 * pages in the pool. `q_lens` may be NULL. */
void fx_open_paged(struct fx *f,
                   const char *json,
                   int64_t page_size,
                   const int64_t *kv_lens,
                   const int64_t *q_lens,
                   int64_t batch);
void fx_close(struct fx *f);

void fx_poison_outputs(struct fx *f);
void fx_set(struct fx *f, enum attention_tensor t, int64_t i, double v);
double fx_get(const struct fx *f, enum attention_tensor t, int64_t i);
void fx_set_all(struct fx *f, enum attention_tensor t, double v);
/* Row j of K or V (whatever the layout) of one sequence and kv head. */
void fx_set_key(struct fx *f, bool values, int64_t b, int64_t j, int64_t h, double v);
/* As O[row][head][0]. */
double fx_o(const struct fx *f, int64_t row, int64_t head);
double fx_lse(const struct fx *f, int64_t row, int64_t head);

struct attention_source fx_source(struct fx *f);
/* Reference over the memory; budget 0 is the default, threads 2. */
struct attention_reference *fx_reference(struct fx *f, double budget_macs);
/* Checks the outputs that are in memory. */
void fx_check(struct fx *f, struct wf_check_report *ret);
/* Runs the host library kernel; returns its WF_LIB_ code. */
int fx_host(struct fx *f, int threads);

#endif
