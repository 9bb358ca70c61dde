/* The op contract: what an operation is, apart from any kernel.
 *
 * One row of ops.def and one folder kernels/<op>/ make an op: <op>.c (parsing, shapes,
 * inputs, counts), <op>_ref.c (reference and check). case.c holds what all ops share
 * and calls through this table. */
#ifndef WF_KERNELS_OP_H
#define WF_KERNELS_OP_H

#include "core/verdict.h"
#include "kernels/case.h"

struct wf_reference; /* opaque, defined by each op's reference */

struct wf_op {
    const char *name;
    const char *summary; /* one line for `wavefarm list` */
    /* NULL-terminated: members a case may have, beside op, seed and inputs. */
    const char *const *keys;
    /* NULL-terminated: what `param` answers, the names of a pack's expressions. */
    const char *const *params;

    /* Reads and validates; *ret_state is the op's own struct, freed by free_state. */
    enum wf_status (*parse)(const struct wf_json *json,
                            const struct wf_dataset_resolver *datasets,
                            void **ret_state,
                            struct wf_error *err);
    void (*free_state)(void *state);
    /* Adds every member that differs from its default to `obj`. */
    enum wf_status (*canonical)(const void *state,
                                struct wf_json *obj,
                                struct wf_error *err);
    const char *(*dataset)(const void *state); /* sha256 or NULL */
    enum wf_status (*label)(const void *state,
                            struct wf_buf *out,
                            struct wf_error *err);
    size_t (*tensor_count)(const void *state);
    const struct wf_tensor *(*tensor)(const void *state, size_t i);
    enum wf_status (*param)(const void *state,
                            const char *name,
                            struct wf_value *ret,
                            struct wf_error *err);
    double (*flops)(const void *state);
    double (*bytes)(const void *state);
    enum wf_dtype (*math_type)(const void *state);
    enum wf_status (*fill)(const struct wf_case *c,
                           const void *state,
                           size_t tensor,
                           uint64_t seed,
                           uint64_t first,
                           uint64_t n,
                           void *dst,
                           struct wf_error *err);
    /* What lies at a storage element, as wf_case_run; NULL: dim and stride say it. */
    uint64_t (*run)(const void *state, size_t tensor, uint64_t at, bool *ret_used);
    const struct wf_reference_ops *reference;
};

/* Reads bytes of an output tensor of the run under test, in any order and size; the
 * checker reads in panels so that it never holds a whole second copy. */
struct wf_output_source {
    enum wf_status (*read)(void *ctx,
                           size_t tensor,
                           uint64_t offset_bytes,
                           uint64_t n_bytes,
                           void *dst,
                           struct wf_error *err);
    void *ctx;
};

struct wf_reference_options {
    uint64_t seed_offset; /* as given to wf_case_fill */
    /* What sampled rows and the vectors of product checks are drawn by; 0: the case's
     * seed and seed_offset. The judge draws a fresh one, so that no kernel can know
     * which elements will be looked at; a report tells it afterwards. */
    uint64_t choice_seed;
    int threads; /* 0: all online processors */
    /* Work (multiply-adds of the double reference) above which sampling and product
     * checks replace the full reference; 0: the op's default. The choice depends on the
     * case and this number only, never on the machine. */
    double budget_macs;
    /* What the kernel declares about its accumulation, for the error model. */
    int64_t split;                 /* partial sums added in accumulate_type; 1: none */
    enum wf_dtype accumulate_type; /* WF_F32 normally */
};

#define WF_MAX_CHECKS 6

struct wf_check {
    char name[32]; /* "full-double", "freivalds-blocked", "sampled-rows" */
    bool passed;
    uint64_t elements;      /* output elements that it covers */
    double worst_ratio;     /* largest err / limit; > 1 fails; inf for non-finite */
    double smallest_caught; /* smallest error of one element that it must catch */
    uint64_t seed;          /* of its own choices (sample rows, vectors); 0: none */
    char note[160];         /* what it could have missed, in words */
};

/* Where the wrong elements of one output lie: the output as a matrix (the last
 * dimension across, all others down), cut into cells of equal size. */
#define WF_MAP_SIDE 16

struct wf_error_map {
    bool known;
    char tensor[32];
    int64_t rows, cols; /* of the matrix */
    int64_t cell_rows,
        cell_cols;          /* elements of a cell; those at the edge are smaller */
    int map_rows, map_cols; /* cells, at most WF_MAP_SIDE each way */
    uint64_t wrong[WF_MAP_SIDE][WF_MAP_SIDE];
    uint64_t checked[WF_MAP_SIDE][WF_MAP_SIDE]; /* 0: nobody looked at this cell */
};

/* What common rules of other suites count over the same outputs. They are no part of
 * the answer; wavefarm selftest mutants shows them beside it. */
struct wf_peer_tally {
    bool known; /* every element was compared one by one */
    uint64_t elements;
    uint64_t beyond_allclose;   /* !(|e| <= 1e-2 + 1e-2 |ref|) */
    uint64_t beyond_flashinfer; /* !(|e| <= 1e-2) and !(|e| <= 1e-2 |ref|) */
    uint64_t class_differs;     /* NaN or infinity where the reference has none, or the
                                   other way round; counted in both of the above too */
};

/* What the error model was computed from, as numbers: with the formula, a tolerance can
 * be computed again from a stored result. */
struct wf_tolerance_inputs {
    bool known;
    enum wf_dtype operand[2]; /* A and B; Q and K, V */
    enum wf_dtype accumulate; /* inside one partial sum */
    enum wf_dtype partial;    /* in which partial sums are added */
    enum wf_dtype output;
    double u_out, u_accumulate, u_inner; /* inner: P of attention; 0: nothing rounded */
    double split;                        /* partial sums; 1: none */
    double length;                       /* terms of the longest sum */
};

struct wf_check_report {
    enum wf_answer answer; /* PASS MISMATCH NONFINITE UNWRITTEN */
    size_t check_count;
    struct wf_check check[WF_MAX_CHECKS];
    char tolerance_model[64]; /* "gemm-f16-f32acc/1" */
    char tolerance_text[512]; /* formula with its numbers: provenance */
    struct wf_tolerance_inputs tolerance_inputs;
    double max_abs_error, max_rel_error; /* over elements compared one by one */
    uint64_t mismatches, nonfinite, unwritten;
    bool has_worst;
    char worst_tensor[32];
    int worst_ndim;
    int64_t worst_index[WF_MAX_DIMS];
    double worst_got, worst_want, worst_tolerance;
    bool has_first; /* the first wrong element in storage order, of those looked at */
    char first_tensor[32];
    int first_ndim;
    int64_t first_index[WF_MAX_DIMS];
    double first_got, first_want;
    struct wf_error_map map;
    struct wf_peer_tally peers;
    char diagnosis[512]; /* likely cause in words, "" when nothing to say */
};

/* What a check by the naive device kernel found. */
struct wf_naive_report {
    bool trusted;     /* its values are as exact as they should be, where looked at */
    char doubt[200];  /* why not */
    uint64_t checked; /* of its values, compared with the double reference */
    double own_ratio; /* largest error of those as a part of the naive kernel's limit */
    struct wf_check_report report; /* of the outputs under test; PASS unless trusted */
};

struct wf_reference_ops {
    enum wf_status (*create)(const struct wf_case *c,
                             const void *state,
                             const struct wf_reference_options *options,
                             struct wf_reference **ret,
                             struct wf_error *err);
    void (*destroy)(struct wf_reference *ref);
    enum wf_status (*check)(struct wf_reference *ref,
                            const struct wf_output_source *outputs,
                            struct wf_check_report *ret,
                            struct wf_error *err);
    /* What it holds during a check: inputs, expected values, panels. */
    uint64_t (*bytes)(const struct wf_reference *ref);

    /* The naive kernel of the op (kernels/<op>/<op>_naive.json). All NULL: it has none.
     */
    bool (*complete)(
        const struct wf_reference *ref); /* compares every element itself */
    /* Operations in double that the naive kernel does, and what check_naive holds. */
    double (*naive_work)(const struct wf_reference *ref);
    uint64_t (*naive_bytes)(const struct wf_reference *ref);
    /* Compares every element of `outputs` with the naive kernel's values, whose buffers
     * `naive` reads by their number in the entry, after a sample of those has been
     * compared with the double reference. Wrong elements are confirmed by the double
     * reference before they count. */
    enum wf_status (*check_naive)(struct wf_reference *ref,
                                  const struct wf_output_source *outputs,
                                  const struct wf_output_source *naive,
                                  struct wf_naive_report *ret,
                                  struct wf_error *err);
};

/* Registry: rows of ops.def, in their order. */
size_t wf_op_count(void);
const struct wf_op *wf_op_at(size_t i);
const struct wf_op *wf_op_find(const char *name); /* or NULL */

/* The op's own state of a case, for the op's files. */
const void *wf_case_state(const struct wf_case *c);

/* Convenience over the table, for the judge. The reference may be checked against many
 * times; it holds the inputs it needs. */
enum wf_status wf_reference_create(const struct wf_case *c,
                                   const struct wf_reference_options *options,
                                   struct wf_reference **ret,
                                   struct wf_error *err);
void wf_reference_destroy(const struct wf_case *c, struct wf_reference *ref);
uint64_t wf_reference_bytes(const struct wf_case *c, const struct wf_reference *ref);
enum wf_status wf_reference_check(const struct wf_case *c,
                                  struct wf_reference *ref,
                                  const struct wf_output_source *outputs,
                                  struct wf_check_report *ret,
                                  struct wf_error *err);

#endif
