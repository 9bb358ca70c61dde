/* See attention_fixture.h. Failures in here are failures of the test: they abort it
 * with the text of the error. */
#include "attention_fixture.h"

#include "core/buf.h"
#include "core/rng.h"
#include "packs/library_abi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(bool good, const char *what, const struct wf_error *err)
{
    if (!good) {
        (void)fprintf(stderr, "fixture: %s: %s\n", what, err ? err->text : "");
        abort();
    }
}

/* --- data sets --- */

static void add_tensor(struct wf_dataset_tensor *list,
                       size_t *n,
                       const char *name,
                       struct fx_ints ints)
{
    if (!ints.v) {
        return;
    }
    list[(*n)++] = (struct wf_dataset_tensor){ .name = name,
                                               .dtype = WF_I32,
                                               .ndim = 1,
                                               .dim = { (int64_t)ints.n },
                                               .data = ints.v,
                                               .bytes = ints.n * sizeof(int32_t) };
}

static struct wf_dataset *make_dataset(const struct fx_table *t)
{
    struct wf_dataset_tensor list[4];
    struct wf_json *meta = wf_json_object();
    struct wf_buf image = WF_BUF_INIT;
    struct wf_dataset *ds = NULL;
    struct wf_error err = { 0 };
    size_t n = 0;

    add_tensor(list, &n, "kv_indptr", t->kv_indptr);
    add_tensor(list, &n, "kv_indices", t->kv_indices);
    add_tensor(list, &n, "kv_last_page_len", t->kv_last_page_len);
    add_tensor(list, &n, "qo_indptr", t->qo_indptr);
    if (t->num_pages) {
        need(wf_json_set_string(meta, "num_pages", t->num_pages, &err) == WF_OK, "json",
             &err);
    }
    if (t->page_size) {
        need(wf_json_set_string(meta, "page_size", t->page_size, &err) == WF_OK, "json",
             &err);
    }
    need(wf_dataset_write(list, n, meta, &image, &err) == WF_OK, "write", &err);
    need(wf_dataset_parse(image.data, image.len, "table", &ds, &err) == WF_OK, "parse",
         &err);
    wf_buf_free(&image);
    wf_json_free(meta);
    return ds;
}

static enum wf_status find_dataset(void *ctx,
                                   const char *sha256,
                                   const struct wf_dataset **ret,
                                   struct wf_error *err)
{
    const struct wf_dataset *ds = ctx;

    if (!ds || strcmp(sha256, wf_dataset_sha256(ds)) != 0) {
        return wf_errorf(err, WF_ENOTFOUND, "no data set %s", sha256);
    }
    *ret = ds;
    return WF_OK;
}

enum wf_status fx_parse(struct fx *f,
                        const char *json,
                        const struct fx_table *table,
                        struct wf_error *err)
{
    struct wf_dataset_resolver resolver = { find_dataset, NULL };
    struct wf_json *v = NULL;
    enum wf_status st;

    *f = (struct fx){ 0 };
    st = wf_json_parse(json, strlen(json), "case", &v, err);
    need(st == WF_OK, "case text", err);
    need(wf_json_set_string(v, "op", "attention", err) == WF_OK, "json", err);
    if (table) {
        char text[ATTENTION_SHA_TEXT];

        f->ds = make_dataset(table);
        (void)snprintf(text, sizeof(text), "sha256:%s", wf_dataset_sha256(f->ds));
        need(wf_json_set_string(v, "page_table", text, err) == WF_OK, "json", err);
    }
    resolver.ctx = f->ds;
    st = wf_case_parse(v, "test", &resolver, &f->c, err);
    wf_json_free(v);
    if (st == WF_OK) {
        f->a = wf_case_state(f->c);
    } else {
        wf_dataset_free(f->ds);
        f->ds = NULL;
    }
    return st;
}

/* --- memory --- */

void fx_poison_outputs(struct fx *f)
{
    for (size_t i = ATTENTION_O; i <= ATTENTION_LSE; i++) {
        if (f->data[i]) {
            wf_poison(f->a->tensor[i].dtype, f->data[i],
                      (size_t)f->a->tensor[i].elements);
        }
    }
}

void fx_open(struct fx *f, const char *json, const struct fx_table *table)
{
    struct wf_error err = { 0 };

    need(fx_parse(f, json, table, &err) == WF_OK, json, &err);
    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        const struct wf_tensor *t = wf_case_tensor(f->c, i);

        if (t->bytes == 0) {
            continue;
        }
        f->data[i] = wf_calloc((size_t)t->bytes, 1);
        need(f->data[i] != NULL, "memory", NULL);
        if (t->role != WF_ROLE_OUTPUT) {
            need(wf_case_fill(f->c, i, 0, 0, t->elements, f->data[i], &err) == WF_OK,
                 t->name, &err);
        }
    }
    fx_poison_outputs(f);
}

static int32_t *permutation(int64_t n, uint64_t seed)
{
    struct wf_rng rng = { seed, 0, 0 };
    int32_t *p = wf_calloc((size_t)n, sizeof(*p));

    need(p != NULL, "memory", NULL);
    for (int64_t i = 0; i < n; i++) {
        int64_t j = (int64_t)wf_rng_next_below(&rng, (uint64_t)i + 1);

        p[i] = p[j];
        p[j] = (int32_t)i;
    }
    return p;
}

void fx_open_paged(struct fx *f,
                   const char *json,
                   int64_t page_size,
                   const int64_t *kv_lens,
                   const int64_t *q_lens,
                   int64_t batch)
{
    int32_t *indptr = wf_calloc((size_t)batch + 1, sizeof(*indptr));
    int32_t *last = wf_calloc((size_t)batch, sizeof(*last));
    int32_t *qo = wf_calloc((size_t)batch + 1, sizeof(*qo));
    char pool[32], page[32];
    struct fx_table t = { .num_pages = pool, .page_size = page };
    int32_t *ids;

    need(indptr && last && qo, "memory", NULL);
    for (int64_t b = 0; b < batch; b++) {
        int64_t pages = (kv_lens[b] + page_size - 1) / page_size;

        indptr[b + 1] = indptr[b] + (int32_t)pages;
        last[b] = (int32_t)(pages > 0 ? kv_lens[b] - (pages - 1) * page_size : 0);
        qo[b + 1] = qo[b] + (int32_t)(q_lens ? q_lens[b] : 0);
    }
    ids = permutation(indptr[batch] + 2, 7);
    (void)snprintf(pool, sizeof(pool), "%d", indptr[batch] + 2);
    (void)snprintf(page, sizeof(page), "%lld", (long long)page_size);
    t.kv_indptr = (struct fx_ints){ indptr, (size_t)batch + 1 };
    t.kv_indices = (struct fx_ints){ ids, (size_t)indptr[batch] };
    t.kv_last_page_len = (struct fx_ints){ last, (size_t)batch };
    if (q_lens) {
        t.qo_indptr = (struct fx_ints){ qo, (size_t)batch + 1 };
    }
    fx_open(f, json, &t);
    free(indptr);
    free(last);
    free(qo);
    free(ids);
}

void fx_close(struct fx *f)
{
    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        free(f->data[i]);
    }
    wf_case_free(f->c);
    wf_dataset_free(f->ds);
    *f = (struct fx){ 0 };
}

void fx_set(struct fx *f, enum attention_tensor t, int64_t i, double v)
{
    size_t width = wf_dtype_bytes(f->a->tensor[t].dtype);

    wf_from_f64(f->a->tensor[t].dtype, &v, f->data[t] + (size_t)i * width, 1);
}

double fx_get(const struct fx *f, enum attention_tensor t, int64_t i)
{
    size_t width = wf_dtype_bytes(f->a->tensor[t].dtype);
    double v;

    wf_to_f64(f->a->tensor[t].dtype, f->data[t] + (size_t)i * width, &v, 1);
    return v;
}

void fx_set_all(struct fx *f, enum attention_tensor t, double v)
{
    for (uint64_t i = 0; i < f->a->tensor[t].elements; i++) {
        fx_set(f, t, (int64_t)i, v);
    }
}

void fx_set_key(struct fx *f, bool values, int64_t b, int64_t j, int64_t h, double v)
{
    const struct attention *a = f->a;
    int64_t d = values ? a->head_dim_v : a->head_dim;
    enum attention_tensor t = values ? ATTENTION_V : ATTENTION_K;
    int64_t row = (a->kv_start[b] + j) * a->kv_heads + h;

    if (a->layout == ATTENTION_PAGED) {
        int64_t page = a->kv_indices[a->kv_indptr[b] + j / a->page_size];
        int64_t slot = j % a->page_size;

        t = values ? ATTENTION_V_CACHE : ATTENTION_K_CACHE;
        row = a->head_major ? (page * a->kv_heads + h) * a->page_size + slot
                            : (page * a->page_size + slot) * a->kv_heads + h;
    }
    for (int64_t e = 0; e < d; e++) {
        fx_set(f, t, row * d + e, v);
    }
}

double fx_o(const struct fx *f, int64_t row, int64_t head)
{
    return fx_get(f, ATTENTION_O, (row * f->a->q_heads + head) * f->a->head_dim_v);
}

double fx_lse(const struct fx *f, int64_t row, int64_t head)
{
    return fx_get(f, ATTENTION_LSE, row * f->a->q_heads + head);
}

/* --- reference and check --- */

static enum wf_status read_input(void *ctx,
                                 size_t tensor,
                                 uint64_t first,
                                 uint64_t n,
                                 void *dst,
                                 struct wf_error *err)
{
    const struct fx *f = ctx;
    size_t width = wf_dtype_bytes(f->a->tensor[tensor].dtype);

    (void)err;
    memcpy(dst, f->data[tensor] + first * width, n * width);
    return WF_OK;
}

static enum wf_status read_output(void *ctx,
                                  size_t tensor,
                                  uint64_t offset_bytes,
                                  uint64_t n_bytes,
                                  void *dst,
                                  struct wf_error *err)
{
    const struct fx *f = ctx;

    (void)err;
    memcpy(dst, f->data[tensor] + offset_bytes, n_bytes);
    return WF_OK;
}

struct attention_source fx_source(struct fx *f)
{
    return (struct attention_source){ read_input, f };
}

struct attention_reference *fx_reference(struct fx *f, double budget_macs)
{
    struct wf_reference_options options = {
        .threads = 2, .budget_macs = budget_macs, .split = 1, .accumulate_type = WF_F32
    };
    struct attention_source source = fx_source(f);
    struct attention_reference *ref = NULL;
    struct wf_error err = { 0 };

    need(attention_reference_from(f->a, &source, &options, 5, &ref, &err) == WF_OK,
         "reference", &err);
    return ref;
}

void fx_check(struct fx *f, struct wf_check_report *ret)
{
    struct attention_reference *ref = fx_reference(f, 0);
    struct wf_output_source outputs = { read_output, f };
    struct wf_error err = { 0 };

    need(attention_reference_check(ref, &outputs, ret, &err) == WF_OK, "check", &err);
    attention_reference_free(ref);
}

/* --- the host kernel --- */

static bool look_up(const void *ctx, const char *name, struct wf_value *v)
{
    struct wf_scope scope = wf_case_scope(ctx);

    return scope.find(scope.ctx, name, v, NULL) == WF_OK;
}

static int get_int(const void *ctx, const char *name, int64_t *ret)
{
    struct wf_value v;

    if (!look_up(ctx, name, &v) || v.kind != WF_VALUE_INT) {
        return 1;
    }
    *ret = v.i;
    return 0;
}

static int get_double(const void *ctx, const char *name, double *ret)
{
    struct wf_value v;

    if (!look_up(ctx, name, &v) || v.kind != WF_VALUE_DOUBLE) {
        return 1;
    }
    *ret = v.d;
    return 0;
}

static const char *get_string(const void *ctx, const char *name)
{
    struct wf_value v;

    return look_up(ctx, name, &v) && v.kind == WF_VALUE_STRING ? v.s : NULL;
}

extern const struct wf_library_v1 *wf_library_kernels_v1(void);

int fx_host(struct fx *f, int threads)
{
    struct wf_lib_tensor tensor[ATTENTION_TENSOR_COUNT];
    struct wf_lib_problem problem = { sizeof(problem),
                                      "attention",
                                      wf_case_canonical(f->c),
                                      tensor,
                                      ATTENTION_TENSOR_COUNT,
                                      get_int,
                                      get_double,
                                      get_string,
                                      f->c };
    struct wf_lib_device device = { sizeof(device), 0, threads, "x86-64", NULL };
    const struct wf_lib_kernel *k = wf_library_kernels_v1()->kernels;
    char message[256] = "";
    void *state = NULL;
    int code;

    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        const struct wf_tensor *t = &f->a->tensor[i];

        tensor[i] = (struct wf_lib_tensor){ .name = t->name,
                                            .dtype = wf_dtype_name(t->dtype),
                                            .data = f->data[i],
                                            .bytes = t->bytes,
                                            .ndim = t->ndim };
        memcpy(tensor[i].dim, t->dim, sizeof(t->dim));
        memcpy(tensor[i].stride, t->stride, sizeof(t->stride));
    }
    code = k->supports(&problem, &device, message, sizeof(message));
    if (code == WF_LIB_OK) {
        code = k->prepare(&problem, &device, NULL, &state, message, sizeof(message));
    }
    if (code == WF_LIB_OK) {
        code = k->launch(state, message, sizeof(message));
        k->destroy(state);
    }
    if (code != WF_LIB_OK) {
        (void)fprintf(stderr, "attention_host: %s\n", message);
    }
    return code;
}
