/* `run --select`: for each case the kernel that a selection table chooses. */
#ifndef WF_CLI_SELECT_H
#define WF_CLI_SELECT_H

#include "cli/kernel_set.h"
#include "kernels/case.h"
#include "runner/device.h"
#include "tune/selection.h"

/* `what`: a file, or "auto": the built-in table of the op and the device's
 * architecture, <exe>/../share/wavefarm/selections/<op>-<arch>.json. ENOTFOUND, EINVAL:
 * there is none, or it is for something else. */
enum wf_status wf_select_open(const char *what,
                              const char *op,
                              const struct wf_device *device,
                              struct wf_selection **ret,
                              struct wf_error *err);
/* The choice among the kernels of the set; ret->kernel is an index into set->choice, or
 * set->count: none, and ret->why says why not. */
enum wf_status wf_select_kernel(const struct wf_selection *s,
                                const struct wf_case *c,
                                const struct wf_device *device,
                                const struct wf_kernel_set *set,
                                struct wf_selection_choice *ret,
                                struct wf_error *err);

#endif
