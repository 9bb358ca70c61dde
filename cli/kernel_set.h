/* The kernels a command works with: all kernels of some packs whose names match. */
#ifndef WF_CLI_KERNEL_SET_H
#define WF_CLI_KERNEL_SET_H

#include "core/error.h"
#include "packs/pack.h"

#include <stddef.h>

struct wf_kernel_choice {
    const struct wf_pack *pack;
    const struct wf_pack_kernel *kernel;
};

struct wf_kernel_set {
    struct wf_pack **pack;
    size_t pack_count;
    struct wf_kernel_choice *choice; /* in the packs' order */
    size_t count;
};

/* `folders`: pack folders; none means every pack in the packs folder, without the
 * probes' kernels. `glob` NULL is
 * all; it is matched against "kernel" and "pack/kernel". ENOTFOUND when nothing is
 * left, with what there was. */
enum wf_status wf_kernel_set_open(const char *const *folders,
                                  size_t folder_count,
                                  const char *glob,
                                  struct wf_kernel_set *ret,
                                  struct wf_error *err);
void wf_kernel_set_close(struct wf_kernel_set *set);
/* Does the kernel's arch list hold the device's arch (feature suffixes apart)? */
bool wf_kernel_fits_arch(const struct wf_pack_kernel *kernel, const char *arch);
/* <pack folder>/provenance.json, or NULL in *ret where there is none. Caller frees. */
enum wf_status wf_pack_provenance_path(const struct wf_pack *pack,
                                       char **ret,
                                       struct wf_error *err);

#endif
