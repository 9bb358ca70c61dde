/* The candidates of a bisection: packs in commit order, from a good to a bad one. */
#ifndef WF_CLI_BISECT_PACKS_H
#define WF_CLI_BISECT_PACKS_H

#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stddef.h>

struct bisect_pack {
    char *path;                 /* folder or archive; NULL: published, not here yet */
    char id[WF_SHA256_HEX];     /* of the pack */
    char commit[WF_SHA256_HEX]; /* "" : not known */
    char (*parent)[WF_SHA256_HEX];
    size_t parents;
    char built_at[40];
    char identity[WF_SHA256_HEX]; /* of the kernel's code; "": the pack lacks it, or is
                                     not here yet */
    char archive[WF_SHA256_HEX];  /* of a published one; "" */
    char *record;                 /* its provenance, JSON text; NULL */
};

struct bisect_packs {
    struct bisect_pack *pack; /* [0] good, [count - 1] bad */
    size_t count;
    size_t outside; /* packs that were given and do not lie between the two */
    /* Brings a pack without a path here: sets `path` and `identity`. */
    enum wf_status (*get)(void *ctx, struct bisect_pack *p, struct wf_error *err);
    void *ctx;
};

/* `from`: a folder of packs (ordered by the commits and parents of their provenance), a
 * text file with one pack a line, oldest first (its order holds; relative paths are
 * relative to it), or NULL: the two ends alone. Errors name the pack. */
enum wf_status bisect_packs_read(const char *good,
                                 const char *bad,
                                 const char *from,
                                 const char *kernel,
                                 struct bisect_packs *ret,
                                 struct wf_error *err);
void bisect_packs_free(struct bisect_packs *p);

/* The parts of it that published packs need, too. */

/* Opens the folder or archive; *ret is to be freed with bisect_pack_free. */
enum wf_status bisect_pack_load(const char *path,
                                const char *kernel,
                                struct bisect_pack *ret,
                                struct wf_error *err);
void bisect_pack_free(struct bisect_pack *p);
/* Commit, parents and time of a record of provenance (NULL: none). */
enum wf_status bisect_pack_origin(struct bisect_pack *p,
                                  const struct wf_json *record,
                                  struct wf_error *err);
/* Takes *p, also after an error. */
enum wf_status bisect_packs_push(struct bisect_packs *packs,
                                 struct bisect_pack *p,
                                 struct wf_error *err);
/* Keeps those along first parents from the one with number `bad` to `good`. */
enum wf_status bisect_packs_line(struct bisect_packs *p,
                                 size_t good,
                                 size_t bad,
                                 struct wf_error *err);
/* Both have the kernel, and they are two packs. */
enum wf_status bisect_packs_check_ends(const struct bisect_pack *good,
                                       const struct bisect_pack *bad,
                                       const char *kernel,
                                       struct wf_error *err);

/* "a1b2c3d4e5f6", the commit's begin, else the pack's. */
void bisect_pack_short(const struct bisect_pack *p, char ret[16]);

#endif
