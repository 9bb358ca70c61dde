/* Provenance of a pack: from which commit, by which compiler with which flags. A record
 * beside the pack (FOLDER/provenance.json, which pack.json does not name), never a part
 * of its id. docs/schemas/provenance.schema.json. */
#ifndef WF_PACKS_PROVENANCE_H
#define WF_PACKS_PROVENANCE_H

#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stddef.h>

#define WF_GIT_MAX_PARENTS 8

struct wf_git_info {
    char repository[512]; /* URL of the remote "origin" without user and password; "" */
    char commit[WF_SHA256_HEX]; /* 40 or 64 hex digits */
    char parent[WF_GIT_MAX_PARENTS][WF_SHA256_HEX];
    size_t parent_count;
    bool dirty; /* tracked files differ from the commit */
};

/* Asks git about the work tree that holds `folder`. ENOTFOUND when that is none, or
 * when git is not installed. Takes no lock. */
enum wf_status wf_git_read(const char *folder,
                           struct wf_git_info *ret,
                           struct wf_error *err);

struct wf_provenance_kernel {
    const char *name;
    const char *compiler;         /* "clang-19" */
    const char *compiler_version; /* first line of --version */
    const char *const *flags;
    size_t flag_count;
    const char *source; /* path in the repository */
    const char *source_sha256;
};

struct wf_provenance {
    const struct wf_git_info *git; /* NULL: not known */
    const struct wf_provenance_kernel *kernel;
    size_t kernel_count;
};

/* The record with the present time. */
enum wf_status wf_provenance_make(const char *pack_id,
                                  const struct wf_provenance *p,
                                  struct wf_json **ret,
                                  struct wf_error *err);
/* Writes the record with the present time; atomic. */
enum wf_status wf_provenance_write(const char *path,
                                   const char *pack_id,
                                   const struct wf_provenance *p,
                                   struct wf_error *err);

/* Reads a record strictly. `pack_id` NULL: not compared. EINVAL when it is the record
 * of another pack. */
enum wf_status wf_provenance_read(const char *path,
                                  const char *pack_id,
                                  struct wf_json **ret,
                                  struct wf_error *err);
/* As wf_provenance_read, for one that came over the wire. */
enum wf_status wf_provenance_check(const struct wf_json *json,
                                   const char *pack_id,
                                   struct wf_error *err);

#endif
