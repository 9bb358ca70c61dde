/* Builds request bodies and reads answers; retries are the HTTP client's. */
#include "runner/farm_client.h"

#include "core/buf.h"
#include "core/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_farm_client {
    struct wf_http *http;
};

enum wf_status wf_farm_client_create(const struct wf_http_options *server,
                                     struct wf_farm_client **ret,
                                     struct wf_error *err)
{
    struct wf_farm_client *c = wf_calloc(1, sizeof(*c));
    if (c == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for an HTTP client");
    }
    enum wf_status status = wf_http_create(server, &c->http, err);
    if (status != WF_OK) {
        free(c);
        return status;
    }
    *ret = c;
    return WF_OK;
}

void wf_farm_client_destroy(struct wf_farm_client *c)
{
    if (c != NULL) {
        wf_http_destroy(c->http);
        free(c);
    }
}

/* Sends `body` and parses the answer's object. */
static enum wf_status post_text(struct wf_farm_client *c,
                                const char *path,
                                const struct wf_buf *body,
                                int64_t extra_timeout_ms,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    struct wf_http_response r = { 0 };
    enum wf_status status =
        wf_http_request(c->http, "POST", path, "application/json", body->data,
                        body->len, extra_timeout_ms, &r, err);
    if (status != WF_OK) {
        return status;
    }
    status = wf_http_check(&r, err);
    if (status != WF_OK && (r.status == 413 || r.status == 410)) {
        status = r.status == 413 ? WF_ERANGE : WF_ENOTFOUND;
        if (err != NULL) {
            err->status = status;
        }
    }
    if (status == WF_OK && ret != NULL) {
        status = wf_json_parse(r.body.data, r.body.len, path, ret, err);
    }
    wf_http_response_free(&r);
    return status;
}

static enum wf_status post(struct wf_farm_client *c,
                           const char *path,
                           const struct wf_json *body,
                           int64_t extra_timeout_ms,
                           struct wf_json **ret,
                           struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_json_write(body, &text, err);
    if (status == WF_OK) {
        status = post_text(c, path, &text, extra_timeout_ms, ret, err);
    }
    wf_buf_free(&text);
    return status;
}

static enum wf_status registration(const char *name,
                                   const struct wf_device *device,
                                   size_t device_count,
                                   const char *const *label,
                                   size_t label_count,
                                   struct wf_json *body,
                                   struct wf_error *err)
{
    struct wf_json *labels = wf_json_array();
    struct wf_json *devices = wf_json_array();
    enum wf_status status =
        wf_json_set_string(body, "schema", "wavefarm.runner/1", err);
    for (size_t i = 0; i < label_count && status == WF_OK; i++) {
        status = wf_json_push_string(labels, label[i], err);
    }
    for (size_t i = 0; i < device_count && status == WF_OK; i++) {
        struct wf_json *d = NULL;
        status = wf_device_to_json(&device[i], &d, err);
        if (status == WF_OK) {
            status = wf_json_push_take(devices, d, err);
        }
    }
    /* The children are taken in any case. */
    enum wf_status s1 = wf_json_set_take(body, "labels", labels, err);
    enum wf_status s2 = wf_json_set_take(body, "devices", devices, err);
    if (status == WF_OK) {
        status = s1 != WF_OK ? s1 : s2;
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "name", name, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "version", WF_VERSION, err);
    }
    return status;
}

enum wf_status wf_farm_register(struct wf_farm_client *c,
                                const char *name,
                                const struct wf_device *device,
                                size_t device_count,
                                const char *const *label,
                                size_t label_count,
                                struct wf_farm_session *ret,
                                struct wf_error *err)
{
    const char *id = NULL;
    struct wf_json *answer = NULL;
    struct wf_json *body = wf_json_object();
    enum wf_status status =
        registration(name, device, device_count, label, label_count, body, err);
    if (status == WF_OK) {
        status = post(c, "/v1/runners", body, 0, &answer, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(answer, "session", &id, err);
    }
    if (status == WF_OK) {
        snprintf(ret->id, sizeof(ret->id), "%s", id);
        status = wf_json_get_i64(answer, "ttl_ms", 1, 86400000, &ret->ttl_ms, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_i64(answer, "heartbeat_ms", 1, 3600000, &ret->heartbeat_ms,
                                 err);
    }
    wf_json_free(answer);
    wf_json_free(body);
    return status;
}

enum wf_status wf_farm_heartbeat(struct wf_farm_client *c,
                                 const char *session,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    char path[96];
    struct wf_json *body = wf_json_object();
    snprintf(path, sizeof(path), "/v1/runners/%s/heartbeat", session);
    enum wf_status status = post(c, path, body, 0, ret, err);
    wf_json_free(body);
    return status;
}

enum wf_status wf_farm_lease(struct wf_farm_client *c,
                             const char *session,
                             const char *claim_id,
                             const char *device_id,
                             int64_t wait_ms,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct wf_json *body = wf_json_object();
    enum wf_status status = wf_json_set_string(body, "session", session, err);
    if (status == WF_OK) {
        status = wf_json_set_string(body, "claim_id", claim_id, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "device", device_id, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_i64(body, "want", 1, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_i64(body, "wait_ms", wait_ms, err);
    }
    if (status == WF_OK) {
        status = post(c, "/v1/lease", body, wait_ms, ret, err);
    }
    wf_json_free(body);
    return status;
}

enum wf_status wf_farm_results(struct wf_farm_client *c,
                               const char *session,
                               const char *items,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_buf body = WF_BUF_INIT;
    enum wf_status status = wf_buf_printf(
        &body, err, "{\"session\":\"%s\",\"results\":%s}", session, items);
    if (status == WF_OK) {
        status = post_text(c, "/v1/results", &body, 0, ret, err);
    }
    wf_buf_free(&body);
    return status;
}

enum wf_status wf_farm_release(struct wf_farm_client *c,
                               const char *session,
                               const char *shard,
                               const char *token,
                               const char *reason,
                               struct wf_error *err)
{
    char path[96];
    struct wf_json *body = wf_json_object();
    snprintf(path, sizeof(path), "/v1/shards/%s/release", shard);
    enum wf_status status = wf_json_set_string(body, "session", session, err);
    if (status == WF_OK) {
        status = wf_json_set_string(body, "token", token, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "reason", reason, err);
    }
    if (status == WF_OK) {
        status = post(c, path, body, 0, NULL, err);
    }
    wf_json_free(body);
    return status;
}

enum wf_status wf_farm_end(struct wf_farm_client *c,
                           const char *session,
                           struct wf_error *err)
{
    char path[96];
    struct wf_json *body = wf_json_object();
    snprintf(path, sizeof(path), "/v1/runners/%s/end", session);
    enum wf_status status = post(c, path, body, 0, NULL, err);
    wf_json_free(body);
    return status;
}

enum wf_status wf_farm_blob(struct wf_farm_client *c,
                            const char *sha256,
                            const char *to_file,
                            struct wf_error *err)
{
    char path[16 + WF_SHA256_HEX];
    snprintf(path, sizeof(path), "/v1/blobs/%s", sha256);
    return wf_http_download(c->http, path, to_file, err);
}

enum wf_status wf_uuid(char ret[37], struct wf_error *err)
{
    uint8_t b[16];
    char hex[33];
    enum wf_status status = wf_random_bytes(b, sizeof(b), err);
    if (status != WF_OK) {
        return status;
    }
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    wf_hex(b, sizeof(b), hex);
    snprintf(ret, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
             hex + 20);
    return WF_OK;
}
