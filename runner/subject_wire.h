/* Messages of subject_protocol.h on a socket, and a bounds-checked reader and a writer
 * of payloads. Used at both ends. */
#ifndef WF_RUNNER_SUBJECT_WIRE_H
#define WF_RUNNER_SUBJECT_WIRE_H

#include "core/buf.h"
#include "core/error.h"
#include "runner/subject_protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sends a header and a payload in two parts. */
enum wf_status wire_send(int fd,
                         const struct wf_sp_header *header,
                         const void *first,
                         size_t first_bytes,
                         const void *second,
                         size_t second_bytes,
                         struct wf_error *err);
/* Waits until `deadline_ns` of wf_monotonic_ns (INT64_MAX: for ever) for a whole
 * message; the payload replaces what `payload` holds. ETIMEOUT; ENOTFOUND when the
 * other end is closed; EPARSE when what came is not a message. `watch_fd` (or -1) is a
 * pipe whose bytes are handed to `watch` meanwhile. */
struct wire_watch {
    int fd;
    void (*take)(void *ctx, const char *bytes, size_t n);
    void *ctx;
};
enum wf_status wire_receive(int fd,
                            int64_t deadline_ns,
                            struct wire_watch *watch,
                            struct wf_sp_header *ret_header,
                            struct wf_buf *payload,
                            struct wf_error *err);

/* Reads a payload front to back; after the first failure everything reads as zero and
 * `failed` stays. */
struct wire_in {
    const unsigned char *at;
    size_t left;
    bool failed;
};
void wire_in_start(struct wire_in *in, const void *data, size_t n);
void wire_take(struct wire_in *in, void *ret, size_t n);
uint32_t wire_u32(struct wire_in *in);
uint64_t wire_u64(struct wire_in *in);
/* NUL-terminated inside the payload; "" after a failure. */
const char *wire_text(struct wire_in *in);
/* n raw bytes, borrowed; NULL after a failure. */
const void *wire_bytes(struct wire_in *in, size_t n);
/* EPARSE unless all was read and nothing failed. */
enum wf_status wire_end(const struct wire_in *in, struct wf_error *err);

enum wf_status wire_add_u32(struct wf_buf *out, uint32_t v, struct wf_error *err);
enum wf_status wire_add_u64(struct wf_buf *out, uint64_t v, struct wf_error *err);
enum wf_status wire_add_text(struct wf_buf *out,
                             const char *text,
                             struct wf_error *err);

#endif
