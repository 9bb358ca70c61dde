/* The subject by itself: what it refuses, and the message reader against hostile bytes.
 */
#include "core/clock.h"
#include "runner/device.h"
#include "runner/paths.h"
#include "runner/subject_client.h"
#include "runner/subject_wire.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND ((int64_t)1000000000)

static struct subject_client *start(const char *library)
{
    struct wf_error err = { 0 };
    struct subject_client *c = NULL;
    char *program = NULL;
    cr_assert_eq(runner_program("wavefarm-subject", &program, &err), WF_OK, "%s",
                 err.text);
    struct subject_options options = { program, library, NULL };
    cr_assert_eq(subject_client_start(&options, &c, &err), WF_OK, "%s", err.text);
    free(program);
    return c;
}

static struct subject_client *start_host(void)
{
    struct wf_error err = { 0 };
    char *library = NULL;
    struct wf_sp_index which = { 0, 0 };
    cr_assert_eq(runner_library("libwavefarm_host.so", &library, &err), WF_OK, "%s",
                 err.text);
    struct subject_client *c = start(library);
    free(library);
    cr_assert_eq(subject_client_call(c, WF_SP_OPEN, &which, sizeof(which),
                                     wf_monotonic_ns() + 10 * SECOND, NULL, &err),
                 WF_OK, "%s", err.text);
    return c;
}

static enum wf_status call(struct subject_client *c,
                           enum wf_sp_command command,
                           const void *payload,
                           size_t n,
                           struct wf_error *err)
{
    return subject_client_call(c, command, payload, n, wf_monotonic_ns() + 10 * SECOND,
                               NULL, err);
}

Test(subject, bytes_come_back_and_ranges_are_checked)
{
    struct wf_error err = { 0 };
    struct subject_client *c = start_host();
    struct wf_sp_alloc alloc = { .object = 3, .guard_bytes = 4096, .bytes = 10000 };
    struct wf_sp_fill fill = { .object = 3,
                               .pattern_bytes = 4,
                               .offset = 0,
                               .bytes = 10000,
                               .pattern = { 1, 2, 3, 4 } };
    struct wf_sp_transfer all = { 3, 0, 0, 10000 };
    cr_assert_eq(call(c, WF_SP_ALLOC, &alloc, sizeof(alloc), &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(call(c, WF_SP_FILL, &fill, sizeof(fill), &err), WF_OK, "%s", err.text);
    memset(subject_client_window(c), 0, 10000);
    cr_assert_eq(call(c, WF_SP_READ, &all, sizeof(all), &err), WF_OK, "%s", err.text);
    for (size_t i = 0; i < 10000; i++) {
        cr_assert_eq(subject_client_window(c)[i], i % 4 + 1, "byte %zu", i);
    }
    const struct wf_sp_transfer bad[] = {
        { 3, 0, -4097, 1 },     { 3, 0, 14096, 1 },     { 3, 0, 0, 14097 },
        { 4, 0, 0, 1 },         { 99999, 0, 0, 1 },     { 3, 0, 0, 1u << 30 },
        { 3, 0, INT64_MIN, 1 }, { 3, 0, INT64_MAX, 1 }, { 3, 0, 0, UINT64_MAX },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(call(c, WF_SP_READ, &bad[i], sizeof(bad[i]), &err), WF_EINVAL,
                     "range %zu", i);
    }
    cr_expect_eq(call(c, WF_SP_ALLOC, &alloc, sizeof(alloc), &err), WF_EINVAL, "twice");
    subject_client_stop(c);
}

Test(subject, messages_of_the_wrong_size_are_refused)
{
    struct wf_error err = { 0 };
    struct subject_client *c = start_host();
    unsigned char junk[600] = { 0 };
    for (unsigned command = 1; command < WF_SP_COMMAND_COUNT; command++) {
        if (command == WF_SP_QUIT || command == WF_SP_PARAM) {
            continue;
        }
        (void)call(c, (enum wf_sp_command)command, junk, 7, &err);
        cr_expect_eq(subject_client_state(c), SUBJECT_ALIVE, "%s",
                     wf_sp_command_name(command));
        (void)call(c, (enum wf_sp_command)command, junk, sizeof(junk), &err);
        cr_assert_eq(subject_client_state(c), SUBJECT_ALIVE, "%s",
                     wf_sp_command_name(command));
    }
    cr_expect_eq(call(c, WF_SP_ALLOC, junk, 7, &err), WF_EPARSE);
    subject_client_stop(c);
}

Test(subject, a_library_that_is_no_runtime_is_told_at_the_first_command)
{
    struct wf_error err = { 0 };
    struct subject_client *c = start("libm.so.6");
    cr_expect_eq(call(c, WF_SP_HELLO, NULL, 0, &err), WF_EUNSUPPORTED);
    cr_expect(strstr(err.text, "lacks hipInit"), "%s", err.text);
    subject_client_stop(c);
}

Test(subject, a_killed_subject_is_noticed_and_named)
{
    struct wf_error err = { 0 };
    struct subject_client *c = start_host();
    cr_assert_eq(kill(subject_client_pid(c), SIGKILL), 0);
    cr_expect_neq(call(c, WF_SP_TICK, NULL, 0, &err), WF_OK);
    cr_expect_eq(subject_client_state(c), SUBJECT_DIED);
    cr_expect(strstr(err.text, "SIGKILL"), "%s", err.text);
    cr_expect_neq(call(c, WF_SP_TICK, NULL, 0, &err), WF_OK, "and stays so");
    subject_client_stop(c);
}

Test(subject, a_stopped_subject_is_killed_at_the_deadline)
{
    struct wf_error err = { 0 };
    struct subject_client *c = start_host();
    pid_t pid = subject_client_pid(c);
    cr_assert_eq(kill(pid, SIGSTOP), 0);
    cr_expect_eq(subject_client_call(c, WF_SP_TICK, NULL, 0,
                                     wf_monotonic_ns() + 50000000, NULL, &err),
                 WF_ETIMEOUT);
    cr_expect_eq(subject_client_state(c), SUBJECT_HUNG);
    cr_expect_eq(kill(pid, 0), -1, "it is reaped");
    subject_client_stop(c);
}

/* --- the reader --- */

static enum wf_status receive(const void *bytes, size_t n, struct wf_error *err)
{
    int ends[2];
    struct wf_sp_header header;
    struct wf_buf payload = WF_BUF_INIT;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    cr_assert_eq(write(ends[0], bytes, n), (ssize_t)n);
    (void)close(ends[0]);
    enum wf_status st =
        wire_receive(ends[1], wf_monotonic_ns() + SECOND, NULL, &header, &payload, err);
    (void)close(ends[1]);
    wf_buf_free(&payload);
    return st;
}

Test(wire, only_whole_messages_of_this_version_are_taken)
{
    struct wf_error err = { 0 };
    struct wf_sp_header h = { WF_SP_MAGIC, WF_SP_VERSION, WF_SP_HELLO, 1, 0 };
    cr_expect_eq(receive(&h, sizeof(h), &err), WF_OK);
    cr_expect_eq(receive(&h, sizeof(h) - 1, &err), WF_ENOTFOUND, "cut short");
    h.payload_bytes = 5;
    cr_expect_eq(receive(&h, sizeof(h), &err), WF_ENOTFOUND, "payload missing");
    h.payload_bytes = WF_SP_MAX_PAYLOAD + 1;
    cr_expect_eq(receive(&h, sizeof(h), &err), WF_EPARSE);
    h.payload_bytes = 0;
    h.version++;
    cr_expect_eq(receive(&h, sizeof(h), &err), WF_EPARSE);
    h.version--;
    h.command = WF_SP_COMMAND_COUNT;
    cr_expect_eq(receive(&h, sizeof(h), &err), WF_EPARSE);
    h.command = WF_SP_HELLO;
    h.magic = 0;
    cr_expect_eq(receive(&h, sizeof(h), &err), WF_EPARSE);
}

Test(wire, a_payload_is_never_read_past_its_end)
{
    struct wire_in in;
    struct wf_error err = { 0 };
    wire_in_start(&in, "abc", 3);
    cr_expect_str_eq(wire_text(&in), "", "no NUL inside");
    cr_expect(in.failed);
    cr_expect_eq(wire_u32(&in), 0u);
    cr_expect_eq(wire_end(&in, &err), WF_EPARSE);
    wire_in_start(&in, "ab\0rest", 7);
    cr_expect_str_eq(wire_text(&in), "ab");
    cr_expect_null(wire_bytes(&in, SIZE_MAX));
    wire_in_start(&in, "abcd", 4);
    (void)wire_u32(&in);
    cr_expect_eq(wire_end(&in, &err), WF_OK);
    wire_in_start(&in, "abcde", 5);
    (void)wire_u32(&in);
    cr_expect_eq(wire_end(&in, &err), WF_EPARSE, "too long");
}
