/* Where the programs and runtime libraries of this tree are. */
#ifndef WF_RUNNER_PATHS_H
#define WF_RUNNER_PATHS_H

#include "core/error.h"

/* "wavefarm-judge": in $WAVEFARM_LIBEXEC, beside the running program, or in
 * ../libexec/wavefarm. Caller frees *ret. ENOTFOUND names the folders. */
enum wf_status runner_program(const char *name, char **ret, struct wf_error *err);
/* "libwavefarm_host.so": in $WAVEFARM_LIBRARIES, ../lib, ../lib/wavefarm. */
enum wf_status runner_library(const char *name, char **ret, struct wf_error *err);
/* Folder of a pack that the judge itself uses, "wavefarm-naive-gfx942" or, where that
 * is not there, "-ptx" behind it: in $WAVEFARM_REFERENCE_PACKS, else
 * ../reference-packs. */
enum wf_status runner_reference_pack(const char *name,
                                     char **ret,
                                     struct wf_error *err);

#endif
