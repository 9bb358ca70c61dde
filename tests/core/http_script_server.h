/* An HTTP server for tests that follows a script: the n-th request gets the n-th step,
 * the last step serves all later ones. One connection at a time, closed after each
 * answer, on 127.0.0.1 at a port the system chooses. */
#ifndef WF_TESTS_CORE_HTTP_SCRIPT_SERVER_H
#define WF_TESTS_CORE_HTTP_SCRIPT_SERVER_H

#include "core/buf.h"

#include <stddef.h>

enum script_action {
    SCRIPT_ANSWER, /* send the bytes, close */
    SCRIPT_HANG    /* send the bytes, then nothing until the client goes away */
};

struct script_step {
    enum script_action action;
    const char *bytes;      /* a whole answer, from the status line on */
    size_t byte_count;      /* 0: strlen(bytes) */
    volatile int *set_flag; /* becomes 1 when the request has arrived; may be NULL */
};

struct script_request {
    char head[2048]; /* request line and headers */
    struct wf_buf body;
};

enum {
    SCRIPT_MAX_REQUESTS = 16
};

struct script_server; /* opaque */

/* The steps are borrowed. Asserts on failure. */
struct script_server *script_server_start(const struct script_step *steps,
                                          size_t count);
const char *script_server_url(const struct script_server *s);
/* Ends the thread; the requests may be looked at after it. */
void script_server_stop(struct script_server *s);
size_t script_server_request_count(const struct script_server *s);
const struct script_request *script_server_request(const struct script_server *s,
                                                   size_t i);
void script_server_free(struct script_server *s);

#endif
