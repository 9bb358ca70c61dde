/* Devices that a gate's sentinels have spoken against get no new gates for a while. */
#include "coordinator/farm_gate.h"

#include "core/log.h"

#include <inttypes.h>

/* Columns of GATE_GROUPS (statements.def). */
enum group_column {
    G_GROUP,
    G_RUNNER,
    G_DEVICE
};

static enum wf_status add(struct wf_db *db,
                          int64_t gate,
                          const char *runner,
                          const char *device,
                          const char *why,
                          int64_t for_ms,
                          struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_text(&p, runner);
    wf_param_text(&p, device);
    enum wf_status s = wf_db_run(db, WF_STMT_QUARANTINE_OVER, &p, NULL, err);
    wf_param_text(&p, why);
    wf_param_i64(&p, gate);
    wf_param_i64(&p, for_ms);
    s = s == WF_OK
            ? wf_db_one(db, WF_STMT_QUARANTINE_OF_GATE, &p, "no quarantine", &rows, err)
            : s;
    if (s == WF_OK) {
        wf_log(WF_LOG_WARN,
               "gate %" PRId64 ": quarantine %" PRId64
               " of %.100s on %.100s: no new gates until %s: %.200s",
               gate, wf_rows_i64(rows, 0, 0), device, runner, wf_rows_text(rows, 0, 1),
               why);
    }
    wf_rows_free(rows);
    return s;
}

enum wf_status wf_farm_gate_quarantine(struct wf_db *db,
                                       const struct wf_farm_gate *f,
                                       int64_t quarantine_ms,
                                       struct wf_error *err)
{
    struct wf_params p = WF_PARAMS_INIT;
    struct wf_rows *groups = NULL;
    char why[WF_GATE_MAX_KEY + 200];
    if (quarantine_ms == 0) {
        return WF_OK;
    }
    wf_param_i64(&p, f->run);
    enum wf_status s = wf_db_run(db, WF_STMT_GATE_GROUPS, &p, &groups, err);
    for (size_t i = 0; s == WF_OK && i < wf_rows_count(groups); i++) {
        int group = (int)wf_rows_i64(groups, i, G_GROUP);
        if (!wf_gate_record_device_is_good(f->record, group, why, sizeof why)) {
            s = add(db, f->run, wf_rows_text(groups, i, G_RUNNER),
                    wf_rows_text(groups, i, G_DEVICE), why, quarantine_ms, err);
        }
    }
    wf_rows_free(groups);
    return s;
}
