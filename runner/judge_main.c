/* The program wavefarm-judge: reads a request on descriptor 3, writes lines on
 * descriptor 4: "stage NAME" and "subject PID" while it works, "pair JSON" for each
 * pair of a round, then one of "result JSON" and "error JSON". It dies with its parent;
 * its subject dies with it. */
#include "runner/judge_pair.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"
#include "runner/paths.h"
#include "runner/request.h"
#include "runner/telemetry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_FD         3
#define RESULT_FD          4
#define MAX_REQUEST_BYTES  (64u << 20)
#define ORPHAN_ROUNDS      1000 /* of a millisecond */
#define CHILDREN_MAX_BYTES (1u << 20)

static enum wf_status read_request(struct wf_buf *out,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    char bytes[16384];
    for (;;) {
        ssize_t n = read(REQUEST_FD, bytes, sizeof(bytes));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return wf_error_errno(err, errno, "request");
        }
        if (n == 0) {
            break;
        }
        enum wf_status st = wf_buf_add(out, bytes, (size_t)n, err);
        if (st != WF_OK) {
            return st;
        }
        if (out->len > MAX_REQUEST_BYTES) {
            return wf_errorf(err, WF_EINVAL, "request is larger than %u bytes",
                             MAX_REQUEST_BYTES);
        }
    }
    return wf_json_parse(out->data ? out->data : "", out->len, "request", ret, err);
}

static void say(const char *line)
{
    char text[160];
    int n = snprintf(text, sizeof(text), "%s\n", line);
    if (n > 0 && (size_t)n < sizeof(text)) {
        (void)wf_write_all(RESULT_FD, text, (size_t)n, "progress", NULL);
    }
}

static enum wf_status send_line(const char *kind,
                                const struct wf_json *json,
                                struct wf_error *err)
{
    struct wf_buf line = WF_BUF_INIT;
    enum wf_status st = wf_buf_puts(&line, kind, err);
    st = st == WF_OK ? wf_buf_puts(&line, " ", err) : st;
    st = st == WF_OK ? wf_json_write(json, &line, err) : st;
    st = st == WF_OK ? wf_buf_puts(&line, "\n", err) : st;
    st = st == WF_OK ? wf_write_all(RESULT_FD, line.data, line.len, "result", err) : st;
    wf_buf_free(&line);
    return st;
}

static void send_error(const struct wf_error *why)
{
    struct wf_json *obj = wf_json_object();
    struct wf_error err = { 0 };
    enum wf_status st = wf_json_set_i64(obj, "status", why->status, &err);
    st = st == WF_OK ? wf_json_set_i64(obj, "native", why->native, &err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "domain", why->domain, &err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "text", why->text, &err) : st;
    st = st == WF_OK ? send_line("error", obj, &err) : st;
    if (st != WF_OK) {
        (void)fprintf(stderr, "wavefarm-judge: %s (%s)\n", why->text, err.text);
    }
    wf_json_free(obj);
}

/* Sends SIGKILL to every child; the number of them. */
static int kill_children(void)
{
    char path[64];
    struct wf_buf list = WF_BUF_INIT;
    int n = 0;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
    enum wf_status st = wf_file_read(path, CHILDREN_MAX_BYTES, &list, NULL);
    char *word = list.data;
    while (st == WF_OK && word != NULL && *word != '\0') {
        int64_t pid = 0;
        size_t len = strcspn(word, " \n");
        char *next = word + len + (word[len] != '\0');
        word[len] = '\0';
        if (wf_parse_i64(word, "child", 1, INT32_MAX, &pid, NULL) == WF_OK) {
            (void)kill((pid_t)pid, SIGKILL);
            n++;
        }
        word = next;
    }
    wf_buf_free(&list);
    return n;
}

/* The subject's group is dead. What had left the group (setsid) became a child of this
 * process when its parent ended, and its own children will: so again until none is
 * left.
 */
static void end_orphans(void)
{
    const struct wf_clock *clock = wf_clock_system();
    for (int i = 0; i < ORPHAN_ROUNDS && kill_children() > 0; i++) {
        clock->sleep_ns(clock->ctx, 1000000);
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
    }
}

/* The helper is forked now, while this process is small and holds nothing. Without it
 * the figures are unknown, which the result says. */
static struct telemetry *start_telemetry(const struct wf_execute_request *request)
{
    struct telemetry *t = NULL;
    const struct wf_device *d = request->device;
    const struct telemetry_options o = { d->runtime, d->pci_bus_id, judge_sysfs_root(),
                                         0 };
    if (request->measure.measure && !d->times_modelled && d->pci_bus_id[0]) {
        (void)telemetry_start(&o, &t, NULL);
    }
    return t;
}

/* Runs the task and sends its result. */
static enum wf_status run(const struct wf_execute_request *request,
                          struct wf_error *err)
{
    struct result result;
    struct judge judge;
    struct wf_json *json = NULL;
    char *subject = NULL;
    memset(&judge, 0, sizeof(judge));
    enum wf_status st = result_init(&result, request, err);
    if (st == WF_OK) {
        st = runner_program("wavefarm-subject", &subject, err);
    }
    if (st == WF_OK) {
        judge.request = request;
        judge.result = &result;
        judge.subject_program = subject;
        judge.deadline_ns = wf_monotonic_ns() + request->deadline_ns;
        judge.say = say;
        judge.telemetry = start_telemetry(request);
        st = judge_run(&judge, err);
    }
    if (st == WF_OK) {
        st = result_to_json(&result, &json, err);
    }
    judge_teardown(&judge);
    telemetry_stop(judge.telemetry);
    end_orphans();
    if (st == WF_OK) {
        st = send_line("result", json, err);
    }
    wf_json_free(json);
    result_fini(&result);
    free(subject);
    return st;
}

/* A round of pairs: their records go out as they come, then the round's facts. */
static enum wf_status run_round(const struct pair_request *asked, struct wf_error *err)
{
    struct pair_round *r = wf_calloc(1, sizeof(*r));
    struct wf_json *facts = NULL;
    char *subject = NULL;
    enum wf_status st = r ? runner_program("wavefarm-subject", &subject, err)
                          : wf_errorf(err, WF_ENOMEM, "no memory for a round");
    if (st == WF_OK) {
        r->asked = asked;
        r->subject_program = subject;
        r->say = say;
        r->send = send_line;
        r->root.telemetry = start_telemetry(&asked->common);
        st = judge_pair_round(r, &facts, err);
        telemetry_stop(r->root.telemetry);
    }
    end_orphans();
    if (st == WF_OK) {
        st = send_line("result", facts, err);
    }
    wf_json_free(facts);
    free(subject);
    free(r);
    return st;
}

/* What came on the descriptor: a round when it has pairs, else a task. */
static enum wf_status obey(const struct wf_json *json, struct wf_error *err)
{
    struct wf_execute_request request = { 0 };
    struct pair_request asked;
    struct wf_device device = { 0 };
    if (!wf_json_find(json, "pairs")) {
        enum wf_status st = request_from_json(json, &request, &device, err);
        return st == WF_OK ? run(&request, err) : st;
    }
    enum wf_status st = pair_request_from_json(json, &asked, err);
    if (st == WF_OK) {
        st = run_round(&asked, err);
        pair_request_fini(&asked);
    }
    return st;
}

static void become_judge(void)
{
    struct rlimit none = { 0, 0 };
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* for end_orphans() */
    /* Closes this process's memory and descriptors to others of the same user. */
    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)sigaction(SIGPIPE, &ignore, NULL);
    /* Neither the subject nor an adapter may hold the way back to the caller. */
    (void)fcntl(REQUEST_FD, F_SETFD, FD_CLOEXEC);
    (void)fcntl(RESULT_FD, F_SETFD, FD_CLOEXEC);
}

int main(void)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *json = NULL;
    struct wf_error err = { 0 };
    become_judge();
    enum wf_status st = read_request(&text, &json, &err);
    wf_buf_free(&text);
    if (st == WF_OK) {
        st = obey(json, &err);
    }
    if (st != WF_OK) {
        send_error(&err);
    }
    wf_json_free(json);
    return st == WF_OK ? 0 : 1;
}
