/* Reads the problem that the kernel is given, by parameter name. A parameter that an
 * older caller does not know has its default. */
#include "kernels/blaslt/blaslt.h"

#include <string.h>

static const struct {
    const char *name, *type, *ld, *stride, *offset;
} NAMES[BLASLT_MATRICES] = {
    { "A", "a_type", "lda", "stride_a", "offset_a" },
    { "B", "b_type", "ldb", "stride_b", "offset_b" },
    { "C", "c_type", "ldc", "stride_c", "offset_c" },
    { "D", "d_type", "ldd", "stride_d", "offset_d" },
};

static int missing(const char *name, const struct blaslt_says *says)
{
    return blaslt_say(says, WF_LIB_FAILED, "the problem does not say %s", name);
}

static const struct wf_lib_tensor *find_tensor(const struct wf_lib_problem *from,
                                               const char *name)
{
    for (size_t i = 0; i < from->tensor_count; i++) {
        if (strcmp(from->tensors[i].name, name) == 0) {
            return &from->tensors[i];
        }
    }
    return NULL;
}

static int read_matrix(const struct wf_lib_problem *from,
                       int which,
                       struct blaslt_matrix *x,
                       const struct blaslt_says *says)
{
    const struct wf_lib_tensor *tensor = find_tensor(from, NAMES[which].name);
    const char *type = from->get_string(from->ctx, NAMES[which].type);
    if (!type || !wf_dtype_parse(type, &x->dtype)) {
        return missing(NAMES[which].type, says);
    }
    if (from->get_int(from->ctx, NAMES[which].ld, &x->ld) != 0) {
        return missing(NAMES[which].ld, says);
    }
    if (from->get_int(from->ctx, NAMES[which].stride, &x->stride) != 0) {
        return missing(NAMES[which].stride, says);
    }
    if (from->get_int(from->ctx, NAMES[which].offset, &x->offset) != 0) {
        x->offset = 0;
    }
    if (tensor) {
        x->data = tensor->data;
        x->bytes = tensor->bytes;
    }
    return WF_LIB_OK;
}

static int read_sizes(const struct wf_lib_problem *from,
                      struct blaslt_problem *p,
                      const struct blaslt_says *says)
{
    const struct {
        const char *name;
        int64_t *value;
    } sizes[] = {
        { "M", &p->m }, { "N", &p->n }, { "K", &p->k }, { "batch", &p->batch }
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (from->get_int(from->ctx, sizes[i].name, sizes[i].value) != 0) {
            return missing(sizes[i].name, says);
        }
    }
    if (from->get_double(from->ctx, "alpha", &p->alpha) != 0 ||
        from->get_double(from->ctx, "beta", &p->beta) != 0) {
        return missing("alpha and beta", says);
    }
    const char *a = from->get_string(from->ctx, "trans_a");
    const char *b = from->get_string(from->ctx, "trans_b");
    if (!a || !b) {
        return missing("trans_a and trans_b", says);
    }
    p->trans_a = a[0] == 'T';
    p->trans_b = b[0] == 'T';
    return WF_LIB_OK;
}

static struct blaslt_vector vector_of(const struct wf_lib_problem *from,
                                      const char *name)
{
    const struct wf_lib_tensor *t = find_tensor(from, name);
    return t ? (struct blaslt_vector){ t->data, t->bytes }
             : (struct blaslt_vector){ NULL, 0 };
}

/* The text of a parameter, or what it is when nobody says. */
static const char *text_of(const struct wf_lib_problem *from, const char *name)
{
    const char *text = from->get_string(from->ctx, name);
    return text ? text : "none";
}

static int read_epilogue(const struct wf_lib_problem *from,
                         struct blaslt_problem *p,
                         const struct blaslt_says *says)
{
    const char *scale = text_of(from, "scale");
    const char *activation = text_of(from, "activation");
    p->has_bias = strcmp(text_of(from, "bias"), "none") != 0;
    p->scale = strcmp(scale, "none") == 0  ? BLASLT_UNSCALED
               : strcmp(scale, "row") == 0 ? BLASLT_SCALE_ROW
                                           : BLASLT_SCALE_OTHER;
    p->activation = strcmp(activation, "none") == 0   ? BLASLT_LINEAR
                    : strcmp(activation, "silu") == 0 ? BLASLT_SILU
                                                      : BLASLT_OTHER_ACTIVATION;
    p->bias = vector_of(from, "bias");
    p->scale_a = vector_of(from, "SA");
    p->scale_b = vector_of(from, "SB");
    if (!p->has_bias) {
        return WF_LIB_OK;
    }
    const char *type = from->get_string(from->ctx, "bias_type");
    return type && wf_dtype_parse(type, &p->bias_type) ? WF_LIB_OK
                                                       : missing("bias_type", says);
}

/* What the op promises and the libraries do not. */
static int refuse(const struct blaslt_problem *p, const struct blaslt_says *says)
{
    if (blaslt_has_nothing_to_do(p)) {
        return WF_LIB_OK;
    }
    if (p->k == 0) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "K = 0: the library multiplies no empty matrices");
    }
    if (p->alpha == 0.0) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "alpha = 0: the library does not promise to leave A and B "
                          "unread");
    }
    if (p->activation == BLASLT_OTHER_ACTIVATION) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "the library has no epilogue for a gated activation");
    }
    if (p->scale != BLASLT_UNSCALED && p->batch > 1) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "row scales of a batch: the library has no stride for them");
    }
    return WF_LIB_OK;
}

static void set_extents(struct blaslt_problem *p)
{
    const int64_t m = p->m, n = p->n, k = p->k;
    const int64_t rows[] = { p->trans_a ? k : m, p->trans_b ? n : k, m, m };
    const int64_t cols[] = { p->trans_a ? m : k, p->trans_b ? k : n, n, n };
    for (int i = 0; i < BLASLT_MATRICES; i++) {
        p->matrix[i].rows = rows[i];
        p->matrix[i].cols = cols[i];
    }
}

int blaslt_read_problem(const struct wf_lib_problem *from,
                        const struct wf_lib_device *device,
                        struct blaslt_problem *ret,
                        const struct blaslt_says *says)
{
    memset(ret, 0, sizeof *ret);
    if (from->size < sizeof *from || device->size < sizeof *device) {
        return blaslt_say(says, WF_LIB_FAILED,
                          "the caller's ABI is older than this library");
    }
    if (strcmp(from->op, "gemm") != 0) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED, "op is %s, not gemm", from->op);
    }
    int rc = read_sizes(from, ret, says);
    for (int i = 0; i < BLASLT_MATRICES && rc == WF_LIB_OK; i++) {
        rc = read_matrix(from, i, &ret->matrix[i], says);
    }
    if (rc == WF_LIB_OK) {
        rc = read_epilogue(from, ret, says);
    }
    set_extents(ret);
    return rc == WF_LIB_OK ? refuse(ret, says) : rc;
}
