/* What a launch leaves for people: its report as JSON, kept for wf_rt_launch_report and
 * written to the file of WAVEFARM_EMULATOR_REPORT; and of a fault the words on standard
 * error, unless somebody else tells it. */
#include "emulator/hip/runtime.h"

#include "core/buf.h"
#include "core/json.h"
#include "emulator/count/model.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES    512
#define SMALL_ADDRESS 4096

/* --- words --- */

/* "name+0x40 (file.hip:12)" of an instruction. */
static void place(const struct em_launch *launch, uint32_t pc, char *text, size_t bytes)
{
    char line[LINE_BYTES] = "";
    uint32_t within = 0;
    const char *symbol = em_image_symbol(launch->image, pc, &within);
    bool known = em_image_line(launch->image, pc, line, sizeof(line));
    (void)snprintf(text, bytes, "%.200s+0x%x%s%.200s%s", symbol ? symbol : "code",
                   symbol ? within : 4 * pc, known ? " (" : "", line, known ? ")" : "");
}

static void print_instruction(const struct em_launch *launch,
                              uint32_t pc,
                              const char *what)
{
    char where[LINE_BYTES], text[LINE_BYTES] = "";
    const struct em_code *code = em_image_code(launch->image);
    place(launch, pc, where, sizeof(where));
    if (pc < em_code_count(code)) {
        (void)em_print(&em_code_at(code, pc)->in, text, sizeof(text));
    }
    (void)fprintf(stderr, "  %s %s  [%s]\n", what, where, text);
}

/* Whether the kernel calls functions that ask the host for something. */
static bool asks_host(const struct em_kernel *k)
{
    bool asks = false;
    for (size_t i = 0; i < k->arg_count; i++) {
        asks = asks || k->arg[i].hidden == EM_HIDDEN_hostcall_buffer ||
               k->arg[i].hidden == EM_HIDDEN_heap_v1;
    }
    return asks;
}

static void print_fault(const struct em_launch *launch, const struct em_fault *f)
{
    (void)fprintf(stderr, "wavefarm emulator: kernel %s: %s (%s)\n",
                  launch->kernel->name, em_fault_words(f->kind),
                  em_fault_name(f->kind));
    print_instruction(launch, f->pc, "at");
    (void)fprintf(stderr, "  workgroup %u,%u,%u  wave %u", f->workgroup[0],
                  f->workgroup[1], f->workgroup[2], f->wave);
    if (f->lane >= 0) {
        (void)fprintf(stderr, "  lane %d", f->lane);
    }
    if (f->has_address) {
        (void)fprintf(stderr, "  address 0x%" PRIx64, f->address);
    }
    (void)fprintf(stderr, "\n");
    if (f->text[0] != '\0') {
        (void)fprintf(stderr, "  %s\n", f->text);
    }
    if (f->other_pc != UINT32_MAX) {
        print_instruction(launch, f->other_pc, "and");
    }
    if (f->has_address && f->address < SMALL_ADDRESS && asks_host(launch->kernel)) {
        (void)fprintf(stderr,
                      "  (printf, assert and malloc of device code need a host's "
                      "help that the emulator does not give)\n");
    }
}

/* --- JSON --- */

/* The model's time: a lower bound. Without counters every instruction is taken for the
 * four cycles that it holds its SIMD. */
static double model_ms(const struct em_launch *launch, const struct em_report *report)
{
    uint64_t cycles = report->counted ? em_model_cycles(report, launch)
                                      : report->instructions / EM_DEVICE_CUS + 1;
    return (double)em_model_ns(cycles) * 1e-6;
}

static void append(const char *path, struct wf_buf *line)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool good = fd >= 0 && wf_buf_add(line, "\n", 1, NULL) == WF_OK &&
                write(fd, line->data, line->len) == (ssize_t)line->len;
    if (!good) {
        (void)fprintf(stderr, "wavefarm emulator: cannot write the report to %s\n",
                      path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static void keep(struct em_hip *hip, int device, const char *text)
{
    char *copy = wf_strdup(text);
    (void)pthread_mutex_lock(&hip->lock);
    free(hip->device[device].report);
    hip->device[device].report = copy;
    (void)pthread_mutex_unlock(&hip->lock);
}

void em_hip_report(struct em_hip *hip,
                   const struct em_launch *launch,
                   const struct em_report *report)
{
    struct wf_error err = { 0 };
    struct wf_json *root = NULL;
    struct wf_buf text = WF_BUF_INIT;
    bool takes = hip->host_takes_reports;
    if (report->faulted && hip->report_path == NULL && !takes) {
        print_fault(launch, &report->fault);
    }
    em_hip_advance(hip, launch->device, model_ms(launch, report));
    enum wf_status st = em_report_json(report, launch, &root, &err);
    if (st == WF_OK) {
        st = wf_json_write(root, &text, &err);
    }
    if (st == WF_OK) {
        keep(hip, launch->device, wf_buf_cstr(&text));
    }
    if (st == WF_OK && hip->report_path != NULL) {
        append(hip->report_path, &text);
    }
    if (st != WF_OK) {
        (void)fprintf(stderr, "wavefarm emulator: no report: %s\n", err.text);
    }
    wf_json_free(root);
    wf_buf_free(&text);
}

int wf_rt_launch_report(char *json, size_t bytes, size_t *ret_needed)
{
    struct em_hip *hip;
    int device = em_hip_current();
    hipError_t code = em_hip_device_ready(device, &hip);
    if (code != hipSuccess) {
        return code;
    }
    (void)pthread_mutex_lock(&hip->lock);
    const char *report = hip->device[device].report;
    size_t needed = report == NULL ? 0 : strlen(report) + 1;
    if (report != NULL && json != NULL && bytes >= needed) {
        memcpy(json, report, needed);
    }
    (void)pthread_mutex_unlock(&hip->lock);
    if (needed == 0) {
        return em_hip_fail(hipErrorNotFound);
    }
    *ret_needed = needed;
    return hipSuccess;
}
