/* The metadata note of AMDGPU code objects (a MessagePack map, "amdhsa.kernels" is its
 * list of kernels): layout of arguments, spills, registers.
 *
 * Unknown members are skipped, so that newer versions of the format do no harm. */
#include "packs/code_internal.h"
#include "packs/msgpack.h"

#include <string.h>

#define NOTE_TYPE 32
#define MAX_ARGS  1024
#define MAX_KIND  64 /* characters of a hidden argument's kind */

#define HIDDEN_BYTES 7 /* of "hidden_" */

struct metadata {
    struct wf_code_object *c;
    struct msgpack m;
    struct wf_error *err;
};

static enum wf_status bad(const struct metadata *md)
{
    return wf_errorf(md->err, WF_EPARSE, "%s: malformed AMDGPU metadata note",
                     md->c->source);
}

static bool next_u32(struct msgpack *m, uint32_t *ret)
{
    struct msgpack_item v;
    if (!msgpack_next(m, &v) || v.kind != MSGPACK_UINT || v.u > UINT32_MAX) {
        return false;
    }
    *ret = (uint32_t)v.u;
    return true;
}

static bool skip_value(struct msgpack *m)
{
    struct msgpack_item v;
    return msgpack_next(m, &v) && msgpack_skip_content(m, &v);
}

/* *ret_kind: ".value_kind". */
static bool read_arg(struct msgpack *m,
                     struct wf_code_arg *ret,
                     struct msgpack_item *ret_kind)
{
    struct msgpack_item map, key;
    ret_kind->kind = MSGPACK_NIL;
    if (!msgpack_next(m, &map) || map.kind != MSGPACK_MAP) {
        return false;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        bool good;
        if (!msgpack_next(m, &key)) {
            return false;
        }
        if (msgpack_is(&key, ".offset")) {
            good = next_u32(m, &ret->offset);
        } else if (msgpack_is(&key, ".size")) {
            good = next_u32(m, &ret->bytes);
        } else if (msgpack_is(&key, ".value_kind")) {
            good = msgpack_next(m, ret_kind) && ret_kind->kind == MSGPACK_STRING;
        } else {
            good = skip_value(m);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

static enum wf_status no_memory(const struct metadata *md)
{
    return wf_errorf(md->err, WF_ENOMEM, "%s: no memory for its arguments",
                     md->c->source);
}

static enum wf_status add_arg(struct metadata *md,
                              struct wf_code_kernel *k,
                              const struct wf_code_arg *arg,
                              const struct msgpack_item *kind)
{
    if (kind->kind != MSGPACK_STRING || kind->count <= HIDDEN_BYTES ||
        memcmp(kind->s, "hidden_", HIDDEN_BYTES) != 0) {
        k->arg[k->arg_count++] = *arg;
        return WF_OK;
    }
    size_t n = kind->count - HIDDEN_BYTES;
    char *name = n > MAX_KIND ? NULL : arena_calloc(&md->c->arena, n + 1, 1);
    if (name == NULL) {
        return n > MAX_KIND ? bad(md) : no_memory(md);
    }
    memcpy(name, kind->s + HIDDEN_BYTES, n);
    k->hidden[k->hidden_count++] = (struct wf_code_hidden){ .kind = name,
                                                            .offset = arg->offset,
                                                            .bytes = arg->bytes };
    return WF_OK;
}

static enum wf_status read_args(struct metadata *md, struct wf_code_kernel *k)
{
    struct msgpack_item list;
    if (!msgpack_next(&md->m, &list) || list.kind != MSGPACK_ARRAY ||
        list.count > MAX_ARGS) {
        return bad(md);
    }
    k->arg = arena_calloc(&md->c->arena, list.count, sizeof *k->arg);
    k->hidden = arena_calloc(&md->c->arena, list.count, sizeof *k->hidden);
    if (k->arg == NULL || k->hidden == NULL) {
        return no_memory(md);
    }
    k->arg_count = 0;
    k->hidden_count = 0;
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < list.count; i++) {
        struct msgpack_item kind;
        struct wf_code_arg a = { 0 };
        st = read_arg(&md->m, &a, &kind) ? add_arg(md, k, &a, &kind) : bad(md);
    }
    return st;
}

static bool read_required(struct msgpack *m, uint32_t ret[3])
{
    struct msgpack_item list;
    if (!msgpack_next(m, &list) || list.kind != MSGPACK_ARRAY || list.count != 3) {
        return false;
    }
    return next_u32(m, &ret[0]) && next_u32(m, &ret[1]) && next_u32(m, &ret[2]);
}

static uint32_t *number_member(struct wf_code_kernel *k, const struct msgpack_item *key)
{
    const struct {
        const char *name;
        uint32_t *to;
    } known[] = {
        { ".kernarg_segment_size", &k->kernarg_bytes },
        { ".private_segment_fixed_size", &k->private_bytes },
        { ".vgpr_spill_count", &k->vgpr_spills },
        { ".sgpr_spill_count", &k->sgpr_spills },
        { ".vgpr_count", &k->vgprs },
        { ".agpr_count", &k->agprs },
        { ".sgpr_count", &k->sgprs },
        { ".group_segment_fixed_size", &k->lds_bytes },
        { ".max_flat_workgroup_size", &k->max_workgroup },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (msgpack_is(key, known[i].name)) {
            return known[i].to;
        }
    }
    return NULL;
}

static enum wf_status read_member(struct metadata *md,
                                  struct wf_code_kernel *k,
                                  struct msgpack_item *ret_symbol)
{
    struct msgpack_item key, v;
    if (!msgpack_next(&md->m, &key)) {
        return bad(md);
    }
    if (msgpack_is(&key, ".args")) {
        return read_args(md, k);
    }
    if (msgpack_is(&key, ".symbol")) {
        bool good = msgpack_next(&md->m, &v) && v.kind == MSGPACK_STRING;
        *ret_symbol = v;
        return good ? WF_OK : bad(md);
    }
    if (msgpack_is(&key, ".reqd_workgroup_size")) {
        return read_required(&md->m, k->required_workgroup) ? WF_OK : bad(md);
    }
    if (msgpack_is(&key, ".uses_dynamic_stack")) {
        bool read = msgpack_next(&md->m, &v) &&
                    (v.kind == MSGPACK_BOOL || v.kind == MSGPACK_UINT);
        k->dynamic_stack = read && v.u != 0;
        return read ? WF_OK : bad(md);
    }
    uint32_t *number = number_member(k, &key);
    bool good = number != NULL ? next_u32(&md->m, number) : skip_value(&md->m);
    return good ? WF_OK : bad(md);
}

static enum wf_status read_kernel(struct metadata *md)
{
    struct msgpack_item map, symbol = { .kind = MSGPACK_NIL };
    struct wf_code_kernel k = { .has_layout = true };
    if (!msgpack_next(&md->m, &map) || map.kind != MSGPACK_MAP) {
        return bad(md);
    }
    for (uint32_t i = 0; i < map.count; i++) {
        enum wf_status st = read_member(md, &k, &symbol);
        if (st != WF_OK) {
            return st;
        }
    }
    if (symbol.kind != MSGPACK_STRING || symbol.count < 4) {
        return bad(md);
    }
    struct wf_code_kernel *to = code_find(md->c, symbol.s, symbol.count - 3);
    if (to != NULL) { /* its descriptor is in the symbol table too */
        k.name = to->name;
        *to = k;
    }
    return WF_OK;
}

static enum wf_status read_kernels(struct metadata *md)
{
    struct msgpack_item list;
    enum wf_status st = WF_OK;
    if (!msgpack_next(&md->m, &list) || list.kind != MSGPACK_ARRAY) {
        return bad(md);
    }
    for (uint32_t i = 0; st == WF_OK && i < list.count; i++) {
        st = read_kernel(md);
    }
    return st;
}

enum wf_status code_read_amdgpu_metadata(struct wf_code_object *c,
                                         const struct elf *e,
                                         struct wf_error *err)
{
    const uint8_t *note = NULL;
    size_t bytes = 0;
    struct wf_error inner = { .text = "" };
    enum wf_status st = elf_note(e, "AMDGPU", NOTE_TYPE, &note, &bytes, &inner);
    if (st == WF_ENOTFOUND) {
        return WF_OK;
    }
    if (st != WF_OK) {
        return wf_errorf(err, st, "%s", inner.text);
    }
    struct metadata md = { .c = c,
                           .m = { .p = note, .end = note + bytes },
                           .err = err };
    struct msgpack_item root, key;
    if (!msgpack_next(&md.m, &root) || root.kind != MSGPACK_MAP) {
        return bad(&md);
    }
    for (uint32_t i = 0; st == WF_OK && i < root.count; i++) {
        if (!msgpack_next(&md.m, &key)) {
            return bad(&md);
        }
        if (msgpack_is(&key, "amdhsa.kernels")) {
            st = read_kernels(&md);
        } else {
            st = skip_value(&md.m) ? WF_OK : bad(&md);
        }
    }
    return st;
}
