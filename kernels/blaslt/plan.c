/* Descriptors, layouts and the library's heuristics for one problem. blaslt.h says why
 * the operands change places. */
#include "kernels/blaslt/blaslt.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

/* Where each of the library's matrices is found among ours. */
enum {
    THEIR_A = BLASLT_B,
    THEIR_B = BLASLT_A,
    THEIR_C = BLASLT_C,
    THEIR_D = BLASLT_D
};

/* Both libraries end a result with: algorithm, size_t workspace, int status, float
 * waves, int reserved[4]. */
static size_t result_bytes(const struct blaslt_vendor *v)
{
    return v->algo_bytes + sizeof(size_t) + sizeof(int) + sizeof(float) +
           4 * sizeof(int);
}

static unsigned char *result_at(const struct blaslt_plan *plan, int result)
{
    return plan->results + (size_t)result * result_bytes(plan->lib->vendor);
}

const void *blaslt_plan_algo(const struct blaslt_plan *plan, int result)
{
    return result_at(plan, result);
}

uint64_t blaslt_plan_workspace(const struct blaslt_plan *plan, int result)
{
    size_t bytes;
    memcpy(&bytes, result_at(plan, result) + plan->lib->vendor->algo_bytes,
           sizeof bytes);
    return bytes;
}

static int result_status(const struct blaslt_plan *plan, int result)
{
    int status;
    memcpy(&status,
           result_at(plan, result) + plan->lib->vendor->algo_bytes + sizeof(size_t),
           sizeof status);
    return status;
}

/* A C that is not read is described all the same: as D, in a type that the library
 * takes beside D's. */
static void describe_unread_c(struct blaslt_plan *plan)
{
    if (plan->p.beta == 0.0) {
        plan->p.matrix[BLASLT_C] = plan->p.matrix[BLASLT_D];
        plan->p.matrix[BLASLT_C].dtype =
            plan->lib->vendor->unread_c(plan->p.matrix[BLASLT_D].dtype);
    }
}

/* --- layouts --- */

static int set_batch(const struct blaslt_plan *plan,
                     void *layout,
                     const struct blaslt_matrix *x)
{
    const struct blaslt_values *v = &plan->lib->vendor->values;
    const int32_t count = (int32_t)plan->p.batch;
    int status = plan->lib->f.layout_set(layout, v->batch_count, &count, sizeof count);
    if (status == 0) {
        status = plan->lib->f.layout_set(layout, v->batch_stride, &x->stride,
                                         sizeof x->stride);
    }
    return status;
}

static int create_layout(struct blaslt_plan *plan,
                         int which,
                         const struct blaslt_says *says)
{
    const struct blaslt_library *lib = plan->lib;
    const struct blaslt_matrix *x = &plan->p.matrix[which];
    const int type = lib->vendor->type(x->dtype);
    if (type == BLASLT_NONE) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED, "%s has no type for %s",
                          lib->vendor->name, wf_dtype_name(x->dtype));
    }
    int status = lib->f.layout_create(&plan->layout[which], type, (uint64_t)x->cols,
                                      (uint64_t)x->rows, x->ld);
    const int rc =
        blaslt_made(lib, "MatrixLayoutCreate", status, plan->layout[which], says);
    if (rc != WF_LIB_OK) {
        return rc;
    }
    if (plan->p.batch > 1) {
        status = set_batch(plan, plan->layout[which], x);
    }
    return blaslt_status(lib, "MatrixLayoutSetAttribute", status, false, says);
}

/* --- the descriptor --- */

/* A value for heuristics before the tensors are there: some libraries refuse a scale or
 * a bias that has no address. It is never read. */
static const void *or_any(const void *pointer)
{
    static const double any[32] __attribute__((aligned(256)));
    return pointer ? pointer : any;
}

static int set_bias(struct blaslt_plan *plan, const char **ret_what)
{
    const struct blaslt_library *lib = plan->lib;
    const struct blaslt_values *v = &lib->vendor->values;
    const void *bias = or_any(plan->p.bias.data);
    const int32_t type = lib->vendor->type(plan->p.bias_type);
    *ret_what = "MatmulDescSetAttribute (bias pointer)";
    int status = lib->f.desc_set(plan->desc, v->bias, &bias, sizeof bias);
    if (status == 0) {
        *ret_what = "MatmulDescSetAttribute (bias type)";
        status = lib->f.desc_set(plan->desc, v->bias_type, &type, sizeof type);
    }
    return status;
}

static int set_attributes(struct blaslt_plan *plan, const char **ret_what)
{
    const struct blaslt_library *lib = plan->lib;
    const struct blaslt_values *v = &lib->vendor->values;
    const int32_t a = plan->p.trans_b ? v->op_t : v->op_n;
    const int32_t b = plan->p.trans_a ? v->op_t : v->op_n;
    const uint32_t epilogue = (uint32_t)lib->vendor->epilogue(&plan->p);
    *ret_what = "MatmulDescSetAttribute (transposes)";
    int status = lib->f.desc_set(plan->desc, v->trans_a, &a, sizeof a);
    if (status == 0) {
        status = lib->f.desc_set(plan->desc, v->trans_b, &b, sizeof b);
    }
    if (status == 0) {
        *ret_what = "MatmulDescSetAttribute (epilogue)";
        status = lib->f.desc_set(plan->desc, v->epilogue, &epilogue, sizeof epilogue);
    }
    if (status == 0 && plan->p.has_bias) {
        status = set_bias(plan, ret_what);
    }
    if (status == 0 && plan->p.scale == BLASLT_SCALE_ROW) {
        status = lib->vendor->set_scales(lib, plan->desc, or_any(plan->p.scale_b.data),
                                         or_any(plan->p.scale_a.data), ret_what);
    }
    return status;
}

static void set_factors(struct blaslt_plan *plan)
{
    if (blaslt_is_integer(&plan->p)) {
        const int32_t alpha = (int32_t)plan->p.alpha, beta = (int32_t)plan->p.beta;
        memcpy(&plan->alpha_double, &alpha, sizeof alpha);
        memcpy(&plan->beta_double, &beta, sizeof beta);
    } else {
        const float alpha = (float)plan->p.alpha, beta = (float)plan->p.beta;
        memcpy(&plan->alpha_double, &alpha, sizeof alpha);
        memcpy(&plan->beta_double, &beta, sizeof beta);
    }
}

static int create_descriptor(struct blaslt_plan *plan, const struct blaslt_says *says)
{
    const struct blaslt_library *lib = plan->lib;
    const struct blaslt_values *v = &lib->vendor->values;
    const bool integer = blaslt_is_integer(&plan->p);
    const char *what = "MatmulDescSetAttribute";
    set_factors(plan);
    int status =
        lib->f.desc_create(&plan->desc, integer ? v->compute_i32 : v->compute_f32,
                           integer ? v->type_i32 : v->type_f32);
    const int rc = blaslt_made(lib, "MatmulDescCreate", status, plan->desc, says);
    if (rc != WF_LIB_OK) {
        return rc;
    }
    status = set_attributes(plan, &what);
    return blaslt_status(lib, what, status, false, says);
}

/* --- heuristics --- */

/* Bytes that divide the address of a tensor: storage begins at a multiple of 256. */
static uint32_t alignment_of(const struct blaslt_matrix *x)
{
    uint32_t bytes = 256;
    const uint64_t at = (uint64_t)x->offset * wf_dtype_bytes(x->dtype);
    while (at % bytes != 0) {
        bytes /= 2;
    }
    return bytes;
}

static int create_preference(struct blaslt_plan *plan, const struct blaslt_says *says)
{
    static const int ours[] = { THEIR_A, THEIR_B, THEIR_C, THEIR_D };
    const struct blaslt_library *lib = plan->lib;
    const struct blaslt_values *v = &lib->vendor->values;
    const uint64_t most = lib->vendor->workspace_bytes;
    int status = lib->f.preference_create(&plan->preference);
    const int rc =
        blaslt_made(lib, "MatmulPreferenceCreate", status, plan->preference, says);
    if (rc != WF_LIB_OK) {
        return rc;
    }
    status = lib->f.preference_set(plan->preference, v->workspace, &most, sizeof most);
    for (size_t i = 0; i < 4 && status == 0; i++) {
        const uint32_t bytes = alignment_of(&plan->p.matrix[ours[i]]);
        if (v->alignment[i] != BLASLT_NONE) {
            status = lib->f.preference_set(plan->preference, v->alignment[i], &bytes,
                                           sizeof bytes);
        }
    }
    return blaslt_status(lib, "MatmulPreferenceSetAttribute", status, false, says);
}

/* Results that failed or want more than was offered are left out. */
static void keep_usable(struct blaslt_plan *plan)
{
    const size_t size = result_bytes(plan->lib->vendor);
    int kept = 0;
    for (int i = 0; i < plan->result_count; i++) {
        if (result_status(plan, i) == 0 &&
            blaslt_plan_workspace(plan, i) <= plan->lib->vendor->workspace_bytes) {
            memmove(result_at(plan, kept++), result_at(plan, i), size);
        }
    }
    plan->result_count = kept;
}

static bool is_refusal(const struct blaslt_library *lib, int status)
{
    const char *name = lib->vendor->status_name(status);
    return name && (strstr(name, "NOT_SUPPORTED") || strstr(name, "INVALID_VALUE") ||
                    strstr(name, "ARCH_MISMATCH"));
}

static int ask(struct blaslt_plan *plan, int requested, const struct blaslt_says *says)
{
    const struct blaslt_library *lib = plan->lib;
    plan->results = wf_calloc((size_t)requested, result_bytes(lib->vendor));
    if (!plan->results) {
        return blaslt_say(says, WF_LIB_NO_MEMORY, "no memory for %d results",
                          requested);
    }
    int status = lib->f.heuristic(lib->handle, plan->desc, plan->layout[THEIR_A],
                                  plan->layout[THEIR_B], plan->layout[THEIR_C],
                                  plan->layout[THEIR_D], plan->preference, requested,
                                  plan->results, &plan->result_count);
    if (status != 0) {
        return blaslt_status(lib, "MatmulAlgoGetHeuristic", status,
                             is_refusal(lib, status), says);
    }
    if (plan->result_count < 0 || plan->result_count > requested) {
        return blaslt_say(
            says, WF_LIB_FAILED,
            "%sMatmulAlgoGetHeuristic gave %d results where %d were asked "
            "for",
            lib->vendor->prefix, plan->result_count, requested);
    }
    keep_usable(plan);
    if (plan->result_count == 0) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "%s %s knows no algorithm for this problem",
                          lib->vendor->name, lib->version_text);
    }
    return WF_LIB_OK;
}

int blaslt_plan_create(const struct blaslt_library *lib,
                       const struct blaslt_problem *p,
                       int requested,
                       struct blaslt_plan **ret,
                       const struct blaslt_says *says)
{
    struct blaslt_plan *plan = wf_calloc(1, sizeof *plan);
    if (!plan) {
        return blaslt_say(says, WF_LIB_NO_MEMORY, "no memory for a plan");
    }
    plan->lib = lib;
    plan->p = *p;
    describe_unread_c(plan);
    int rc = create_descriptor(plan, says);
    for (int i = 0; i < BLASLT_MATRICES && rc == WF_LIB_OK; i++) {
        rc = create_layout(plan, i, says);
    }
    if (rc == WF_LIB_OK) {
        rc = create_preference(plan, says);
    }
    if (rc == WF_LIB_OK) {
        rc = ask(plan, requested, says);
    }
    if (rc != WF_LIB_OK) {
        blaslt_plan_destroy(plan);
        return rc;
    }
    *ret = plan;
    return WF_LIB_OK;
}

void blaslt_plan_destroy(struct blaslt_plan *plan)
{
    if (!plan) {
        return;
    }
    const struct blaslt_functions *f = &plan->lib->f;
    if (plan->preference) {
        (void)f->preference_destroy(plan->preference);
    }
    for (int i = 0; i < BLASLT_MATRICES; i++) {
        if (plan->layout[i]) {
            (void)f->layout_destroy(plan->layout[i]);
        }
    }
    if (plan->desc) {
        (void)f->desc_destroy(plan->desc);
    }
    free(plan->results);
    free(plan);
}

/* With beta = 0 the libraries do not read C; they want D's address, or none where the
 * types differ. */
static const void *address_of_c(const struct blaslt_plan *plan,
                                const struct blaslt_pointers *x)
{
    const bool same = plan->p.matrix[BLASLT_C].dtype == plan->p.matrix[BLASLT_D].dtype;
    return plan->p.beta != 0.0 ? x->matrix[THEIR_C] : same ? x->matrix[THEIR_D] : NULL;
}

int blaslt_plan_run(const struct blaslt_plan *plan,
                    int result,
                    const struct blaslt_pointers *x)
{
    const struct blaslt_library *lib = plan->lib;
    return lib->f.matmul(
        lib->handle, plan->desc, &plan->alpha_double, x->matrix[THEIR_A],
        plan->layout[THEIR_A], x->matrix[THEIR_B], plan->layout[THEIR_B],
        &plan->beta_double, address_of_c(plan, x), plan->layout[THEIR_C],
        x->matrix[THEIR_D], plan->layout[THEIR_D], blaslt_plan_algo(plan, result),
        x->workspace, blaslt_plan_workspace(plan, result), x->stream);
}
