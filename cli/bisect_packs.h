/* The candidates of a bisection: packs in commit order, from a good to a bad one. */
#ifndef WF_CLI_BISECT_PACKS_H
#define WF_CLI_BISECT_PACKS_H

#include "core/error.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stddef.h>

struct bisect_pack {
    char *path;                 /* folder or archive */
    char id[WF_SHA256_HEX];     /* of the pack */
    char commit[WF_SHA256_HEX]; /* "" : not known */
    char (*parent)[WF_SHA256_HEX];
    size_t parents;
    char built_at[40];
    char identity[WF_SHA256_HEX]; /* of the kernel's code; "": the pack lacks it */
};

struct bisect_packs {
    struct bisect_pack *pack; /* [0] good, [count - 1] bad */
    size_t count;
    size_t outside; /* packs that were given and do not lie between the two */
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

/* "a1b2c3d4e5f6", the commit's begin, else the pack's. */
void bisect_pack_short(const struct bisect_pack *p, char ret[16]);

#endif
