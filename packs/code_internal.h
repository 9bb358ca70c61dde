/* What code_object.c, amdgpu_metadata.c and ptx.c share. */
#ifndef WF_PACKS_CODE_INTERNAL_H
#define WF_PACKS_CODE_INTERNAL_H

#include "packs/arena.h"
#include "packs/code_object.h"
#include "packs/elf.h"

#define CODE_MAX_KERNELS 4096

struct wf_code_object {
    enum wf_code_kind kind;
    char arch[32];
    const char *source;
    struct wf_code_kernel *kernel;
    size_t count, cap;
    struct arena arena; /* names and arguments */
};

/* A name that is there already is left as it is. */
enum wf_status code_add_kernel(struct wf_code_object *c,
                               const char *name,
                               size_t len,
                               struct wf_error *err);
struct wf_code_kernel *code_find(struct wf_code_object *c,
                                 const char *name,
                                 size_t len);

/* Fills in the metadata of kernels; a code object without the note keeps none. */
enum wf_status code_read_amdgpu_metadata(struct wf_code_object *c,
                                         const struct elf *e,
                                         struct wf_error *err);
/* Fills in the parameters of kernels; a kernel without them is left without. */
enum wf_status code_read_cubin_parameters(struct wf_code_object *c,
                                          const struct elf *e,
                                          struct wf_error *err);
enum wf_status code_read_ptx(struct wf_code_object *c,
                             const void *data,
                             size_t bytes,
                             struct wf_error *err);

#endif
