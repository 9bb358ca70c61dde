/* Arguments of a launch in pack.json. Which of the five kinds one is, its one naming
 * member says: pointer, scalar, struct, pointers or tensor_map. */
#include "packs/pack_read.h"

#include "packs/names.h"

#include <string.h>

/* X(NAME, text, bytes) in the order of enum wf_scalar_type. */
#define SCALAR_LIST(X) \
    X(I8, "i8", 1)     \
    X(U8, "u8", 1)     \
    X(I16, "i16", 2)   \
    X(U16, "u16", 2)   \
    X(I32, "i32", 4)   \
    X(U32, "u32", 4)   \
    X(I64, "i64", 8)   \
    X(U64, "u64", 8)   \
    X(F16, "f16", 2)   \
    X(BF16, "bf16", 2) \
    X(F32, "f32", 4)   \
    X(F64, "f64", 8)

static const struct {
    const char *text;
    uint32_t bytes;
} scalars[] = {
#define X(name, text, bytes) [WF_SCALAR_##name] = { text, bytes },
    SCALAR_LIST(X)
#undef X
};

#define SCALAR_COUNT (sizeof scalars / sizeof scalars[0])

uint32_t wf_scalar_bytes(enum wf_scalar_type t)
{
    return scalars[t].bytes;
}

const char *wf_scalar_name(enum wf_scalar_type t)
{
    return scalars[t].text;
}

uint32_t pack_arg_bytes(const struct wf_pack_arg *a)
{
    switch (a->kind) {
    case WF_ARG_POINTER:
    case WF_ARG_POINTERS:
        return 8;
    case WF_ARG_SCALAR:
        return scalars[a->scalar].bytes;
    case WF_ARG_STRUCT:
        return a->struct_bytes;
    case WF_ARG_TENSOR_MAP:
        break;
    }
    return 128;
}

uint32_t pack_arg_align(const struct wf_pack_arg *a)
{
    if (a->kind == WF_ARG_STRUCT) {
        return a->struct_align;
    }
    return a->kind == WF_ARG_TENSOR_MAP ? 64 : pack_arg_bytes(a);
}

/* `keys` and, inside a struct, "offset". */
static enum wf_status only_keys(struct pack_reader *r,
                                const struct wf_json *json,
                                const char *first,
                                const char *second,
                                bool in_struct)
{
    const char *keys[4] = { first, second, NULL, NULL };
    size_t n = second != NULL ? 2 : 1;
    keys[n] = in_struct ? "offset" : NULL;
    return pack_only_keys(r, json, keys);
}

static enum wf_status read_target(struct pack_reader *r, const char **target)
{
    if ((*target)[0] != '\0' && !wf_name_is_identifier(*target)) {
        return pack_fail(r, "'%.80s' is not the name of a tensor or buffer", *target);
    }
    return WF_OK;
}

static enum wf_status read_pointer(struct pack_reader *r,
                                   const struct wf_json *json,
                                   bool in_struct,
                                   struct wf_pack_arg *a)
{
    a->kind = WF_ARG_POINTER;
    enum wf_status st = only_keys(r, json, "pointer", "offset_bytes", in_struct);
    st = st != WF_OK ? st : pack_get_string(r, json, "pointer", &a->target);
    st = st != WF_OK ? st : read_target(r, &a->target);
    return st != WF_OK ? st : pack_opt_expr(r, json, "offset_bytes", &a->offset_bytes);
}

static enum wf_status read_scalar(struct pack_reader *r,
                                  const struct wf_json *json,
                                  bool in_struct,
                                  struct wf_pack_arg *a)
{
    const char *type = NULL;
    a->kind = WF_ARG_SCALAR;
    enum wf_status st = only_keys(r, json, "scalar", "value", in_struct);
    st = st != WF_OK ? st : pack_get_string(r, json, "scalar", &type);
    st = st != WF_OK ? st : pack_get_expr(r, json, "value", &a->value);
    if (st != WF_OK) {
        return st;
    }
    for (size_t i = 0; i < SCALAR_COUNT; i++) {
        if (strcmp(scalars[i].text, type) == 0) {
            a->scalar = (enum wf_scalar_type)i;
            return WF_OK;
        }
    }
    return pack_fail(r,
                     "scalar '%.40s' is not i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 "
                     "f32 or f64",
                     type);
}

static enum wf_status read_item(struct pack_reader *r,
                                const struct wf_json *v,
                                struct wf_pack_arg *item)
{
    const char *name = wf_json_string(v);
    if (name == NULL) {
        if (wf_json_type(v) != WF_JSON_OBJECT) {
            return pack_fail(r, "a name or a pointer object is expected");
        }
        return read_pointer(r, v, false, item);
    }
    item->kind = WF_ARG_POINTER;
    enum wf_status st = pack_copy(r, name, &item->target);
    return st != WF_OK ? st : read_target(r, &item->target);
}

static enum wf_status read_pointers(struct pack_reader *r,
                                    const struct wf_json *json,
                                    bool in_struct,
                                    struct wf_pack_arg *a)
{
    const struct wf_json *array = NULL;
    a->kind = WF_ARG_POINTERS;
    enum wf_status st = only_keys(r, json, "pointers", NULL, in_struct);
    st = st != WF_OK ? st
                     : pack_opt_array(r, json, "pointers", 1, PACK_MAX_ARGS, &array);
    if (st != WF_OK) {
        return st;
    }
    a->member_count = wf_json_count(array);
    a->member = pack_alloc(r, a->member_count, sizeof *a->member, &st);
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ".pointers[%zu]", i);
        st = read_item(r, v, &a->member[i]);
        pack_where_pop(r, mark);
    }
    return st;
}

static enum wf_status read_member(struct pack_reader *r,
                                  const struct wf_json *json,
                                  struct wf_pack_arg *m)
{
    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return pack_fail(r, "an object is expected");
    }
    if (wf_json_find(json, "offset") == NULL) {
        return pack_fail(r, "'offset' is missing");
    }
    int64_t offset = 0;
    enum wf_status st =
        pack_opt_i64(r, json, "offset", 0, PACK_MAX_BLOB_BYTES, &offset);
    if (st != WF_OK) {
        return st;
    }
    m->member_offset = (uint32_t)offset;
    if (wf_json_find(json, "pointer") != NULL) {
        return read_pointer(r, json, true, m);
    }
    if (wf_json_find(json, "scalar") != NULL) {
        return read_scalar(r, json, true, m);
    }
    if (wf_json_find(json, "pointers") != NULL) {
        return read_pointers(r, json, true, m);
    }
    return pack_fail(r, "a member is a pointer, pointers or scalar");
}

/* Inside the struct, and apart from the members before it. */
static enum wf_status check_member(struct pack_reader *r,
                                   const struct wf_pack_arg *a,
                                   size_t i)
{
    const struct wf_pack_arg *m = &a->member[i];
    uint32_t end = m->member_offset + pack_arg_bytes(m);
    if (end > a->struct_bytes) {
        return pack_fail(r, "bytes %u to %u lie outside a struct of %u bytes",
                         m->member_offset, end, a->struct_bytes);
    }
    for (size_t j = 0; j < i; j++) {
        const struct wf_pack_arg *o = &a->member[j];
        if (m->member_offset < o->member_offset + pack_arg_bytes(o) &&
            o->member_offset < end) {
            return pack_fail(r, "overlaps members[%zu] at offset %u", j,
                             o->member_offset);
        }
    }
    return WF_OK;
}

static enum wf_status read_members(struct pack_reader *r,
                                   const struct wf_json *json,
                                   struct wf_pack_arg *a)
{
    const struct wf_json *array = NULL;
    enum wf_status st = pack_opt_array(r, json, "members", 0, PACK_MAX_ARGS, &array);
    if (st != WF_OK || array == NULL) {
        return st;
    }
    a->member_count = wf_json_count(array);
    a->member = pack_alloc(r, a->member_count, sizeof *a->member, &st);
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ".members[%zu]", i);
        st = read_member(r, v, &a->member[i]);
        st = st != WF_OK ? st : check_member(r, a, i);
        pack_where_pop(r, mark);
    }
    return st;
}

static enum wf_status read_struct_body(struct pack_reader *r,
                                       const struct wf_json *v,
                                       struct wf_pack_arg *a)
{
    static const char *const keys[] = { "bytes", "align", "members", NULL };
    int64_t bytes = 0, align = 8;
    enum wf_status st = pack_only_keys(r, v, keys);
    st = st != WF_OK ? st : pack_opt_i64(r, v, "bytes", 1, PACK_MAX_BLOB_BYTES, &bytes);
    st = st != WF_OK ? st : pack_opt_i64(r, v, "align", 1, 256, &align);
    if (st != WF_OK) {
        return st;
    }
    if (bytes == 0) {
        return pack_fail(r, "'bytes' is missing");
    }
    if ((align & (align - 1)) != 0 || bytes % align != 0) {
        return pack_fail(r, "align %lld is not a power of two that divides bytes %lld",
                         (long long)align, (long long)bytes);
    }
    a->struct_bytes = (uint32_t)bytes;
    a->struct_align = (uint32_t)align;
    return read_members(r, v, a);
}

static enum wf_status read_struct(struct pack_reader *r,
                                  const struct wf_json *json,
                                  struct wf_pack_arg *a)
{
    a->kind = WF_ARG_STRUCT;
    enum wf_status st = only_keys(r, json, "struct", NULL, false);
    size_t mark = pack_where_push(r, ".struct");
    st = st != WF_OK ? st : read_struct_body(r, wf_json_find(json, "struct"), a);
    pack_where_pop(r, mark);
    return st;
}

/* Exactly `wanted` expressions, or least..most of them when wanted is 0. */
static enum wf_status read_list(struct pack_reader *r,
                                const struct wf_json *json,
                                const char *key,
                                size_t wanted,
                                struct wf_expr **ret,
                                size_t *ret_count)
{
    const struct wf_json *array = NULL;
    size_t least = wanted, most = wanted;
    if (ret_count != NULL) {
        least = 1;
        most = 5;
    }
    enum wf_status st = pack_opt_array(r, json, key, least, most, &array);
    if (st != WF_OK || array == NULL) {
        return st;
    }
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ".%s[%zu]", key, i);
        st = pack_expr(r, v, &ret[i]);
        pack_where_pop(r, mark);
    }
    if (ret_count != NULL) {
        *ret_count = wf_json_count(array);
    }
    return st;
}

static enum wf_status read_map_types(struct pack_reader *r,
                                     const struct wf_json *v,
                                     struct wf_pack_arg *a)
{
    static const char *const swizzles[] = { "none", "32B", "64B", "128B" };
    const char *type = NULL;
    a->map_swizzle = "none";
    enum wf_status st = pack_get_string(r, v, "dtype", &type);
    if (st == WF_OK && !wf_dtype_parse(type, &a->map_dtype)) {
        st = pack_fail(r, "dtype '%.40s' is not a type", type);
    }
    st = st != WF_OK ? st : pack_opt_string(r, v, "swizzle", &a->map_swizzle);
    if (st != WF_OK) {
        return st;
    }
    for (size_t i = 0; i < sizeof swizzles / sizeof swizzles[0]; i++) {
        if (strcmp(swizzles[i], a->map_swizzle) == 0) {
            return WF_OK;
        }
    }
    return pack_fail(r, "swizzle '%.40s' is not none, 32B, 64B or 128B",
                     a->map_swizzle);
}

static enum wf_status read_map_body(struct pack_reader *r,
                                    const struct wf_json *v,
                                    struct wf_pack_arg *a)
{
    static const char *const keys[] = { "tensor", "dtype",   "dims", "strides_bytes",
                                        "box",    "swizzle", NULL };
    size_t rank = 0;
    enum wf_status st = pack_only_keys(r, v, keys);
    st = st != WF_OK ? st : pack_get_string(r, v, "tensor", &a->target);
    if (st == WF_OK && !wf_name_is_identifier(a->target)) {
        st = pack_fail(r, "tensor '%.80s' is not the name of a tensor or buffer",
                       a->target);
    }
    st = st != WF_OK ? st : read_map_types(r, v, a);
    st = st != WF_OK ? st : read_list(r, v, "dims", 0, a->map_dim, &rank);
    if (st != WF_OK) {
        return st;
    }
    a->map_rank = (int)rank;
    st = read_list(r, v, "strides_bytes", rank - 1, a->map_stride, NULL);
    return st != WF_OK ? st : read_list(r, v, "box", rank, a->map_box, NULL);
}

static enum wf_status read_map(struct pack_reader *r,
                               const struct wf_json *json,
                               struct wf_pack_arg *a)
{
    a->kind = WF_ARG_TENSOR_MAP;
    enum wf_status st = only_keys(r, json, "tensor_map", NULL, false);
    size_t mark = pack_where_push(r, ".tensor_map");
    st = st != WF_OK ? st : read_map_body(r, wf_json_find(json, "tensor_map"), a);
    pack_where_pop(r, mark);
    return st;
}

static enum wf_status read_arg(struct pack_reader *r,
                               const struct wf_json *json,
                               struct wf_pack_arg *a)
{
    if (wf_json_find(json, "pointer") != NULL) {
        return read_pointer(r, json, false, a);
    }
    if (wf_json_find(json, "scalar") != NULL) {
        return read_scalar(r, json, false, a);
    }
    if (wf_json_find(json, "struct") != NULL) {
        return read_struct(r, json, a);
    }
    if (wf_json_find(json, "pointers") != NULL) {
        return read_pointers(r, json, false, a);
    }
    if (wf_json_find(json, "tensor_map") != NULL) {
        return read_map(r, json, a);
    }
    return pack_fail(r, "an argument has one of pointer, scalar, struct, pointers, "
                        "tensor_map");
}

static enum wf_status check_blob(struct pack_reader *r, const struct wf_pack_launch *l)
{
    uint32_t at = 0;
    for (size_t i = 0; i < l->arg_count; i++) {
        uint32_t align = pack_arg_align(&l->arg[i]);
        at = (at + align - 1) / align * align + pack_arg_bytes(&l->arg[i]);
        if (at > PACK_MAX_BLOB_BYTES) {
            return pack_fail(r, "arguments of more than %d bytes", PACK_MAX_BLOB_BYTES);
        }
    }
    return WF_OK;
}

enum wf_status pack_read_args(struct pack_reader *r,
                              const struct wf_json *array,
                              struct wf_pack_launch *launch)
{
    enum wf_status st = WF_OK;
    launch->arg_count = wf_json_count(array);
    launch->arg = pack_alloc(r, launch->arg_count, sizeof *launch->arg, &st);
    const struct wf_json *v = wf_json_first(array);
    for (size_t i = 0; st == WF_OK && v != NULL; v = wf_json_next(v), i++) {
        size_t mark = pack_where_push(r, ".args[%zu]", i);
        st = wf_json_type(v) == WF_JSON_OBJECT ? read_arg(r, v, &launch->arg[i])
                                               : pack_fail(r, "an object is expected");
        pack_where_pop(r, mark);
    }
    return st != WF_OK ? st : check_blob(r, launch);
}
