/* A process kernel's task, step by step. Private to judge_process*.c and
 * judge_pair_process.c. */
#ifndef WF_RUNNER_JUDGE_PROCESS_H
#define WF_RUNNER_JUDGE_PROCESS_H

#include "runner/judge.h"
#include "runner/process_client.h"

struct process_task {
    struct judge *j;
    struct process_client *client;
    char **argv;
    char folder[256];
    char input_path[320];
    char output_path[320];
    unsigned reads;
    struct wf_dataset *outputs; /* of the last read */
};

/* judge_process.c. Each step may end the task with an answer (p->j->done). */
/* Starts the command in a folder of its own. */
enum wf_status process_start(struct process_task *p, struct wf_error *err);
/* Ends it and removes what belongs to it; good after any step, and for nothing. */
void process_finish(struct process_task *p);
/* Gives it case, device and inputs. */
enum wf_status process_prepare(struct process_task *p,
                               uint64_t seed_offset,
                               struct wf_error *err);
/* `n` launches until synchronised. *ret_self_ns by the command itself, NaN when it says
 * none; *ret_wall_ns by the judge's clock. */
enum wf_status process_launch(struct process_task *p,
                              uint32_t n,
                              double *ret_self_ns,
                              double *ret_wall_ns,
                              struct wf_error *err);
/* Asks for the outputs and reads their file into p->outputs. */
enum wf_status process_read(struct process_task *p, struct wf_error *err);
/* Judges p->outputs. */
enum wf_status process_check(struct process_task *p,
                             uint64_t seed_offset,
                             const char *what,
                             struct wf_error *err);
/* The checked launch and its repeats; *ret_estimate_ns of one launch, by the judge's
 * clock. */
enum wf_status process_checked(struct process_task *p,
                               double *ret_estimate_ns,
                               struct wf_error *err);
/* Judges what the last timed launch left. */
enum wf_status process_verify_timed(struct process_task *p, struct wf_error *err);

/* judge_process_audit.c. Batches hand over many launches at once and read only at the
 * end; a command that works once for all of them, or when it is read, is seen when they
 * come singly. */
enum wf_status process_audit(struct process_task *p,
                             double median_ns,
                             uint32_t launches,
                             struct wf_error *err);

/* judge_process_files.c */
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
