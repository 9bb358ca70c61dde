/* The code objects that an argument names. */
#ifndef WF_CLI_ISA_FILES_H
#define WF_CLI_ISA_FILES_H

#include "core/error.h"
#include "packs/pack.h"

#include <stddef.h>

struct wf_isa_files {
    char **path;
    size_t count;
};

/* A file stands for itself; a folder is a pack: its gfx942 code objects, each once, in
 * the order of its kernels. ENOTFOUND: the pack has none. */
enum wf_status wf_isa_files_of(const char *what,
                               struct wf_isa_files *ret,
                               struct wf_error *err);
void wf_isa_files_free(struct wf_isa_files *f);
/* Has this kernel code objects for gfx942? */
bool wf_isa_is_gfx942(const struct wf_pack_kernel *k);

#endif
