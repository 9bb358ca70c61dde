/* Private to kernels/attention: the double-precision reference and its parts. */
#ifndef WF_KERNELS_ATTENTION_ATTENTION_REF_H
#define WF_KERNELS_ATTENTION_ATTENTION_REF_H

#include "kernels/attention/attention.h"

/* Where elements of input tensors come from: wf_case_fill, or a test's own arrays.
 * Called from several threads at once. */
struct attention_source {
    enum wf_status (*read)(void *ctx,
                           size_t tensor,
                           uint64_t first,
                           uint64_t n,
                           void *dst,
                           struct wf_error *err);
    void *ctx;
};

/* --- attention_gather.c --- */
/* Scratch for one thread; holds raw elements of one read. */
struct attention_gather {
    const struct attention *a;
    const struct attention_source *source;
    void *raw;
    uint64_t raw_elements;
};
enum wf_status attention_gather_init(struct attention_gather *g,
                                     const struct attention *a,
                                     const struct attention_source *source,
                                     struct wf_error *err);
void attention_gather_fini(struct attention_gather *g);
/* Query row i of sequence b, head h: head_dim doubles. */
enum wf_status attention_gather_q(struct attention_gather *g,
                                  int64_t b,
                                  int64_t i,
                                  int64_t h,
                                  double *dst,
                                  struct wf_error *err);

/* Which table maps a sequence's pages; the second is what a kernel that ignores page
 * ids would read (for diagnosis). */
enum attention_pages {
    ATTENTION_PAGES_TABLE,
    ATTENTION_PAGES_IDENTITY
};

struct attention_keys {
    bool values; /* V, else K */
    enum attention_pages pages;
    int64_t sequence, kv_head, first, count;
};
/* dst[count][head_dim or head_dim_v] */
enum wf_status attention_gather_kv(struct attention_gather *g,
                                   const struct attention_keys *keys,
                                   double *dst,
                                   struct wf_error *err);

/* --- attention_tile.c --- */
/* c[m][n] += a[m][k] * b[k][n], row strides as given. */
struct attention_tile {
    int64_t m, n, k;
    const double *a;
    int64_t a_stride;
    const double *b;
    int64_t b_stride;
    double *c;
    int64_t c_stride;
};
void attention_tile_multiply(const struct attention_tile *t);

/* --- attention_tolerance.c: the error model, derived there --- */
struct attention_tolerance {
    double u_p, eta_p; /* P: relative and absolute rounding */
    double e_floor;    /* smallest relative error of a weight */
    double dot;        /* error of q.k over |q||k| */
    double u_out, eta_out;
    double split, u_split;
    enum wf_dtype partial; /* in which partial results are kept */
};
/* Sums over the visible keys of one line (row and head), relative to exp(max). */
struct attention_sums {
    double n;   /* visible keys */
    double max; /* largest score */
    double l;   /* sum of w = exp(s - max) */
    double we;  /* sum of w * e, e the relative error of w */
};
void attention_tolerance_init(struct attention_tolerance *t,
                              const struct attention *a,
                              const struct wf_reference_options *options);
/* Relative error of the weight of a key with score s, |q||k| = norms. */
double attention_weight_error(const struct attention_tolerance *t,
                              const struct attention *a,
                              double s,
                              double norms);
/* Tolerance of one output element; squares = sum of (w e + eta)^2 v^2. */
double attention_o_tolerance(const struct attention_tolerance *t,
                             const struct attention *a,
                             const struct attention_sums *sums,
                             double squares,
                             double o);
double attention_lse_tolerance(const struct attention_tolerance *t,
                               const struct attention_sums *sums,
                               double lse);
void attention_tolerance_text(const struct attention_tolerance *t,
                              const struct attention *a,
                              struct wf_check_report *report);

/* --- attention_plan.c: which rows are computed --- */
/* Query rows of one sequence against one kv head; all heads of the group. */
struct attention_unit {
    int64_t sequence, kv_head;
    int64_t first_row;   /* consecutive rows from here on, unless `rows` */
    const int64_t *rows; /* or NULL */
    int64_t row_count;
    int64_t slot; /* of its first row in the results */
};
struct attention_plan {
    struct attention_unit *unit;
    size_t unit_count;
    int64_t *row_pool;
    int64_t slot_count;
    int64_t *slot_of; /* [total_q * kv_heads], -1: not computed */
    bool sampled;
    uint64_t seed; /* of the choice */
    double macs, all_macs, budget;
};
enum wf_status attention_plan_init(struct attention_plan *plan,
                                   const struct attention *a,
                                   double budget_macs,
                                   uint64_t seed,
                                   struct wf_error *err);
/* The kv heads of single rows (of Q) and query heads, each once. */
struct attention_row_head {
    int64_t row, head;
};
enum wf_status attention_plan_rows(struct attention_plan *plan,
                                   const struct attention *a,
                                   const struct attention_row_head *rows,
                                   size_t n,
                                   struct wf_error *err);
void attention_plan_fini(struct attention_plan *plan);

/* --- attention_ref.c --- */
struct attention_reference {
    const struct attention *a;
    struct attention_source source;
    struct attention_tolerance tolerance;
    struct attention_plan plan;
    int threads;
    double *o;          /* [slot][group][head_dim_v] */
    float *o_tolerance; /* same shape, rounded up */
    double *lse;        /* [slot][group]; -inf: no visible key */
    float *lse_tolerance;
    void *own_source; /* freed with it, or NULL */
};
/* As the op's create, with inputs from `source`. */
enum wf_status attention_reference_from(const struct attention *a,
                                        const struct attention_source *source,
                                        const struct wf_reference_options *options,
                                        uint64_t seed,
                                        struct attention_reference **ret,
                                        struct wf_error *err);
void attention_reference_free(struct attention_reference *ref);
/* The reference of a few rows of the same problem and inputs. */
enum wf_status attention_reference_of_rows(const struct attention_reference *like,
                                           const struct attention_row_head *rows,
                                           size_t n,
                                           struct attention_reference **ret,
                                           struct wf_error *err);

/* --- attention_check.c --- */
enum wf_status attention_reference_check(struct attention_reference *ref,
                                         const struct wf_output_source *outputs,
                                         struct wf_check_report *ret,
                                         struct wf_error *err);

/* --- attention_diagnose.c --- */
/* Which rows were looked at and which are wrong, of all heads together. */
#define ATTENTION_ROW_SEEN  1u
#define ATTENTION_ROW_WRONG 2u
struct attention_seen {
    unsigned char *row;      /* [total_q] bits above */
    bool any;                /* a wrong element of O */
    int64_t low[3], high[3]; /* box round those: row, head, d */
};
/* The first bad (row, head): what was read there, and where its reference is. */
struct attention_suspect {
    int64_t row, head; /* row of O, query head */
    const double *got; /* [head_dim_v] */
    double got_lse;    /* when the case has lse */
    bool lse_only;     /* O is right there */
    bool nonfinite;
    struct attention_seen seen; /* borrowed */
};
/* Writes the likely cause into text, "" when nothing fits. */
enum wf_status attention_diagnose(struct attention_reference *ref,
                                  const struct attention_suspect *suspect,
                                  char *text,
                                  size_t text_bytes,
                                  struct wf_error *err);

#endif
