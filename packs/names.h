/* Names in packs: what is allowed, and which known name is near a wrong one. */
#ifndef WF_PACKS_NAMES_H
#define WF_PACKS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define WF_NAME_MAX 64

/* [A-Za-z_][A-Za-z0-9_]*, at most WF_NAME_MAX characters. */
bool wf_name_is_identifier(const char *name);

/* Keeps the nearest of the names offered so far; a name more than a third of its
 * length away is never near. */
struct wf_nearest {
    const char *wanted;
    const char *best; /* NULL: none is near */
    size_t distance;
};

struct wf_nearest wf_nearest_start(const char *wanted);
void wf_nearest_offer(struct wf_nearest *n, const char *known);

#endif
