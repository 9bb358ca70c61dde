/* The program wavefarm-subject: loads one runtime library and obeys the judge.
 *
 * It dies with its parent, leaves no core file, and has a process group of its own so
 * that whatever its kernels start is killed with it. It ends at QUIT, when the socket
 * closes, or when a message is not one. */
#include "runner/subject.h"

#include "core/parse.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

struct options {
    int socket;
    int window;
    int parent;
    const char *library;
};

static const subject_handler_fn handlers[WF_SP_COMMAND_COUNT] = {
    [WF_SP_HELLO] = subject_hello,
    [WF_SP_DEVICE] = subject_device,
    [WF_SP_OPEN] = subject_open,
    [WF_SP_LOAD_CODE] = subject_load_code,
    [WF_SP_ALLOC] = subject_alloc,
    [WF_SP_FREE] = subject_free,
    [WF_SP_WRITE] = subject_write,
    [WF_SP_READ] = subject_read,
    [WF_SP_FILL] = subject_fill,
    [WF_SP_SET_RESET] = subject_set_reset,
    [WF_SP_SET_PROGRAM] = subject_set_program,
    [WF_SP_OCCUPANCY] = subject_occupancy,
    [WF_SP_LIB_LOAD] = subject_lib_load,
    [WF_SP_LIB_QUERY] = subject_lib_query,
    [WF_SP_LIB_PREPARE] = subject_lib_prepare,
    [WF_SP_RUN] = subject_run,
    [WF_SP_SCRIPT] = subject_script,
    [WF_SP_MEASURE] = subject_measure,
    [WF_SP_TICK] = subject_tick,
    [WF_SP_OPTION] = subject_option,
    [WF_SP_REPORTS] = subject_reports,
    [WF_SP_CLEAR] = subject_clear,
};

static enum wf_status parse_options(int argc,
                                    char **argv,
                                    struct options *ret,
                                    struct wf_error *err)
{
    int64_t value = 0;
    ret->socket = -1;
    ret->window = -1;
    ret->parent = -1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--library") == 0) {
            ret->library = argv[i + 1];
            continue;
        }
        int *fd = strcmp(argv[i], "--socket") == 0   ? &ret->socket
                  : strcmp(argv[i], "--window") == 0 ? &ret->window
                  : strcmp(argv[i], "--parent") == 0 ? &ret->parent
                                                     : NULL;
        if (!fd) {
            return wf_errorf(err, WF_EINVAL, "unknown option '%s'", argv[i]);
        }
        if (wf_parse_i64(argv[i + 1], argv[i], 0, INT32_MAX, &value, err) != WF_OK) {
            return WF_EINVAL;
        }
        *fd = (int)value;
    }
    if (ret->socket < 0 || ret->window < 0 || ret->parent < 0 || !ret->library) {
        return wf_errorf(
            err, WF_EINVAL,
            "this program is started by the judge: --socket FD --window FD "
            "--parent PID --library PATH");
    }
    return WF_OK;
}

static void become_subject(int parent)
{
    struct rlimit none = { 0, 0 };
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setpgid(0, 0);
    if (getppid() != parent) {
        _exit(1); /* the judge died before the death signal was asked for */
    }
}

/* Runs one command and sends its reply. */
static enum wf_status serve(struct subject *s,
                            const struct wf_sp_header *header,
                            const struct wf_buf *payload,
                            struct wf_error *err)
{
    struct wf_buf out = WF_BUF_INIT;
    struct wire_in in;
    struct wf_error why = { 0 };
    struct wf_sp_status status = { 0 };
    subject_handler_fn handler = handlers[header->command];
    enum wf_status st = WF_OK;
    wire_in_start(&in, payload->data, payload->len);
    if (!s->hip.handle) {
        why = s->no_runtime;
        st = why.status;
    } else if (handler) {
        st = handler(s, &in, &out, &why);
    } else if (header->command != WF_SP_QUIT) {
        st = wf_errorf(&why, WF_EINVAL, "unknown command %u", header->command);
    }
    if (st != WF_OK) {
        wf_buf_clear(&out);
        status.status = st;
        status.native = why.native;
        (void)snprintf(status.domain, sizeof(status.domain), "%s", why.domain);
        (void)snprintf(status.text, sizeof(status.text), "%.500s", why.text);
    }
    struct wf_sp_header reply = { WF_SP_MAGIC, WF_SP_VERSION, header->command,
                                  header->sequence,
                                  (uint32_t)(sizeof(status) + out.len) };
    st = wire_send(s->fd, &reply, &status, sizeof(status), out.data, out.len, err);
    wf_buf_free(&out);
    return st;
}

static enum wf_status loop(struct subject *s, struct wf_error *err)
{
    struct wf_buf payload = WF_BUF_INIT;
    struct wf_sp_header header = { 0 };
    enum wf_status st = WF_OK;
    while (st == WF_OK && header.command != WF_SP_QUIT) {
        st = wire_receive(s->fd, INT64_MAX, NULL, &header, &payload, err);
        if (st == WF_OK) {
            st = serve(s, &header, &payload, err);
        }
    }
    wf_buf_free(&payload);
    return st == WF_ENOTFOUND ? WF_OK : st;
}

static enum wf_status start(const struct options *options,
                            struct subject *s,
                            struct wf_error *err)
{
    s->fd = options->socket;
    s->object = wf_calloc(WF_SP_MAX_OBJECTS, sizeof(*s->object));
    s->program = wf_calloc(WF_SP_MAX_PROGRAMS, sizeof(*s->program));
    if (!s->object || !s->program) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    void *window = mmap(NULL, WF_SP_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                        options->window, 0);
    if (window == MAP_FAILED) {
        return wf_errorf(err, WF_EIO, "cannot map the window");
    }
    s->window = window;
    (void)close(options->window);
    /* A library that does not load is told at the first command. */
    (void)wf_hip_load(options->library, &s->hip, &s->no_runtime);
    return WF_OK;
}

static void finish(struct subject *s)
{
    if (s->hip.handle) {
        subject_programs_destroy(s);
        subject_lib_destroy(s);
        subject_memory_destroy(s);
        subject_close(s);
    }
    wf_buf_free(&s->reports);
    if (s->window) {
        (void)munmap(s->window, WF_SP_WINDOW_BYTES);
    }
    free(s->object);
    free(s->program);
}

int main(int argc, char **argv)
{
    static struct subject subject;
    struct wf_error err = { 0 };
    struct options options = { 0 };
    enum wf_status st = parse_options(argc, argv, &options, &err);
    if (st == WF_OK) {
        become_subject(options.parent);
        for (size_t i = 0; i < WF_SP_MAX_LIBRARIES; i++) {
            subject.library[i].owner = &subject;
            (void)pthread_mutex_init(&subject.library[i].params_lock, NULL);
        }
        st = start(&options, &subject, &err);
    }
    if (st == WF_OK) {
        st = loop(&subject, &err);
    }
    if (st != WF_OK) {
        (void)fprintf(stderr, "wavefarm-subject: %s\n", err.text);
    }
    finish(&subject);
    return st == WF_OK ? 0 : 2;
}
