/* Calls a library kernel on a case in plain memory, for tests and benches. */
#ifndef WF_TESTS_LIBRARY_FIXTURE_H
#define WF_TESTS_LIBRARY_FIXTURE_H

#include "kernels/case.h"
#include "packs/library_abi.h"

/* `data`: one pointer a tensor of the case, NULL where absent. 0, or the kernel's code
 * with its reason in `message`. */
int library_run(const struct wf_lib_kernel *kernel,
                const struct wf_case *c,
                void *const *data,
                int threads,
                char *message,
                size_t message_bytes);
int library_supports(const struct wf_lib_kernel *kernel,
                     const struct wf_case *c,
                     char *message,
                     size_t message_bytes);
const struct wf_lib_kernel *library_find(const struct wf_library_v1 *lib,
                                         const char *name);

#endif
