/* Strict reading of a run's request: every case, pack and kernel is parsed by the code
 * that will use it, so that a run that is accepted can be executed.
 *
 * A parsed case is dropped at once; only what the store needs is kept, so that a
 * hundred thousand tasks cost little memory. */
#include "coordinator/run_request.h"

#include "coordinator/run_measure.h"
#include "core/printable.h"
#include "kernels/op.h"
#include "packs/provenance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CASES   100000u
#define MAX_PACKS   64u
#define MAX_KERNELS 4096u
#define MAX_NAME    200u

struct priority {
    const char *name;
    int value;
};

static const struct priority priorities[] = { { "pr", 0 },
                                              { "release", 10 },
                                              { "normal", 20 },
                                              { "nightly", 30 } };

bool wf_arch_base(const char *arch, char *ret, size_t n)
{
    size_t len = strcspn(arch, ":");
    if (len >= n) {
        return false;
    }
    memcpy(ret, arch, len);
    ret[len] = '\0';
    return true;
}

static enum wf_status get_name(const struct wf_json *o,
                               const char *key,
                               bool required,
                               const char **ret,
                               struct wf_error *err)
{
    const char *text = required ? NULL : "";
    enum wf_status status = required ? wf_json_get_string(o, key, &text, err)
                                     : wf_json_opt_string(o, key, &text, err);
    if (status == WF_OK && (strlen(text) > MAX_NAME || (required && !*text))) {
        status =
            wf_errorf(err, WF_EINVAL, "%s must have 1 to %u characters", key, MAX_NAME);
    } else if (status == WF_OK && !wf_is_printable(text)) {
        status =
            wf_errorf(err, WF_EINVAL,
                      "%s has a control character or a mark that is not shown", key);
    }
    if (status == WF_OK) {
        *ret = text;
    }
    return status;
}

static enum wf_status read_priority(const struct wf_json *root,
                                    int *ret,
                                    struct wf_error *err)
{
    const char *text = "normal";
    enum wf_status status = wf_json_opt_string(root, "priority", &text, err);
    if (status != WF_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof priorities / sizeof priorities[0]; i++) {
        if (strcmp(priorities[i].name, text) == 0) {
            *ret = priorities[i].value;
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_EINVAL,
                     "priority must be pr, normal, nightly or release, not '%.40s'",
                     text);
}

/* --- cases --- */

static enum wf_status keep_case(const struct wf_case *c,
                                struct wf_run_case *ret,
                                struct wf_error *err)
{
    const char *dataset = wf_case_dataset(c);
    ret->canonical = wf_strdup(wf_case_canonical(c));
    ret->label = wf_strdup(wf_case_label(c));
    ret->op = wf_strdup(wf_case_op_name(c));
    if (!ret->name || !ret->canonical || !ret->label || !ret->op) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a case");
    }
    snprintf(ret->id, sizeof ret->id, "%s", wf_case_id(c));
    snprintf(ret->dataset, sizeof ret->dataset, "%s", dataset ? dataset : "");
    ret->math_type = wf_dtype_name(wf_case_math_type(c));
    ret->flops = wf_case_flops(c);
    ret->bytes = wf_case_bytes(c);
    for (size_t i = 0; i < wf_case_tensor_count(c); i++) {
        uint64_t more = wf_case_tensor(c, i)->bytes;
        uint64_t room = INT64_MAX - ret->memory_bytes; /* what the database can hold */
        ret->memory_bytes += more < room ? more : room;
    }
    return WF_OK;
}

static enum wf_status read_case(const struct wf_run_request *r,
                                const struct wf_json *item,
                                size_t i,
                                const struct wf_dataset_resolver *datasets,
                                struct wf_run_case *ret,
                                struct wf_error *err)
{
    static const char *const keys[] = { "name", "case", "measure", NULL };
    const struct wf_json *json = NULL;
    const char *name = NULL;
    struct wf_case *c = NULL;
    char where[MAX_NAME + 48];
    enum wf_status status = wf_json_only_keys(item, keys, err);
    if (status == WF_OK) {
        status = get_name(item, "name", true, &name, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_object(item, "case", &json, err);
    }
    if (status == WF_OK) {
        status = wf_run_measure_of_case(wf_json_find(r->root, "measure"),
                                        wf_json_find(item, "measure"), &ret->measure,
                                        &ret->budget_ms, err);
    }
    if (status != WF_OK) {
        return wf_error_prefix(err, "cases[%zu]", i);
    }
    snprintf(where, sizeof where, "cases[%zu] (%s)", i, name);
    ret->name = wf_strdup(name);
    status = wf_case_parse(json, where, datasets, &c, err);
    if (status == WF_OK) {
        status = keep_case(c, ret, err);
    }
    wf_case_free(c);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum wf_status unique_names(const struct wf_run_request *r, struct wf_error *err)
{
    const char **names = wf_calloc(r->case_count, sizeof *names);
    enum wf_status status = names ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    for (size_t i = 0; names && i < r->case_count; i++) {
        names[i] = r->cases[i].name;
    }
    if (names) {
        qsort(names, r->case_count, sizeof *names, by_name);
    }
    for (size_t i = 1; names && i < r->case_count; i++) {
        if (status == WF_OK && strcmp(names[i - 1], names[i]) == 0) {
            status = wf_errorf(err, WF_EINVAL, "two cases are called '%s'", names[i]);
        }
    }
    free(names);
    return status;
}

static enum wf_status get_list(const struct wf_json *root,
                               const char *key,
                               size_t max,
                               const struct wf_json **ret,
                               struct wf_error *err)
{
    enum wf_status status = wf_json_get_array(root, key, ret, err);
    if (status == WF_OK && (wf_json_count(*ret) == 0 || wf_json_count(*ret) > max)) {
        status = wf_errorf(err, WF_EINVAL, "%s must have 1 to %zu items, not %zu", key,
                           max, wf_json_count(*ret));
    }
    for (const struct wf_json *v = status == WF_OK ? wf_json_first(*ret) : NULL; v;
         v = wf_json_next(v)) {
        if (wf_json_type(v) != WF_JSON_OBJECT) {
            return wf_errorf(err, WF_EINVAL, "%s: an item is no object but %s", key,
                             wf_json_type_name(wf_json_type(v)));
        }
    }
    return status;
}

static enum wf_status read_cases(struct wf_run_request *r,
                                 const struct wf_dataset_resolver *datasets,
                                 struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status status = get_list(r->root, "cases", MAX_CASES, &list, err);
    if (status != WF_OK) {
        return status;
    }
    r->cases = wf_calloc(wf_json_count(list), sizeof *r->cases);
    if (!r->cases) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu cases",
                         wf_json_count(list));
    }
    for (const struct wf_json *v = wf_json_first(list); status == WF_OK && v;
         v = wf_json_next(v)) {
        size_t i = r->case_count++;
        status = read_case(r, v, i, datasets, &r->cases[i], err);
    }
    /* A dataset that is not there is the request's mistake, not a missing page. */
    if (status == WF_ENOTFOUND) {
        status = wf_errorf(err, WF_EINVAL, "%s", err ? err->text : "");
    }
    wf_json_remove(r->root, "cases"); /* most of the body, and not needed any more */
    return status == WF_OK ? unique_names(r, err) : status;
}

/* --- packs and kernels --- */

static enum wf_status read_pack(const struct wf_json *item,
                                size_t i,
                                struct wf_run_pack *ret,
                                struct wf_error *err)
{
    static const char *const keys[] = { "pack", "archive", "provenance", NULL };
    const struct wf_json *manifest = NULL;
    const struct wf_json *provenance = wf_json_find(item, "provenance");
    char source[48];
    snprintf(source, sizeof source, "packs[%zu].pack", i);
    enum wf_status status = wf_json_only_keys(item, keys, err);
    if (status == WF_OK) {
        status = wf_json_get_object(item, "pack", &manifest, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(item, "archive", &ret->archive, err);
    }
    if (status == WF_OK && !wf_sha256_is_hex(ret->archive)) {
        status = wf_errorf(err, WF_EINVAL, "archive must be a SHA-256 (64 hex digits)");
    }
    if (status == WF_OK && provenance && wf_json_type(provenance) == WF_JSON_OBJECT) {
        status = wf_json_text(provenance, &ret->provenance, err);
    } else if (status == WF_OK && provenance &&
               wf_json_type(provenance) != WF_JSON_NULL) {
        status = wf_errorf(err, WF_EINVAL, "provenance must be an object or null");
    }
    if (status != WF_OK) {
        return wf_error_prefix(err, "packs[%zu]", i);
    }
    status = wf_pack_parse(manifest, source, &ret->pack, err);
    if (status == WF_OK && ret->provenance != NULL) {
        status = wf_provenance_check(provenance, wf_pack_id(ret->pack), err);
        if (status != WF_OK) {
            return wf_error_prefix(err, "packs[%zu]", i);
        }
    }
    return status == WF_OK ? wf_json_text(manifest, &ret->manifest, err) : status;
}

static enum wf_status read_packs(struct wf_run_request *r, struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status status = get_list(r->root, "packs", MAX_PACKS, &list, err);
    if (status != WF_OK) {
        return status;
    }
    r->packs = wf_calloc(wf_json_count(list), sizeof *r->packs);
    if (!r->packs) {
        return wf_errorf(err, WF_ENOMEM, "no memory for packs");
    }
    for (const struct wf_json *v = wf_json_first(list); status == WF_OK && v;
         v = wf_json_next(v)) {
        size_t i = r->pack_count++;
        status = read_pack(v, i, &r->packs[i], err);
        for (size_t j = 0; status == WF_OK && j < i; j++) {
            if (strcmp(wf_pack_id(r->packs[j].pack), wf_pack_id(r->packs[i].pack)) ==
                0) {
                status = wf_errorf(err, WF_EINVAL,
                                   "packs[%zu] and packs[%zu] are the same", j, i);
            }
        }
    }
    return status;
}

static enum wf_status read_kernel(const struct wf_run_request *r,
                                  const struct wf_json *item,
                                  struct wf_run_kernel *ret,
                                  struct wf_error *err)
{
    static const char *const keys[] = { "pack", "kernel", NULL };
    const char *pack = NULL;
    const char *kernel = NULL;
    enum wf_status status = wf_json_only_keys(item, keys, err);
    if (status == WF_OK) {
        status = wf_json_get_string(item, "pack", &pack, err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(item, "kernel", &kernel, err);
    }
    if (status != WF_OK) {
        return status;
    }
    for (size_t i = 0; i < r->pack_count; i++) {
        if (strcmp(wf_pack_id(r->packs[i].pack), pack) == 0) {
            ret->pack = i;
            ret->kernel = wf_pack_kernel(r->packs[i].pack, kernel);
            return ret->kernel
                       ? WF_OK
                       : wf_errorf(err, WF_EINVAL, "pack '%s' has no kernel '%.80s'",
                                   wf_pack_name(r->packs[i].pack), kernel);
        }
    }
    return wf_errorf(err, WF_EINVAL, "pack '%.80s' is not among the packs of this run",
                     pack);
}

static enum wf_status read_kernels(struct wf_run_request *r, struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status status = get_list(r->root, "kernels", MAX_KERNELS, &list, err);
    if (status != WF_OK) {
        return status;
    }
    r->kernels = wf_calloc(wf_json_count(list), sizeof *r->kernels);
    if (!r->kernels) {
        return wf_errorf(err, WF_ENOMEM, "no memory for kernels");
    }
    for (const struct wf_json *v = wf_json_first(list); v; v = wf_json_next(v)) {
        size_t i = r->kernel_count;
        if (read_kernel(r, v, &r->kernels[i], err) != WF_OK) {
            return wf_error_prefix(err, "kernels[%zu]", i);
        }
        for (size_t j = 0; j < i; j++) {
            if (r->kernels[j].kernel == r->kernels[i].kernel) {
                return wf_errorf(err, WF_EINVAL,
                                 "kernels[%zu] and kernels[%zu] are the same", j, i);
            }
        }
        r->kernel_count++;
    }
    return WF_OK;
}

/* --- what it runs on, and how --- */

static enum wf_status opt_or_null(const struct wf_json *o,
                                  const char *key,
                                  const char **ret,
                                  struct wf_error *err)
{
    const struct wf_json *v = wf_json_find(o, key);
    *ret = NULL;
    if (!v || wf_json_type(v) == WF_JSON_NULL) {
        return WF_OK;
    }
    return get_name(o, key, true, ret, err);
}

static enum wf_status read_labels(const struct wf_json *devices,
                                  struct wf_buf *ret,
                                  struct wf_error *err)
{
    const struct wf_json *list = devices ? wf_json_find(devices, "labels") : NULL;
    enum wf_status status = WF_OK;
    if (list && wf_json_type(list) != WF_JSON_ARRAY) {
        return wf_errorf(err, WF_EINVAL, "devices.labels must be an array of strings");
    }
    for (const struct wf_json *v = list ? wf_json_first(list) : NULL;
         status == WF_OK && v; v = wf_json_next(v)) {
        const char *text = wf_json_string(v);
        if (!text || !*text || strlen(text) > MAX_NAME) {
            return wf_errorf(err, WF_EINVAL,
                             "devices.labels must be an array of strings");
        }
        status = wf_pg_array_add(ret, text, err);
    }
    return status == WF_OK ? wf_pg_array_end(ret, err) : status;
}

static enum wf_status read_devices(struct wf_run_request *r, struct wf_error *err)
{
    static const char *const keys[] = { "runtime", "arch", "model", "labels", NULL };
    const struct wf_json *d = wf_json_find(r->root, "devices");
    enum wf_status status = WF_OK;
    if (d && wf_json_type(d) == WF_JSON_NULL) {
        d = NULL;
    }
    if (d) {
        status = wf_json_get_object(r->root, "devices", &d, err);
        status = status == WF_OK ? wf_json_only_keys(d, keys, err) : status;
        status = status == WF_OK ? opt_or_null(d, "runtime", &r->runtime, err) : status;
        status = status == WF_OK ? opt_or_null(d, "arch", &r->arch, err) : status;
        status = status == WF_OK ? opt_or_null(d, "model", &r->model, err) : status;
    }
    if (status == WF_OK && r->arch &&
        !wf_arch_base(r->arch, r->arch_base, sizeof r->arch_base)) {
        status = wf_errorf(err, WF_EINVAL, "devices.arch '%.80s' is too long", r->arch);
    }
    if (status == WF_OK) {
        r->arch = r->arch ? r->arch_base : NULL;
        snprintf(r->selector, sizeof r->selector, "%s%s%s%s%s",
                 r->runtime ? r->runtime : "any", r->arch ? "/" : "",
                 r->arch ? r->arch : "", r->model ? "/" : "", r->model ? r->model : "");
        status = read_labels(d, &r->labels, err);
    }
    return status;
}

/* A case that no kernel does would silently have no result. */
static enum wf_status count_tasks(struct wf_run_request *r, struct wf_error *err)
{
    size_t pairs = 0;
    for (size_t i = 0; i < r->case_count; i++) {
        size_t before = pairs;
        for (size_t k = 0; k < r->kernel_count; k++) {
            pairs += strcmp(r->kernels[k].kernel->op, r->cases[i].op) == 0;
        }
        if (pairs == before) {
            return wf_errorf(
                err, WF_EINVAL,
                "cases[%zu] (%s) is a case of op '%s' and no kernel of the run "
                "does that op: add one, or leave the case out",
                i, r->cases[i].name, r->cases[i].op);
        }
    }
    if (pairs > WF_RUN_MAX_TASKS / (size_t)r->repetitions) {
        return wf_errorf(err, WF_EINVAL, "the run would have more than %d tasks",
                         WF_RUN_MAX_TASKS);
    }
    r->task_count = pairs * (size_t)r->repetitions;
    return WF_OK;
}

static enum wf_status digest_body(struct wf_run_request *r, struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_json_write_canonical(r->root, &text, err);
    if (status == WF_OK) {
        wf_sha256_hex(text.data, text.len, r->digest);
    }
    wf_buf_free(&text);
    return status;
}

static enum wf_status read_head(struct wf_run_request *r, struct wf_error *err)
{
    r->repetitions = 1;
    enum wf_status status =
        wf_json_get_uuid(r->root, "request_id", &r->request_id, err);
    status = status == WF_OK ? get_name(r->root, "name", true, &r->name, err) : status;
    status =
        status == WF_OK ? get_name(r->root, "suite", false, &r->suite, err) : status;
    status = status == WF_OK ? read_priority(r->root, &r->priority, err) : status;
    status = status == WF_OK ? wf_json_opt_i64(r->root, "repetitions", 1, 10000,
                                               &r->repetitions, err)
                             : status;
    return status == WF_OK ? wf_json_opt_i64(r->root, "seed_offset", 0, INT64_MAX,
                                             &r->seed_offset, err)
                           : status;
}

/* All but the head's digest; `root` is taken. */
static enum wf_status read_root(struct wf_run_request *r,
                                const struct wf_dataset_resolver *datasets,
                                struct wf_error *err)
{
    enum wf_status status = read_head(r, err);
    status = status == WF_OK ? read_devices(r, err) : status;
    status = status == WF_OK
                 ? wf_run_measure_read(r->root, &r->measure, &r->measured, err)
                 : status;
    status = status == WF_OK ? read_packs(r, err) : status;
    status = status == WF_OK ? read_kernels(r, err) : status;
    return status == WF_OK ? read_cases(r, datasets, err) : status;
}

enum wf_status wf_run_request_read(struct wf_request *req,
                                   const struct wf_dataset_resolver *datasets,
                                   struct wf_run_request **ret,
                                   struct wf_error *err)
{
    static const char *const keys[] = { "schema",      "request_id",  "name",
                                        "suite",       "priority",    "cases",
                                        "packs",       "kernels",     "devices",
                                        "repetitions", "seed_offset", "measure",
                                        NULL };
    struct wf_run_request *r = wf_calloc(1, sizeof *r);
    if (!r) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a run");
    }
    enum wf_status status = wf_request_json(req, "wavefarm.run/1", keys, &r->root, err);
    wf_buf_free(&req->body);
    status = status == WF_OK ? digest_body(r, err) : status;
    status = status == WF_OK ? read_root(r, datasets, err) : status;
    status = status == WF_OK ? count_tasks(r, err) : status;
    if (status != WF_OK) {
        wf_run_request_free(r);
        return status;
    }
    *ret = r;
    return WF_OK;
}

enum wf_status wf_run_request_parse(struct wf_json *root,
                                    const struct wf_dataset_resolver *datasets,
                                    struct wf_run_request **ret,
                                    struct wf_error *err)
{
    struct wf_run_request *r = wf_calloc(1, sizeof *r);
    if (!r) {
        wf_json_free(root);
        return wf_errorf(err, WF_ENOMEM, "no memory for a run");
    }
    r->root = root;
    enum wf_status status = read_root(r, datasets, err);
    if (status != WF_OK) {
        wf_run_request_free(r);
        return status;
    }
    *ret = r;
    return WF_OK;
}

void wf_run_request_free(struct wf_run_request *r)
{
    if (!r) {
        return;
    }
    for (size_t i = 0; i < r->case_count; i++) {
        free(r->cases[i].name);
        free(r->cases[i].canonical);
        free(r->cases[i].label);
        free(r->cases[i].op);
        free(r->cases[i].measure);
    }
    for (size_t i = 0; i < r->pack_count; i++) {
        wf_pack_free(r->packs[i].pack);
        free(r->packs[i].manifest);
        free(r->packs[i].provenance);
    }
    free(r->cases);
    free(r->packs);
    free(r->kernels);
    free(r->measure);
    wf_buf_free(&r->labels);
    wf_json_free(r->root);
    free(r);
}
