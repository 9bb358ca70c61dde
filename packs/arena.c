/* Memory that is freed in one go.
 *
 * Each allocation is a block of its own in a list: packs are small, and the sanitizers
 * then see an access past the end of any part. */
#include "packs/arena.h"

#include "core/buf.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    alignas(max_align_t) struct arena_block *next;
    alignas(max_align_t) unsigned char data[];
};

void *arena_calloc(struct arena *a, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) ||
        bytes > SIZE_MAX - sizeof(struct arena_block)) {
        return NULL;
    }
    struct arena_block *b = wf_calloc(1, sizeof *b + bytes);
    if (b == NULL) {
        return NULL;
    }
    b->next = a->block;
    a->block = b;
    return b->data;
}

char *arena_strdup(struct arena *a, const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = arena_calloc(a, n, 1);
    if (copy != NULL) {
        memcpy(copy, s, n);
    }
    return copy;
}

enum wf_status arena_take_expr(struct arena *a, struct wf_expr *e, struct wf_error *err)
{
    if (a->expr_count == a->expr_cap) {
        size_t cap = a->expr_cap == 0 ? 16 : 2 * a->expr_cap;
        struct wf_expr **grown =
            wf_realloc_array(a->expr, cap, sizeof(struct wf_expr *));
        if (grown == NULL) {
            wf_expr_free(e);
            return wf_errorf(err, WF_ENOMEM, "no memory for an expression");
        }
        a->expr = grown;
        a->expr_cap = cap;
    }
    a->expr[a->expr_count++] = e;
    return WF_OK;
}

void arena_fini(struct arena *a)
{
    for (size_t i = 0; i < a->expr_count; i++) {
        wf_expr_free(a->expr[i]);
    }
    free(a->expr);
    while (a->block != NULL) {
        struct arena_block *next = a->block->next;
        free(a->block);
        a->block = next;
    }
    *a = (struct arena){ 0 };
}
