/* Results for people: one table row a result, and the counts that decide the exit
 * status. */
#ifndef WF_CLI_RESULT_VIEW_H
#define WF_CLI_RESULT_VIEW_H

#include "core/error.h"
#include "core/json.h"
#include "core/verdict.h"

#include <stddef.h>

struct wf_result_counts {
    size_t answer[WF_ANSWER_COUNT];
    size_t time[WF_TIME_COUNT];
    size_t total;
};

void wf_count_result(struct wf_result_counts *counts, const struct wf_json *result);
/* PASS and NOT_SUPPORTED are no fault of a kernel; a suite that has only NOT_SUPPORTED
 * proves nothing. */
int wf_counts_exit(const struct wf_result_counts *counts, size_t expected);
/* "5 results: 5 PASS; time: 3 OK, 2 NOISY". */
void wf_print_counts(const struct wf_result_counts *counts, size_t expected);

enum wf_result_choice {
    WF_RESULTS_RAN,    /* all but NOT_SUPPORTED */
    WF_RESULTS_FAILED, /* neither PASS nor NOT_SUPPORTED */
    WF_RESULTS_ALL
};

/* The table, and under it the reason and diagnosis of each listed answer that is not
 * PASS; then what the times have in common (cli/condition_view.h). */
void wf_print_results(const struct wf_json *const *result,
                      size_t count,
                      enum wf_result_choice choice);

/* All of them as one JSON array, for machines. */
enum wf_status wf_print_results_json(const struct wf_json *const *result,
                                     size_t count,
                                     struct wf_error *err);

/* "51.2 us"; "-" when not finite. */
void wf_format_time_ns(double ns, char *ret, size_t n);

#endif
