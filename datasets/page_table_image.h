/* The snapshot of one step and its file image. For page_table.c only. */
#ifndef WF_DATASETS_PAGE_TABLE_IMAGE_H
#define WF_DATASETS_PAGE_TABLE_IMAGE_H

#include "datasets/page_table.h"
#include "datasets/replay.h"
#include "datasets/trace.h"

struct wf_page_table_source {
    const struct wf_page_table_spec *spec; /* with all automatic values resolved */
    const struct wf_trace_report *trace;   /* NULL: synthetic */
    const struct wf_replay *replay;        /* stands at the step */
};

/* Sequences of the step that the mode takes. */
int64_t wf_page_table_batch(const struct wf_replay *replay,
                            enum wf_page_table_mode mode);

enum wf_status wf_page_table_image(const struct wf_page_table_source *source,
                                   struct wf_buf *out,
                                   struct wf_page_table_stats *ret,
                                   struct wf_error *err);

#endif
