/* A kernel that is a command: JSON Lines on its stdin and stdout
 * (docs/process-kernels.md). Starts it, exchanges one line for one line under a
 * deadline, and knows how it ended. */
#ifndef WF_RUNNER_PROCESS_CLIENT_H
#define WF_RUNNER_PROCESS_CLIENT_H

#include "core/json.h"
#include "runner/subject_client.h"

struct process_client; /* opaque */

/* argv is NULL-terminated; `folder` becomes its working folder. */
enum wf_status process_client_start(char *const *argv,
                                    const char *folder,
                                    struct process_client **ret,
                                    struct wf_error *err);
/* Kills its process group. NULL is good. */
void process_client_stop(struct process_client *c);
/* Sends `request` as one line and reads one line, an object, until the deadline. When
 * it is gone, the state says how and the error's text is one line about it. */
enum wf_status process_client_ask(struct process_client *c,
                                  const struct wf_json *request,
                                  int64_t deadline_ns,
                                  struct wf_json **ret,
                                  struct wf_error *err);
enum subject_state process_client_state(const struct process_client *c);
pid_t process_client_pid(const struct process_client *c);

#endif
