#include "cli/api.h"

#include "cli/commands.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/http_client.h"
#include "core/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_api {
    struct wf_http *http;
};

/* The characters of a bearer token. Anything else is another file, given by mistake,
 * and must not go over the wire. */
static bool is_token(const char *text)
{
    return text[0] != '\0' &&
           text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                             "0123456789-._~+/=")] == '\0';
}

static enum wf_status read_token(const struct wf_args *args,
                                 struct wf_buf *token,
                                 struct wf_error *err)
{
    const char *file = wf_args_string(args, "token-file");
    const char *env = getenv("WAVEFARM_TOKEN");
    enum wf_status status = WF_OK;
    if (file != NULL) {
        status = wf_file_read(file, 4096, token, err);
    } else if (env != NULL) {
        status = wf_buf_puts(token, env, err);
    } else {
        status =
            wf_errorf(err, WF_EINVAL,
                      "no token: give --token-file FILE or set WAVEFARM_TOKEN (the "
                      "farm's admin makes one with 'wavefarm-coordinator token "
                      "create')");
    }
    if (status == WF_OK && token->data != NULL) {
        while (token->len > 0 && strchr(" \t\r\n", token->data[token->len - 1])) {
            token->data[--token->len] = '\0';
        }
    }
    const char *text = wf_buf_cstr(token);
    if (status == WF_OK && (!is_token(text) || strlen(text) != token->len)) {
        status = wf_errorf(err, WF_EINVAL, "%s holds no token",
                           file != NULL ? file : "WAVEFARM_TOKEN");
    }
    return status;
}

enum wf_status wf_server_options(const struct wf_args *args,
                                 struct wf_http_options *ret,
                                 struct wf_buf *token,
                                 struct wf_error *err)
{
    const char *url = wf_args_string(args, "server");
    memset(ret, 0, sizeof(*ret));
    if (url == NULL) {
        return wf_errorf(err, WF_EINVAL,
                         "no coordinator: give --server URL or set WAVEFARM_SERVER");
    }
    enum wf_status status = read_token(args, token, err);
    if (status == WF_OK) {
        ret->base_url = url;
        ret->token = wf_buf_cstr(token);
        ret->ca_file = wf_args_string(args, "ca-file");
        ret->client_cert = wf_args_string(args, "client-cert");
        ret->client_key = wf_args_string(args, "client-key");
        ret->retry_budget_ms = 8000;
        ret->cancel = &wf_interrupted;
    }
    return status;
}

enum wf_status wf_api_open(const struct wf_args *args,
                           struct wf_api **ret,
                           struct wf_error *err)
{
    struct wf_http_options options;
    struct wf_buf token = WF_BUF_INIT;
    struct wf_api *api = wf_calloc(1, sizeof(*api));
    enum wf_status status = api == NULL
                                ? wf_errorf(err, WF_ENOMEM, "no memory")
                                : wf_server_options(args, &options, &token, err);
    if (status == WF_OK) {
        status = wf_http_create(&options, &api->http, err);
    }
    wf_buf_free(&token);
    if (status != WF_OK) {
        wf_api_close(api);
        return status;
    }
    *ret = api;
    return WF_OK;
}

void wf_api_close(struct wf_api *api)
{
    if (api != NULL) {
        wf_http_destroy(api->http);
        free(api);
    }
}

static enum wf_status finish(struct wf_http_response *r,
                             const char *path,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    enum wf_status status = wf_http_check(r, err);
    if (status != WF_OK && r->status == 413) {
        status = WF_ERANGE; /* less of it may fit */
        if (err != NULL) {
            err->status = status;
        }
    }
    if (status == WF_OK && ret != NULL) {
        status = wf_json_parse(r->body.data, r->body.len, path, ret, err);
    }
    wf_http_response_free(r);
    return status;
}

enum wf_status wf_api_get(struct wf_api *api,
                          const char *path,
                          int64_t extra_timeout_ms,
                          struct wf_json **ret,
                          struct wf_error *err)
{
    struct wf_http_response r = { 0 };
    enum wf_status status = wf_http_request(api->http, "GET", path, NULL, NULL, 0,
                                            extra_timeout_ms, &r, err);
    return status == WF_OK ? finish(&r, path, ret, err) : status;
}

enum wf_status wf_api_post(struct wf_api *api,
                           const char *path,
                           const struct wf_json *body,
                           struct wf_json **ret,
                           struct wf_error *err)
{
    struct wf_http_response r = { 0 };
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_json_write(body, &text, err);
    if (status == WF_OK) {
        status = wf_http_request(api->http, "POST", path, "application/json", text.data,
                                 text.len, 60000, &r, err);
    }
    wf_buf_free(&text);
    return status == WF_OK ? finish(&r, path, ret, err) : status;
}

enum wf_status wf_api_put_blob(struct wf_api *api,
                               const char *file,
                               char ret_sha256[65],
                               struct wf_error *err)
{
    char path[96];
    struct wf_http_response r = { 0 };
    enum wf_status status = wf_sha256_file(file, ret_sha256, err);
    if (status != WF_OK) {
        return status;
    }
    snprintf(path, sizeof(path), "/v1/blobs/%s", ret_sha256);
    status = wf_http_request(api->http, "HEAD", path, NULL, NULL, 0, 0, &r, err);
    bool there = status == WF_OK && r.status == 200;
    if (status == WF_OK) {
        wf_http_response_free(&r);
    }
    if (status == WF_OK && !there) {
        status = wf_http_upload(api->http, path, file, err);
    }
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "upload of %s", file);
}
