/* Files and folder of a process kernel's task. Private to judge_process*.c. */
#ifndef WF_RUNNER_JUDGE_PROCESS_H
#define WF_RUNNER_JUDGE_PROCESS_H

#include "runner/judge.h"
#include "runner/process_client.h"

struct process_task {
    struct judge *j;
    struct process_client *client;
    char folder[256];
    char input_path[320];
    char output_path[320];
    unsigned reads;
    struct wf_dataset *outputs; /* of the last read */
};

/* A folder of this task's own. */
enum wf_status process_folder(struct process_task *p, struct wf_error *err);
/* The command with "{pack}" replaced, NULL-terminated; caller frees all of it. */
enum wf_status process_argv(const struct judge *j, char ***ret, struct wf_error *err);
/* Makes all inputs and writes them to a new p->input_path. */
enum wf_status process_write_inputs(struct process_task *p,
                                    uint64_t seed_offset,
                                    struct wf_error *err);
/* A new p->output_path and nonce. */
void process_next_output(struct process_task *p, char *ret_nonce, size_t n);
/* Reads p->output_path; sets an answer when it is missing, incomplete or not new. */
enum wf_status process_take_outputs(struct process_task *p,
                                    const char *nonce,
                                    struct wf_error *err);
/* For struct wf_output_source; ctx is the task. */
enum wf_status process_read_output(void *ctx,
                                   size_t tensor,
                                   uint64_t offset,
                                   uint64_t n,
                                   void *dst,
                                   struct wf_error *err);
uint64_t process_output_digest(const struct process_task *p);

#endif
