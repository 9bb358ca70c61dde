/* A gate's request is a header as a local gate would have it, the packs that it names,
 * and what a device must have. From the header's pairs come the cases and kernels that
 * an ordinary run would name, and are checked as those are. */
#include "coordinator/gate_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "wavefarm.gate-request/1"

/* --- the parts of a run --- */

static enum wf_status add_case(struct wf_json *cases,
                               const struct wf_json *pair,
                               struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    const char *key = wf_json_string(wf_json_find(pair, "key"));
    enum wf_status s = wf_json_set_string(o, "name", key, err);
    s = s == WF_OK ? wf_json_set_copy(o, "case", wf_json_find(pair, "case"), err) : s;
    enum wf_status pushed = wf_json_push_take(cases, o, err);
    return s == WF_OK ? pushed : s;
}

static const char *pack_id(const struct wf_json *header, const char *role)
{
    const struct wf_json *packs = wf_json_find(header, "packs");
    return wf_json_string(wf_json_find(wf_json_find(packs, role), "id"));
}

static bool is_listed(const struct wf_json *kernels, const char *pack, const char *name)
{
    const struct wf_json *k = wf_json_first(kernels);
    for (; k; k = wf_json_next(k)) {
        if (strcmp(wf_json_string(wf_json_find(k, "pack")), pack) == 0 &&
            strcmp(wf_json_string(wf_json_find(k, "kernel")), name) == 0) {
            return true;
        }
    }
    return false;
}

static enum wf_status add_kernel(struct wf_json *kernels,
                                 const struct wf_json *header,
                                 const struct wf_json *arm,
                                 struct wf_error *err)
{
    const char *role = wf_json_string(wf_json_find(arm, "pack"));
    const char *name = wf_json_string(wf_json_find(arm, "kernel"));
    const char *pack = role ? pack_id(header, role) : NULL;
    if (!pack || !name || is_listed(kernels, pack, name)) {
        return WF_OK;
    }
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_string(o, "pack", pack, err);
    s = s == WF_OK ? wf_json_set_string(o, "kernel", name, err) : s;
    enum wf_status pushed = wf_json_push_take(kernels, o, err);
    return s == WF_OK ? pushed : s;
}

/* Name and suite as a run has them; a gate may have none. */
static enum wf_status set_head(struct wf_json *root,
                               const struct wf_json *header,
                               struct wf_error *err)
{
    const char *name = wf_json_string(wf_json_find(header, "name"));
    const char *suite = wf_json_string(wf_json_find(header, "suite"));
    const char *called = name && *name ? name : suite && *suite ? suite : "gate";
    enum wf_status s = wf_json_set_string(root, "name", called, err);
    s = s == WF_OK ? wf_json_set_string(root, "suite", suite ? suite : "", err) : s;
    s = s == WF_OK ? wf_json_set_copy(root, "seed_offset",
                                      wf_json_find(header, "seed_offset"), err)
                   : s;
    return s == WF_OK
               ? wf_json_set_copy(root, "measure", wf_json_find(header, "measure"), err)
               : s;
}

/* The members that wf_run_request_parse reads, from the header (checked already). */
static enum wf_status set_run_members(struct wf_json *root, struct wf_error *err)
{
    const struct wf_json *header = wf_json_find(root, "header");
    const struct wf_json *pair = wf_json_first(wf_json_find(header, "pairs"));
    struct wf_json *cases = wf_json_array();
    struct wf_json *kernels = wf_json_array();
    enum wf_status s = WF_OK;
    for (; s == WF_OK && pair; pair = wf_json_next(pair)) {
        const char *key = wf_json_string(wf_json_find(pair, "key"));
        if (key[0] == '#') {
            s = wf_errorf(err, WF_EINVAL,
                          "header: pair \"%s\": a key must not begin "
                          "with '#'",
                          key);
        }
        s = s == WF_OK ? add_case(cases, pair, err) : s;
        s = s == WF_OK ? add_kernel(kernels, header, wf_json_find(pair, "base"), err)
                       : s;
        s = s == WF_OK
                ? add_kernel(kernels, header, wf_json_find(pair, "candidate"), err)
                : s;
    }
    s = s == WF_OK ? set_head(root, header, err) : s;
    enum wf_status a = wf_json_set_take(root, "cases", cases, err);
    enum wf_status b = wf_json_set_take(root, "kernels", kernels, err);
    return s != WF_OK ? s : a != WF_OK ? a : b;
}

/* --- what follows from it --- */

static enum wf_status find_kernel(struct wf_gate_request *g,
                                  const struct wf_json *pair,
                                  size_t i,
                                  struct wf_error *err)
{
    const struct wf_json *arm = wf_json_find(pair, "candidate");
    if (!arm || wf_json_type(arm) != WF_JSON_OBJECT) {
        arm = wf_json_find(pair, "base");
    }
    const char *name = wf_json_string(wf_json_find(arm, "kernel"));
    const char *pack = pack_id(g->header, wf_json_string(wf_json_find(arm, "pack")));
    for (size_t k = 0; k < g->run->kernel_count; k++) {
        const struct wf_run_kernel *c = &g->run->kernels[k];
        if (strcmp(c->kernel->name, name) == 0 &&
            strcmp(wf_pack_id(g->run->packs[c->pack].pack), pack) == 0) {
            g->kernel[i] = k;
            return strcmp(c->kernel->op, g->run->cases[i].op) == 0
                       ? WF_OK
                       : wf_errorf(err, WF_EINVAL,
                                   "header: pair \"%s\": kernel %s does %s, the case "
                                   "is one of %s",
                                   g->run->cases[i].name, name, c->kernel->op,
                                   g->run->cases[i].op);
        }
    }
    return wf_errorf(err, WF_EINTERNAL, "kernel %s is not listed", name);
}

static enum wf_status find_kernels(struct wf_gate_request *g, struct wf_error *err)
{
    const struct wf_json *pairs = wf_json_find(g->header, "pairs");
    const struct wf_json *pair = wf_json_first(pairs);
    g->kernel = wf_calloc(g->run->case_count + 1, sizeof *g->kernel);
    enum wf_status s = g->kernel ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    for (size_t i = 0; s == WF_OK && pair; pair = wf_json_next(pair), i++) {
        const char *id = wf_json_string(wf_json_find(pair, "case_id"));
        if (strcmp(id, g->run->cases[i].id) != 0) {
            s = wf_errorf(err, WF_EINVAL,
                          "header: pair \"%s\": case_id is %.80s, but the case has %s",
                          g->run->cases[i].name, id, g->run->cases[i].id);
        }
        s = s == WF_OK ? find_kernel(g, pair, i, err) : s;
        uint64_t bytes = g->run->cases[i].memory_bytes;
        g->memory_bytes = bytes > g->memory_bytes ? bytes : g->memory_bytes;
    }
    return s;
}

/* Any of the kernels' architectures: a kernel without code for the device that is taken
 * answers NOT_SUPPORTED. A kernel for any device opens the list to all. */
static enum wf_status list_archs(struct wf_gate_request *g, struct wf_error *err)
{
    enum wf_status s = WF_OK;
    for (size_t k = 0; k < g->run->kernel_count; k++) {
        if (g->run->kernels[k].kernel->arch_count == 0) {
            return WF_OK;
        }
    }
    for (size_t k = 0; s == WF_OK && k < g->run->kernel_count; k++) {
        const struct wf_pack_kernel *c = g->run->kernels[k].kernel;
        for (size_t a = 0; s == WF_OK && a < c->arch_count; a++) {
            char base[64];
            s = wf_arch_base(c->arch[a], base, sizeof base)
                    ? wf_pg_array_add(&g->archs, base, err)
                    : WF_OK;
        }
    }
    return s == WF_OK ? wf_pg_array_end(&g->archs, err) : s;
}

/* Runners fetch what the header names. */
static enum wf_status check_archives(const struct wf_gate_request *g,
                                     struct wf_error *err)
{
    const struct wf_json *p = wf_json_first(wf_json_find(g->header, "packs"));
    for (; p; p = wf_json_next(p)) {
        const char *id = wf_json_string(wf_json_find(p, "id"));
        const char *archive = wf_json_string(wf_json_find(p, "archive"));
        const char *found = NULL;
        for (size_t i = 0; i < g->run->pack_count; i++) {
            if (strcmp(wf_pack_id(g->run->packs[i].pack), id) == 0) {
                found = g->run->packs[i].archive;
            }
        }
        if (!found || strcmp(found, archive) != 0) {
            return wf_errorf(err, WF_EINVAL,
                             "header: packs: %s: no pack of the request has id %.80s "
                             "and archive %.80s",
                             wf_json_key(p), id, archive);
        }
    }
    return WF_OK;
}

static enum wf_status make_record(struct wf_gate_request *g, struct wf_error *err)
{
    struct wf_json *copy = NULL;
    enum wf_status s = wf_json_copy(g->header, &copy, err);
    s = s == WF_OK ? wf_gate_record_create(copy, &g->record, err) : s;
    if (s == WF_OK && g->static_line) {
        s = wf_json_copy(g->static_line, &copy, err);
        s = s == WF_OK ? wf_gate_record_add(g->record, copy, err) : s;
        return s == WF_OK ? s : wf_error_prefix(err, "static");
    }
    return s;
}

/* `root` is taken; its header is good. */
static enum wf_status make(struct wf_json *root,
                           const struct wf_dataset_resolver *datasets,
                           struct wf_gate_request **ret,
                           struct wf_error *err)
{
    struct wf_gate_request *g = wf_calloc(1, sizeof *g);
    enum wf_status s = g ? wf_json_text(root, &g->text, err)
                         : wf_errorf(err, WF_ENOMEM, "no memory for a gate");
    s = s == WF_OK ? set_run_members(root, err) : s;
    if (s != WF_OK) {
        wf_json_free(root);
        wf_gate_request_free(g);
        return s;
    }
    s = wf_run_request_parse(root, datasets, &g->run, err);
    g->header = s == WF_OK ? wf_json_find(g->run->root, "header") : NULL;
    const struct wf_json *line =
        s == WF_OK ? wf_json_find(g->run->root, "static") : NULL;
    g->static_line = line && wf_json_type(line) != WF_JSON_NULL ? line : NULL;
    const char *kind = wf_json_string(wf_json_find(g->static_line, "kind"));
    if (g->static_line && (!kind || strcmp(kind, "static") != 0)) {
        s = wf_errorf(err, WF_EINVAL, "static must be a record's line of kind static");
    }
    s = s == WF_OK ? check_archives(g, err) : s;
    s = s == WF_OK ? find_kernels(g, err) : s;
    s = s == WF_OK ? list_archs(g, err) : s;
    s = s == WF_OK ? make_record(g, err) : s;
    if (s != WF_OK) {
        wf_gate_request_free(g);
        return s;
    }
    *ret = g;
    return WF_OK;
}

/* --- both ways in --- */

static enum wf_status digest(const struct wf_json *root,
                             char ret[WF_SHA256_HEX],
                             struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status s = wf_json_write_canonical(root, &text, err);
    if (s == WF_OK) {
        wf_sha256_hex(text.data, text.len, ret);
    }
    wf_buf_free(&text);
    return s;
}

static enum wf_status renew(struct wf_json *root, int groups, struct wf_error *err)
{
    struct wf_json *header = NULL;
    const struct wf_json *old = NULL;
    enum wf_status s = wf_json_get_object(root, "header", &old, err);
    s = s == WF_OK ? wf_gate_header_renew(old, groups, &header, err) : s;
    if (s != WF_OK) {
        return wf_error_prefix(err, "header");
    }
    return wf_json_set_take(root, "header", header, err);
}

enum wf_status wf_gate_request_read(struct wf_request *req,
                                    const struct wf_dataset_resolver *datasets,
                                    struct wf_gate_request **ret,
                                    struct wf_error *err)
{
    static const char *const keys[] = { "schema", "request_id", "priority", "devices",
                                        "packs",  "header",     "static",   NULL };
    struct wf_json *root = NULL;
    char hex[WF_SHA256_HEX];
    enum wf_status s = wf_request_json(req, SCHEMA, keys, &root, err);
    wf_buf_free(&req->body);
    s = s == WF_OK ? digest(root, hex, err) : s;
    s = s == WF_OK ? renew(root, 1, err) : s;
    if (s != WF_OK) {
        wf_json_free(root);
        return s;
    }
    s = make(root, datasets, ret, err);
    if (s == WF_OK) {
        memcpy((*ret)->run->digest, hex, sizeof hex);
    }
    return s;
}

/* The drawn members stay what they were. */
static enum wf_status spread(struct wf_json *root,
                             int groups,
                             wf_gate_adjust_fn adjust,
                             void *ctx,
                             struct wf_error *err)
{
    static const char *const kept[] = { "gate", "seed", "created" };
    struct wf_json *header = NULL;
    const struct wf_json *old = wf_json_find(root, "header");
    enum wf_status s = wf_gate_header_renew(old, groups, &header, err);
    for (size_t i = 0; s == WF_OK && i < sizeof kept / sizeof kept[0]; i++) {
        s = wf_json_set_copy(header, kept[i], wf_json_find(old, kept[i]), err);
    }
    s = s == WF_OK && adjust ? adjust(ctx, header, err) : s;
    s = s == WF_OK ? wf_gate_header_check(header, err) : s;
    if (s != WF_OK) {
        wf_json_free(header);
        return s;
    }
    return wf_json_set_take(root, "header", header, err);
}

enum wf_status wf_gate_request_again(const char *text,
                                     int groups,
                                     wf_gate_adjust_fn adjust,
                                     void *ctx,
                                     const struct wf_dataset_resolver *datasets,
                                     struct wf_gate_request **ret,
                                     struct wf_error *err)
{
    struct wf_json *root = NULL;
    enum wf_status s = wf_json_parse(text, strlen(text), "stored gate", &root, err);
    s = s == WF_OK ? spread(root, groups, adjust, ctx, err) : s;
    if (s != WF_OK) {
        wf_json_free(root);
        return s;
    }
    return make(root, datasets, ret, err);
}

void wf_gate_request_free(struct wf_gate_request *g)
{
    if (!g) {
        return;
    }
    wf_gate_record_free(g->record);
    wf_run_request_free(g->run);
    wf_buf_free(&g->archs);
    free(g->kernel);
    free(g->text);
    free(g);
}
