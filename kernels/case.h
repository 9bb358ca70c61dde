/* A case: one op with concrete shape, types, options, input distribution and seed.
 *
 * Its id is the SHA-256 of its canonical JSON: members equal to the op's default are
 * left out, keys are sorted, numbers have one spelling. A new option defaults to the
 * old behaviour, so ids outlive versions. */
#ifndef WF_KERNELS_CASE_H
#define WF_KERNELS_CASE_H

#include "core/dtype.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/value.h"
#include "datasets/dataset.h"
#include "kernels/inputs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_MAX_DIMS       6
#define WF_MAX_BASE_BYTES 4096

struct wf_case; /* opaque, immutable after parsing */
struct wf_op;

enum wf_role {
    WF_ROLE_INPUT,  /* filled from the seed, must not change */
    WF_ROLE_INDEX,  /* structure (page tables, offsets), must not change */
    WF_ROLE_OUTPUT, /* poisoned before each checked launch */
    WF_ROLE_INOUT   /* filled and written (rare) */
};

struct wf_tensor {
    const char *name; /* as pack.json refers to it: "A", "Q", "kv_indptr" */
    enum wf_dtype dtype;
    enum wf_role role;
    int ndim;
    int64_t dim[WF_MAX_DIMS];
    int64_t stride[WF_MAX_DIMS]; /* in elements; row-major, the last is 1 */
    uint64_t elements;           /* of storage, padding between rows included */
    uint64_t bytes;
    /* Storage begins this many bytes behind an address that a fresh allocation has (a
     * multiple of 256 or more): below WF_MAX_BASE_BYTES, a multiple of the element. */
    uint64_t base_bytes;
    bool optional; /* absent (bytes = 0) when the case does not use it */
};

/* `where` prefixes errors ("gemm-five.json: case 3 (2048x10240x1280)"). `datasets` may
 * be NULL for ops that need none. EINVAL for unknown op, unknown key, bad range,
 * inconsistent leading dimension, impossible page table: one error names the field,
 * the value and the limit. */
enum wf_status wf_case_parse(const struct wf_json *json,
                             const char *where,
                             const struct wf_dataset_resolver *datasets,
                             struct wf_case **ret,
                             struct wf_error *err);
void wf_case_free(struct wf_case *c);

const struct wf_op *wf_case_op(const struct wf_case *c);
const char *wf_case_op_name(const struct wf_case *c);
const char *wf_case_id(const struct wf_case *c);        /* 64 hex digits */
const char *wf_case_canonical(const struct wf_case *c); /* canonical JSON */
/* SHA-256 of the dataset it refers to, or NULL. */
const char *wf_case_dataset(const struct wf_case *c);
uint64_t wf_case_seed(const struct wf_case *c);
enum wf_inputs wf_case_inputs(
    const struct wf_case *c); /* kernels/inputs.h fills them */
/* Short text for people: "gemm 2048x10240x1280 NT f16". */
const char *wf_case_label(const struct wf_case *c);

size_t wf_case_tensor_count(const struct wf_case *c);
const struct wf_tensor *wf_case_tensor(const struct wf_case *c, size_t i);
/* Index by name, or (size_t)-1. */
size_t wf_case_tensor_index(const struct wf_case *c, const char *name);

/* Names that expressions may use: every parameter of the op (strings for types), and
 * what the op derives (num_pages, kv_len, ...). */
struct wf_scope wf_case_scope(const struct wf_case *c);

/* From storage element `at` of tensor i on: how many elements hold values (*ret_used)
 * or lie in a gap (padding, unused page slots); at least 1. `at` is below its elements.
 */
uint64_t wf_case_run(const struct wf_case *c, size_t i, uint64_t at, bool *ret_used);

double wf_case_flops(const struct wf_case *c); /* counted as the op's header says */
double wf_case_bytes(const struct wf_case *c); /* least traffic with main memory */
/* Type whose peak rate bounds it (the input type). */
enum wf_dtype wf_case_math_type(const struct wf_case *c);

/* Fills storage elements [first, first + n) of tensor i under seed + seed_offset; any
 * split gives the same bytes. Padding between rows, unused page slots and unused inputs
 * get the type's poison. Outputs are refused (EINVAL). */
enum wf_status wf_case_fill(const struct wf_case *c,
                            size_t tensor,
                            uint64_t seed_offset,
                            uint64_t first,
                            uint64_t n,
                            void *dst,
                            struct wf_error *err);

/* Inputs made of two: under seed offset `offset` every element is that of `base`, but
 * the `n` ranges hold those of seed offsets of their own. The judge changes inputs in
 * this way while a kernel is timed, and the reference follows, because both fill by
 * wf_case_fill. Replaces what was set before; `ranges` is copied. Only tensors of role
 * INPUT; not while another thread uses the case. EINVAL, ERANGE. */
struct wf_case_range {
    size_t tensor;
    uint64_t first, n; /* storage elements */
    uint64_t seed_offset;
};
enum wf_status wf_case_splice(struct wf_case *c,
                              uint64_t offset,
                              uint64_t base,
                              const struct wf_case_range *ranges,
                              size_t n,
                              struct wf_error *err);

#endif
