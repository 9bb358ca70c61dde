/* What of a kernel can reach a device: two kernels with equal identities run the same
 * machine code with the same arguments on the same case, so there is nothing to
 * measure.
 *
 * Hashed: the loadable part of each code object (of ELF the allocated sections and the
 * AMDGPU metadata note; of PTX the text without comments and line directives), the
 * kernel's entry in pack.json (launches, buffers, knobs, conditions), for libraries the
 * allocated sections, for process kernels every file of the pack. Not hashed: debug
 * sections, symbol tables, build ids, notes of the compiler, source paths, file names,
 * the names of pack and kernel, summaries.
 *
 * What is not understood is hashed as it is: at worst equal code counts as different
 * and is measured, never the other way round. */
#ifndef WF_PACKS_IDENTITY_H
#define WF_PACKS_IDENTITY_H

#include "core/sha256.h"
#include "packs/pack.h"

/* `pack` was opened from a folder. The name of a library kernel or a process kernel is
 * hashed, since it tells the library or the command what to run. EPARSE: a code object
 * that is cut off or points outside of itself; the error names the file. */
enum wf_status wf_kernel_identity(const struct wf_pack *pack,
                                  const struct wf_pack_kernel *kernel,
                                  char ret[WF_SHA256_HEX],
                                  struct wf_error *err);

/* Of one image: ELF, PTX, a bundle of these, or anything else as its bytes. `source`
 * names it in errors. */
enum wf_status wf_code_identity(const void *data,
                                size_t bytes,
                                const char *source,
                                char ret[WF_SHA256_HEX],
                                struct wf_error *err);

#endif
