/* Series and their change points as text and JSON. */
#ifndef WF_CLI_HISTORY_VIEW_H
#define WF_CLI_HISTORY_VIEW_H

#include "cli/history_confirm.h"
#include "gate/history.h"

struct history_view {
    const struct wf_history *history;
    const struct history_proposal *proposal;
    size_t proposals;
    bool changed_only; /* series without a change point are counted, not shown */
    double alpha;      /* NAN: nothing was confirmed */
};

void history_print_text(const struct history_view *v);
enum wf_status history_print_json(const struct history_view *v, struct wf_error *err);

#endif
