/* The runner's side of the HTTP API (docs/wire.md section 3): one function a route.
 * A client serves one thread. */
#ifndef WF_RUNNER_FARM_CLIENT_H
#define WF_RUNNER_FARM_CLIENT_H

#include "core/error.h"
#include "core/http_client.h"
#include "core/json.h"
#include "runner/device.h"

#include <stddef.h>
#include <stdint.h>

struct wf_farm_client; /* opaque */

enum wf_status wf_farm_client_create(const struct wf_http_options *server,
                                     struct wf_farm_client **ret,
                                     struct wf_error *err);
void wf_farm_client_destroy(struct wf_farm_client *client);

struct wf_farm_session {
    char id[32];
    int64_t ttl_ms;
    int64_t heartbeat_ms;
};

enum wf_status wf_farm_register(struct wf_farm_client *client,
                                const char *name,
                                const struct wf_device *device,
                                size_t device_count,
                                const char *const *label,
                                size_t label_count,
                                struct wf_farm_session *ret,
                                struct wf_error *err);
/* *ret is the answer's object, to be freed. ENOTFOUND: the session is gone. */
enum wf_status wf_farm_heartbeat(struct wf_farm_client *client,
                                 const char *session,
                                 struct wf_json **ret,
                                 struct wf_error *err);
/* *ret is the answer's object ("shards"). The same claim_id may be asked again. */
enum wf_status wf_farm_lease(struct wf_farm_client *client,
                             const char *session,
                             const char *claim_id,
                             const char *device_id,
                             int64_t wait_ms,
                             struct wf_json **ret,
                             struct wf_error *err);
/* `items` is a JSON array text of {"shard","token","task","digest","result"}.
 * ERANGE: the body was over the server's limit (413), send fewer. */
enum wf_status wf_farm_results(struct wf_farm_client *client,
                               const char *session,
                               const char *items,
                               struct wf_json **ret,
                               struct wf_error *err);
enum wf_status wf_farm_release(struct wf_farm_client *client,
                               const char *session,
                               const char *shard,
                               const char *token,
                               const char *reason,
                               struct wf_error *err);
enum wf_status wf_farm_end(struct wf_farm_client *client,
                           const char *session,
                           struct wf_error *err);
enum wf_status wf_farm_blob(struct wf_farm_client *client,
                            const char *sha256,
                            const char *to_file,
                            struct wf_error *err);

/* A random UUID (version 4) for claim and request ids; 37 bytes with the NUL. */
enum wf_status wf_uuid(char ret[37], struct wf_error *err);

#endif
