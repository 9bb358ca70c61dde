/* The scripted server: one thread, plain sockets. A pipe ends its waits, so stopping
 * never depends on time. */
#include "tests/core/http_script_server.h"

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct script_server {
    const struct script_step *steps;
    size_t step_count;
    int listener;
    int stop_pipe[2];
    char url[64];
    pthread_t thread;
    struct script_request requests[SCRIPT_MAX_REQUESTS];
    size_t request_count;
};

/* False: told to stop. */
static bool wait_readable(const struct script_server *s, int fd)
{
    struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
                             { .fd = s->stop_pipe[0], .events = POLLIN } };

    while (poll(fds, 2, -1) < 0) {
        continue;
    }
    return fds[1].revents == 0;
}

/* Bytes read; 0 at the end or when told to stop. */
static size_t read_some(const struct script_server *s, int fd, char *space, size_t size)
{
    ssize_t n = wait_readable(s, fd) ? recv(fd, space, size, 0) : 0;

    return n > 0 ? (size_t)n : 0;
}

static void send_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

        if (sent <= 0) {
            return; /* the client has gone: some scripts want just that */
        }
        bytes += sent;
        n -= (size_t)sent;
    }
}

/* Reads up to the blank line; what came after it goes to the body. */
static bool read_head(const struct script_server *s, int fd, struct script_request *r)
{
    size_t len = 0;
    char *end = NULL;

    while (end == NULL) {
        size_t n = read_some(s, fd, r->head + len, sizeof r->head - 1 - len);

        if (n == 0) {
            return false;
        }
        len += n;
        r->head[len] = '\0';
        end = strstr(r->head, "\r\n\r\n");
    }
    end += 4;
    if (wf_buf_add(&r->body, end, (size_t)(r->head + len - end), NULL) != WF_OK) {
        return false;
    }
    *end = '\0';
    return true;
}

static bool read_body(const struct script_server *s, int fd, struct script_request *r)
{
    const char *field = strcasestr(r->head, "\r\nContent-Length:");
    size_t want = field == NULL ? 0 : strtoul(field + 17, NULL, 10);
    char space[16384];

    if (strcasestr(r->head, "\r\nExpect: 100-continue") != NULL) {
        send_all(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    }
    while (r->body.len < want) {
        size_t n = read_some(s, fd, space, sizeof space);

        if (n == 0 || wf_buf_add(&r->body, space, n, NULL) != WF_OK) {
            return false;
        }
    }
    return true;
}

static void serve(struct script_server *s, int fd)
{
    struct script_request *r = &s->requests[s->request_count];
    const struct script_step *step;
    char rest[256];

    if (s->request_count == SCRIPT_MAX_REQUESTS || !read_head(s, fd, r) ||
        !read_body(s, fd, r)) {
        return;
    }
    step = &s->steps[s->request_count < s->step_count ? s->request_count
                                                      : s->step_count - 1];
    s->request_count++;
    if (step->set_flag != NULL) {
        *step->set_flag = 1;
    }
    send_all(fd, step->bytes,
             step->byte_count > 0 ? step->byte_count : strlen(step->bytes));
    if (step->action == SCRIPT_HANG) {
        while (read_some(s, fd, rest, sizeof rest) > 0) {
            continue;
        }
    }
}

static void *run(void *ctx)
{
    struct script_server *s = ctx;

    while (wait_readable(s, s->listener)) {
        int fd = accept(s->listener, NULL, NULL);

        if (fd < 0) {
            continue;
        }
        serve(s, fd);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL;
}

struct script_server *script_server_start(const struct script_step *steps, size_t count)
{
    struct script_server *s = wf_calloc(1, sizeof *s);
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;

    cr_assert_not_null(s);
    s->steps = steps;
    s->step_count = count;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(s->listener >= 0);
    cr_assert_eq(bind(s->listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(s->listener, 8), 0);
    cr_assert_eq(getsockname(s->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u",
                   ntohs(address.sin_port));
    cr_assert_eq(pipe(s->stop_pipe), 0);
    cr_assert_eq(pthread_create(&s->thread, NULL, run, s), 0);
    return s;
}

const char *script_server_url(const struct script_server *s)
{
    return s->url;
}

void script_server_stop(struct script_server *s)
{
    cr_assert_eq(write(s->stop_pipe[1], "x", 1), 1);
    cr_assert_eq(pthread_join(s->thread, NULL), 0);
    (void)close(s->listener);
    (void)close(s->stop_pipe[0]);
    (void)close(s->stop_pipe[1]);
}

size_t script_server_request_count(const struct script_server *s)
{
    return s->request_count;
}

const struct script_request *script_server_request(const struct script_server *s,
                                                   size_t i)
{
    cr_assert(i < s->request_count, "request %zu has not arrived", i);
    return &s->requests[i];
}

void script_server_free(struct script_server *s)
{
    for (size_t i = 0; i < SCRIPT_MAX_REQUESTS; i++) {
        wf_buf_free(&s->requests[i].body);
    }
    free(s);
}
