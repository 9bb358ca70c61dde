/* Tokens and their cache. The token itself is never stored: the database and the cache
 * hold its SHA-256. */
#include "coordinator/auth.h"

#include "coordinator/api.h"
#include "core/buf.h"
#include "core/clock.h"
#include "core/sha256.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 1024u

struct slot {
    uint8_t hash[WF_SHA256_BYTES];
    int64_t token_id;
    int64_t until_ns; /* 0: empty */
    unsigned role;
};

struct wf_auth {
    pthread_mutex_t lock;
    struct slot slot[SLOTS];
};

struct role {
    unsigned role;
    char letter;
    const char *name;
};

static const struct role roles[] = {
    { WF_ROLE_READER, 'r', "reader" },
    { WF_ROLE_SUBMITTER, 's', "submitter" },
    { WF_ROLE_ADMIN, 'a', "admin" },
    { WF_ROLE_RUNNER, 'w', "runner" },
};
#define ROLE_COUNT (sizeof roles / sizeof roles[0])

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

unsigned wf_role_parse(const char *name)
{
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (strcmp(roles[i].name, name) == 0) {
            return roles[i].role;
        }
    }
    return 0;
}

const char *wf_role_name(unsigned role)
{
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (roles[i].role == role) {
            return roles[i].name;
        }
    }
    return "?";
}

bool wf_token_is_formed(const char *token)
{
    if (strlen(token) != WF_TOKEN_CHARS || strncmp(token, "wf_", 3) != 0 ||
        token[4] != '_') {
        return false;
    }
    return strspn(token + 5, alphabet) == WF_TOKEN_CHARS - 5;
}

enum wf_status wf_auth_create(struct wf_auth **ret, struct wf_error *err)
{
    struct wf_auth *auth = wf_calloc(1, sizeof *auth);
    if (!auth) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the token cache");
    }
    pthread_mutex_init(&auth->lock, NULL);
    *ret = auth;
    return WF_OK;
}

void wf_auth_destroy(struct wf_auth *auth)
{
    if (auth) {
        pthread_mutex_destroy(&auth->lock);
        free(auth);
    }
}

static size_t slot_of(const uint8_t hash[WF_SHA256_BYTES])
{
    return ((size_t)hash[0] | (size_t)hash[1] << 8) % SLOTS;
}

bool wf_auth_cached(struct wf_auth *auth,
                    const char *token,
                    int64_t *ret_token_id,
                    unsigned *ret_role)
{
    uint8_t hash[WF_SHA256_BYTES];
    bool found = false;
    wf_sha256(token, strlen(token), hash);
    pthread_mutex_lock(&auth->lock);
    const struct slot *s = &auth->slot[slot_of(hash)];
    if (s->until_ns > wf_monotonic_ns() &&
        wf_equal_secret(s->hash, hash, sizeof hash)) {
        *ret_token_id = s->token_id;
        *ret_role = s->role;
        found = true;
    }
    pthread_mutex_unlock(&auth->lock);
    return found;
}

static void remember(struct wf_auth *auth,
                     const uint8_t hash[WF_SHA256_BYTES],
                     int64_t token_id,
                     unsigned role)
{
    pthread_mutex_lock(&auth->lock);
    struct slot *s = &auth->slot[slot_of(hash)];
    memcpy(s->hash, hash, WF_SHA256_BYTES);
    s->token_id = token_id;
    s->role = role;
    s->until_ns = wf_monotonic_ns() + (int64_t)WF_AUTH_CACHE_MS * 1000000;
    pthread_mutex_unlock(&auth->lock);
}

enum wf_status wf_auth_lookup(struct wf_auth *auth,
                              struct wf_db *db,
                              const char *token,
                              int64_t *ret_token_id,
                              unsigned *ret_role,
                              struct wf_error *err)
{
    uint8_t hash[WF_SHA256_BYTES];
    char hex[WF_SHA256_HEX];
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_sha256(token, strlen(token), hash);
    wf_hex(hash, sizeof hash, hex);
    wf_param_text(&p, hex);
    enum wf_status status = wf_db_one(
        db, WF_STMT_TOKEN_FIND, &p, "the token is unknown or was revoked", &rows, err);
    if (status == WF_OK) {
        *ret_token_id = wf_rows_i64(rows, 0, 0);
        *ret_role = wf_role_parse(wf_rows_text(rows, 0, 1));
        remember(auth, hash, *ret_token_id, *ret_role);
    }
    wf_rows_free(rows);
    return status;
}

/* 32 bytes as 43 base64url characters without padding. */
static void encode(const uint8_t bytes[32], char ret[44])
{
    size_t out = 0;
    uint32_t bits = 0;
    int have = 0;
    for (size_t i = 0; i < 32; i++) {
        bits = bits << 8 | bytes[i];
        have += 8;
        while (have >= 6) {
            have -= 6;
            ret[out++] = alphabet[bits >> have & 63u];
        }
    }
    ret[out++] = alphabet[bits << (6 - have) & 63u];
    ret[out] = '\0';
}

enum wf_status wf_token_create(struct wf_db *db,
                               const char *name,
                               unsigned role,
                               char ret_token[WF_TOKEN_CHARS + 1],
                               int64_t *ret_id,
                               struct wf_error *err)
{
    uint8_t random[32];
    char hex[WF_SHA256_HEX];
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    enum wf_status status = wf_random_bytes(random, sizeof random, err);
    if (status != WF_OK) {
        return status;
    }
    snprintf(ret_token, WF_TOKEN_CHARS + 1, "wf_?_");
    for (size_t i = 0; i < ROLE_COUNT; i++) {
        if (roles[i].role == role) {
            ret_token[3] = roles[i].letter;
        }
    }
    encode(random, ret_token + 5);
    wf_sha256_hex(ret_token, strlen(ret_token), hex);
    wf_param_text(&p, name);
    wf_param_text(&p, wf_role_name(role));
    wf_param_text(&p, hex);
    status =
        wf_db_one(db, WF_STMT_TOKEN_ADD, &p, "the token was not stored", &rows, err);
    if (status == WF_OK) {
        *ret_id = wf_rows_i64(rows, 0, 0);
    }
    wf_rows_free(rows);
    return status;
}
