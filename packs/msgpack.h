/* Reads MessagePack from memory that anybody may have written: enough for the metadata
 * of AMDGPU code objects. Items come one after the other; arrays and maps announce how
 * many items (twice as many for maps) follow. */
#ifndef WF_PACKS_MSGPACK_H
#define WF_PACKS_MSGPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum msgpack_kind {
    MSGPACK_NIL,
    MSGPACK_BOOL,
    MSGPACK_UINT,  /* also non-negative signed */
    MSGPACK_OTHER, /* negative, float, binary, extension: skipped */
    MSGPACK_STRING,
    MSGPACK_ARRAY,
    MSGPACK_MAP
};

struct msgpack {
    const uint8_t *p, *end;
};

struct msgpack_item {
    enum msgpack_kind kind;
    uint64_t u;     /* BOOL, UINT */
    const char *s;  /* STRING, not NUL-terminated */
    uint32_t count; /* STRING: bytes; ARRAY, MAP: items, pairs */
};

/* False at a malformed item or at the end. */
bool msgpack_next(struct msgpack *m, struct msgpack_item *ret);
/* Skips the content of an item that msgpack_next gave (nothing for scalars). */
bool msgpack_skip_content(struct msgpack *m, const struct msgpack_item *item);
bool msgpack_is(const struct msgpack_item *item, const char *text);

#endif
