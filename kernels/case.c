/* What all ops share: the members every case has (op, seed, inputs), canonical JSON and
 * id, scope, label; the rest is the op's, called through its table. A case is immutable
 * once parsed (but for wf_case_splice), so every function here may be called from
 * several threads. */
#include "kernels/case.h"

#include "core/buf.h"
#include "kernels/op.h"
#include "kernels/strided.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SEED 1
#define MAX_KEYS     64

struct wf_case {
    const struct wf_op *op;
    void *state;
    uint64_t seed;
    enum wf_inputs inputs;
    struct wf_buf canonical;
    struct wf_buf label;
    char id[WF_SHA256_HEX];
    struct {
        uint64_t offset, base;
        struct wf_case_range *range; /* NULL: none was set */
        size_t count;
    } splice;
};

static const char *const SHARED_KEYS[] = { "op", "seed", "inputs" };
#define SHARED_KEY_COUNT (sizeof SHARED_KEYS / sizeof *SHARED_KEYS)

static enum wf_status unknown_op(const char *name, struct wf_error *err)
{
    struct wf_buf list = WF_BUF_INIT;
    for (size_t i = 0; i < wf_op_count(); i++) {
        (void)wf_buf_printf(&list, NULL, "%s%s", i > 0 ? ", " : "", wf_op_at(i)->name);
    }
    const enum wf_status st =
        wf_errorf(err, WF_EINVAL, "unknown op \"%.64s\"; the ops are: %s", name,
                  wf_buf_cstr(&list));
    wf_buf_free(&list);
    return st;
}

static enum wf_status check_keys(const struct wf_op *op,
                                 const struct wf_json *json,
                                 struct wf_error *err)
{
    const char *keys[MAX_KEYS + 1];
    size_t n = 0;
    for (; n < SHARED_KEY_COUNT; n++) {
        keys[n] = SHARED_KEYS[n];
    }
    for (size_t i = 0; op->keys[i] != NULL; i++) {
        if (n == MAX_KEYS) {
            return wf_errorf(err, WF_EINTERNAL, "op %s has too many members", op->name);
        }
        keys[n++] = op->keys[i];
    }
    keys[n] = NULL;
    return wf_json_only_keys(json, keys, err);
}

static enum wf_status read_inputs(struct wf_case *c,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    const char *text = "normal";
    const enum wf_status st = wf_json_opt_string(json, "inputs", &text, err);
    if (st != WF_OK) {
        return st;
    }
    if (!wf_inputs_parse(text, &c->inputs)) {
        return wf_errorf(err, WF_EINVAL,
                         "inputs is \"%.64s\"; it must be normal, uniform, integers, "
                         "ones, zeros or powers",
                         text);
    }
    return WF_OK;
}

static enum wf_status read_shared(struct wf_case *c,
                                  const struct wf_json *json,
                                  struct wf_error *err)
{
    const char *name;
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "a case must be an object, not %s",
                         wf_json_type_name(wf_json_type(json)));
    }
    enum wf_status st = wf_json_get_string(json, "op", &name, err);
    if (st != WF_OK) {
        return st;
    }
    c->op = wf_op_find(name);
    if (c->op == NULL) {
        return unknown_op(name, err);
    }
    st = check_keys(c->op, json, err);
    c->seed = DEFAULT_SEED;
    if (st == WF_OK && wf_json_find(json, "seed") != NULL) {
        st = wf_json_get_u64(json, "seed", 0, UINT64_MAX, &c->seed, err);
    }
    return st == WF_OK ? read_inputs(c, json, err) : st;
}

static enum wf_status make_canonical(struct wf_case *c, struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_string(obj, "op", c->op->name, err);
    if (st == WF_OK && c->seed != DEFAULT_SEED) {
        st = wf_json_set_u64(obj, "seed", c->seed, err);
    }
    if (st == WF_OK && c->inputs != WF_INPUTS_NORMAL) {
        st = wf_json_set_string(obj, "inputs", wf_inputs_name(c->inputs), err);
    }
    if (st == WF_OK) {
        st = c->op->canonical(c->state, obj, err);
    }
    if (st == WF_OK) {
        st = wf_json_write_canonical(obj, &c->canonical, err);
    }
    wf_json_free(obj);
    if (st == WF_OK) {
        wf_sha256_hex(c->canonical.data, c->canonical.len, c->id);
    }
    return st;
}

enum wf_status wf_case_parse(const struct wf_json *json,
                             const char *where,
                             const struct wf_dataset_resolver *datasets,
                             struct wf_case **ret,
                             struct wf_error *err)
{
    struct wf_case *c = wf_calloc(1, sizeof *c);
    if (c == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a case");
    }
    enum wf_status st = read_shared(c, json, err);
    if (st == WF_OK) {
        st = c->op->parse(json, datasets, &c->state, err);
    }
    if (st == WF_OK) {
        st = make_canonical(c, err);
    }
    if (st == WF_OK) {
        st = c->op->label(c->state, &c->label, err);
    }
    if (st != WF_OK) {
        wf_case_free(c);
        return where != NULL && err != NULL ? wf_error_prefix(err, "%s", where) : st;
    }
    *ret = c;
    return WF_OK;
}

void wf_case_free(struct wf_case *c)
{
    if (c == NULL) {
        return;
    }
    if (c->state != NULL) {
        c->op->free_state(c->state);
    }
    wf_buf_free(&c->canonical);
    wf_buf_free(&c->label);
    free(c->splice.range);
    free(c);
}

const struct wf_op *wf_case_op(const struct wf_case *c)
{
    return c->op;
}

const char *wf_case_op_name(const struct wf_case *c)
{
    return c->op->name;
}

const char *wf_case_id(const struct wf_case *c)
{
    return c->id;
}

const char *wf_case_canonical(const struct wf_case *c)
{
    return wf_buf_cstr(&c->canonical);
}

const char *wf_case_dataset(const struct wf_case *c)
{
    return c->op->dataset != NULL ? c->op->dataset(c->state) : NULL;
}

uint64_t wf_case_seed(const struct wf_case *c)
{
    return c->seed;
}

enum wf_inputs wf_case_inputs(const struct wf_case *c)
{
    return c->inputs;
}

const char *wf_case_label(const struct wf_case *c)
{
    return wf_buf_cstr(&c->label);
}

const void *wf_case_state(const struct wf_case *c)
{
    return c->state;
}

size_t wf_case_tensor_count(const struct wf_case *c)
{
    return c->op->tensor_count(c->state);
}

const struct wf_tensor *wf_case_tensor(const struct wf_case *c, size_t i)
{
    return i < wf_case_tensor_count(c) ? c->op->tensor(c->state, i) : NULL;
}

size_t wf_case_tensor_index(const struct wf_case *c, const char *name)
{
    for (size_t i = 0; i < wf_case_tensor_count(c); i++) {
        if (strcmp(c->op->tensor(c->state, i)->name, name) == 0) {
            return i;
        }
    }
    return (size_t)-1;
}

static enum wf_status scope_find(const void *ctx,
                                 const char *name,
                                 struct wf_value *ret,
                                 struct wf_error *err)
{
    const struct wf_case *c = ctx;
    if (strcmp(name, "op") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = c->op->name };
        return WF_OK;
    }
    if (strcmp(name, "inputs") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING,
                                  .s = wf_inputs_name(c->inputs) };
        return WF_OK;
    }
    return c->op->param(c->state, name, ret, err);
}

static const char *scope_name_at(const void *ctx, size_t i)
{
    const struct wf_case *c = ctx;
    size_t n = 0;
    if (i == 0) {
        return "op";
    }
    if (i == 1) {
        return "inputs";
    }
    while (c->op->params[n] != NULL) {
        n++;
    }
    return i - 2 < n ? c->op->params[i - 2] : NULL;
}

struct wf_scope wf_case_scope(const struct wf_case *c)
{
    return (struct wf_scope){ .find = scope_find, .ctx = c, .name_at = scope_name_at };
}

uint64_t wf_case_run(const struct wf_case *c, size_t i, uint64_t at, bool *ret_used)
{
    struct wf_strided s;
    if (c->op->run != NULL) {
        return c->op->run(c->state, i, at, ret_used);
    }
    wf_strided_init(&s, c->op->tensor(c->state, i));
    return wf_strided_run(&s, at, ret_used);
}

double wf_case_flops(const struct wf_case *c)
{
    return c->op->flops(c->state);
}

double wf_case_bytes(const struct wf_case *c)
{
    return c->op->bytes(c->state);
}

enum wf_dtype wf_case_math_type(const struct wf_case *c)
{
    return c->op->math_type(c->state);
}

/* What of elements first .. first + n lies in a range, from the range's own seed; a
 * later range wins. */
static enum wf_status fill_ranges(const struct wf_case *c,
                                  size_t tensor,
                                  uint64_t first,
                                  uint64_t n,
                                  void *dst,
                                  struct wf_error *err)
{
    const size_t bytes = wf_dtype_bytes(wf_case_tensor(c, tensor)->dtype);
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < c->splice.count; i++) {
        const struct wf_case_range *r = &c->splice.range[i];
        const uint64_t from = r->first > first ? r->first : first;
        const uint64_t to = r->first + r->n < first + n ? r->first + r->n : first + n;
        if (r->tensor == tensor && from < to) {
            st = c->op->fill(c, c->state, tensor, c->seed + r->seed_offset, from,
                             to - from, (char *)dst + (from - first) * bytes, err);
        }
    }
    return st;
}

enum wf_status wf_case_fill(const struct wf_case *c,
                            size_t tensor,
                            uint64_t seed_offset,
                            uint64_t first,
                            uint64_t n,
                            void *dst,
                            struct wf_error *err)
{
    const struct wf_tensor *t = wf_case_tensor(c, tensor);
    if (t == NULL) {
        return wf_errorf(err, WF_EINVAL, "%s has no tensor %zu", c->op->name, tensor);
    }
    if (t->role == WF_ROLE_OUTPUT) {
        return wf_errorf(err, WF_EINVAL,
                         "tensor %s of %s is an output; it is not filled", t->name,
                         c->op->name);
    }
    if (first > t->elements || n > t->elements - first) {
        return wf_errorf(err, WF_ERANGE,
                         "elements %llu + %llu of tensor %s are outside its %llu",
                         (unsigned long long)first, (unsigned long long)n, t->name,
                         (unsigned long long)t->elements);
    }
    const bool spliced = c->splice.range != NULL && seed_offset == c->splice.offset;
    const uint64_t seed = c->seed + (spliced ? c->splice.base : seed_offset);
    const enum wf_status st =
        c->op->fill(c, c->state, tensor, seed, first, n, dst, err);
    return st == WF_OK && spliced ? fill_ranges(c, tensor, first, n, dst, err) : st;
}

enum wf_status wf_case_splice(struct wf_case *c,
                              uint64_t offset,
                              uint64_t base,
                              const struct wf_case_range *ranges,
                              size_t n,
                              struct wf_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct wf_tensor *t = wf_case_tensor(c, ranges[i].tensor);
        if (t == NULL || t->role != WF_ROLE_INPUT) {
            return wf_errorf(err, WF_EINVAL, "tensor %zu of %s is no input",
                             ranges[i].tensor, c->op->name);
        }
        if (ranges[i].first > t->elements ||
            ranges[i].n > t->elements - ranges[i].first) {
            return wf_errorf(err, WF_ERANGE, "a range outside tensor %s", t->name);
        }
    }
    if (offset == base) {
        return wf_errorf(err, WF_EINVAL, "a splice needs a seed offset of its own");
    }
    struct wf_case_range *copy = wf_calloc(n + 1, sizeof(*copy));
    if (copy == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu ranges", n);
    }
    if (n > 0) {
        memcpy(copy, ranges, n * sizeof(*copy));
    }
    free(c->splice.range);
    c->splice.offset = offset;
    c->splice.base = base;
    c->splice.range = copy;
    c->splice.count = n;
    return WF_OK;
}

enum wf_status wf_reference_create(const struct wf_case *c,
                                   const struct wf_reference_options *options,
                                   struct wf_reference **ret,
                                   struct wf_error *err)
{
    return c->op->reference->create(c, c->state, options, ret, err);
}

void wf_reference_destroy(const struct wf_case *c, struct wf_reference *ref)
{
    if (ref != NULL) {
        c->op->reference->destroy(ref);
    }
}

uint64_t wf_reference_bytes(const struct wf_case *c, const struct wf_reference *ref)
{
    return ref != NULL ? c->op->reference->bytes(ref) : 0;
}

enum wf_status wf_reference_check(const struct wf_case *c,
                                  struct wf_reference *ref,
                                  const struct wf_output_source *outputs,
                                  struct wf_check_report *ret,
                                  struct wf_error *err)
{
    return c->op->reference->check(ref, outputs, ret, err);
}
