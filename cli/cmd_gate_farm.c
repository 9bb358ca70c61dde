/* gate submit: a gate on a farm. The header is made here, as for a local gate; id, seed
 * and the spread over devices are the coordinator's. */
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/gate_farm.h"
#include "cli/gate_outputs.h"
#include "cli/gate_plan.h"
#include "cli/gate_static.h"
#include "cli/measure_args.h"
#include "cli/output.h"
#include "cli/submission.h"
#include "core/buf.h"
#include "core/sha256.h"
#include "runner/farm_client.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS_MAX 100000

static const char *const roles[] = { "base", "candidate", "sentinel" };

/* --- options --- */

static enum wf_status check_options(const struct wf_args *a, struct wf_error *err)
{
    static const struct {
        const char *option, *what;
    } needed[] = { { "base", "the pack before the change" },
                   { "cand", "the pack with the change" },
                   { "suite", "the cases; 'wavefarm list suites' shows some" } };
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        if (wf_args_require(a, needed[i].option, needed[i].what, err) != WF_OK) {
            return WF_EINVAL;
        }
    }
    if ((wf_args_string(a, "base-kernel") == NULL) !=
        (wf_args_string(a, "cand-kernel") == NULL)) {
        return wf_errorf(err, WF_EINVAL,
                         "--base-kernel and --cand-kernel name two kernels to compare: "
                         "both are wanted, or neither");
    }
    if (wf_args_flag(a, "cold") && wf_args_flag(a, "hot")) {
        return wf_errorf(err, WF_EINVAL, "--cold and --hot exclude each other");
    }
    if (!wf_args_flag(a, "wait") && wf_args_string(a, "out") != NULL) {
        return wf_errorf(err, WF_EINVAL,
                         "--out needs --wait: without it there is no record yet");
    }
    return gate_outputs_check(a, wf_args_string(a, "out"), err);
}

static enum wf_status read_options(const struct wf_args *a,
                                   struct wf_gate_options *o,
                                   struct wf_error *err)
{
    *o = (struct wf_gate_options){
        .base = wf_args_string(a, "base"),
        .cand = wf_args_string(a, "cand"),
        .base_kernel = wf_args_string(a, "base-kernel"),
        .cand_kernel = wf_args_string(a, "cand-kernel"),
        .suite = wf_args_string(a, "suite"),
        .cases = wf_args_string(a, "cases"),
        .kernels = wf_args_string(a, "kernels"),
        .policy = wf_args_string(a, "policy"),
        .same = wf_args_flag(a, "same"),
        .no_sentinels = wf_args_flag(a, "no-sentinels"),
        .answers_only = wf_args_flag(a, "answers-only"),
        .seed_offset = (uint64_t)wf_args_int(a, "seed-offset"),
        .hot = wf_args_flag(a, "hot"),
        .cancel = &wf_interrupted,
    };
    o->measure.measure = true;
    o->measure.cold = wf_args_flag(a, "cold");
    enum wf_status status = check_options(a, err);
    if (status == WF_OK && wf_args_string(a, "max-blocks") != NULL) {
        status = wf_args_int_in(a, "max-blocks", 1, BLOCKS_MAX, &o->max_blocks, err);
    }
    return status == WF_OK
               ? wf_args_checks(a, &o->measure.launches, &o->measure.naive, err)
               : status;
}

/* --- the body --- */

/* Uploads the pack and enters its archive in the header; packs that are there twice
 * (A/A) are sent once. */
static enum wf_status add_pack(struct wf_api *api,
                               const struct wf_pack *pack,
                               const char *role,
                               struct wf_json *packs,
                               struct wf_json *in_header,
                               struct wf_error *err)
{
    struct wf_json *entry = NULL, *mine = NULL;
    const struct wf_json *old = wf_json_find(in_header, role);
    enum wf_status status = wf_submit_pack(api, pack, &entry, err);
    if (status == WF_OK) {
        status = wf_json_copy(old, &mine, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_copy(mine, "archive", wf_json_find(entry, "archive"), err);
    }
    if (status != WF_OK) {
        wf_json_free(entry);
        wf_json_free(mine);
        return status;
    }
    bool there = false;
    for (const struct wf_json *p = wf_json_first(packs); p != NULL;
         p = wf_json_next(p)) {
        there = there || strcmp(wf_json_string(wf_json_find(p, "archive")),
                                wf_json_string(wf_json_find(entry, "archive"))) == 0;
    }
    if (there) {
        wf_json_free(entry);
    } else {
        status = wf_json_push_take(packs, entry, err);
    }
    enum wf_status set = wf_json_set_take(in_header, role, mine, err);
    return status == WF_OK ? set : status;
}

static enum wf_status add_packs(struct wf_api *api,
                                const struct gate_plan *plan,
                                struct wf_json *header,
                                struct wf_json *body,
                                struct wf_error *err)
{
    struct wf_json *packs = wf_json_array();
    struct wf_json *in_header = NULL;
    enum wf_status status =
        wf_json_copy(wf_json_find(header, "packs"), &in_header, err);
    for (int i = 0; i < WF_GATE_PACK_COUNT && status == WF_OK; i++) {
        if (plan->pack[i].pack != NULL && wf_json_find(in_header, roles[i]) != NULL) {
            status = add_pack(api, plan->pack[i].pack, roles[i], packs, in_header, err);
        }
    }
    if (status == WF_OK) {
        status = wf_json_set_take(header, "packs", in_header, err);
    } else {
        wf_json_free(in_header);
    }
    enum wf_status set = wf_json_set_take(body, "packs", packs, err);
    return status == WF_OK ? set : status;
}

static enum wf_status upload_datasets(struct wf_api *api,
                                      const struct gate_plan *plan,
                                      struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < wf_suite_dataset_count(plan->suite) && status == WF_OK;
         i++) {
        char sha256[WF_SHA256_HEX];
        char *file = wf_asprintf("%s/%s.safetensors", plan->datasets,
                                 wf_suite_dataset(plan->suite, i));
        status = file == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                              : wf_api_put_blob(api, file, sha256, err);
        free(file);
    }
    return status;
}

/* Of the model that the plan was made for: margins and arch are that one's. */
static enum wf_status add_devices(const struct wf_args *args,
                                  const struct wf_device *device,
                                  struct wf_json *body,
                                  struct wf_error *err)
{
    struct wf_json *labels = wf_json_array();
    struct wf_json *d = wf_json_object();
    char arch[64];
    enum wf_status status = WF_OK;
    snprintf(arch, sizeof(arch), "%.*s", (int)strcspn(device->arch, ":"), device->arch);
    for (size_t i = 0; i < wf_args_list_count(args, "label") && status == WF_OK; i++) {
        status = wf_json_push_string(labels, wf_args_list_at(args, "label", i), err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(d, "runtime", device->runtime, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(d, "arch", arch, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(d, "model", device->model, err);
    }
    enum wf_status s1 = wf_json_set_take(d, "labels", labels, err);
    enum wf_status s2 = wf_json_set_take(body, "devices", d, err);
    return status != WF_OK ? status : s1 != WF_OK ? s1 : s2;
}

static enum wf_status add_head(const struct wf_args *args,
                               struct wf_json *header,
                               struct wf_json *body,
                               struct wf_error *err)
{
    char id[37];
    const char *name = wf_args_string(args, "name");
    enum wf_status status = wf_uuid(id, err);
    if (status == WF_OK) {
        status = wf_json_set_string(body, "schema", "wavefarm.gate-request/1", err);
    }
    if (status == WF_OK) {
        status = wf_json_set_string(body, "request_id", id, err);
    }
    if (status == WF_OK) {
        status =
            wf_json_set_string(body, "priority", wf_args_string(args, "priority"), err);
    }
    return status == WF_OK && name != NULL
               ? wf_json_set_string(header, "name", name, err)
               : status;
}

/* Figures of the machine code need no device: compared here, kept in the record. */
static enum wf_status add_static(const struct gate_plan *plan,
                                 struct wf_json *body,
                                 struct wf_error *err)
{
    const struct wf_gate_options *o = plan->options;
    const struct wf_gate_static_options s = {
        .base_kernel = o->base_kernel,
        .cand_kernel = o->cand_kernel,
        .kernels = o->kernels,
    };
    struct wf_json *line = NULL;
    enum wf_status status = wf_gate_static_line(
        plan->pack[WF_GATE_PACK_BASE].pack, plan->pack[WF_GATE_PACK_CANDIDATE].pack,
        wf_gate_policy_static(plan->policy), &s, &line, err);
    return status == WF_OK ? wf_json_set_take(body, "static", line, err) : status;
}

static enum wf_status make_body(struct wf_api *api,
                                const struct wf_args *args,
                                struct gate_plan *plan,
                                struct wf_json *body,
                                struct wf_error *err)
{
    struct wf_json *header = NULL;
    enum wf_status status = gate_plan_header(plan, &header, err);
    if (status != WF_OK) {
        return status;
    }
    status = add_head(args, header, body, err);
    if (status == WF_OK) {
        status = add_packs(api, plan, header, body, err);
    }
    if (status == WF_OK) {
        status = add_static(plan, body, err);
    }
    if (status == WF_OK) {
        status = upload_datasets(api, plan, err);
    }
    if (status == WF_OK) {
        status = add_devices(args, &plan->device, body, err);
    }
    enum wf_status set = wf_json_set_take(body, "header", header, err);
    return status == WF_OK ? set : status;
}

static enum wf_status submit(struct wf_api *api,
                             const struct wf_args *args,
                             struct wf_gate_options *o,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct wf_device device;
    struct gate_plan plan = { 0 };
    struct wf_json *body = wf_json_object();
    enum wf_status status = gate_farm_device(api, args, &device, err);
    if (status == WF_OK) {
        o->described = &device;
        status = gate_plan_open(&plan, o, err);
    }
    if (status == WF_OK) {
        status = make_body(api, args, &plan, body, err);
    }
    if (status == WF_OK) {
        status = wf_api_post(api, "/v1/gates", body, ret, err);
    }
    gate_plan_close(&plan);
    o->described = NULL;
    wf_json_free(body);
    return status;
}

static int run(const struct wf_args *args)
{
    struct wf_error err = { 0 };
    struct wf_api *api = NULL;
    struct wf_gate_options o;
    struct wf_json *answer = NULL;
    const char *id = NULL;
    int code = WF_EXIT_GOOD;
    enum wf_status status = read_options(args, &o, &err);
    if (status == WF_OK) {
        status = wf_api_open(args, &api, &err);
    }
    if (status == WF_OK) {
        status = submit(api, args, &o, &answer, &err);
    }
    if (status == WF_OK) {
        status = wf_json_get_string(answer, "id", &id, &err);
    }
    const bool wait = wf_args_flag(args, "wait");
    if (status == WF_OK && wf_args_flag(args, "json") && !wait) {
        status = wf_print_json(answer, &err);
    } else if (status == WF_OK && !wf_args_flag(args, "json")) {
        wf_say("gate %s", id);
        fflush(stdout);
    }
    if (status == WF_OK && wait) {
        status = gate_farm_finish(api, args, id, &code, &err);
    }
    wf_json_free(answer);
    wf_api_close(api);
    return status == WF_OK ? code : wf_exit_error(&err);
}

static const struct wf_opt opts[] = {
    { "base", WF_OPT_FILE, "PACK", NULL, NULL,
      "the pack before the change: a folder or an archive" },
    { "cand", WF_OPT_FILE, "PACK", NULL, NULL, "the pack with the change" },
    { "suite", WF_OPT_STRING, "SUITE", NULL, NULL, "a built-in suite or a .json file" },
    { "wait", WF_OPT_FLAG, NULL, NULL, NULL, "show progress, then the report" },
    { "out", WF_OPT_FILE, "FILE", NULL, NULL, "with --wait: keep the record" },
    { "name", WF_OPT_STRING, "TEXT", NULL, NULL, "what the gate is called" },
    { "priority", WF_OPT_STRING, "CLASS", "pr", NULL,
      "pr, normal, nightly or release" },
    { "policy", WF_OPT_FILE, "FILE", NULL, NULL,
      "margins, waivers, what else is red (docs/gate-command.md)" },
    { "cases", WF_OPT_STRING, "GLOB", NULL, NULL, "cases by name" },
    { "kernels", WF_OPT_STRING, "GLOB", NULL, NULL, "kernels by name" },
    { "base-kernel", WF_OPT_STRING, "NAME", NULL, NULL,
      "with --cand-kernel: compare these two, whatever their names" },
    { "cand-kernel", WF_OPT_STRING, "NAME", NULL, NULL, "see --base-kernel" },
    { "same", WF_OPT_FLAG, NULL, NULL, NULL,
      "A/A: measure equal code, too, and learn the devices' noise from it" },
    { "answers-only", WF_OPT_FLAG, NULL, NULL, NULL,
      "judge answers, compare no times" },
    { "no-sentinels", WF_OPT_FLAG, NULL, NULL, NULL,
      "no known answers among the pairs: nothing shows that a device can be trusted" },
    { "max-blocks", WF_OPT_INT, "N", NULL, NULL,
      "blocks of a pair before it is inconclusive (default 24)" },
    { "seed-offset", WF_OPT_INT, "N", "0", NULL, "other inputs for the same cases" },
    { "cold", WF_OPT_FLAG, NULL, NULL, NULL,
      "every timed launch meets its inputs outside the last-level cache" },
    { "hot", WF_OPT_FLAG, NULL, NULL, NULL,
      "every launch on the same buffers (default, unless the suite says cold)" },
    { "launches", WF_OPT_INT, "N", NULL, NULL,
      "checked launches on equal inputs (default: the suite's, else 2)" },
    { "naive", WF_OPT_STRING, "MODE", "auto", NULL,
      "naive device kernel as a check of all elements: auto (off), on or off" },
    { "runtime", WF_OPT_STRING, "NAME", NULL, NULL, "only devices of this runtime" },
    { "arch", WF_OPT_STRING, "ARCH", NULL, NULL, "only devices of this arch" },
    { "model", WF_OPT_STRING, "MODEL", NULL, NULL,
      "only devices of this model (default: the one of which there are most)" },
    { "label", WF_OPT_LIST, "LABEL", NULL, NULL, "only runners with this label" },
    WF_OPTS_GATE_REPORT,
    WF_OPTS_SERVER,
};

const struct wf_command wf_command_gate_submit = {
    .name = "gate submit",
    .synopsis = "",
    .summary = "Compare two packs on a farm's devices: what became slower or wrong",
    .details =
        "Pairs of case and kernel are spread over idle devices of one model; each stays "
        "on its\ndevice. Packs and datasets are uploaded by their hash, once. With --wait "
        "the exit status\nis the gate's, as of 'wavefarm gate'.",
    .opt = opts,
    .opt_count = sizeof(opts) / sizeof(opts[0]),
    .min_args = 0,
    .max_args = 0,
    .run = run,
};
