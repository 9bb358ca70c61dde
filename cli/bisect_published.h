/* The packs of a bisection that were published to a coordinator: listed and put in
 * order at once, brought here one by one when a step needs them. */
#ifndef WF_CLI_BISECT_PUBLISHED_H
#define WF_CLI_BISECT_PUBLISHED_H

#include "cli/args.h"
#include "cli/bisect_packs.h"

struct bisect_published; /* opaque */

/* From the options of a farm's commands. Strings have to outlive it. */
enum wf_status bisect_published_open(const struct wf_args *args,
                                     const char *kernel,
                                     struct bisect_published **ret,
                                     struct wf_error *err);
void bisect_published_close(struct bisect_published *b);

/* One candidate for each commit of each pack of the name. `good` and `bad`: a folder,
 * an archive, or the begin (4 digits or more) of a commit or a pack's id; both are here
 * afterwards. *ret gets the others through `b`, which has to outlive it. Records of a
 * tree that differed from its commit are no candidates. ENOTFOUND: no pack of that
 * name, none with a commit, an end or a commit between that is not among them. */
enum wf_status bisect_published_read(struct bisect_published *b,
                                     const char *name,
                                     const char *good,
                                     const char *bad,
                                     struct bisect_packs *ret,
                                     struct wf_error *err);

#endif
