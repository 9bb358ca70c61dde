/* Where a pack comes from, as `pack publish` tells the farm. */
#ifndef WF_CLI_PACK_ORIGIN_H
#define WF_CLI_PACK_ORIGIN_H

#include "core/error.h"
#include "core/json.h"
#include "packs/pack.h"

/* EINVAL unless it is a URL or path that a record can name: printable, not too long,
 * without a user's password. */
enum wf_status wf_repository_check(const char *url, struct wf_error *err);

/* The record of the pack at git's present commit: compilers and flags are those of the
 * folder's provenance.json where there is one. `repository` NULL: git's remote
 * "origin". ENOTFOUND outside a work tree; EINVAL when the folder's own record is of
 * another commit. */
enum wf_status wf_pack_origin(const struct wf_pack *pack,
                              const char *repository,
                              struct wf_json **ret,
                              struct wf_error *err);

#endif
