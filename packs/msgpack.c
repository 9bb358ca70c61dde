/* Reads MessagePack items.
 *
 * Every length is checked against what is left before it is used; skipping counts
 * pending items instead of recursing, and each item takes at least one byte, so that
 * the time is linear in the input. */
#include "packs/msgpack.h"

#include <string.h>

static bool take(struct msgpack *m, size_t n, const uint8_t **ret)
{
    if ((size_t)(m->end - m->p) < n) {
        return false;
    }
    *ret = m->p;
    m->p += n;
    return true;
}

/* Big-endian, n of 1, 2, 4, 8. */
static bool take_uint(struct msgpack *m, size_t n, uint64_t *ret)
{
    const uint8_t *p;
    if (!take(m, n, &p)) {
        return false;
    }
    uint64_t u = 0;
    for (size_t i = 0; i < n; i++) {
        u = u << 8 | p[i];
    }
    *ret = u;
    return true;
}

static bool take_string(struct msgpack *m, uint64_t n, struct msgpack_item *ret)
{
    const uint8_t *p;
    if (!take(m, (size_t)n, &p)) {
        return false;
    }
    ret->kind = MSGPACK_STRING;
    ret->s = (const char *)p;
    ret->count = (uint32_t)n;
    return true;
}

static bool take_other(struct msgpack *m, size_t n, struct msgpack_item *ret)
{
    const uint8_t *p;
    ret->kind = MSGPACK_OTHER;
    return take(m, n, &p);
}

static bool set_count(struct msgpack_item *ret, enum msgpack_kind kind, uint64_t n)
{
    ret->kind = kind;
    ret->count = (uint32_t)n;
    return true;
}

static bool set_uint(struct msgpack_item *ret, enum msgpack_kind kind, uint64_t u)
{
    ret->kind = kind;
    ret->u = u;
    return true;
}

/* 0xd0 to 0xd3: signed, of 1 << log_bytes bytes. */
static bool take_signed(struct msgpack *m, unsigned log_bytes, struct msgpack_item *ret)
{
    const uint64_t sign = (uint64_t)1 << ((8u << log_bytes) - 1);
    uint64_t u;
    if (!take_uint(m, (size_t)1 << log_bytes, &u)) {
        return false;
    }
    return set_uint(ret, (u & sign) != 0 ? MSGPACK_OTHER : MSGPACK_UINT, u);
}

/* Lengths of 1, 2 or 4 bytes before strings, binaries and extensions. */
static bool take_sized(struct msgpack *m, uint8_t tag, struct msgpack_item *ret)
{
    uint64_t n;
    if (tag >= 0xd9 && tag <= 0xdb) {
        return take_uint(m, (size_t)1 << (tag - 0xd9), &n) && take_string(m, n, ret);
    }
    if (tag >= 0xc4 && tag <= 0xc6) {
        return take_uint(m, (size_t)1 << (tag - 0xc4), &n) &&
               take_other(m, (size_t)n, ret);
    }
    return take_uint(m, (size_t)1 << (tag - 0xc7), &n) && /* 0xc7 to 0xc9 */
           take_other(m, (size_t)n + 1, ret);
}

static bool next_tagged(struct msgpack *m, uint8_t tag, struct msgpack_item *ret)
{
    uint64_t u;
    if (tag == 0xc0) {
        return set_uint(ret, MSGPACK_NIL, 0);
    }
    if (tag == 0xc2 || tag == 0xc3) {
        return set_uint(ret, MSGPACK_BOOL, tag & 1);
    }
    if (tag == 0xca || tag == 0xcb) {
        return take_other(m, tag == 0xca ? 4 : 8, ret);
    }
    if (tag >= 0xcc && tag <= 0xcf) {
        return take_uint(m, (size_t)1 << (tag - 0xcc), &u) &&
               set_uint(ret, MSGPACK_UINT, u);
    }
    if (tag >= 0xd0 && tag <= 0xd3) {
        return take_signed(m, tag - 0xd0u, ret);
    }
    if (tag >= 0xd4 && tag <= 0xd8) {
        return take_other(m, ((size_t)1 << (tag - 0xd4)) + 1, ret);
    }
    if (tag >= 0xdc) {
        bool array = tag < 0xde;
        return take_uint(m, (tag & 1) != 0 ? 4 : 2, &u) &&
               set_count(ret, array ? MSGPACK_ARRAY : MSGPACK_MAP, u);
    }
    return tag != 0xc1 && take_sized(m, tag, ret);
}

bool msgpack_next(struct msgpack *m, struct msgpack_item *ret)
{
    const uint8_t *p;
    *ret = (struct msgpack_item){ .kind = MSGPACK_NIL };
    if (!take(m, 1, &p)) {
        return false;
    }
    uint8_t tag = *p;
    if (tag < 0x80) {
        return set_uint(ret, MSGPACK_UINT, tag);
    }
    if (tag < 0x90) {
        return set_count(ret, MSGPACK_MAP, tag & 15);
    }
    if (tag < 0xa0) {
        return set_count(ret, MSGPACK_ARRAY, tag & 15);
    }
    if (tag < 0xc0) {
        return take_string(m, tag & 31, ret);
    }
    if (tag >= 0xe0) {
        return set_uint(ret, MSGPACK_OTHER, 0);
    }
    return next_tagged(m, tag, ret);
}

static uint64_t content_items(const struct msgpack_item *item)
{
    if (item->kind == MSGPACK_MAP) {
        return 2 * (uint64_t)item->count;
    }
    return item->kind == MSGPACK_ARRAY ? item->count : 0;
}

bool msgpack_skip_content(struct msgpack *m, const struct msgpack_item *item)
{
    uint64_t pending = content_items(item);
    while (pending > 0) {
        struct msgpack_item inner;
        if (pending > (uint64_t)(m->end - m->p) || !msgpack_next(m, &inner)) {
            return false;
        }
        pending += content_items(&inner) - 1;
    }
    return true;
}

bool msgpack_is(const struct msgpack_item *item, const char *text)
{
    size_t n = strlen(text);
    return item->kind == MSGPACK_STRING && item->count == n &&
           memcmp(item->s, text, n) == 0;
}
