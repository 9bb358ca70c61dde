/* Taking samples out of a result's canonical text, without another JSON tree: the text
 * is what core/json_write.c has just written, compact and well-formed. Pure. */
#ifndef WF_COORDINATOR_RESULT_TEXT_H
#define WF_COORDINATOR_RESULT_TEXT_H

#include "core/buf.h"
#include "core/error.h"

enum wf_sample_array {
    WF_ARRAY_samples,
    WF_ARRAY_clock_mhz,
    WF_ARRAY_power_w,
    WF_ARRAY_temperature_c,
    WF_ARRAY_throttle,
    WF_ARRAY_COUNT
};

/* Appends the text to `body` with the arrays of `timing` that have an item a sample
 * emptied. array[i] gets what was taken as PostgreSQL's array literal, nothing where
 * the member is absent. `task_id` and `run`, when not NULL, replace task.id and run. */
enum wf_status wf_result_text_split(const char *canonical,
                                    const char *task_id,
                                    const char *run,
                                    struct wf_buf *body,
                                    struct wf_buf array[WF_ARRAY_COUNT],
                                    struct wf_error *err);

#endif
