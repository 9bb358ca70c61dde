/* A result (docs/schemas/result.schema.json) as the store keeps it: typed columns, the
 * JSON without its samples, and the samples. Used by ingestion and import. */
#ifndef WF_COORDINATOR_RESULT_ROW_H
#define WF_COORDINATOR_RESULT_ROW_H

#include "coordinator/result_text.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"

#include <stdbool.h>
#include <stdint.h>

/* Columns that wf_result_row_copy writes, in their order, and their types. */
#define WF_RESULT_COLUMNS                                                             \
    "kind, answer, answer_text, time_flag, median_ns, mad_ns, min_ns, max_ns, q1_ns," \
    " q3_ns, ci_lo_ns, ci_hi_ns, sample_count, flops, bytes, math_type, peak_flops,"  \
    " peak_bytes_per_s, roofline_ns, total_ns, device_id, device_name, device_model," \
    " device_arch, runtime, cold, body"
#define WF_RESULT_COLUMN_TYPES                                                    \
    "kind text, answer text, answer_text text, time_flag text, median_ns float8," \
    " mad_ns float8, min_ns float8, max_ns float8, q1_ns float8, q3_ns float8,"   \
    " ci_lo_ns float8, ci_hi_ns float8, sample_count integer, flops float8,"      \
    " bytes float8, math_type text, peak_flops float8, peak_bytes_per_s float8,"  \
    " roofline_ns float8, total_ns float8, device_id text, device_name text,"     \
    " device_model text, device_arch text, runtime text, cold boolean, body json"
#define WF_SAMPLE_COLUMNS "samples, clock_mhz, power_w, temperature_c, throttle"

enum wf_time_figure {
    WF_FIGURE_median,
    WF_FIGURE_mad,
    WF_FIGURE_min,
    WF_FIGURE_max,
    WF_FIGURE_q1,
    WF_FIGURE_q3,
    WF_FIGURE_ci_lo,
    WF_FIGURE_ci_hi,
    WF_FIGURE_COUNT
};

/* Strings are borrowed from the result's JSON. */
struct wf_result_row {
    char digest[WF_SHA256_HEX];
    const char *case_id, *case_name, *kernel, *pack, *pack_name, *label, *op, *suite;
    const struct wf_json *case_json;
    int64_t repetition, attempt;
    const char *kind, *answer, *answer_text, *time;
    double figure[WF_FIGURE_COUNT]; /* NaN: none. Only of a PASS in ns */
    int64_t sample_count;
    double flops, bytes, peak_flops, peak_bytes_per_s, roofline_ns, total_ns;
    const char *math_type;
    const char *device_id, *device_name, *device_model, *runtime;
    char device_arch[64];
    bool cold;
    struct wf_buf body;                  /* canonical JSON, samples emptied */
    struct wf_buf array[WF_ARRAY_COUNT]; /* array literals; empty: none */
};

/* EINVAL names the member. `task_id` and `run` (or NULL) replace those of the stored
 * body: imported results get the farm's ids. Free with wf_result_row_free either way.
 */
enum wf_status wf_result_row_read(const struct wf_json *result,
                                  const char *task_id,
                                  const char *run,
                                  struct wf_result_row *ret,
                                  struct wf_error *err);
void wf_result_row_free(struct wf_result_row *row);

/* Appends WF_RESULT_COLUMNS to a COPY line. */
enum wf_status wf_result_row_copy(const struct wf_result_row *row,
                                  struct wf_buf *line,
                                  struct wf_error *err);
/* Appends WF_SAMPLE_COLUMNS; nulls when there are none. */
enum wf_status wf_result_row_copy_samples(const struct wf_result_row *row,
                                          struct wf_buf *line,
                                          struct wf_error *err);

#endif
