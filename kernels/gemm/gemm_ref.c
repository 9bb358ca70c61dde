/* Life of a gemm reference: makes the inputs once (the case's own bytes), their norms
 * and the error model, and chooses the check. The choice depends on the case and the
 * budget only, so that equal runs are checked alike on every machine. */
#include "kernels/gemm/gemm_naive_check.h"

#include "core/buf.h"
#include "kernels/gemm/openblas.h"
#include "kernels/parallel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds of a full double reference that are always affordable: the largest of
 * the five sizes has 2.7e10. */
#define DEFAULT_BUDGET_MACS 4e10
#define FILL_PIECE          (UINT64_C(1) << 18)
#define NORM_BLOCK          2048

struct fill_job {
    const struct wf_case *c;
    size_t tensor;
    uint64_t seed_offset;
    uint64_t elements;
    size_t element_bytes;
    char *dst;
};

static enum wf_status fill_piece(void *ctx, uint64_t piece, struct wf_error *err)
{
    const struct fill_job *j = ctx;
    const uint64_t first = piece * FILL_PIECE;
    const uint64_t left = j->elements - first;
    return wf_case_fill(j->c, j->tensor, j->seed_offset, first,
                        left < FILL_PIECE ? left : FILL_PIECE,
                        j->dst + first * j->element_bytes, err);
}

static uint64_t used_elements(const struct gemm *g, enum gemm_tensor which)
{
    const struct gemm_matrix *x = &g->matrix[which];
    const bool shared = x->stride == 0 && g->batch > 1;
    return (uint64_t)x->rows * (uint64_t)x->cols * (uint64_t)(shared ? 1 : g->batch);
}

/* An operand that is mostly gaps is held without them: the reference's own problem gets
 * the dense strides, the values stay those of the case's storage positions. */
static enum wf_status fill_rows(struct wf_reference *ref,
                                const struct wf_case *c,
                                enum gemm_tensor which,
                                char *dst,
                                struct wf_error *err)
{
    struct gemm_matrix *x = &ref->g.matrix[which];
    const size_t row_bytes = (size_t)x->cols * wf_dtype_bytes(x->dtype);
    const int64_t batches = x->stride == 0 && ref->g.batch > 1 ? 1 : ref->g.batch;
    enum wf_status st = WF_OK;
    for (int64_t i = 0; st == WF_OK && i < batches * x->rows; i++) {
        const int64_t at = i / x->rows * x->stride + i % x->rows * x->ld;
        st = wf_case_fill(c, which, ref->options.seed_offset, (uint64_t)at,
                          (uint64_t)x->cols, dst + (size_t)i * row_bytes, err);
    }
    ref->g.tensor[which].bytes = (uint64_t)(batches * x->rows) * row_bytes;
    x->ld = x->cols;
    x->stride = batches < ref->g.batch ? 0 : x->rows * x->cols;
    return st;
}

static enum wf_status make_input(struct wf_reference *ref,
                                 const struct wf_case *c,
                                 enum gemm_tensor which,
                                 struct wf_error *err)
{
    const struct wf_tensor *t = &ref->g.tensor[which];
    const bool read =
        which == GEMM_C ? gemm_reads_c(&ref->g) : gemm_reads_product(&ref->g);
    if (!read || t->elements == 0 || ref->g.tensor[GEMM_D].elements == 0) {
        return WF_OK;
    }
    const bool sparse = t->elements / 2 > used_elements(&ref->g, which);
    char *dst = wf_calloc(sparse ? used_elements(&ref->g, which) : t->elements,
                          wf_dtype_bytes(t->dtype));
    if (dst == NULL) {
        return wf_errorf(err, WF_ENOMEM,
                         "no memory for %llu bytes of %s in the reference",
                         (unsigned long long)t->bytes, t->name);
    }
    ref->input[which] = dst;
    if (sparse) {
        return fill_rows(ref, c, which, dst, err);
    }
    struct fill_job job = {
        c, which, ref->options.seed_offset, t->elements, wf_dtype_bytes(t->dtype), dst
    };
    return wf_parallel(ref->options.threads,
                       (t->elements + FILL_PIECE - 1) / FILL_PIECE, fill_piece, &job,
                       err);
}

/* Bias and scales, as the kernel gets them. */
static enum wf_status make_vector(struct wf_reference *ref,
                                  const struct wf_case *c,
                                  enum gemm_tensor which,
                                  struct wf_error *err)
{
    const struct wf_tensor *t = &ref->g.tensor[which];
    if (t->elements == 0 || ref->g.tensor[GEMM_D].elements == 0) {
        return WF_OK;
    }
    ref->input[which] = wf_calloc(t->elements, wf_dtype_bytes(t->dtype));
    if (ref->input[which] == NULL) {
        return wf_errorf(err, WF_ENOMEM,
                         "no memory for %llu bytes of %s in the reference",
                         (unsigned long long)t->bytes, t->name);
    }
    return wf_case_fill(c, which, ref->options.seed_offset, 0, t->elements,
                        ref->input[which], err);
}

static enum wf_status make_bias(struct wf_reference *ref, struct wf_error *err)
{
    const struct wf_tensor *t = &ref->g.tensor[GEMM_BIAS];
    if (ref->input[GEMM_BIAS] == NULL) {
        return WF_OK;
    }
    ref->bias = wf_calloc(t->elements, sizeof *ref->bias);
    if (ref->bias == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the bias of a gemm reference");
    }
    wf_to_f64(t->dtype, ref->input[GEMM_BIAS], ref->bias, t->elements);
    return WF_OK;
}

static enum wf_status make_inputs(struct wf_reference *ref,
                                  const struct wf_case *c,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (int i = GEMM_A; i < GEMM_TENSOR_COUNT && st == WF_OK; i++) {
        if (i < GEMM_D) {
            st = make_input(ref, c, (enum gemm_tensor)i, err);
        } else if (i > GEMM_D) {
            st = make_vector(ref, c, (enum gemm_tensor)i, err);
        }
    }
    return st == WF_OK ? make_bias(ref, err) : st;
}

/* Sums of squares of one matrix: along its stored rows, or down its columns. */
static void add_squares(const struct wf_reference *ref,
                        enum gemm_tensor which,
                        int64_t batch,
                        bool along_rows,
                        double *sums)
{
    const struct gemm_matrix *x = &ref->g.matrix[which];
    const size_t bytes = wf_dtype_bytes(x->dtype);
    const char *data =
        (const char *)ref->input[which] + (size_t)(batch * x->stride) * bytes;
    double block[NORM_BLOCK];
    for (int64_t r = 0; r < x->rows; r++) {
        for (int64_t c = 0; c < x->cols; c += NORM_BLOCK) {
            const int64_t n = x->cols - c < NORM_BLOCK ? x->cols - c : NORM_BLOCK;
            const struct gemm_place line = { batch, r, c };
            const struct gemm_place across = { batch, c, r };
            wf_to_f64(x->dtype, data + (size_t)(r * x->ld + c) * bytes, block,
                      (size_t)n);
            if (along_rows) {
                gemm_scale_line(ref, which, &line, block, n);
            } else {
                gemm_scale_across(ref, which, &across, block, n);
            }
            double sum = 0.0;
            for (int64_t j = 0; j < n && along_rows; j++) {
                sum += block[j] * block[j];
            }
            for (int64_t j = 0; j < n && !along_rows; j++) {
                sums[c + j] += block[j] * block[j];
            }
            if (along_rows) {
                sums[r] += sum;
            }
        }
    }
}

/* Norms over k of each row of op(A) or column of op(B), rounded up. */
static enum wf_status make_norms(const struct wf_reference *ref,
                                 enum gemm_tensor which,
                                 double **ret,
                                 struct wf_error *err)
{
    const struct gemm *g = &ref->g;
    const bool k_is_cols = which == GEMM_A ? !g->trans_a : g->trans_b;
    const int64_t side = which == GEMM_A ? g->m : gemm_b_cols(g);
    const int64_t n = g->tensor[GEMM_D].elements > 0 ? side : 0;
    const int64_t batches = gemm_norm_batches(g, which);
    double *norms = wf_calloc((size_t)(batches * n) + 1, sizeof *norms);
    if (norms == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the norms of a gemm reference");
    }
    *ret = norms;
    if (ref->input[which] == NULL) {
        return WF_OK;
    }
    for (int64_t b = 0; b < batches; b++) {
        add_squares(ref, which, b, k_is_cols, norms + b * n);
    }
    for (int64_t i = 0; i < batches * n; i++) {
        norms[i] = sqrt(norms[i]) * (1.0 + 0x1p-30);
    }
    return WF_OK;
}

static void destroy(struct wf_reference *ref)
{
    if (ref == NULL) {
        return;
    }
    for (int i = 0; i < GEMM_TENSOR_COUNT; i++) {
        free(ref->input[i]);
    }
    free(ref->bias);
    free(ref->a_norm);
    free(ref->b_norm);
    free(ref);
}

/* Cost is the case's own: flops of the product, nothing of the machine. */
static void choose_check(struct wf_reference *ref, double budget)
{
    ref->macs = gemm_reads_product(&ref->g) ? gemm_flops(&ref->g) / 2.0 : 0.0;
    ref->budget = budget > 0.0 ? budget : DEFAULT_BUDGET_MACS;
    ref->sampled = ref->macs > ref->budget;
}

static enum wf_status create(const struct wf_case *c,
                             const void *state,
                             const struct wf_reference_options *options,
                             struct wf_reference **ret,
                             struct wf_error *err)
{
    const struct gemm *g = state;
    char message[256];
    if (!openblas_load(message, sizeof message)) {
        return wf_errorf(err, WF_EUNSUPPORTED, "the gemm reference needs OpenBLAS: %s",
                         message);
    }
    struct wf_reference *ref = wf_calloc(1, sizeof *ref);
    if (ref == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a gemm reference");
    }
    ref->problem = g;
    ref->g = *g;
    ref->options = *options;
    ref->seed = options->choice_seed != 0 ? options->choice_seed
                                          : wf_case_seed(c) + options->seed_offset;
    choose_check(ref, options->budget_macs);
    gemm_set_tolerance(&ref->tolerance, g, options);
    enum wf_status st = make_inputs(ref, c, err);
    if (st == WF_OK) {
        st = make_norms(ref, GEMM_A, &ref->a_norm, err);
    }
    if (st == WF_OK) {
        st = make_norms(ref, GEMM_B, &ref->b_norm, err);
    }
    if (st != WF_OK) {
        destroy(ref);
        return st;
    }
    *ret = ref;
    return WF_OK;
}

static enum wf_status check(struct wf_reference *ref,
                            const struct wf_output_source *outputs,
                            struct wf_check_report *ret,
                            struct wf_error *err)
{
    struct wf_check_report report;
    memset(&report, 0, sizeof report);
    openblas_threads(wf_thread_count(ref->options.threads));
    gemm_tolerance_text(ref, &report);
    const enum wf_status st = ref->sampled
                                  ? gemm_check_sampled(ref, outputs, &report, err)
                                  : gemm_check_full(ref, outputs, &report, err);
    if (st == WF_OK) {
        *ret = report;
    }
    return st;
}

/* Inputs and norms, and the panels of a check. */
static uint64_t held_bytes(const struct wf_reference *ref)
{
    const struct gemm *g = &ref->g;
    const int64_t a_norms = gemm_norm_batches(g, GEMM_A) * g->m;
    const int64_t b_norms = gemm_norm_batches(g, GEMM_B) * gemm_b_cols(g);
    uint64_t bytes = gemm_work_bytes(g);
    for (int i = 0; i < GEMM_TENSOR_COUNT; i++) {
        bytes += ref->input[i] != NULL ? g->tensor[i].bytes : 0;
    }
    bytes += (uint64_t)(a_norms + b_norms) * sizeof(double);
    bytes += g->tensor[GEMM_BIAS].elements * sizeof(double);
    return ref->sampled ? bytes + gemm_sampled_bytes(g) : bytes;
}

const struct wf_reference_ops gemm_reference_ops = {
    .create = create,
    .destroy = destroy,
    .check = check,
    .bytes = held_bytes,
    .complete = gemm_complete,
    .naive_work = gemm_naive_work,
    .naive_bytes = gemm_naive_bytes,
    .check_naive = gemm_check_naive,
};

/* Groups have no naive kernel. */
const struct wf_reference_ops gemm_grouped_reference_ops = {
    .create = create,
    .destroy = destroy,
    .check = check,
    .bytes = held_bytes,
};
