/* Compiles kernels of kernel entries (docs/pack.md) into a pack folder, through the
 * kernel cache (docs/kernel-cache.md): what wf-packgen does at build time and
 * `wavefarm tune` on demand. */
#ifndef WF_PACKS_BUILD_H
#define WF_PACKS_BUILD_H

#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_kernel_cache; /* packs/kernel_cache.h */

struct wf_build_kernel {
    const char *entry;           /* path relative to root */
    const char *variant;         /* of the entry; NULL: every kernel of it that is for
                                    the architecture, as it is */
    const struct wf_json *knobs; /* merged over the variant's; NULL: none */
    const char *name;            /* of the new kernel; NULL: the variant's */
};
/* An entry without variants takes `knobs` and `name` with variant NULL, or with its own
 * name as the variant. */

/* Receives what people should see: one text of one or more lines, with its newline. */
typedef void wf_build_say_fn(void *ctx, const char *text);

struct wf_build_options {
    const char *name;              /* of the pack */
    const char *arch;              /* "gfx942", "sm_90" */
    const char *format;            /* "co", "cubin", "ptx" */
    const char *clang, *nvcc;      /* programs; a compile.compiler of the entry stands
                                      for clang */
    const char *root;              /* of the tree: sources and include path */
    const char *out;               /* folder of the pack, replaced */
    const char *depfile;           /* for make and ninja; NULL: none */
    int jobs;                      /* compilers at once; 0: processors */
    struct wf_kernel_cache *cache; /* NULL: none */
    int timeout_ms;                /* of one compiler; 0: none */
    bool keep_going;               /* a kernel that does not build is left out */
    wf_build_say_fn *say;          /* compilers' output, warnings and the errors of all
                                      kernels, in the order of the kernels, from the
                                      calling thread; NULL: standard error */
    void *say_ctx;
};

/* What became of one of the kernels asked for (of an entry as a whole: of all of them).
 */
struct wf_build_outcome {
    bool built, from_cache;
    int64_t compile_ns;    /* 0 from the cache */
    struct wf_error error; /* why not */
};

/* outcomes[n] may be NULL. Fails when nothing was built, or, without keep_going, when
 * one kernel was not; the old pack is left as it was then. */
enum wf_status wf_build_pack(const struct wf_build_options *o,
                             const struct wf_build_kernel *kernels,
                             size_t n,
                             struct wf_build_outcome *outcomes,
                             struct wf_error *err);

/* A pack of shared libraries that are there already, described by library entries. */
struct wf_build_library {
    const char *name, *root, *out, *depfile; /* as above */
    const char *compiler, *compiler_version; /* who made the files */
    const char *const *flag, *const *file, *const *entry;
    size_t flag_count, file_count, entry_count;
};
enum wf_status wf_build_library_pack(const struct wf_build_library *o,
                                     struct wf_error *err);

#endif
