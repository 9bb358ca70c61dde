/* Memory that is freed in one go: the parts of a pack or of a plan. */
#ifndef WF_PACKS_ARENA_H
#define WF_PACKS_ARENA_H

#include "packs/expr.h"

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *block;
    struct wf_expr **expr;
    size_t expr_count, expr_cap;
};

/* Zero-filled; NULL: no memory. n = 0 gives a pointer that is not NULL. */
void *arena_calloc(struct arena *a, size_t n, size_t size);
char *arena_strdup(struct arena *a, const char *s);
/* Takes the expression, also when it fails (ENOMEM). */
enum wf_status arena_take_expr(struct arena *a,
                               struct wf_expr *e,
                               struct wf_error *err);
void arena_fini(struct arena *a);

#endif
