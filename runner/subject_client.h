/* The judge's end of a subject: starts it, sends commands with a deadline, and knows
 * how it ended. Discovery uses it too. */
#ifndef WF_RUNNER_SUBJECT_CLIENT_H
#define WF_RUNNER_SUBJECT_CLIENT_H

#include "core/buf.h"
#include "core/error.h"
#include "core/value.h"
#include "runner/subject_protocol.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct subject_client; /* opaque */

enum subject_state {
    SUBJECT_ALIVE,
    SUBJECT_DIED,   /* by a signal or exit, by itself */
    SUBJECT_HUNG,   /* missed a deadline and was killed */
    SUBJECT_BROKEN, /* answered nonsense and was killed */
    SUBJECT_CHEATED /* spoke out of turn, or made a system call that reaches into other
                       processes: code in it did, since the subject itself does not */
};

struct subject_options {
    const char *program;           /* path of wavefarm-subject */
    const char *library;           /* runtime to load */
    const struct wf_scope *params; /* answers what a library asks; may be NULL */
};

enum wf_status subject_client_start(const struct subject_options *options,
                                    struct subject_client **ret,
                                    struct wf_error *err);
/* Asks it to end, waits briefly, then kills its whole process group. NULL is good. */
void subject_client_stop(struct subject_client *c);

/* Whose parameters a library gets during the calls from now on; must live as long. */
void subject_client_set_params(struct subject_client *c, const struct wf_scope *params);

/* Sends a command and waits for its reply until `deadline_ns` of wf_monotonic_ns. The
 * reply's payload (after its status) replaces what `reply` holds; may be NULL. An error
 * that the subject reports comes back as it is; when the subject is gone the state says
 * how and the error's text is one line about it. */
enum wf_status subject_client_call(struct subject_client *c,
                                   enum wf_sp_command command,
                                   const void *payload,
                                   size_t n,
                                   int64_t deadline_ns,
                                   struct wf_buf *reply,
                                   struct wf_error *err);
/* As above with a reply of exactly `ret_bytes`. */
enum wf_status subject_client_get(struct subject_client *c,
                                  enum wf_sp_command command,
                                  const void *payload,
                                  size_t n,
                                  int64_t deadline_ns,
                                  void *ret,
                                  size_t ret_bytes,
                                  struct wf_error *err);

unsigned char *subject_client_window(struct subject_client *c);
enum subject_state subject_client_state(const struct subject_client *c);
pid_t subject_client_pid(const struct subject_client *c); /* also its process group */
/* The end of what it wrote to stdout and stderr, one line, printable. */
const char *subject_client_log(struct subject_client *c);
/* VmHWM, 0 when it cannot be read. */
uint64_t subject_client_peak_bytes(const struct subject_client *c);

/* VmHWM of a process, 0 when it cannot be read. */
uint64_t process_peak_bytes(pid_t pid);

#endif
