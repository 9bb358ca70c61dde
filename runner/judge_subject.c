/* The judge's talk with its subject: start, load, and what a failure means.
 *
 * Every command has a limit of its own and never outlives the task's deadline. */
#include "runner/judge.h"

#include "core/clock.h"
#include "core/file.h"
#include "packs/code_object.h"
#include "runner/hip_abi.h"
#include "runner/subject_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define START_NS (60 * SECOND_NS)
#define LOAD_NS  (120 * SECOND_NS)

static int64_t deadline(const struct judge *j, int64_t limit_ns)
{
    int64_t now_ns = wf_monotonic_ns();
    return limit_ns < j->deadline_ns - now_ns ? now_ns + limit_ns : j->deadline_ns;
}

enum wf_status judge_call(struct judge *j,
                          enum wf_sp_command command,
                          const void *payload,
                          size_t n,
                          int64_t limit_ns,
                          struct wf_buf *reply,
                          struct wf_error *err)
{
    subject_client_set_params(j->subject, &j->case_scope);
    enum wf_status st = subject_client_call(j->subject, command, payload, n,
                                            deadline(j, limit_ns), reply, err);
    j->subject_failed = st != WF_OK;
    return st;
}

enum wf_status judge_get(struct judge *j,
                         enum wf_sp_command command,
                         const void *payload,
                         size_t n,
                         int64_t limit_ns,
                         void *ret,
                         size_t ret_bytes,
                         struct wf_error *err)
{
    subject_client_set_params(j->subject, &j->case_scope);
    enum wf_status st = subject_client_get(j->subject, command, payload, n,
                                           deadline(j, limit_ns), ret, ret_bytes, err);
    j->subject_failed = st != WF_OK;
    return st;
}

enum wf_status judge_open_device(struct judge *j, struct wf_error *err)
{
    const struct wf_device *device = j->request->device;
    struct subject_options options = { j->subject_program, device->library, NULL };
    struct wf_sp_index which = { (uint32_t)device->ordinal, 0 };
    char line[64];
    if (j->device_open) {
        return WF_OK;
    }
    enum wf_status st = subject_client_start(&options, &j->subject, err);
    if (st != WF_OK) {
        return st;
    }
    (void)snprintf(line, sizeof(line), "subject %ld",
                   (long)subject_client_pid(j->subject));
    j->say(line);
    st = judge_call(j, WF_SP_OPEN, &which, sizeof(which), START_NS, NULL, err);
    if (st != WF_OK) {
        return wf_error_prefix(err, "device %s:%d", device->runtime, device->ordinal);
    }
    j->device_open = true;
    return judge_open_emulation(j, err);
}

/* A runtime says "no binary for this GPU" and leaves open which GPU the binary is for.
 */
static void name_processors(const struct judge *j,
                            const char *path,
                            struct wf_error *err)
{
    struct wf_code_object *code = NULL;
    char arch[sizeof(j->request->device->arch)];
    (void)snprintf(arch, sizeof(arch), "%s", j->request->device->arch);
    arch[strcspn(arch, ":")] = '\0';
    if (wf_code_object_read(path, &code, NULL) == WF_OK &&
        !wf_code_object_runs_on(code, arch)) {
        (void)wf_error_prefix(err, "built for %s, the device is %s",
                              wf_code_object_arch(code), arch);
    }
    wf_code_object_free(code);
}

/* LOAD_CODE or LIB_LOAD of a file of the pack. */
static enum wf_status load_file(struct judge *j,
                                enum wf_sp_command command,
                                uint32_t index,
                                const char *path,
                                struct wf_buf *reply,
                                struct wf_error *err)
{
    struct wf_buf payload = WF_BUF_INIT;
    struct wf_sp_index which = { index, 0 };
    enum wf_status st = wf_buf_add(&payload, &which, sizeof(which), err);
    if (st == WF_OK) {
        st = wire_add_text(&payload, path, err);
    }
    if (st == WF_OK) {
        st = judge_call(j, command, payload.data, payload.len, LOAD_NS, reply, err);
    }
    wf_buf_free(&payload);
    return st;
}

static enum wf_status load_code_object(struct judge *j,
                                       uint32_t index,
                                       const char *file,
                                       struct wf_error *err)
{
    char *path = wf_path_join(wf_pack_folder(j->pack), file);
    if (!path) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    enum wf_status st =
        load_file(j, WF_SP_LOAD_CODE, j->base.code + index, path, NULL, err);
    if (st != WF_OK) {
        name_processors(j, path, err);
        (void)wf_error_prefix(err, "%s", file);
    }
    free(path);
    return st;
}

/* What keeps the library's code away from the judge on this machine. */
static enum wf_status note_isolation(struct judge *j,
                                     uint32_t jail,
                                     struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st =
        wf_json_set_bool(obj, "judge_closed", prctl(PR_GET_DUMPABLE) == 0, err);
#define X(name, text)                                                      \
    if (st == WF_OK) {                                                     \
        st = wf_json_set_bool(obj, text, (jail & WF_SP_##name) != 0, err); \
    }
    WF_SP_JAIL(X)
#undef X
    enum wf_status took = wf_json_set_take(j->result->details, "isolation", obj, err);
    return st == WF_OK ? took : st;
}

static enum wf_status load_library(struct judge *j, struct wf_error *err)
{
    struct wf_buf reply = WF_BUF_INIT;
    struct wire_in in;
    char *path = wf_path_join(wf_pack_folder(j->pack), j->kernel->library);
    if (!path) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    enum wf_status st =
        load_file(j, WF_SP_LIB_LOAD, j->base.library, path, &reply, err);
    if (st == WF_OK) {
        char text[128];
        wire_in_start(&in, reply.data, reply.len);
        const char *name = wire_text(&in);
        (void)snprintf(text, sizeof(text), "%.60s %.60s", name, wire_text(&in));
        st = wf_json_set_string(j->result->details, "library", text, err);
        st = st == WF_OK ? note_isolation(j, wire_u32(&in), err) : st;
    }
    wf_buf_free(&reply);
    free(path);
    return st;
}

enum wf_status judge_load_copy(struct judge *j, size_t copy, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    size_t count = j->kernel->code_count;
    for (size_t i = 0; st == WF_OK && i < count; i++) {
        st = load_code_object(j, (uint32_t)(copy * count + i), j->kernel->code[i].file,
                              err);
    }
    return st;
}

enum wf_status judge_load_code(struct judge *j, struct wf_error *err)
{
    enum wf_status st = judge_open_device(j, err);
    if (st != WF_OK || j->code_loaded) {
        return st;
    }
    j->kernel_in = true;
    if (j->kernel->kind == WF_KERNEL_LIBRARY) {
        st = load_library(j, err);
    }
    if (st == WF_OK) {
        st = judge_load_copy(j, 0, err);
    }
    j->copies = 1;
    j->code_loaded = st == WF_OK;
    return st;
}

/* Names of hipErrorInvalidKernelFile and its like that hip_abi.h does not need. */
enum {
    HIP_INVALID_KERNEL_FILE = 218,
    HIP_INVALID_SOURCE = 300,
    HIP_NO_SYMBOL = 302
};

static enum wf_answer answer_of_hip(int code)
{
    switch (code) {
    case hipErrorOutOfMemory:
        return WF_ANSWER_OUT_OF_MEMORY;
    case hipErrorInvalidImage:
    case hipErrorNoBinaryForGpu:
    case hipErrorNotFound:
    case HIP_INVALID_KERNEL_FILE:
    case HIP_INVALID_SOURCE:
    case HIP_NO_SYMBOL:
        return WF_ANSWER_BUILD_FAILED;
    case hipErrorNotSupported:
        return WF_ANSWER_NOT_SUPPORTED;
    case hipErrorLaunchTimeOut:
        return WF_ANSWER_TIMEOUT;
    default:
        return WF_ANSWER_DEVICE_FAULT;
    }
}

static enum wf_answer answer_of_status(enum wf_status status)
{
    switch ((int)status) {
    case WF_ENOMEM:
        return WF_ANSWER_OUT_OF_MEMORY;
    case WF_EUNSUPPORTED:
        return WF_ANSWER_NOT_SUPPORTED;
    case WF_ENOTFOUND:
        return WF_ANSWER_BUILD_FAILED;
    case WF_EDEVICE:
        return WF_ANSWER_DEVICE_FAULT;
    default:
        return WF_ANSWER_COUNT;
    }
}

bool judge_conclude(struct judge *j, const struct wf_error *err)
{
    if (!j->subject_failed || !j->subject) {
        return false;
    }
    enum wf_answer answer = WF_ANSWER_COUNT;
    switch (subject_client_state(j->subject)) {
    case SUBJECT_DIED:
    case SUBJECT_BROKEN:
        answer = WF_ANSWER_CRASH;
        break;
    case SUBJECT_CHEATED:
        answer = WF_ANSWER_CHEAT_SUSPECTED;
        break;
    case SUBJECT_HUNG:
        answer = WF_ANSWER_TIMEOUT;
        break;
    case SUBJECT_ALIVE:
        answer = strcmp(err->domain, "hip") == 0 ? answer_of_hip(err->native)
                                                 : answer_of_status(err->status);
        break;
    }
    if (j->kernel_in && judge_fault_answer(j)) {
        return true; /* more exact than the code that the runtime returned */
    }
    /* Memory is asked for before any code is loaded; nothing else is the kernel's. */
    if (answer == WF_ANSWER_COUNT ||
        (!j->kernel_in && answer != WF_ANSWER_OUT_OF_MEMORY)) {
        return false;
    }
    result_answer(j->result, answer, "%s", err->text);
    return true;
}
