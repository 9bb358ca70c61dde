/* What a campaign's lines say together: coverage, kinds, failures, bank conflicts of
 * hot loops, what an activation costs. */
#ifndef WF_TESTS_GEMM_SUMMARY_H
#define WF_TESTS_GEMM_SUMMARY_H

#include "core/buf.h"
#include "core/json.h"
#include "tests/campaign/gemm_cell.h"
#include "tests/campaign/gemm_make.h"

struct gemm_summary; /* opaque */

struct gemm_summary *gemm_summary_new(const struct gemm_cells *cells); /* or NULL */
void gemm_summary_free(struct gemm_summary *s);

/* The lines of what one pick made, in their order; none: the kernel takes nothing of
 * the kind. They are borrowed until the summary is freed. */
void gemm_summary_add(struct gemm_summary *s,
                      const struct gemm_pick *pick,
                      const struct wf_json *const *line,
                      size_t count);

/* What an activation may cost of all instructions at K = 4096. */
#define GEMM_SILU_MOST 0.05

/* What fails: cases, cells below `least` cases, loops with bank conflicts, activations
 * that cost too much. */
struct gemm_verdict {
    size_t cases, failures, thin_cells, loop_conflicts, dear_silu;
};
struct gemm_verdict gemm_summary_verdict(const struct gemm_summary *s, size_t least);

/* Markdown. */
enum wf_status gemm_summary_write(const struct gemm_summary *s,
                                  size_t least,
                                  struct wf_buf *out,
                                  struct wf_error *err);

#endif
