/* What a campaign has done: a file of JSON lines, one a case, that it adds to and takes
 * up again, and what the lines say together. */
#ifndef WF_TESTS_GEMM_STATE_H
#define WF_TESTS_GEMM_STATE_H

#include "core/json.h"
#include "tests/campaign/gemm_make.h"

/* Fewest cases of a cell that make a proof. */
#define GEMM_LEAST_CASES 5

struct gemm_state; /* opaque */

/* `path` NULL: nothing is kept. Lines that were cut off by an interruption count as not
 * there; others that are not ours are an error. */
enum wf_status gemm_state_open(const char *path,
                               struct gemm_state **ret,
                               struct wf_error *err);
void gemm_state_close(struct gemm_state *s);

/* What a line is found again by: the kernel's code, the case and the mode. Caller
 * frees; NULL: no memory. */
char *gemm_state_key(const struct gemm_cell *cell, const char *case_id, bool exact);
/* The line of a key, or NULL. */
const struct wf_json *gemm_state_find(const struct gemm_state *s, const char *key);

/* A line of a result of wf_execute. */
enum wf_status gemm_state_line(const struct gemm_pick *pick,
                               const struct gemm_made *made,
                               const char *key,
                               const struct wf_json *result,
                               struct wf_json **ret,
                               struct wf_error *err);
/* Takes the line and writes it. */
enum wf_status gemm_state_add(struct gemm_state *s,
                              struct wf_json *line,
                              struct wf_error *err);
size_t gemm_state_count(const struct gemm_state *s);

/* Is the line one of a case that is as it should be? */
bool gemm_line_is_good(const struct wf_json *line);

#endif
