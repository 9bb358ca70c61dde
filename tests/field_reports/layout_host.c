/* Plain host kernels of attention and gemm with one fault each (layout_faults.h): the
 * "right" ones take every layout that a case can say. */
#include "layout_faults.h"

#include "core/buf.h"
#include "core/dtype.h"
#include "packs/library_abi.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS 512
#define MAX_DIM  1024
#define TILE     16

struct matrix {
    char *data;
    enum wf_dtype type;
    int width;
    int64_t dim[6], stride[6];
    uint64_t bytes;
};

struct state {
    int fault;
    struct matrix t[11];
    int64_t page_size, group, q_len, kv_len, causal;
    int paged, head_major, lse;
    double scale;
    int64_t batch, q_heads;
};

static const char *const ATTENTION[] = {
    "Q",         "k_cache",    "v_cache",          "O",
    "kv_indptr", "kv_indices", "kv_last_page_len", "qo_indptr"
};
enum {
    Q,
    K,
    V,
    O,
    INDPTR,
    INDICES,
    LAST,
    QO
};

static void read_tensor(const struct wf_lib_problem *p,
                        const char *name,
                        struct matrix *ret)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        const struct wf_lib_tensor *t = &p->tensors[i];
        if (strcmp(t->name, name) == 0 && t->bytes > 0) {
            ret->data = t->data;
            (void)wf_dtype_parse(t->dtype, &ret->type);
            ret->width = (int)wf_dtype_bytes(ret->type);
            memcpy(ret->dim, t->dim, sizeof(ret->dim));
            memcpy(ret->stride, t->stride, sizeof(ret->stride));
            ret->bytes = t->bytes;
        }
    }
}

static int64_t number(const struct wf_lib_problem *p, const char *name)
{
    int64_t v = 0;
    (void)p->get_int(p->ctx, name, &v);
    return v;
}

static char *element(int fault, const struct matrix *m, int64_t at)
{
    char *base = m->data;
    if (fault == FAULT_ALIGNED) {
        base -= (uintptr_t)base % 16;
    }
    return base + faulty_offset(fault, at, m->width) * m->width;
}

static double load(int fault, const struct matrix *m, int64_t at)
{
    double v;
    wf_to_f64(m->type, element(fault, m, at), &v, 1);
    return v;
}

static void store(int fault, const struct matrix *m, int64_t at, double v)
{
    wf_from_f64(m->type, &v, element(fault, m, at), 1);
}

static const int32_t *ints(const struct matrix *m)
{
    return (const int32_t *)(const void *)m->data;
}

/* What the faults do beside the answer. */
static void spoil(struct state *s, struct matrix *out, struct matrix *in)
{
    static const unsigned char old_guard = 0xa5;
    if (s->fault == FAULT_INPUT) {
        in->data[0] ^= 1;
    }
    if (s->fault == FAULT_INDEX) {
        s->t[INDICES].data[0] ^= 1;
    }
    if (s->fault == FAULT_BEFORE) {
        out->data[-1] ^= 1;
    }
    if (s->fault == FAULT_GUARD) {
        memset(out->data + out->bytes, old_guard, 64);
    }
}

/* --- attention --- */

static int64_t key_at(const struct state *s,
                      int values,
                      int64_t b,
                      int64_t j,
                      int64_t h)
{
    const struct matrix *m = &s->t[values ? V : K];
    const int token = s->paged ? (s->head_major ? 2 : 1) : 1;
    const int head = s->paged ? (s->head_major ? 1 : 2) : 2;
    if (!s->paged) {
        return faulty_offset(
            s->fault, b * m->stride[0] + j * m->stride[1] + h * m->stride[2], m->width);
    }
    const int64_t d = m->dim[3], heads = m->dim[head];
    const struct layout_pool pool = {
        m->stride[0],
        m->stride[token],
        m->stride[head],
        d * heads * s->page_size,
        s->head_major ? d : d * heads,
        s->head_major ? d * s->page_size : d,
    };
    const int32_t *list = ints(&s->t[INDICES]) + ints(&s->t[INDPTR])[b];
    int64_t column = j / s->page_size;
    if (s->fault == FAULT_COLUMN) {
        column += 8; /* the tile's last column, whether or not there is one */
    }
    return pool_offset(s->fault, &pool, list[column], (int)(j % s->page_size), (int)h,
                       m->width);
}

static int64_t keys_of(const struct state *s, int64_t b)
{
    if (!s->paged) {
        return s->kv_len;
    }
    const int64_t pages = ints(&s->t[INDPTR])[b + 1] - ints(&s->t[INDPTR])[b];
    return pages > 0 ? (pages - 1) * s->page_size + ints(&s->t[LAST])[b] : 0;
}

static void attend(const struct state *s, int64_t b, int64_t row, int64_t i, int64_t h)
{
    const struct matrix *q = &s->t[Q], *o = &s->t[O];
    const int dense = s->fault == FAULT_DENSE;
    const int64_t keys = keys_of(s, b), d = q->dim[2], dv = o->dim[2];
    const int64_t end = s->causal ? i + keys - s->q_len + 1 : keys;
    const int64_t qt = dense ? d * q->dim[1] : q->stride[0],
                  qh = dense ? d : q->stride[1];
    const int64_t ot = dense ? dv * o->dim[1] : o->stride[0],
                  oh = dense ? dv : o->stride[1];
    double p[MAX_KEYS], out[MAX_DIM] = { 0 }, max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < end; j++) {
        const int64_t at = key_at(s, 0, b, j, h / s->group);
        p[j] = 0;
        for (int64_t c = 0; c < d; c++) {
            /* The pool's offset has had its fault. */
            p[j] += load(s->fault, q, row * qt + h * qh + c) *
                    load(s->fault == FAULT_ALIGNED ? s->fault : FAULT_RIGHT, &s->t[K],
                         at + c);
        }
        p[j] *= s->scale;
        max = p[j] > max || isnan(p[j]) ? p[j] : max;
    }
    for (int64_t j = 0; j < end; j++) {
        const int64_t at = key_at(s, 1, b, j, h / s->group);
        p[j] = exp(p[j] - max);
        sum += p[j];
        for (int64_t c = 0; c < dv; c++) {
            out[c] += p[j] * load(s->fault == FAULT_ALIGNED ? s->fault : FAULT_RIGHT,
                                  &s->t[V], at + c);
        }
    }
    for (int64_t c = 0; c < dv; c++) {
        store(s->fault, o, row * ot + h * oh + c, end > 0 ? out[c] / sum : 0);
    }
}

static int run_attention(struct state *s)
{
    for (int64_t b = 0; b < s->batch; b++) {
        const int32_t *qo = ints(&s->t[QO]);
        const int64_t first = qo ? qo[b] : b * s->q_len;
        const int64_t rows = qo ? qo[b + 1] - qo[b] : s->q_len;
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t h = 0; h < s->q_heads; h++) {
                attend(s, b, first + i, i, h);
            }
        }
    }
    spoil(s, &s->t[O], &s->t[s->paged ? V : K]);
    return WF_LIB_OK;
}

static void read_attention(const struct wf_lib_problem *p, struct state *s)
{
    for (size_t i = 0; i < sizeof(ATTENTION) / sizeof(ATTENTION[0]); i++) {
        read_tensor(p, ATTENTION[i], &s->t[i]);
    }
    s->paged = strcmp(p->get_string(p->ctx, "layout"), "paged") == 0;
    s->head_major = strcmp(p->get_string(p->ctx, "kv_layout"), "HND") == 0;
    if (!s->paged) {
        read_tensor(p, "K", &s->t[K]);
        read_tensor(p, "V", &s->t[V]);
    }
    s->page_size = number(p, "page_size");
    s->group = number(p, "group");
    s->q_len = number(p, "max_q_len");
    s->kv_len = number(p, "max_kv_len");
    s->causal = number(p, "causal");
    s->batch = number(p, "batch");
    s->q_heads = number(p, "q_heads");
    (void)p->get_double(p->ctx, "scale", &s->scale);
}

/* --- gemm: alpha and beta are 1 and 0, A is not transposed --- */

static int64_t at3(const struct state *s, int which, int64_t b, int64_t r, int64_t c)
{
    const struct matrix *m = &s->t[which];
    if (s->fault == FAULT_DENSE) {
        return (b * m->dim[1] + r) * m->dim[2] + c;
    }
    return b * m->stride[0] + r * m->stride[1] + c;
}

static int run_gemm(struct state *s)
{
    const struct matrix *a = &s->t[0], *b = &s->t[1], *d = &s->t[2];
    const int turned = s->head_major; /* trans_b */
    const int64_t k = a->dim[2], n = d->dim[2];
    int64_t m = d->dim[1];
    if (s->fault == FAULT_GRID16 && m > 65535 * TILE) {
        m = 65535 * TILE;
    }
    for (int64_t i = 0; i < d->dim[0] * m * n; i++) {
        const int64_t z = i / (m * n), r = i / n % m, c = i % n;
        double sum = 0;
        for (int64_t x = 0; x < k; x++) {
            sum += load(s->fault, a, at3(s, 0, z, r, x)) *
                   load(s->fault, b, turned ? at3(s, 1, z, c, x) : at3(s, 1, z, x, c));
        }
        store(s->fault, d, at3(s, 2, z, r, c), sum);
    }
    for (int64_t r = m; s->fault == FAULT_TILE && r % 128 != 0; r++) {
        store(s->fault, d, at3(s, 2, 0, r, 0), 0);
    }
    if (s->fault == FAULT_PADDING) {
        store(s->fault, d, n, 0);
    }
    spoil(s, &s->t[2], &s->t[0]);
    return WF_LIB_OK;
}

static void read_gemm(const struct wf_lib_problem *p, struct state *s)
{
    read_tensor(p, "A", &s->t[0]);
    read_tensor(p, "B", &s->t[1]);
    read_tensor(p, "D", &s->t[2]);
    s->head_major = p->get_string(p->ctx, "trans_b")[0] == 'T';
}

/* --- the entry --- */

static int supports(const struct wf_lib_problem *p,
                    const struct wf_lib_device *device,
                    char *message,
                    size_t n)
{
    (void)device;
    (void)p;
    (void)message;
    (void)n;
    return WF_LIB_OK;
}

static int prepare_fault(const struct wf_lib_problem *p, int fault, void **ret)
{
    struct state *s = wf_calloc(1, sizeof(*s));
    if (!s) {
        return WF_LIB_NO_MEMORY;
    }
    s->fault = fault;
    if (strcmp(p->op, "attention") == 0) {
        read_attention(p, s);
    } else {
        read_gemm(p, s);
    }
    s->lse = strcmp(p->op, "attention") == 0;
    *ret = s;
    return WF_LIB_OK;
}

static int launch(void *state, char *message, size_t n)
{
    struct state *s = state;
    (void)message;
    (void)n;
    return s->lse ? run_attention(s) : run_gemm(s);
}

#define X(name, text)                                                              \
    static int prepare_##name(const struct wf_lib_problem *p,                      \
                              const struct wf_lib_device *device, void *workspace, \
                              void **ret, char *message, size_t n)                 \
    {                                                                              \
        (void)device;                                                              \
        (void)workspace;                                                           \
        (void)message;                                                             \
        (void)n;                                                                   \
        return prepare_fault(p, FAULT_##name, ret);                                \
    }
LAYOUT_FAULTS(X)
#undef X

static const struct wf_lib_kernel KERNELS[] = {
#define X(id, text)                \
    { .name = "attention_" text,   \
      .op = "attention",           \
      .supports = supports,        \
      .prepare = prepare_##id,     \
      .launch = launch,            \
      .destroy = free },           \
        { .name = "gemm_" text,    \
          .op = "gemm",            \
          .supports = supports,    \
          .prepare = prepare_##id, \
          .launch = launch,        \
          .destroy = free },
    LAYOUT_FAULTS(X)
#undef X
};

static const struct wf_library_v1 LIBRARY = { WF_LIBRARY_ABI_VERSION,
                                              sizeof(struct wf_lib_kernel),
                                              "layout-faults",
                                              "1",
                                              KERNELS,
                                              sizeof(KERNELS) / sizeof(KERNELS[0]) };

__attribute__((visibility("default"))) const struct wf_library_v1 *
wf_library_kernels_v1(void);

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    return &LIBRARY;
}
