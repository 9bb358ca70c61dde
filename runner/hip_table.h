/* A runtime library, loaded: one pointer for each row of hip_functions.def. */
#ifndef WF_RUNNER_HIP_TABLE_H
#define WF_RUNNER_HIP_TABLE_H

#include "core/error.h"
#include "runner/hip_abi.h"

#define WF_HIP_ERROR_TEXT 256

struct wf_hip {
    void *handle;
    char library[512]; /* as given to wf_hip_load */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a type and a declarator */
#define FN(required, result, name, args) result(*name) args;
#include "runner/hip_functions.def"
#undef FN
};

/* ENOTFOUND when the library is not there or does not load, EUNSUPPORTED with the names
 * of the functions that it lacks. Optional functions are NULL when absent. A library
 * stays loaded until the program ends. */
enum wf_status wf_hip_load(const char *library,
                           struct wf_hip *ret,
                           struct wf_error *err);

/* EDEVICE with "what: name (text)" and the native code; WF_OK when code is hipSuccess.
 */
enum wf_status wf_hip_check(const struct wf_hip *hip,
                            hipError_t code,
                            const char *what,
                            struct wf_error *err);

/* Architecture name of a device whose library has no wf_rt_device_info, from the
 * properties structure: the layout of ROCm 6 where hipGetDevicePropertiesR0600 is
 * there, else the one before it. */
enum wf_status wf_hip_arch_name(const struct wf_hip *hip,
                                int device,
                                char *ret,
                                size_t n,
                                struct wf_error *err);

#endif
