/* The user's side of the HTTP API (docs/wire.md section 3). */
#ifndef WF_CLI_API_H
#define WF_CLI_API_H

#include "cli/args.h"
#include "core/error.h"
#include "core/json.h"

#include <stdint.h>

struct wf_api; /* opaque */

/* From the options WF_OPTS_SERVER and WAVEFARM_TOKEN; EINVAL says what is missing. */
enum wf_status wf_api_open(const struct wf_args *args,
                           struct wf_api **ret,
                           struct wf_error *err);
void wf_api_close(struct wf_api *api);

/* *ret is the answer, to be freed; may be NULL when it is not wanted. */
enum wf_status wf_api_get(struct wf_api *api,
                          const char *path,
                          int64_t extra_timeout_ms,
                          struct wf_json **ret,
                          struct wf_error *err);
enum wf_status wf_api_post(struct wf_api *api,
                           const char *path,
                           const struct wf_json *body,
                           struct wf_json **ret,
                           struct wf_error *err);
/* Uploads a file under its hash unless the coordinator has it. */
enum wf_status wf_api_put_blob(struct wf_api *api,
                               const char *file,
                               char ret_sha256[65],
                               struct wf_error *err);

/* Server and token of the options, for the worker. Strings live as long as the token
 * buffer and the arguments. */
struct wf_http_options;
enum wf_status wf_server_options(const struct wf_args *args,
                                 struct wf_http_options *ret,
                                 struct wf_buf *token,
                                 struct wf_error *err);

#endif
