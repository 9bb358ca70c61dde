#include "cli/submission.h"

#include "cli/commands.h"
#include "cli/farm_archs.h"
#include "cli/kernel_set.h"
#include "cli/measure_args.h"
#include "cli/paths.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"
#include "core/sha256.h"
#include "datasets/suite.h"
#include "packs/provenance.h"
#include "runner/device.h"
#include "runner/farm_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct submission {
    struct wf_api *api;
    const struct wf_args *args;
    char *datasets;
    struct wf_dataset_store *store;
    struct wf_suite *suite;
    struct wf_kernel_set kernels;
    struct wf_farm_archs *archs;
    const struct wf_json *measure; /* of the command line, in the body */
    size_t left_out;               /* kernels that no runner's device could run */
};

static enum wf_status open_all(struct submission *s, struct wf_error *err)
{
    const char *folder[64];
    char *suites = NULL;
    size_t n = wf_args_list_count(s->args, "pack");
    if (n > 64) {
        return wf_errorf(err, WF_EINVAL, "at most 64 packs in one run");
    }
    for (size_t i = 0; i < n; i++) {
        folder[i] = wf_args_list_at(s->args, "pack", i);
    }
    enum wf_status status = wf_suites_folder(&suites, err);
    if (status == WF_OK) {
        status = wf_datasets_folder(&s->datasets, err);
    }
    if (status == WF_OK) {
        status = wf_dataset_store_open(s->datasets, &s->store, err);
    }
    if (status == WF_OK) {
        wf_dataset_store_set_cancel(s->store, &wf_interrupted);
    }
    if (status == WF_OK) {
        status =
            wf_suite_load(wf_args_at(s->args, 0), suites, s->store, &s->suite, err);
    }
    if (status == WF_OK) {
        status = wf_kernel_set_open(folder, n, wf_args_string(s->args, "kernels"),
                                    &s->kernels, err);
    }
    free(suites);
    return status;
}

static bool case_selected(const struct submission *s, size_t i)
{
    const char *glob = wf_args_string(s->args, "cases");
    return glob == NULL || wf_glob_match(glob, wf_suite_case_name(s->suite, i));
}

/* NULL: what the farm's devices are decides. */
static const char *wanted_arch(const struct wf_args *args)
{
    const char *arch = wf_args_string(args, "arch");
    const char *runtime = wf_args_string(args, "runtime");
    if (arch == NULL && runtime != NULL && strcmp(runtime, "host") == 0) {
        arch = "x86-64";
    }
    return arch;
}

static bool has_case_for(const struct submission *s, const char *op)
{
    for (size_t i = 0; i < wf_suite_count(s->suite); i++) {
        const struct wf_case *c = wf_suite_case(s->suite, i);
        if (case_selected(s, i) && strcmp(wf_case_op_name(c), op) == 0) {
            return true;
        }
    }
    return false;
}

/* A kernel takes part when a selected case has its op and its arch is asked for: by
 * --arch, else by the devices that the farm has. */
static bool kernel_selected(struct submission *s, const struct wf_pack_kernel *k)
{
    const char *arch = wanted_arch(s->args);
    if (!has_case_for(s, k->op)) {
        return false;
    }
    if (arch != NULL) {
        return wf_kernel_fits_arch(k, arch);
    }
    bool fits = wf_farm_archs_fit(s->archs, k);
    s->left_out += fits ? 0 : 1;
    return fits;
}

/* What the farm has now. A run for devices that it has not is good: they may come. */
static enum wf_status ask_farm(struct submission *s, struct wf_error *err)
{
    const char *runtime = wf_args_string(s->args, "runtime");
    enum wf_status status = runtime != NULL ? wf_runtime_check(runtime, err) : WF_OK;
    if (status == WF_OK) {
        status = wf_farm_archs_fetch(s->api, runtime, wf_args_string(s->args, "model"),
                                     &s->archs, err);
    }
    if (status == WF_OK && wf_farm_archs_empty(s->archs)) {
        fprintf(stderr,
                "wavefarm: no runner of the farm has such a device now; the run "
                "waits for one\n");
    }
    return status;
}

static enum wf_status parse_text(const char *text,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    return wf_json_parse(text, strlen(text), "case", ret, err);
}

/* What the suite says of the case and the command line does not. */
static enum wf_status add_case_measure(const struct submission *s,
                                       size_t i,
                                       struct wf_json *entry,
                                       struct wf_error *err)
{
    const struct wf_json *said = wf_suite_case_measure(s->suite, i);
    const struct wf_json *v = said != NULL ? wf_json_first(said) : NULL;
    struct wf_json *own = wf_json_object();
    enum wf_status status = WF_OK;
    for (; v != NULL && status == WF_OK; v = wf_json_next(v)) {
        if (wf_json_find(s->measure, wf_json_key(v)) == NULL) {
            status = wf_json_set_copy(own, wf_json_key(v), v, err);
        }
    }
    if (status != WF_OK || wf_json_count(own) == 0) {
        wf_json_free(own);
        return status;
    }
    return wf_json_set_take(entry, "measure", own, err);
}

static enum wf_status add_cases(struct submission *s,
                                struct wf_json *body,
                                struct wf_error *err)
{
    enum wf_status status = WF_OK;
    struct wf_json *list = wf_json_array();
    for (size_t i = 0; i < wf_suite_count(s->suite) && status == WF_OK; i++) {
        struct wf_json *c = NULL;
        if (!case_selected(s, i)) {
            continue;
        }
        struct wf_json *entry = wf_json_object();
        status = parse_text(wf_case_canonical(wf_suite_case(s->suite, i)), &c, err);
        if (status == WF_OK) {
            status =
                wf_json_set_string(entry, "name", wf_suite_case_name(s->suite, i), err);
        }
        enum wf_status s1 = wf_json_set_take(entry, "case", c, err);
        if (status == WF_OK) {
            status = add_case_measure(s, i, entry, err);
        }
        enum wf_status s2 = wf_json_push_take(list, entry, err);
        status = status != WF_OK ? status : s1 != WF_OK ? s1 : s2;
    }
    enum wf_status s3 = wf_json_set_take(body, "cases", list, err);
    return status != WF_OK ? status : s3;
}

static enum wf_status read_provenance(const struct wf_pack *pack,
                                      struct wf_json *entry,
                                      struct wf_error *err)
{
    char *path = NULL;
    struct wf_json *record = NULL;
    enum wf_status status = wf_pack_provenance_path(pack, &path, err);
    if (status == WF_OK && path != NULL) {
        status = wf_provenance_read(path, wf_pack_id(pack), &record, err);
    }
    free(path);
    if (status != WF_OK) {
        return status;
    }
    return record != NULL ? wf_json_set_take(entry, "provenance", record, err)
                          : wf_json_set_null(entry, "provenance", err);
}

static enum wf_status upload_archive(struct wf_api *api,
                                     const struct wf_pack *pack,
                                     char ret_sha256[65],
                                     struct wf_error *err)
{
    char name[] = "/tmp/wavefarm-pack-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0) {
        return wf_errorf(err, WF_EIO, "cannot make a temporary file in /tmp");
    }
    close(fd);
    enum wf_status status = wf_pack_archive(pack, name, err);
    if (status == WF_OK) {
        status = wf_api_put_blob(api, name, ret_sha256, err);
    }
    (void)unlink(name);
    return status;
}

enum wf_status wf_submit_pack(struct wf_api *api,
                              const struct wf_pack *pack,
                              struct wf_json **ret_entry,
                              struct wf_error *err)
{
    char sha256[WF_SHA256_HEX];
    struct wf_json *manifest = NULL;
    struct wf_json *entry = wf_json_object();
    char *path = wf_path_join(wf_pack_folder(pack), "pack.json");
    enum wf_status status = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                                         : upload_archive(api, pack, sha256, err);
    if (status == WF_OK) {
        status = wf_json_parse_file(path, &manifest, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_take(entry, "pack", manifest, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(entry, "archive", sha256, err);
    }
    if (status == WF_OK) {
        status = read_provenance(pack, entry, err);
    }
    free(path);
    if (status != WF_OK) {
        wf_json_free(entry);
        return status;
    }
    *ret_entry = entry;
    return WF_OK;
}

static enum wf_status add_kernel(const struct wf_kernel_choice *k,
                                 struct wf_json *list,
                                 struct wf_error *err)
{
    struct wf_json *entry = wf_json_object();
    enum wf_status status = wf_json_set_string(entry, "pack", wf_pack_id(k->pack), err);
    if (status == WF_OK) {
        status = wf_json_set_string(entry, "kernel", k->kernel->name, err);
    }
    enum wf_status pushed = wf_json_push_take(list, entry, err);
    return status != WF_OK ? status : pushed;
}

/* Kernels that are selected, and the packs that hold them (each once). */
static enum wf_status add_kernels(struct submission *s,
                                  struct wf_json *body,
                                  struct wf_error *err)
{
    enum wf_status status = WF_OK;
    const struct wf_pack *last = NULL;
    struct wf_json *packs = wf_json_array();
    struct wf_json *kernels = wf_json_array();
    for (size_t i = 0; i < s->kernels.count && status == WF_OK; i++) {
        const struct wf_kernel_choice *k = &s->kernels.choice[i];
        if (!kernel_selected(s, k->kernel)) {
            continue;
        }
        if (k->pack != last) {
            struct wf_json *entry = NULL;
            status = wf_submit_pack(s->api, k->pack, &entry, err);
            if (status == WF_OK) {
                status = wf_json_push_take(packs, entry, err);
            }
            last = k->pack;
        }
        if (status == WF_OK) {
            status = add_kernel(k, kernels, err);
        }
    }
    if (status == WF_OK && wf_json_count(kernels) == 0) {
        status = wf_errorf(err, WF_ENOTFOUND,
                           "no selected kernel does an op of suite '%s' on the devices "
                           "asked for; 'wavefarm list kernels' shows what there is",
                           wf_suite_name(s->suite));
    }
    if (status == WF_OK && s->left_out > 0) {
        fprintf(stderr,
                "wavefarm: %zu kernels left out: no runner of the farm has their arch "
                "(--arch asks for it nevertheless)\n",
                s->left_out);
    }
    enum wf_status s1 = wf_json_set_take(body, "packs", packs, err);
    enum wf_status s2 = wf_json_set_take(body, "kernels", kernels, err);
    return status != WF_OK ? status : s1 != WF_OK ? s1 : s2;
}

static enum wf_status upload_datasets(struct submission *s, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_suite_dataset_count(s->suite) && status == WF_OK; i++) {
        char sha256[WF_SHA256_HEX];
        char *file = wf_asprintf("%s/%s.safetensors", s->datasets,
                                 wf_suite_dataset(s->suite, i));
        status = file == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                              : wf_api_put_blob(s->api, file, sha256, err);
        free(file);
    }
    return status;
}

static enum wf_status add_devices(const struct wf_args *args,
                                  struct wf_json *body,
                                  struct wf_error *err)
{
    enum wf_status status = WF_OK;
    struct wf_json *labels = wf_json_array();
    struct wf_json *d = wf_json_object();
    for (size_t i = 0; i < wf_args_list_count(args, "label") && status == WF_OK; i++) {
        status = wf_json_push_string(labels, wf_args_list_at(args, "label", i), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(d, "runtime", wf_args_string(args, "runtime"), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(d, "arch", wf_args_string(args, "arch"), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(d, "model", wf_args_string(args, "model"), err);
    }
    enum wf_status s1 = wf_json_set_take(d, "labels", labels, err);
    enum wf_status s2 = wf_json_set_take(body, "devices", d, err);
    return status != WF_OK ? status : s1 != WF_OK ? s1 : s2;
}

static enum wf_status add_measure(struct submission *s,
                                  struct wf_json *body,
                                  struct wf_error *err)
{
    struct wf_json *m = NULL;
    enum wf_status status = wf_measure_args(s->args, &m, err);
    if (status == WF_OK) {
        status = wf_json_set_take(body, "measure", m, err);
    }
    s->measure = wf_json_find(body, "measure");
    return status;
}

static enum wf_status add_head(const struct submission *s,
                               struct wf_json *body,
                               struct wf_error *err)
{
    char id[37];
    int repetitions = 0;
    const char *suite = wf_suite_name(s->suite);
    const char *name = wf_args_string(s->args, "name");
    enum wf_status status =
        wf_args_int_in(s->args, "repetitions", 1, 10000, &repetitions, err);
    if (status == WF_OK) {
        status = wf_uuid(id, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "schema", "wavefarm.run/1", err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "request_id", id, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "name", name != NULL ? name : suite, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "suite", suite, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "priority",
                                    wf_args_string(s->args, "priority"), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_i64(body, "repetitions", repetitions, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_i64(body, "seed_offset",
                                 wf_args_int(s->args, "seed-offset"), err);
    }
    return status;
}

enum wf_status wf_submit(struct wf_api *api,
                         const struct wf_args *args,
                         struct wf_json **ret,
                         struct wf_error *err)
{
    struct submission s = { .api = api, .args = args };
    struct wf_json *body = wf_json_object();
    enum wf_status status = add_measure(&s, body, err); /* bad options before uploads */
    if (status == WF_OK) {
        status = open_all(&s, err);
    }
    if (status == WF_OK) {
        status = add_head(&s, body, err);
    }
    if (status == WF_OK) {
        status = add_cases(&s, body, err);
    }
    if (status == WF_OK) {
        status = ask_farm(&s, err);
    }
    if (status == WF_OK) {
        status = add_kernels(&s, body, err);
    }
    if (status == WF_OK) {
        status = upload_datasets(&s, err);
    }
    if (status == WF_OK) {
        status = add_devices(args, body, err);
    }
    if (status == WF_OK) {
        status = wf_api_post(api, "/v1/runs", body, ret, err);
    }
    wf_json_free(body);
    wf_farm_archs_free(s.archs);
    wf_kernel_set_close(&s.kernels);
    wf_suite_free(s.suite);
    wf_dataset_store_close(s.store);
    free(s.datasets);
    return status;
}
