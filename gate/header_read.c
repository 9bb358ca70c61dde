/* Reads a record's header. It may come from anybody: every member is checked for type,
 * range and sense, unknown ones are refused, and every error says which pair it is
 * about. */
#include "core/buf.h"
#include "core/printable.h"
#include "core/sha256.h"
#include "gate/header_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRY(call)                   \
    do {                            \
        enum wf_status s_ = (call); \
        if (s_ != WF_OK) {          \
            return s_;              \
        }                           \
    } while (0)

static bool is_hex(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

/* A text of at most `most` bytes that may be shown to anybody. */
static enum wf_status read_text(const struct wf_json *obj,
                                const char *key,
                                size_t most,
                                const char **ret,
                                struct wf_error *err)
{
    TRY(wf_json_get_string(obj, key, ret, err));
    if (strlen(*ret) > most || !wf_is_printable(*ret)) {
        return wf_errorf(err, WF_EINVAL,
                         "\"%s\": must be at most %zu bytes of printable UTF-8", key,
                         most);
    }
    return WF_OK;
}

static enum wf_status read_rule(const struct wf_json *header,
                                struct wf_gate_rule *ret,
                                struct wf_error *err)
{
    static const char *const keys[] = {
#define X(name, kind) #name,
        WF_GATE_RULE_MEMBERS(X)
#undef X
            NULL
    };
    const struct wf_json *rule = NULL;
    int64_t whole = 0;

    TRY(wf_json_get_object(header, "rule", &rule, err));
    TRY(wf_json_only_keys(rule, keys, err));
#define READ_real(name) TRY(wf_json_get_f64(rule, #name, &ret->name, err));
#define READ_whole(name)                                        \
    TRY(wf_json_get_i64(rule, #name, 1, 1000000, &whole, err)); \
    ret->name = (int)whole;
#define X(name, kind) READ_##kind(name)
    WF_GATE_RULE_MEMBERS(X)
#undef X
#undef READ_real
#undef READ_whole
    return WF_OK;
}

/* --- packs --- */

static const char *const pack_names[] = { "base", "candidate", "sentinel" };

static enum wf_status check_pack(const struct wf_json *pack, struct wf_error *err)
{
    static const char *const keys[] = { "id", "name", "provenance", "archive", NULL };
    const struct wf_json *provenance = wf_json_find(pack, "provenance");
    const char *id = NULL;
    const char *text = NULL;

    TRY(wf_json_only_keys(pack, keys, err));
    TRY(wf_json_get_string(pack, "id", &id, err));
    if (!wf_sha256_is_hex(id)) {
        return wf_errorf(err, WF_EINVAL, "\"id\": must be 64 lower-case hex digits");
    }
    TRY(read_text(pack, "name", 1024, &text, err));
    TRY(read_text(pack, "archive", 4096, &text, err));
    if (provenance == NULL || (wf_json_type(provenance) != WF_JSON_NULL &&
                               wf_json_type(provenance) != WF_JSON_OBJECT)) {
        return wf_errorf(err, WF_EINVAL, "\"provenance\": must be an object or null");
    }
    return WF_OK;
}

static enum wf_status check_packs(const struct wf_json *header,
                                  bool *ret_sentinel,
                                  struct wf_error *err)
{
    static const char *const keys[] = { "base", "candidate", "sentinel", NULL };
    const struct wf_json *packs = NULL;

    TRY(wf_json_get_object(header, "packs", &packs, err));
    TRY(wf_json_only_keys(packs, keys, err));
    for (int i = 0; i < WF_GATE_PACK_COUNT; i++) {
        const struct wf_json *pack = NULL;
        if (i == WF_GATE_PACK_SENTINEL && wf_json_find(packs, keys[i]) == NULL) {
            *ret_sentinel = false;
            return WF_OK;
        }
        TRY(wf_json_get_object(packs, keys[i], &pack, err));
        if (check_pack(pack, err) != WF_OK) {
            return wf_error_prefix(err, "packs: %s", keys[i]);
        }
    }
    *ret_sentinel = true;
    return WF_OK;
}

/* --- pairs --- */

static enum wf_status read_margins(const struct wf_json *pair,
                                   struct wf_gate_margins *ret,
                                   struct wf_error *err)
{
    static const char *const keys[] = { "d0", "d1", "s0", "tau", "source", NULL };
    const struct wf_json *m = NULL;
    const char *source = NULL;

    TRY(wf_json_get_object(pair, "margins", &m, err));
    TRY(wf_json_only_keys(m, keys, err));
    if (wf_json_find(m, "source") != NULL) {
        TRY(read_text(m, "source", 256, &source, err));
    }
    TRY(wf_json_get_f64(m, "d0", &ret->d0, err));
    TRY(wf_json_get_f64(m, "d1", &ret->d1, err));
    TRY(wf_json_get_f64(m, "s0", &ret->s0, err));
    return wf_json_get_f64(m, "tau", &ret->tau, err);
}

static enum wf_status read_arm(const struct wf_json *pair,
                               int arm,
                               enum wf_gate_role role,
                               const char **ret_kernel,
                               struct wf_error *err)
{
    static const char *const keys[] = { "pack", "kernel", NULL };
    const char *key = pack_names[arm];
    const char *want = role == WF_GATE_CASE ? key : pack_names[WF_GATE_PACK_SENTINEL];
    const struct wf_json *v = wf_json_find(pair, key);
    const char *pack = NULL;

    *ret_kernel = NULL;
    if (v != NULL && wf_json_type(v) == WF_JSON_NULL) {
        return WF_OK;
    }
    TRY(wf_json_get_object(pair, key, &v, err));
    TRY(wf_json_only_keys(v, keys, err));
    TRY(wf_json_get_string(v, "pack", &pack, err));
    if (strcmp(pack, want) != 0) {
        return wf_errorf(err, WF_EINVAL, "\"%s\": pack is \"%s\", must be \"%s\"", key,
                         pack, want);
    }
    TRY(read_text(v, "kernel", 256, ret_kernel, err));
    return (*ret_kernel)[0] != '\0'
               ? WF_OK
               : wf_errorf(err, WF_EINVAL, "\"%s\": kernel is empty", key);
}

/* What single members cannot say. */
static enum wf_status check_sense(const struct wf_gate_pair *p, struct wf_error *err)
{
    if (p->kernel[0] == NULL && p->kernel[1] == NULL) {
        return wf_errorf(err, WF_EINVAL, "base and candidate are both null");
    }
    if (p->kernel[1] == NULL && p->refused == NULL) {
        return wf_errorf(err, WF_EINVAL,
                         "candidate is null: \"refused\" must say why it is not run");
    }
    if (p->identical && (p->kernel[0] == NULL || p->kernel[1] == NULL)) {
        return wf_errorf(err, WF_EINVAL, "\"identical\" needs a base and a candidate");
    }
    if (p->role != WF_GATE_CASE &&
        (p->kernel[0] == NULL || p->kernel[1] == NULL || p->identical)) {
        return wf_errorf(err, WF_EINVAL,
                         "a sentinel has both arms and is measured (identical: false)");
    }
    return WF_OK;
}

static enum wf_status read_texts(const struct wf_json *v,
                                 struct wf_gate_pair *p,
                                 struct wf_error *err)
{
    const struct wf_json *refused = wf_json_find(v, "refused");
    const struct wf_json *kase = NULL;
    const char *role = NULL;

    TRY(read_text(v, "case_id", 256, &p->case_id, err));
    TRY(read_text(v, "case_name", 512, &p->case_name, err));
    TRY(read_text(v, "op", 64, &p->op, err));
    TRY(wf_json_get_object(v, "case", &kase, err));
    TRY(wf_json_get_string(v, "role", &role, err));
    if (!wf_gate_role_parse(role, &p->role)) {
        return wf_errorf(err, WF_EINVAL,
                         "\"role\": must be case, sentinel-same or sentinel-slower");
    }
    p->refused = NULL;
    if (refused == NULL || wf_json_type(refused) != WF_JSON_NULL) {
        TRY(read_text(v, "refused", 1024, &p->refused, err));
    }
    return WF_OK;
}

static enum wf_status read_pair(const struct wf_json *v,
                                const struct gate_header *h,
                                bool has_sentinel,
                                struct wf_gate_pair *p,
                                struct wf_error *err)
{
    static const char *const keys[] = { "key",       "case",        "case_id",
                                        "case_name", "op",          "role",
                                        "base",      "candidate",   "group",
                                        "margins",   "identical",   "refused",
                                        "blocks",    "estimate_ns", NULL };
    double estimate = 0;
    int64_t n = 0;

    TRY(wf_json_only_keys(v, keys, err));
    TRY(read_texts(v, p, err));
    if (p->role != WF_GATE_CASE && !has_sentinel) {
        return wf_errorf(err, WF_EINVAL, "a sentinel, but packs has no \"sentinel\"");
    }
    TRY(read_arm(v, WF_GATE_PACK_BASE, p->role, &p->kernel[0], err));
    TRY(read_arm(v, WF_GATE_PACK_CANDIDATE, p->role, &p->kernel[1], err));
    TRY(read_margins(v, &p->margins, err));
    TRY(wf_json_get_i64(v, "group", 0, h->groups - 1, &n, err));
    p->device = (int)n;
    TRY(wf_json_get_i64(v, "blocks", 0, WF_GATE_MAX_BLOCKS, &n, err));
    p->blocks = h->measured ? (int)n : 0;
    TRY(wf_json_get_bool(v, "identical", &p->identical, err));
    TRY(wf_json_opt_f64(v, "estimate_ns", &estimate, err));
    if (!(estimate >= 0 && estimate < 1e18)) {
        return wf_errorf(err, WF_EINVAL, "\"estimate_ns\": must be in [0, 1e18)");
    }
    return check_sense(p, err);
}

static enum wf_status read_pairs(const struct wf_json *pairs,
                                 bool has_sentinel,
                                 struct gate_header *h,
                                 struct wf_error *err)
{
    size_t n = wf_json_count(pairs);

    if (n == 0 || n > WF_GATE_MAX_PAIRS) {
        return wf_errorf(err, WF_EINVAL, "\"pairs\": %zu of them: a gate has 1 to %u",
                         n, WF_GATE_MAX_PAIRS);
    }
    h->pair = wf_calloc(n, sizeof *h->pair);
    h->by_key = wf_calloc(n, sizeof *h->by_key);
    if (h->pair == NULL || h->by_key == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", n);
    }
    for (const struct wf_json *v = wf_json_first(pairs); v != NULL;
         v = wf_json_next(v)) {
        struct wf_gate_pair *p = &h->pair[h->count];
        if (wf_json_type(v) != WF_JSON_OBJECT) {
            return wf_errorf(err, WF_EINVAL, "pairs[%zu]: must be an object, is %s",
                             h->count, wf_json_type_name(wf_json_type(v)));
        }
        if (read_text(v, "key", WF_GATE_MAX_KEY, &p->key, err) != WF_OK) {
            return wf_error_prefix(err, "pairs[%zu]", h->count);
        }
        if (read_pair(v, h, has_sentinel, p, err) != WF_OK) {
            return wf_error_prefix(err, "pair \"%s\"", p->key);
        }
        h->count++;
    }
    return WF_OK;
}

/* --- keys --- */

static int compare_keys(const void *a, const void *b, void *ctx)
{
    const struct wf_gate_pair *pair = ctx;

    return strcmp(pair[*(const size_t *)a].key, pair[*(const size_t *)b].key);
}

static enum wf_status index_keys(struct gate_header *h, struct wf_error *err)
{
    for (size_t i = 0; i < h->count; i++) {
        h->by_key[i] = i;
    }
    qsort_r(h->by_key, h->count, sizeof *h->by_key, compare_keys, h->pair);
    for (size_t i = 1; i < h->count; i++) {
        const char *key = h->pair[h->by_key[i]].key;
        if (strcmp(h->pair[h->by_key[i - 1]].key, key) == 0) {
            return wf_errorf(err, WF_EINVAL,
                             "two pairs have the key \"%s\": labels are drawn by key, "
                             "so each needs its own",
                             key);
        }
    }
    return WF_OK;
}

bool gate_header_find(const struct gate_header *h, const char *key, size_t *ret)
{
    size_t from = 0;
    size_t to = h->count;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = strcmp(h->pair[h->by_key[mid]].key, key);
        if (c == 0) {
            *ret = h->by_key[mid];
            return true;
        }
        if (c < 0) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    return false;
}

/* --- the whole --- */

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static enum wf_status read_names(const struct wf_json *json,
                                 struct gate_header *h,
                                 struct wf_error *err)
{
    const char *text = NULL;

    TRY(wf_json_get_string(json, "schema", &text, err));
    if (strcmp(text, WF_GATE_RECORD_SCHEMA) != 0) {
        return wf_errorf(err, WF_EINVAL, "\"schema\": must be \"%s\"",
                         WF_GATE_RECORD_SCHEMA);
    }
    TRY(wf_json_get_string(json, "kind", &text, err));
    if (strcmp(text, "header") != 0) {
        return wf_errorf(err, WF_EINVAL, "\"kind\": the first line must be a header");
    }
    TRY(wf_json_get_string(json, "gate", &h->gate, err));
    if (!is_hex(h->gate, WF_GATE_ID_HEX - 1)) {
        return wf_errorf(err, WF_EINVAL, "\"gate\": must be 16 lower-case hex digits");
    }
    TRY(wf_json_get_string(json, "seed", &text, err));
    if (!is_hex(text, 2 * sizeof h->seed)) {
        return wf_errorf(err, WF_EINVAL, "\"seed\": must be 64 lower-case hex digits");
    }
    for (size_t i = 0; i < sizeof h->seed; i++) {
        h->seed[i] =
            (uint8_t)(hex_value(text[2 * i]) * 16 + hex_value(text[2 * i + 1]));
    }
    TRY(read_text(json, "created", 40, &text, err));
    TRY(read_text(json, "name", 256, &text, err));
    TRY(read_text(json, "suite", 256, &text, err));
    return read_text(json, "runtime", 64, &text, err);
}

static enum wf_status read_rest(const struct wf_json *json,
                                struct gate_header *h,
                                struct wf_error *err)
{
    const struct wf_json *v = wf_json_find(json, "policy");
    const struct wf_json *pairs = NULL;
    uint64_t offset = 0;
    int64_t n = 0;
    bool has_sentinel = false;

    if (v == NULL ||
        (wf_json_type(v) != WF_JSON_NULL && wf_json_type(v) != WF_JSON_OBJECT)) {
        return wf_errorf(err, WF_EINVAL, "\"policy\": must be an object or null");
    }
    if (wf_json_find(json, "baseline") != NULL) {
        TRY(wf_json_get_object(json, "baseline", &v, err));
    }
    TRY(wf_json_get_bool(json, "measured", &h->measured, err));
    TRY(wf_json_get_object(json, "measure", &v, err));
    TRY(wf_json_get_array(json, "devices", &v, err));
    TRY(wf_json_get_u64(json, "seed_offset", 0, WF_GATE_INPUTS_LIMIT - 1, &offset,
                        err));
    TRY(wf_json_get_i64(json, "groups", 1, WF_GATE_MAX_GROUPS, &n, err));
    h->groups = (int)n;
    TRY(read_rule(json, &h->rule, err));
    TRY(check_packs(json, &has_sentinel, err));
    TRY(wf_json_get_array(json, "pairs", &pairs, err));
    TRY(read_pairs(pairs, has_sentinel, h, err));
    return index_keys(h, err);
}

enum wf_status gate_header_read(const struct wf_json *json,
                                struct gate_header *ret,
                                struct wf_error *err)
{
    static const char *const keys[] = { "schema",   "kind",    "gate",        "created",
                                        "seed",     "name",    "suite",       "runtime",
                                        "measured", "measure", "seed_offset", "rule",
                                        "packs",    "groups",  "devices",     "policy",
                                        "baseline", "pairs",   NULL };
    struct gate_header h = { .count = 0 };
    enum wf_status status;

    if (wf_json_type(json) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "header: must be a JSON object");
    }
    status = wf_json_only_keys(json, keys, err);
    if (status == WF_OK) {
        status = read_names(json, &h, err);
    }
    if (status == WF_OK) {
        status = read_rest(json, &h, err);
    }
    if (status != WF_OK) {
        gate_header_free(&h);
        return wf_error_prefix(err, "header");
    }
    *ret = h;
    return WF_OK;
}

void gate_header_free(struct gate_header *h)
{
    free(h->pair);
    free(h->by_key);
    *h = (struct gate_header){ .count = 0 };
}
