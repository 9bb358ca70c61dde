/* Reads a problem from the library interface and says where its rows lie. */
#include "kernels/attention/attention_host.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct wf_lib_tensor *find_tensor(const struct wf_lib_problem *in,
                                               const char *name)
{
    for (size_t i = 0; i < in->tensor_count; i++) {
        if (strcmp(in->tensors[i].name, name) == 0 && in->tensors[i].bytes > 0) {
            return &in->tensors[i];
        }
    }
    return NULL;
}

struct reader {
    const struct wf_lib_problem *in;
    char *message;
    size_t message_bytes;
    int code;
};

static void fail(struct reader *r, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(struct reader *r, int code, const char *fmt, ...)
{
    va_list args;

    if (r->code != WF_LIB_OK) {
        return;
    }
    r->code = code;
    va_start(args, fmt);
    (void)vsnprintf(r->message, r->message_bytes, fmt, args);
    va_end(args);
}

static int64_t get_int(struct reader *r, const char *name)
{
    int64_t v = 0;

    if (r->in->get_int(r->in->ctx, name, &v) != 0) {
        fail(r, WF_LIB_FAILED, "the problem has no integer %s", name);
    }
    return v;
}

static double get_double(struct reader *r, const char *name)
{
    double v = 0;

    if (r->in->get_double(r->in->ctx, name, &v) != 0) {
        fail(r, WF_LIB_FAILED, "the problem has no number %s", name);
    }
    return v;
}

static const char *get_string(struct reader *r, const char *name)
{
    const char *v = r->in->get_string(r->in->ctx, name);

    if (!v) {
        fail(r, WF_LIB_FAILED, "the problem has no text %s", name);
        return "";
    }
    return v;
}

static bool is_known_type(enum wf_dtype t)
{
    return wf_dtype_is_float(t) && t != WF_F64;
}

/* `required`: a tensor without elements is good only when nothing reads it. */
static void read_matrix(struct reader *r,
                        const char *name,
                        const char *type_param,
                        struct host_matrix *ret)
{
    const struct wf_lib_tensor *t = find_tensor(r->in, name);
    const char *type = get_string(r, type_param);

    if (!wf_dtype_parse(type, &ret->type) || !is_known_type(ret->type)) {
        fail(r, WF_LIB_UNSUPPORTED, "%s is %s, which attention_host does not read",
             type_param, type);
        return;
    }
    ret->width = wf_dtype_bytes(ret->type);
    ret->data = t ? t->data : NULL;
}

static void read_strides(struct reader *r, struct host_problem *p)
{
    p->q.token = get_int(r, "q_token_stride");
    p->q.head = get_int(r, "q_head_stride");
    p->o.token = get_int(r, "o_token_stride");
    p->o.head = get_int(r, "o_head_stride");
    p->k.page = get_int(r, "k_page_stride");
    p->k.token = get_int(r, "k_token_stride");
    p->k.head = get_int(r, "k_head_stride");
    p->v.page = get_int(r, "v_page_stride");
    p->v.token = get_int(r, "v_token_stride");
    p->v.head = get_int(r, "v_head_stride");
}

static const int32_t *read_index(struct reader *r, const char *name)
{
    const struct wf_lib_tensor *t = find_tensor(r->in, name);

    return t ? t->data : NULL;
}

static void read_numbers(struct reader *r, struct host_problem *p)
{
    p->batch = get_int(r, "batch");
    p->q_len = get_int(r, "max_q_len");
    p->kv_len = get_int(r, "max_kv_len");
    p->q_heads = get_int(r, "q_heads");
    p->kv_heads = get_int(r, "kv_heads");
    p->d = get_int(r, "head_dim");
    p->dv = get_int(r, "head_dim_v");
    p->page_size = get_int(r, "page_size");
    p->causal = get_int(r, "causal") != 0;
    p->window_left = get_int(r, "window_left");
    p->window_right = get_int(r, "window_right");
    p->scale = (float)(get_double(r, "scale") * get_double(r, "q_scale") *
                       get_double(r, "k_scale"));
    p->v_scale = (float)get_double(r, "v_scale");
    p->soft_cap = (float)get_double(r, "soft_cap");
    if (r->code == WF_LIB_OK && (p->kv_heads < 1 || p->q_heads % p->kv_heads != 0)) {
        fail(r, WF_LIB_FAILED, "kv_heads does not divide q_heads");
    }
    p->group = r->code == WF_LIB_OK ? p->q_heads / p->kv_heads : 1;
}

int host_problem_read(const struct wf_lib_problem *in,
                      struct host_problem *ret,
                      char *message,
                      size_t message_bytes)
{
    struct reader r = { in, message, message_bytes, WF_LIB_OK };
    struct host_problem p = { .batch = 0 };
    const struct wf_lib_tensor *lse = find_tensor(in, "lse");

    if (strcmp(in->op, "attention") != 0) {
        fail(&r, WF_LIB_UNSUPPORTED, "attention_host does attention, not %s", in->op);
        return r.code;
    }
    p.paged = strcmp(get_string(&r, "layout"), "paged") == 0;
    read_numbers(&r, &p);
    read_matrix(&r, "Q", "q_type", &p.q);
    read_matrix(&r, p.paged ? "k_cache" : "K", "kv_type", &p.k);
    read_matrix(&r, p.paged ? "v_cache" : "V", "kv_type", &p.v);
    read_matrix(&r, "O", "o_type", &p.o);
    read_strides(&r, &p);
    p.lse = lse ? lse->data : NULL;
    p.qo_indptr = read_index(&r, "qo_indptr");
    p.kv_indptr = read_index(&r, "kv_indptr");
    p.kv_indices = read_index(&r, "kv_indices");
    p.last_page_len = read_index(&r, "kv_last_page_len");
    if (r.code == WF_LIB_OK) {
        *ret = p;
    }
    return r.code;
}

int64_t host_q_start(const struct host_problem *p, int64_t sequence)
{
    return p->qo_indptr ? p->qo_indptr[sequence] : sequence * p->q_len;
}

int64_t host_kv_len(const struct host_problem *p, int64_t sequence)
{
    int64_t n;

    if (!p->kv_indptr) {
        return p->kv_len;
    }
    n = (int64_t)p->kv_indptr[sequence + 1] - p->kv_indptr[sequence];
    if (!p->paged || n == 0) {
        return n;
    }
    return (n - 1) * p->page_size + p->last_page_len[sequence];
}

const unsigned char *host_key(const struct host_problem *p,
                              const struct host_item *item,
                              bool values,
                              int64_t j)
{
    const struct host_matrix *m = values ? &p->v : &p->k;
    int64_t b = item->sequence, at = item->kv_head * m->head;

    if (p->paged) {
        int64_t page = p->kv_indices[p->kv_indptr[b] + j / p->page_size];

        at += page * m->page + j % p->page_size * m->token;
    } else {
        int64_t start = p->kv_indptr ? p->kv_indptr[b] : b * p->kv_len;

        at += (start + j) * m->token;
    }
    return m->data + (size_t)at * m->width;
}

unsigned char *host_row(const struct host_matrix *m, int64_t row, int64_t head)
{
    return m->data + (size_t)(row * m->token + head * m->head) * m->width;
}
