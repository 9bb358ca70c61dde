/* From a request to a plan: case, pack, kernel, names, tensors.
 *
 * A case that does not parse, a kernel that does not do it and a pack whose description
 * fails for it are answers; a pack that is not what the request names is the runner's
 * own failure. */
#include "runner/judge_audit.h"

#include "core/clock.h"

#include <stdlib.h>
#include <string.h>

static enum wf_status parse_case(struct judge *j, struct wf_error *err)
{
    const struct wf_execute_request *q = j->request;
    struct wf_json *json = NULL;
    struct wf_dataset_resolver resolver;
    bool has_folder = q->dataset_folder && q->dataset_folder[0];
    enum wf_status st = WF_OK;
    if (has_folder) {
        st = wf_dataset_store_open(q->dataset_folder, &j->datasets, err);
        if (st != WF_OK) {
            return st;
        }
        resolver = wf_dataset_store_resolver(j->datasets);
    }
    struct wf_error why = { 0 };
    st = wf_json_parse(q->case_json, strlen(q->case_json), "case", &json, &why);
    if (st == WF_OK) {
        st = wf_case_parse(json, "case", has_folder ? &resolver : NULL, &j->c, &why);
    }
    wf_json_free(json);
    if (st == WF_EINVAL || st == WF_EPARSE || st == WF_ERANGE) {
        result_answer(j->result, WF_ANSWER_INVALID_CASE, "%s", why.text);
        j->done = true;
        return WF_OK;
    }
    return st == WF_OK ? WF_OK : wf_errorf(err, st, "%s", why.text);
}

static enum wf_status note_case(struct judge *j, struct wf_error *err)
{
    const char *wanted = j->request->case_id;
    struct result_case *c = &j->result->c;
    c->canonical = wf_case_canonical(j->c);
    c->id = wf_case_id(j->c);
    c->label = wf_case_label(j->c);
    c->op = wf_case_op_name(j->c);
    c->math_type = wf_dtype_name(wf_case_math_type(j->c));
    c->flops = wf_case_flops(j->c);
    c->bytes = wf_case_bytes(j->c);
    c->seed = wf_case_seed(j->c);
    if (wanted && wanted[0] && strcmp(wanted, c->id) != 0) {
        return wf_errorf(
            err, WF_ECONFLICT,
            "the case's id is %s here but %s for the sender: the two are of "
            "different versions",
            c->id, wanted);
    }
    return WF_OK;
}

static enum wf_status open_pack(struct judge *j, struct wf_error *err)
{
    const struct wf_execute_request *q = j->request;
    struct result *r = j->result;
    enum wf_status st = wf_pack_open(q->pack_folder, &j->pack, err);
    if (st != WF_OK) {
        return st;
    }
    if (q->pack_id && q->pack_id[0] && strcmp(q->pack_id, wf_pack_id(j->pack)) != 0) {
        return wf_errorf(err, WF_EINVAL, "%s holds pack %s, not %s", q->pack_folder,
                         wf_pack_id(j->pack), q->pack_id);
    }
    r->pack_name = wf_pack_name(j->pack);
    j->kernel = wf_pack_kernel(j->pack, q->kernel);
    if (!j->kernel) {
        return wf_errorf(err, WF_ENOTFOUND, "pack %s has no kernel %s", r->pack_name,
                         q->kernel);
    }
    r->source = j->kernel->source ? j->kernel->source : "";
    if (q->provenance_file && q->provenance_file[0]) {
        st = wf_provenance_read(q->provenance_file, wf_pack_id(j->pack), &r->provenance,
                                err);
    }
    return st;
}

static void note_code(struct judge *j)
{
    const struct wf_pack_kernel *k = j->kernel;
    struct result *r = j->result;
    const char *hash = NULL;
    switch (k->kind) {
    case WF_KERNEL_CODE_OBJECT:
        r->code_kind = "code-object";
        hash = k->code_count ? wf_pack_file_sha256(j->pack, k->code[0].file) : NULL;
        break;
    case WF_KERNEL_LIBRARY:
        r->code_kind = "library";
        hash = wf_pack_file_sha256(j->pack, k->library);
        break;
    case WF_KERNEL_PROCESS:
        r->code_kind = "process";
        hash = wf_pack_id(j->pack);
        break;
    }
    r->code_sha256 = hash ? hash : "";
}

static enum wf_status list_tensors(struct judge *j, struct wf_error *err)
{
    j->tensor_count = wf_case_tensor_count(j->c);
    j->tensor = wf_calloc(j->tensor_count + 1, sizeof(*j->tensor));
    j->input_digest = wf_calloc(j->tensor_count + 1, sizeof(*j->input_digest));
    if (!j->tensor || !j->input_digest) {
        return wf_errorf(err, WF_ENOMEM, "no memory for tensors");
    }
    for (size_t i = 0; i < j->tensor_count; i++) {
        const struct wf_tensor *t = wf_case_tensor(j->c, i);
        j->tensor[i] = (struct wf_plan_tensor){ t->name, t->dtype, t->bytes };
        j->result->case_bytes += t->bytes;
    }
    return WF_OK;
}

static void note_peaks(struct judge *j)
{
    struct result *r = j->result;
    r->peak_flops = wf_device_peak_flops(j->request->device, r->c.math_type);
    r->peak_bytes_per_s = j->request->device->peak_bytes_per_s;
    double compute = r->peak_flops > 0 ? r->c.flops / r->peak_flops : 0;
    double memory = r->peak_bytes_per_s > 0 ? r->c.bytes / r->peak_bytes_per_s : 0;
    r->roofline_ns = 1e9 * (compute > memory ? compute : memory);
}

/* What is wrong with the plan is the pack's fault, unless the subject said it. */
static enum wf_status make_plan(struct judge *j, struct wf_error *err)
{
    struct wf_error why = { 0 };
    enum wf_status st =
        wf_plan_create(j->kernel, j->tensor, j->tensor_count, j->request->device->arch,
                       &j->case_scope, &j->plan, &why);
    if (st == WF_OK) {
        return WF_OK;
    }
    if (st == WF_ENOMEM || j->subject_failed) {
        if (err) {
            *err = why;
        }
        return st;
    }
    result_answer(j->result,
                  st == WF_EUNSUPPORTED ? WF_ANSWER_NOT_SUPPORTED
                                        : WF_ANSWER_BUILD_FAILED,
                  "%s", why.text);
    j->done = true;
    return WF_OK;
}

static bool runs_here(struct judge *j)
{
    const struct wf_device *device = j->request->device;
    if (strcmp(j->kernel->op, wf_case_op_name(j->c)) != 0) {
        result_answer(j->result, WF_ANSWER_NOT_SUPPORTED,
                      "kernel %s does op %s, the case is %s", j->kernel->name,
                      j->kernel->op, wf_case_op_name(j->c));
        return false;
    }
    if (j->kernel->kind == WF_KERNEL_CODE_OBJECT && device->library_kernels) {
        result_answer(j->result, WF_ANSWER_NOT_SUPPORTED,
                      "code objects need a GPU or the emulator, %s:%d is neither",
                      device->runtime, device->ordinal);
        return false;
    }
    return true;
}

/* What a tensor's layout asks of the way in that a kernel has. */
static enum wf_status fits_layout(struct judge *j, struct wf_error *err)
{
    enum wf_status st = judge_find_touched(j, err);
    const char *sparse = st == WF_OK ? judge_sparse_tensor(j) : NULL;
    for (size_t i = 0;
         st == WF_OK && j->kernel->kind == WF_KERNEL_PROCESS && i < j->tensor_count;
         i++) {
        const struct wf_tensor *t = wf_case_tensor(j->c, i);
        if (t->base_bytes > 0 && t->bytes > 0) {
            result_answer(j->result, WF_ANSWER_NOT_SUPPORTED,
                          "%s begins %llu bytes behind an aligned address; tensors of "
                          "process kernels lie where the framework puts them",
                          t->name, (unsigned long long)t->base_bytes);
            j->done = true;
            return WF_OK;
        }
    }
    bool copies = j->kernel->kind == WF_KERNEL_PROCESS;
    for (size_t i = 0; sparse && j->plan && i < j->plan->buffer_count; i++) {
        copies = copies || (j->plan->buffer[i].kind == WF_BUFFER_DERIVED &&
                            j->touch[j->plan->buffer[i].from].sparse);
    }
    if (sparse && copies) {
        result_answer(
            j->result, WF_ANSWER_NOT_SUPPORTED,
            "%s is huge and mostly unused; process kernels and derived buffers "
            "would need a copy of all of it",
            sparse);
        j->done = true;
    }
    return st;
}

enum wf_status judge_setup(struct judge *j, struct wf_error *err)
{
    int64_t start_ns = wf_monotonic_ns();
    j->say("stage setup");
    enum wf_status st = j->has_twins_case ? WF_OK : parse_case(j, err);
    if (st == WF_OK && !j->done) {
        st = note_case(j, err);
    }
    if (st == WF_OK) {
        st = open_pack(j, err);
    }
    if (st != WF_OK || j->done) {
        return st;
    }
    note_code(j);
    j->done = !runs_here(j);
    if (j->done) {
        return WF_OK;
    }
    judge_scope_init(j);
    note_peaks(j);
    st = list_tensors(j, err);
    if (st == WF_OK) {
        st = judge_draw_guard_key(j, err);
    }
    if (st == WF_OK) {
        st = make_plan(j, err);
    }
    if (st == WF_OK && !j->done) {
        st = fits_layout(j, err);
    }
    j->result->phases.prepare += wf_monotonic_ns() - start_ns;
    return st;
}

void judge_teardown(struct judge *j)
{
    judge_drop_reference(j);
    subject_client_stop(j->subject);
    wf_json_free(j->emulation);
    wf_plan_free(j->plan);
    free(j->tensor);
    free(j->input_digest);
    judge_audit_destroy(j);
    judge_forget_touched(j);
    wf_pack_free(j->pack);
    if (!j->has_twins_case) {
        wf_case_free(j->c);
        wf_dataset_store_close(j->datasets);
    }
}
