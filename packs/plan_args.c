/* The argument buffer of a launch: bytes, relocations, pointer arrays, tensor maps.
 *
 * The blob is built in a fixed buffer (pack.json limits its size) and copied at the
 * end; what no argument covers stays 0. */
#include "packs/plan_internal.h"

#include "packs/pack_read.h"

#include <math.h>
#include <string.h>

#define MAX_MAP_STRIDE (((int64_t)1 << 40) - 1)

struct blob {
    uint8_t bytes[PACK_MAX_BLOB_BYTES];
    uint32_t used;
    size_t arg; /* index of the argument, for errors */
};

struct target {
    bool is_buffer;
    size_t index; /* WF_PLAN_NULL: the null pointer */
    uint64_t bytes;
};

static enum wf_status no_memory(const struct planner *p)
{
    return wf_errorf(p->err, WF_ENOMEM, "kernel %s: no memory for a plan",
                     p->kernel->name);
}

static enum wf_status find_target(struct planner *p,
                                  size_t arg,
                                  const char *name,
                                  struct target *ret)
{
    *ret = (struct target){ .index = WF_PLAN_NULL };
    if (name[0] == '\0') {
        return WF_OK;
    }
    size_t t = plan_find_tensor(p, name);
    if (t != WF_PLAN_NULL) {
        ret->bytes = p->tensors[t].bytes;
        ret->index = ret->bytes == 0 ? WF_PLAN_NULL : t;
        return WF_OK;
    }
    for (size_t i = 0; i < p->plan->buffer_count; i++) {
        if (strcmp(p->plan->buffer[i].name, name) == 0) {
            ret->is_buffer = true;
            ret->bytes = p->plan->buffer[i].bytes;
            ret->index = ret->bytes == 0 ? WF_PLAN_NULL : i;
            return WF_OK;
        }
    }
    return plan_fail(p,
                     ".args[%zu]: '%.80s' is neither a tensor of the case nor a buffer "
                     "of the kernel",
                     arg, name);
}

/* Target and byte offset of a pointer; both 0 for null. */
static enum wf_status eval_pointer(struct planner *p,
                                   size_t arg,
                                   const struct wf_pack_arg *a,
                                   struct target *ret,
                                   int64_t *ret_offset)
{
    int64_t offset = 0;
    enum wf_status st = find_target(p, arg, a->target, ret);
    if (st == WF_OK && ret->index != WF_PLAN_NULL && a->offset_bytes != NULL) {
        st = wf_expr_eval_i64(a->offset_bytes, p->scope, 0, (int64_t)ret->bytes,
                              &offset, p->err);
    }
    *ret_offset = offset;
    return st;
}

static enum wf_status put_pointer(struct planner *p,
                                  struct blob *b,
                                  const struct wf_pack_arg *a,
                                  uint32_t at,
                                  struct wf_plan_launch *l)
{
    struct target t;
    int64_t offset;
    enum wf_status st = eval_pointer(p, b->arg, a, &t, &offset);
    if (st == WF_OK && t.index != WF_PLAN_NULL) {
        memcpy(b->bytes + at, &offset, sizeof offset);
        l->reloc[l->reloc_count++] = (struct wf_plan_reloc){ .offset = at,
                                                             .is_buffer = t.is_buffer,
                                                             .index = t.index };
    }
    return st;
}

static enum wf_status put_pointers(struct planner *p,
                                   struct blob *b,
                                   const struct wf_pack_arg *a,
                                   uint32_t at,
                                   struct wf_plan_launch *l)
{
    struct wf_plan_pointer_array *array = &l->pointers[l->pointers_count++];
    array->offset = at;
    array->count = a->member_count;
    array->item = arena_calloc(p->arena, array->count, sizeof *array->item);
    array->item_addend =
        arena_calloc(p->arena, array->count, sizeof *array->item_addend);
    if (array->item == NULL || array->item_addend == NULL) {
        return no_memory(p);
    }
    for (size_t i = 0; i < array->count; i++) {
        struct target t;
        enum wf_status st =
            eval_pointer(p, b->arg, &a->member[i], &t, &array->item_addend[i]);
        if (st != WF_OK) {
            return st;
        }
        array->item[i].is_buffer = t.is_buffer;
        array->item[i].index = t.index;
    }
    return WF_OK;
}

static const int64_t int_limits[][2] = {
    [WF_SCALAR_I8] = { INT8_MIN, INT8_MAX },    [WF_SCALAR_U8] = { 0, UINT8_MAX },
    [WF_SCALAR_I16] = { INT16_MIN, INT16_MAX }, [WF_SCALAR_U16] = { 0, UINT16_MAX },
    [WF_SCALAR_I32] = { INT32_MIN, INT32_MAX }, [WF_SCALAR_U32] = { 0, UINT32_MAX },
    [WF_SCALAR_I64] = { INT64_MIN, INT64_MAX }, [WF_SCALAR_U64] = { 0, INT64_MAX },
};

static enum wf_status eval_double(struct planner *p,
                                  const struct blob *b,
                                  const struct wf_expr *e,
                                  double *ret)
{
    struct wf_value v;
    enum wf_status st = wf_expr_eval(e, p->scope, &v, p->err);
    if (st != WF_OK) {
        return st;
    }
    if (v.kind != WF_VALUE_INT && v.kind != WF_VALUE_DOUBLE) {
        return plan_fail(p, ".args[%zu]: \"%.200s\" is not a number", b->arg,
                         wf_expr_text(e));
    }
    *ret = v.kind == WF_VALUE_INT ? (double)v.i : v.d;
    return WF_OK;
}

/* Bits of the rounded value; false when a finite value became infinite. */
static bool round_to(enum wf_scalar_type t, double d, uint64_t *ret)
{
    float f;
    if (t == WF_SCALAR_F64) {
        memcpy(ret, &d, sizeof d);
        return true;
    }
    *ret = 0;
    if (t == WF_SCALAR_F32) {
        f = fabs(d) >= 3.4028235677973366e38 && isfinite(d) ? INFINITY : (float)d;
        memcpy(ret, &f, sizeof f);
    } else {
        uint16_t half = t == WF_SCALAR_F16 ? wf_f64_to_f16(d) : wf_f64_to_bf16(d);
        f = t == WF_SCALAR_F16 ? wf_f16_to_f32(half) : wf_bf16_to_f32(half);
        memcpy(ret, &half, sizeof half);
    }
    return isfinite(f) || !isfinite(d);
}

static enum wf_status put_float(struct planner *p,
                                struct blob *b,
                                const struct wf_pack_arg *a,
                                uint64_t *ret)
{
    double d = 0;
    enum wf_status st = eval_double(p, b, a->value, &d);
    if (st == WF_OK && !round_to(a->scalar, d, ret)) {
        st = plan_fail(p, ".args[%zu]: %g does not fit %s", b->arg, d,
                       wf_scalar_name(a->scalar));
    }
    return st;
}

static enum wf_status put_scalar(struct planner *p,
                                 struct blob *b,
                                 const struct wf_pack_arg *a,
                                 uint32_t at)
{
    uint64_t bits = 0;
    enum wf_status st;
    if (a->scalar >= WF_SCALAR_F16) {
        st = put_float(p, b, a, &bits);
    } else {
        int64_t i = 0;
        st = wf_expr_eval_i64(a->value, p->scope, int_limits[a->scalar][0],
                              int_limits[a->scalar][1], &i, p->err);
        memcpy(&bits, &i, sizeof bits);
    }
    if (st == WF_OK) {
        memcpy(b->bytes + at, &bits, wf_scalar_bytes(a->scalar)); /* little-endian */
    }
    return st;
}

static uint32_t swizzle_bytes(const char *text)
{
    return text[0] == '3' ? 32 : text[0] == '6' ? 64 : text[0] == '1' ? 128 : 0;
}

static enum wf_status eval_map(struct planner *p,
                               const struct wf_pack_arg *a,
                               struct wf_plan_tensor_map *m)
{
    int64_t n = 0;
    enum wf_status st = WF_OK;
    for (int d = 0; st == WF_OK && d < a->map_rank; d++) {
        st = wf_expr_eval_i64(a->map_dim[d], p->scope, 1, (int64_t)1 << 32, &n, p->err);
        m->dim[d] = (uint64_t)n;
        st = st != WF_OK
                 ? st
                 : wf_expr_eval_i64(a->map_box[d], p->scope, 1, 256, &n, p->err);
        m->box[d] = (uint32_t)n;
    }
    for (int d = 0; st == WF_OK && d + 1 < a->map_rank; d++) {
        st = wf_expr_eval_i64(a->map_stride[d], p->scope, 16, MAX_MAP_STRIDE, &n,
                              p->err);
        m->stride_bytes[d] = (uint64_t)n;
    }
    return st;
}

static enum wf_status check_map(struct planner *p,
                                const struct blob *b,
                                const struct wf_plan_tensor_map *m)
{
    uint64_t inner = (uint64_t)m->box[0] * wf_dtype_bytes(m->dtype);
    if (inner % 16 != 0) {
        return plan_fail(p, ".args[%zu].box[0]: %llu bytes are not a multiple of 16",
                         b->arg, (unsigned long long)inner);
    }
    if (m->swizzle_bytes != 0 && inner > m->swizzle_bytes) {
        return plan_fail(p,
                         ".args[%zu].box[0]: %llu bytes are more than the swizzle's %u",
                         b->arg, (unsigned long long)inner, m->swizzle_bytes);
    }
    for (int d = 0; d + 1 < m->rank; d++) {
        if (m->stride_bytes[d] % 16 != 0) {
            return plan_fail(p,
                             ".args[%zu].strides_bytes[%d]: %llu is not a multiple of "
                             "16",
                             b->arg, d, (unsigned long long)m->stride_bytes[d]);
        }
    }
    return WF_OK;
}

/* The bytes stay 0: the runtime that knows the format fills them in. */
static enum wf_status put_map(struct planner *p,
                              struct blob *b,
                              const struct wf_pack_arg *a,
                              uint32_t at,
                              struct wf_plan_launch *l)
{
    struct target t;
    struct wf_plan_tensor_map *m = &l->map[l->map_count++];
    enum wf_status st = find_target(p, b->arg, a->target, &t);
    if (st == WF_OK && t.index == WF_PLAN_NULL) {
        st =
            plan_fail(p, ".args[%zu]: tensor map of '%s', which this case does not use",
                      b->arg, a->target);
    }
    *m = (struct wf_plan_tensor_map){
        .offset = at,
        .rank = a->map_rank,
        .dtype = a->map_dtype,
        .swizzle_bytes = swizzle_bytes(a->map_swizzle),
        .base = { .offset = at, .is_buffer = t.is_buffer, .index = t.index }
    };
    st = st != WF_OK ? st : eval_map(p, a, m);
    return st != WF_OK ? st : check_map(p, b, m);
}

static enum wf_status put_plain(struct planner *p,
                                struct blob *b,
                                const struct wf_pack_arg *a,
                                uint32_t at,
                                struct wf_plan_launch *l)
{
    if (a->kind == WF_ARG_POINTER) {
        return put_pointer(p, b, a, at, l);
    }
    if (a->kind == WF_ARG_POINTERS) {
        return put_pointers(p, b, a, at, l);
    }
    return put_scalar(p, b, a, at);
}

static enum wf_status put_arg(struct planner *p,
                              struct blob *b,
                              const struct wf_pack_arg *a,
                              struct wf_plan_launch *l)
{
    uint32_t align = pack_arg_align(a);
    uint32_t at = (b->used + align - 1) / align * align;
    b->used = at + pack_arg_bytes(a);
    l->arg_offset[l->arg_count++] = at;
    if (a->kind == WF_ARG_TENSOR_MAP) {
        return put_map(p, b, a, at, l);
    }
    if (a->kind != WF_ARG_STRUCT) {
        return put_plain(p, b, a, at, l);
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < a->member_count; i++) {
        st = put_plain(p, b, &a->member[i], at + a->member[i].member_offset, l);
    }
    return st;
}

static void count_kinds(const struct wf_pack_arg *a, size_t n, size_t ret[3])
{
    for (size_t i = 0; i < n; i++) {
        ret[0] += a[i].kind == WF_ARG_POINTER;
        ret[1] += a[i].kind == WF_ARG_POINTERS;
        ret[2] += a[i].kind == WF_ARG_TENSOR_MAP;
        if (a[i].kind == WF_ARG_STRUCT) {
            count_kinds(a[i].member, a[i].member_count, ret);
        }
    }
}

static enum wf_status make_room(struct planner *p,
                                const struct wf_pack_launch *launch,
                                struct wf_plan_launch *l)
{
    size_t n[3] = { 0, 0, 0 };
    count_kinds(launch->arg, launch->arg_count, n);
    l->reloc = arena_calloc(p->arena, n[0], sizeof *l->reloc);
    l->pointers = arena_calloc(p->arena, n[1], sizeof *l->pointers);
    l->map = arena_calloc(p->arena, n[2], sizeof *l->map);
    l->arg_offset = arena_calloc(p->arena, launch->arg_count, sizeof *l->arg_offset);
    bool good = l->reloc != NULL && l->pointers != NULL && l->map != NULL &&
                l->arg_offset != NULL;
    return good ? WF_OK : no_memory(p);
}

enum wf_status plan_args(struct planner *p,
                         const struct wf_pack_launch *launch,
                         struct wf_plan_launch *ret)
{
    struct blob b = { .used = 0 };
    enum wf_status st = make_room(p, launch, ret);
    for (size_t i = 0; st == WF_OK && i < launch->arg_count; i++) {
        b.arg = i;
        st = put_arg(p, &b, &launch->arg[i], ret);
    }
    if (st != WF_OK) {
        return st;
    }
    ret->args = arena_calloc(p->arena, b.used, 1);
    if (ret->args == NULL) {
        return no_memory(p);
    }
    memcpy(ret->args, b.bytes, b.used);
    ret->args_bytes = b.used;
    return WF_OK;
}
