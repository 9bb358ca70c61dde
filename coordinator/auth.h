/* Access tokens: making, the form, and who a token is. */
#ifndef WF_COORDINATOR_AUTH_H
#define WF_COORDINATOR_AUTH_H

#include "coordinator/db.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WF_TOKEN_CHARS 48 /* "wf_r_" + 43 + NUL, and no more */

struct wf_auth; /* opaque: a small cache, so that not every request asks the database */

/* A token is remembered this long: a revoked one works no longer than that. */
#define WF_AUTH_CACHE_MS 1000

enum wf_status wf_auth_create(struct wf_auth **ret, struct wf_error *err);
void wf_auth_destroy(struct wf_auth *auth);
/* False: not known here, ask the database. Any thread. */
bool wf_auth_cached(struct wf_auth *auth,
                    const char *token,
                    int64_t *ret_token_id,
                    unsigned *ret_role);
/* ENOTFOUND when there is no such token or it was revoked. */
enum wf_status wf_auth_lookup(struct wf_auth *auth,
                              struct wf_db *db,
                              const char *token,
                              int64_t *ret_token_id,
                              unsigned *ret_role,
                              struct wf_error *err);

/* "wf_", role letter (r reader, s submitter, a admin, w runner), "_", 43 base64url
 * characters of 256 random bits. */
bool wf_token_is_formed(const char *token);
/* Name of a role as `token create --role` takes it; 0 when there is none. */
unsigned wf_role_parse(const char *name);
const char *wf_role_name(unsigned role);
enum wf_status wf_token_create(struct wf_db *db,
                               const char *name,
                               unsigned role,
                               char ret_token[WF_TOKEN_CHARS + 1],
                               int64_t *ret_id,
                               struct wf_error *err);

#endif
