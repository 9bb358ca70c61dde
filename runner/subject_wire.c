/* Reading and writing of subject messages. No message is trusted: a length beyond the
 * limit, another magic or a short payload is an error, never a read past the end. */
#include "runner/subject_wire.h"

#include "core/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const char *wf_sp_command_name(unsigned command)
{
    static const char *const names[] = { "NONE",
#define X(name) #name,
                                         WF_SP_COMMANDS(X)
#undef X
    };
    return command < WF_SP_COMMAND_COUNT ? names[command] : "?";
}

static enum wf_status send_all(int fd, const void *data, size_t n, struct wf_error *err)
{
    const char *at = data;
    while (n) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) {
            return wf_errorf(err, WF_ENOTFOUND, "the other end is closed");
        }
        if (sent < 0) {
            return wf_error_errno(err, errno, "send");
        }
        at += sent;
        n -= (size_t)sent;
    }
    return WF_OK;
}

enum wf_status wire_send(int fd,
                         const struct wf_sp_header *header,
                         const void *first,
                         size_t first_bytes,
                         const void *second,
                         size_t second_bytes,
                         struct wf_error *err)
{
    enum wf_status st = send_all(fd, header, sizeof(*header), err);
    if (st == WF_OK && first_bytes) {
        st = send_all(fd, first, first_bytes, err);
    }
    if (st == WF_OK && second_bytes) {
        st = send_all(fd, second, second_bytes, err);
    }
    return st;
}

static void drain_watch(struct wire_watch *watch, short events)
{
    char bytes[4096];
    if (events & POLLIN) {
        ssize_t n = read(watch->fd, bytes, sizeof(bytes));
        if (n > 0) {
            watch->take(watch->ctx, bytes, (size_t)n);
            return;
        }
    }
    if (events) {
        watch->fd = -1; /* closed: poll ignores it from now on */
    }
}

/* Waits until fd is readable. */
static enum wf_status wait_readable(int fd,
                                    int64_t deadline_ns,
                                    struct wire_watch *watch,
                                    struct wf_error *err)
{
    for (;;) {
        struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
                                 { .fd = watch ? watch->fd : -1, .events = POLLIN } };
        int wait_ms = -1;
        if (deadline_ns != INT64_MAX) {
            int64_t left_ns = deadline_ns - wf_monotonic_ns();
            if (left_ns <= 0) {
                return wf_errorf(err, WF_ETIMEOUT, "no answer in time");
            }
            wait_ms = left_ns > 1000000000 ? 1000 : (int)(left_ns / 1000000) + 1;
        }
        int n = poll(fds, 2, wait_ms);
        if (n < 0 && errno != EINTR) {
            return wf_error_errno(err, errno, "poll");
        }
        if (n > 0 && watch && fds[1].revents) {
            drain_watch(watch, fds[1].revents);
        }
        if (n > 0 && fds[0].revents) {
            return WF_OK;
        }
    }
}

static enum wf_status read_all(int fd,
                               int64_t deadline_ns,
                               struct wire_watch *watch,
                               void *ret,
                               size_t n,
                               struct wf_error *err)
{
    char *at = ret;
    while (n) {
        enum wf_status st = wait_readable(fd, deadline_ns, watch, err);
        if (st != WF_OK) {
            return st;
        }
        ssize_t got = recv(fd, at, n, MSG_DONTWAIT);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (got == 0 || (got < 0 && errno == ECONNRESET)) {
            return wf_errorf(err, WF_ENOTFOUND, "the other end is closed");
        }
        if (got < 0) {
            return wf_error_errno(err, errno, "recv");
        }
        at += got;
        n -= (size_t)got;
    }
    return WF_OK;
}

enum wf_status wire_receive(int fd,
                            int64_t deadline_ns,
                            struct wire_watch *watch,
                            struct wf_sp_header *ret_header,
                            struct wf_buf *payload,
                            struct wf_error *err)
{
    struct wf_sp_header header;
    enum wf_status st = read_all(fd, deadline_ns, watch, &header, sizeof(header), err);
    if (st != WF_OK) {
        return st;
    }
    if (header.magic != WF_SP_MAGIC || header.version != WF_SP_VERSION ||
        header.command >= WF_SP_COMMAND_COUNT ||
        header.payload_bytes > WF_SP_MAX_PAYLOAD) {
        return wf_errorf(
            err, WF_EPARSE,
            "not a message of protocol version %d (magic %08x, version %u, "
            "command %u, %u bytes)",
            WF_SP_VERSION, header.magic, header.version, header.command,
            header.payload_bytes);
    }
    wf_buf_clear(payload);
    st = wf_buf_reserve(payload, header.payload_bytes, err);
    if (st == WF_OK && header.payload_bytes) {
        st = read_all(fd, deadline_ns, watch, payload->data, header.payload_bytes, err);
    }
    if (st != WF_OK) {
        return st;
    }
    payload->len = header.payload_bytes;
    if (payload->data) {
        payload->data[payload->len] = '\0';
    }
    *ret_header = header;
    return WF_OK;
}

void wire_in_start(struct wire_in *in, const void *data, size_t n)
{
    in->at = data;
    in->left = n;
    in->failed = false;
}

const void *wire_bytes(struct wire_in *in, size_t n)
{
    if (in->failed || n > in->left) {
        in->failed = true;
        return NULL;
    }
    const void *at = in->at;
    in->at += n;
    in->left -= n;
    return at;
}

void wire_take(struct wire_in *in, void *ret, size_t n)
{
    const void *from = wire_bytes(in, n);
    if (from) {
        memcpy(ret, from, n);
    } else {
        memset(ret, 0, n);
    }
}

uint32_t wire_u32(struct wire_in *in)
{
    uint32_t v;
    wire_take(in, &v, sizeof(v));
    return v;
}

uint64_t wire_u64(struct wire_in *in)
{
    uint64_t v;
    wire_take(in, &v, sizeof(v));
    return v;
}

const char *wire_text(struct wire_in *in)
{
    const void *end = in->failed || !in->left ? NULL : memchr(in->at, 0, in->left);
    if (!end) {
        in->failed = true;
        return "";
    }
    return wire_bytes(in, (size_t)((const unsigned char *)end - in->at) + 1);
}

enum wf_status wire_end(const struct wire_in *in, struct wf_error *err)
{
    if (in->failed) {
        return wf_errorf(err, WF_EPARSE, "message is too short");
    }
    if (in->left) {
        return wf_errorf(err, WF_EPARSE, "message has %zu bytes too many", in->left);
    }
    return WF_OK;
}

enum wf_status wire_add_u32(struct wf_buf *out, uint32_t v, struct wf_error *err)
{
    return wf_buf_add(out, &v, sizeof(v), err);
}

enum wf_status wire_add_u64(struct wf_buf *out, uint64_t v, struct wf_error *err)
{
    return wf_buf_add(out, &v, sizeof(v), err);
}

enum wf_status wire_add_text(struct wf_buf *out, const char *text, struct wf_error *err)
{
    return wf_buf_add(out, text, strlen(text) + 1, err);
}
