/* The grouped_gemm op: many products of different heights in one launch, the base of
 * mixtures of experts.
 *
 *   D[i] = act(alpha * sum_k SA SB A[i][k] op(B[b])[k])   for the rows i of each group
 * b
 *
 * A and D are one matrix each, the groups' rows one after the other; every group has a
 * B of its own. What is said in gemm.h holds, M being the rows of all groups, with:
 *
 *   groups        rows of each group, a list; 0 is a group without rows. Required
 *   N K trans_b a_type b_type d_type alpha lda ldb ldd stride_b offset_a offset_b
 *   offset_d scale activation
 *
 * Tensors: A [M][K], B [groups][..], D [M][N]; offsets i32 [groups + 1]: where each
 * group's rows begin, and M at the end; scales row: SA [M], SB [groups][b_cols];
 * block128: SA [M][ceil(K / 128)], SB [groups][column blocks][ceil(K / 128)]. There is
 * no C and no bias (their tensors are absent).
 *
 * Parameters of expressions besides gemm's: `groups` (the list: max, sum, count) and
 * group_count. A kernel that cuts rows into tiles of BLOCK_M has at most
 * ceil_div(M, BLOCK_M) + group_count of them, whatever the groups are; it finds its own
 * in `offsets`.
 *
 * The reference is gemm's: to it the groups are batches that share A and D. */
#include "kernels/gemm/gemm.h"

#include "core/buf.h"
#include "core/parse.h"

#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS 65536

static void free_state(void *state)
{
    struct gemm *g = state;
    if (g != NULL) {
        free(g->begin);
        free(g->group);
        free(g);
    }
}

static enum wf_status read_group(struct gemm *g,
                                 const struct wf_json *item,
                                 int64_t i,
                                 struct wf_error *err)
{
    int64_t rows;
    if (wf_json_type(item) != WF_JSON_INT || !wf_json_as_i64(item, &rows) || rows < 0) {
        return wf_errorf(err, WF_EINVAL,
                         "groups[%lld] is not a whole number of rows, 0 or more",
                         (long long)i);
    }
    g->group[i] = rows;
    if (!wf_add_i64(g->begin[i], rows, &g->begin[i + 1]) ||
        g->begin[i + 1] > INT32_MAX) {
        return wf_errorf(err, WF_ERANGE,
                         "groups have 2^31 rows or more up to group %lld; offsets are "
                         "i32",
                         (long long)i);
    }
    return WF_OK;
}

static enum wf_status read_groups(struct gemm *g,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    const struct wf_json *list = wf_json_find(json, "groups");
    const size_t n =
        list != NULL && wf_json_type(list) == WF_JSON_ARRAY ? wf_json_count(list) : 0;
    if (n == 0 || n > MAX_GROUPS) {
        return wf_errorf(err, WF_EINVAL,
                         "groups must be a list of 1 to %d numbers of rows",
                         MAX_GROUPS);
    }
    g->batch = (int64_t)n;
    g->begin = wf_calloc(n + 1, sizeof *g->begin);
    g->group = wf_calloc(n, sizeof *g->group);
    if (g->begin == NULL || g->group == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu groups", n);
    }
    int64_t i = 0;
    enum wf_status st = WF_OK;
    for (const struct wf_json *v = wf_json_first(list); v != NULL && st == WF_OK;
         v = wf_json_next(v)) {
        st = read_group(g, v, i++, err);
    }
    g->m = g->begin[n];
    return st;
}

static enum wf_status read_sizes(struct gemm *g,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    enum wf_status st = wf_json_get_i64(json, "N", 0, INT64_MAX, &g->n, err);
    if (st == WF_OK) {
        st = wf_json_get_i64(json, "K", 0, INT64_MAX, &g->k, err);
    }
    return st == WF_OK ? gemm_read_transpose(json, "trans_b", &g->trans_b, err) : st;
}

static void set_offsets(struct gemm *g)
{
    const int64_t n = g->batch + 1;
    g->tensor[GEMM_OFFSETS] =
        (struct wf_tensor){ .name = "offsets",
                            .dtype = WF_I32,
                            .role = WF_ROLE_INDEX,
                            .ndim = 1,
                            .dim = { n },
                            .stride = { 1 },
                            .elements = (uint64_t)n,
                            .bytes = (uint64_t)n * sizeof(int32_t) };
}

static enum wf_status read_all(struct gemm *g,
                               const struct wf_json *json,
                               struct wf_error *err)
{
    enum wf_status st = gemm_read_types(g, json, err);
    if (st == WF_OK) {
        st = read_groups(g, json, err);
    }
    if (st == WF_OK) {
        st = read_sizes(g, json, err);
    }
    if (st == WF_OK) {
        st = gemm_read_scalars(g, json, err);
    }
    if (st == WF_OK) {
        st = gemm_read_epilogue(g, json, err);
    }
    if (st == WF_OK) {
        st = gemm_read_shape(g, json, err);
    }
    return st;
}

static enum wf_status parse(const struct wf_json *json,
                            const struct wf_dataset_resolver *datasets,
                            void **ret_state,
                            struct wf_error *err)
{
    (void)datasets;
    struct gemm *g = wf_calloc(1, sizeof *g);
    if (g == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a grouped_gemm");
    }
    const enum wf_status st = read_all(g, json, err);
    if (st != WF_OK) {
        free_state(g);
        return st;
    }
    set_offsets(g);
    *ret_state = g;
    return WF_OK;
}

/* gemm's members, but the groups stand for M and batch. */
static enum wf_status canonical(const void *state,
                                struct wf_json *obj,
                                struct wf_error *err)
{
    const struct gemm *g = state;
    enum wf_status st = gemm_canonical(state, obj, err);
    if (st != WF_OK) {
        return st;
    }
    wf_json_remove(obj, "M");
    wf_json_remove(obj, "batch");
    struct wf_json *list = wf_json_array();
    if (list == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the groups of a case");
    }
    for (int64_t i = 0; i < g->batch && st == WF_OK; i++) {
        st = wf_json_push_i64(list, g->group[i], err);
    }
    if (st != WF_OK) {
        wf_json_free(list);
        return st;
    }
    return wf_json_set_take(obj, "groups", list, err);
}

static enum wf_status label(const void *state, struct wf_buf *out, struct wf_error *err)
{
    const enum wf_status st = wf_buf_printf(out, err, "grouped ");
    return st == WF_OK ? gemm_label(state, out, err) : st;
}

static size_t tensor_count(const void *state)
{
    (void)state;
    return GEMM_GROUPED_TENSOR_COUNT;
}

static const char *dataset(const void *state)
{
    (void)state;
    return NULL;
}

static enum wf_status param(const void *state,
                            const char *name,
                            struct wf_value *ret,
                            struct wf_error *err)
{
    const struct gemm *g = state;
    if (strcmp(name, "groups") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_INTS,
                                  .ints = g->group,
                                  .n = (size_t)g->batch };
        return WF_OK;
    }
    if (strcmp(name, "group_count") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = g->batch };
        return WF_OK;
    }
    return gemm_param(state, name, ret, err);
}

static enum wf_status fill(const struct wf_case *c,
                           const void *state,
                           size_t tensor,
                           uint64_t seed,
                           uint64_t first,
                           uint64_t n,
                           void *dst,
                           struct wf_error *err)
{
    const struct gemm *g = state;
    if (tensor != GEMM_OFFSETS) {
        return gemm_fill(c, state, tensor, seed, first, n, dst, err);
    }
    int32_t *out = dst;
    for (uint64_t i = 0; i < n; i++) {
        out[i] = (int32_t)g->begin[first + i];
    }
    return WF_OK;
}

static const char *const KEYS[] = { "groups",   "N",          "K",        "trans_b",
                                    "a_type",   "b_type",     "d_type",   "alpha",
                                    "lda",      "ldb",        "ldd",      "stride_b",
                                    "scale",    "activation", "offset_a", "offset_b",
                                    "offset_d", NULL };

static const char *const PARAMS[] = {
    "groups",   "group_count", "M",        "N",          "K",
    "trans_b",  "a_type",      "b_type",   "d_type",     "acc_type",
    "alpha",    "lda",         "ldb",      "ldd",        "scale",
    "stride_b", "offset_a",    "offset_b", "offset_d",   "align_a",
    "align_b",  "align_d",     "b_cols",   "activation", NULL
};

const struct wf_op wf_op_grouped_gemm = {
    .name = "grouped_gemm",
    .summary = "D = act(alpha * A op(B[g])) for groups of rows of different sizes",
    .keys = KEYS,
    .params = PARAMS,
    .parse = parse,
    .free_state = free_state,
    .canonical = canonical,
    .dataset = dataset,
    .label = label,
    .tensor_count = tensor_count,
    .tensor = gemm_tensor_at,
    .param = param,
    .flops = gemm_flops,
    .bytes = gemm_bytes,
    .math_type = gemm_math_type,
    .fill = fill,
    .reference = &gemm_grouped_reference_ops,
};
