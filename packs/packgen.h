/* What the files of wf-packgen share: it compiles kernel entries (docs/pack.md, "kernel
 * entries") and makes a pack of them at build time. */
#ifndef WF_PACKS_PACKGEN_H
#define WF_PACKS_PACKGEN_H

#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stddef.h>

#define PACKGEN_MAX_WORDS 512

/* Words of the command line, borrowed. */
struct packgen_list {
    const char *item[PACKGEN_MAX_WORDS];
    size_t count;
};

struct packgen_options {
    bool library;       /* "library" mode, else "device" */
    const char *name;   /* of the pack */
    const char *arch;   /* device */
    const char *format; /* device: "co", "cubin", "ptx" */
    const char *clang;
    const char *nvcc;
    const char *root; /* of the tree; compilers run there with relative paths */
    const char *out;  /* folder of the pack */
    const char *depfile;
    const char *compiler, *compiler_version; /* library: who made the files */
    struct packgen_list files;               /* library: files to copy into the pack */
    struct packgen_list flags;               /* library: flags, for the record */
    struct packgen_list entries;             /* paths relative to root */
};

/* A kernel that an entry asks for. */
struct packgen_kernel {
    struct wf_json *json;    /* as pack.json wants it, but `code` and `arch` as in the
                                entry; owned */
    struct wf_json *compile; /* the merged "compile"; owned, may be NULL */
    const char *entry;       /* path relative to root; borrowed */
    const struct packgen_kernel *before; /* compiled already; equal code is shared */
    /* For the record. */
    char *source;
    char *compiler, *compiler_version;
    char source_sha256[WF_SHA256_HEX];
    char **flag;
    size_t flag_count;
};

struct packgen_kernels {
    struct packgen_kernel *item;
    size_t count, cap;
};

void packgen_kernels_fini(struct packgen_kernels *k);

/* Reads one entry and appends its kernels that are for options->arch (device) or of
 * kind library. */
enum wf_status packgen_read_entry(const struct packgen_options *o,
                                  const char *entry,
                                  struct packgen_kernels *ret,
                                  struct wf_error *err);

/* Compiles the kernel's sources into `folder`, sets its `code`, `arch` and `source`,
 * and adds the files that were read to `deps` (one line each, absolute). */
enum wf_status packgen_compile(const struct packgen_options *o,
                               struct packgen_kernel *k,
                               const char *folder,
                               struct wf_buf *deps,
                               struct wf_error *err);

/* Version of the compiler in use, its first telling line; caller frees. */
enum wf_status packgen_compiler_version(const char *compiler,
                                        char **ret,
                                        struct wf_error *err);

/* File names in a make depfile, appended one a line, made absolute with `root`. */
enum wf_status packgen_parse_depfile(const char *path,
                                     const char *root,
                                     struct wf_buf *deps,
                                     struct wf_error *err);

/* Everything: kernels, files, pack.json, provenance.json, depfile. */
enum wf_status packgen_make(const struct packgen_options *o, struct wf_error *err);

#endif
