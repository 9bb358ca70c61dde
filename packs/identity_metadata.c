/* The AMDGPU metadata note as it reaches a loader: layout of arguments, registers, LDS.
 * Left out are the names and types of arguments and the language, which no loader
 * reads. */
#include "packs/identity_internal.h"
#include "packs/msgpack.h"

#include <string.h>

#define NOTE_TYPE 32
#define MAX_DEPTH 16

static const char *const UNREAD_OF_ARGS[] = { ".name", ".type_name" };
static const char *const UNREAD[] = { ".language", ".language_version" };

struct metadata {
    struct wf_sha256 *h;
    struct msgpack m;
};

static bool put_value(struct metadata *md, int depth, bool in_args);

static bool is_one_of(const struct msgpack_item *key,
                      const char *const *names,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (msgpack_is(key, names[i])) {
            return true;
        }
    }
    return false;
}

static bool is_unread(const struct msgpack_item *key, bool in_args)
{
    return in_args ? is_one_of(key, UNREAD_OF_ARGS,
                               sizeof UNREAD_OF_ARGS / sizeof *UNREAD_OF_ARGS)
                   : is_one_of(key, UNREAD, sizeof UNREAD / sizeof *UNREAD);
}

static bool skip_value(struct msgpack *m)
{
    struct msgpack_item v;
    return msgpack_next(m, &v) && msgpack_skip_content(m, &v);
}

static bool put_map(struct metadata *md, uint32_t count, int depth, bool in_args)
{
    bool good = true;
    identity_text(md->h, "{");
    for (uint32_t i = 0; good && i < count; i++) {
        struct msgpack_item key;
        good = msgpack_next(&md->m, &key) && key.kind == MSGPACK_STRING;
        if (good && is_unread(&key, in_args)) {
            good = skip_value(&md->m);
        } else if (good) {
            identity_bytes(md->h, key.s, key.count);
            good = put_value(md, depth + 1, in_args || msgpack_is(&key, ".args"));
        }
    }
    identity_text(md->h, "}");
    return good;
}

static bool put_array(struct metadata *md, uint32_t count, int depth, bool in_args)
{
    bool good = true;
    identity_number(md->h, count);
    for (uint32_t i = 0; good && i < count; i++) {
        good = put_value(md, depth + 1, in_args);
    }
    return good;
}

static bool put_value(struct metadata *md, int depth, bool in_args)
{
    struct msgpack_item v;
    const uint8_t *start = md->m.p;
    if (depth > MAX_DEPTH || !msgpack_next(&md->m, &v)) {
        return false;
    }
    if (v.kind == MSGPACK_MAP) {
        return put_map(md, v.count, depth, in_args);
    }
    if (v.kind == MSGPACK_ARRAY) {
        return put_array(md, v.count, depth, in_args);
    }
    identity_bytes(md->h, start, (size_t)(md->m.p - start));
    return true;
}

enum wf_status identity_metadata(struct wf_sha256 *h,
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
    struct metadata md = { .h = h, .m = { .p = note, .end = note + bytes } };
    return put_value(&md, 0, false)
               ? WF_OK
               : wf_errorf(err, WF_EPARSE, "%s: malformed AMDGPU metadata note",
                           e->source);
}
