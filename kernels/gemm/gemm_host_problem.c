/* Reads the problem that a library kernel is given, by parameter name. */
#include "kernels/gemm/gemm_host.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *type, *ld, *stride;
} NAMES[HOST_TENSOR_COUNT] = {
    { "A", "a_type", "lda", "stride_a" },
    { "B", "b_type", "ldb", "stride_b" },
    { "C", "c_type", "ldc", "stride_c" },
    { "D", "d_type", "ldd", "stride_d" },
};

static int missing(const char *name, char *message, size_t message_bytes)
{
    (void)snprintf(message, message_bytes, "the problem does not say %s", name);
    return WF_LIB_FAILED;
}

static int read_matrix(const struct wf_lib_problem *p,
                       int which,
                       bool has_batches,
                       struct host_matrix *x,
                       char *message,
                       size_t message_bytes)
{
    const char *type = p->get_string(p->ctx, NAMES[which].type);
    if (type == NULL || !wf_dtype_parse(type, &x->dtype)) {
        return missing(NAMES[which].type, message, message_bytes);
    }
    if (p->get_int(p->ctx, NAMES[which].ld, &x->ld) != 0) {
        return missing(NAMES[which].ld, message, message_bytes);
    }
    if (has_batches && p->get_int(p->ctx, NAMES[which].stride, &x->stride) != 0) {
        return missing(NAMES[which].stride, message, message_bytes);
    }
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, NAMES[which].name) == 0) {
            x->data = p->tensors[i].data;
        }
    }
    return WF_LIB_OK;
}

static int read_sizes(const struct wf_lib_problem *p,
                      struct host_gemm *g,
                      char *message,
                      size_t message_bytes)
{
    const struct {
        const char *name;
        int64_t *value;
    } sizes[] = {
        { "M", &g->m },
        { "N", &g->n },
        { "K", &g->k },
        { g->grouped ? "group_count" : "batch", &g->batch },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (p->get_int(p->ctx, sizes[i].name, sizes[i].value) != 0) {
            return missing(sizes[i].name, message, message_bytes);
        }
    }
    if (p->get_double(p->ctx, "alpha", &g->alpha) != 0 ||
        (!g->grouped && p->get_double(p->ctx, "beta", &g->beta) != 0)) {
        return missing("alpha and beta", message, message_bytes);
    }
    return WF_LIB_OK;
}

/* A parameter that is one of three words. */
static int read_word(const struct wf_lib_problem *p,
                     const char *name,
                     const char *const words[3],
                     int *ret,
                     char *message,
                     size_t message_bytes)
{
    const char *text = p->get_string(p->ctx, name);
    for (int i = 0; i < 3 && text != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            *ret = i;
            return WF_LIB_OK;
        }
    }
    if (text == NULL) {
        return missing(name, message, message_bytes);
    }
    (void)snprintf(message, message_bytes, "%s is %s, which this library does not know",
                   name, text);
    return WF_LIB_UNSUPPORTED;
}

static void find_vectors(const struct wf_lib_problem *p, struct host_gemm *g)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        const struct wf_lib_tensor *t = &p->tensors[i];
        if (strcmp(t->name, "bias") == 0) {
            g->bias = t->data;
        } else if (strcmp(t->name, "SA") == 0) {
            g->sa = t->data;
        } else if (strcmp(t->name, "SB") == 0) {
            g->sb = t->data;
        } else if (strcmp(t->name, "offsets") == 0) {
            g->offsets = t->data;
        }
    }
}

static int read_bias(const struct wf_lib_problem *p,
                     struct host_gemm *g,
                     char *message,
                     size_t message_bytes)
{
    static const char *const BIAS[3] = { "none", "n", "" };
    int bias = 0;
    const int rc = read_word(p, "bias", BIAS, &bias, message, message_bytes);
    const char *type = p->get_string(p->ctx, "bias_type");
    if (rc == WF_LIB_OK && (type == NULL || !wf_dtype_parse(type, &g->bias_type))) {
        return missing("bias_type", message, message_bytes);
    }
    g->has_bias = bias == 1;
    return rc;
}

static int read_epilogue(const struct wf_lib_problem *p,
                         struct host_gemm *g,
                         char *message,
                         size_t message_bytes)
{
    static const char *const SCALE[3] = { "none", "row", "block128" };
    static const char *const ACTIVATION[3] = { "none", "silu", "silu_gate" };
    int scale = 0, activation = 0;
    int rc = g->grouped ? WF_LIB_OK : read_bias(p, g, message, message_bytes);
    if (rc == WF_LIB_OK) {
        rc = read_word(p, "scale", SCALE, &scale, message, message_bytes);
    }
    if (rc == WF_LIB_OK) {
        rc =
            read_word(p, "activation", ACTIVATION, &activation, message, message_bytes);
    }
    g->scale = (enum host_scale)scale;
    g->activation = (enum host_activation)activation;
    g->b_cols = g->activation == HOST_SILU_GATE ? 2 * g->n : g->n;
    find_vectors(p, g);
    return rc;
}

float host_scale(const struct host_gemm *g,
                 int tensor,
                 int64_t batch,
                 int64_t line,
                 int64_t k)
{
    const int64_t depth = (g->k + 127) / 128;
    const int64_t own = (g->n + 127) / 128; /* blocks of columns of one half */
    const int64_t half = line >= g->n ? 1 : 0;
    if (g->scale == HOST_SCALE_ROW) {
        return tensor == HOST_A ? g->sa[batch * g->m + line]
                                : g->sb[batch * g->b_cols + line];
    }
    if (tensor == HOST_A) {
        return g->sa[(batch * g->m + line) * depth + k / 128];
    }
    const int64_t block =
        (batch * (g->b_cols > g->n ? 2 : 1) + half) * own + (line - half * g->n) / 128;
    return g->sb[block * depth + k / 128];
}

struct host_gemm host_group(const struct host_gemm *g,
                            int64_t group,
                            int64_t begin,
                            int64_t end)
{
    const int64_t depth = (g->k + 127) / 128;
    const int64_t blocks = (g->n + 127) / 128 * (g->b_cols > g->n ? 2 : 1);
    struct host_gemm r = *g;
    r.m = end - begin;
    r.batch = 1;
    if (g->matrix[HOST_A].data != NULL) {
        r.matrix[HOST_A].data = host_element(g, HOST_A, 0, begin, 0);
    }
    if (g->matrix[HOST_B].data != NULL) {
        r.matrix[HOST_B].data = host_element(g, HOST_B, group, 0, 0);
    }
    r.matrix[HOST_D].data = host_element(g, HOST_D, 0, begin, 0);
    if (g->scale != HOST_UNSCALED) {
        const bool rows = g->scale == HOST_SCALE_ROW;
        r.sa += begin * (rows ? 1 : depth);
        r.sb += group * (rows ? g->b_cols : blocks * depth);
    }
    return r;
}

static int read_operands(const struct wf_lib_problem *p,
                         struct host_gemm *g,
                         char *message,
                         size_t message_bytes)
{
    int rc = WF_LIB_OK;
    for (int i = 0; i < HOST_TENSOR_COUNT && rc == WF_LIB_OK; i++) {
        if (!g->grouped || i != HOST_C) {
            rc = read_matrix(p, i, !g->grouped || i == HOST_B, &g->matrix[i], message,
                             message_bytes);
        }
    }
    return rc == WF_LIB_OK ? read_epilogue(p, g, message, message_bytes) : rc;
}

int host_gemm_read(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   struct host_gemm *ret,
                   char *message,
                   size_t message_bytes)
{
    memset(ret, 0, sizeof *ret);
    if (problem->size < sizeof *problem || device->size < sizeof *device) {
        (void)snprintf(message, message_bytes,
                       "the caller's ABI is older than this library");
        return WF_LIB_FAILED;
    }
    ret->grouped = strcmp(problem->op, "grouped_gemm") == 0;
    if (!ret->grouped && strcmp(problem->op, "gemm") != 0) {
        (void)snprintf(message, message_bytes, "op is %s, not gemm or grouped_gemm",
                       problem->op);
        return WF_LIB_UNSUPPORTED;
    }
    int rc = read_sizes(problem, ret, message, message_bytes);
    if (rc == WF_LIB_OK) {
        rc = read_operands(problem, ret, message, message_bytes);
    }
    if (rc != WF_LIB_OK) {
        return rc;
    }
    const char *a = ret->grouped ? "N" : problem->get_string(problem->ctx, "trans_a");
    const char *b = problem->get_string(problem->ctx, "trans_b");
    if (a == NULL || b == NULL) {
        return missing("trans_a and trans_b", message, message_bytes);
    }
    ret->trans_a = a[0] == 'T';
    ret->trans_b = b[0] == 'T';
    ret->threads = device->cu_count > 0 ? device->cu_count : 1;
    return WF_LIB_OK;
}
