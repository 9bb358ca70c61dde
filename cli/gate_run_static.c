/* The static comparison of a gate's packs and pairs: figures of the machine code and of
 * the emulator's counters, which have no noise. */
#include "cli/gate_run.h"
#include "cli/gate_static.h"
#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

static bool anything_to_compare(const struct wf_gate_record *record)
{
    for (size_t i = 0; i < wf_gate_record_count(record); i++) {
        const struct wf_gate_pair *p = wf_gate_record_pair(record, i);
        if (p->role == WF_GATE_CASE && !p->identical && p->kernel[0] != NULL &&
            p->kernel[1] != NULL) {
            return true;
        }
    }
    return false;
}

/* All pairs' records, borrowed, for the emulator's counters. A gate that goes on may
 * have the comparison already. */
static void collect_pairs(const struct wf_gate_record *record,
                          const struct wf_json **ret,
                          size_t *ret_count,
                          bool *ret_done)
{
    size_t n = 0;
    *ret_done = false;
    for (size_t i = 0; i < wf_gate_record_line_count(record); i++) {
        const struct wf_json *line = wf_gate_record_line(record, i);
        const char *kind = wf_json_string(wf_json_find(line, "kind"));
        if (strcmp(kind, "pair") == 0) {
            ret[n++] = line;
        }
        *ret_done = *ret_done || strcmp(kind, "static") == 0;
    }
    *ret_count = n;
}

static bool is_ours(const struct wf_gate_record *record, const struct wf_json *entry)
{
    const struct wf_json *v =
        wf_json_type(entry) == WF_JSON_OBJECT ? wf_json_find(entry, "kernel") : NULL;
    const char *name = v != NULL ? wf_json_string(v) : NULL;
    for (size_t i = 0; name != NULL && i < wf_gate_record_count(record); i++) {
        const struct wf_gate_pair *p = wf_gate_record_pair(record, i);
        for (int arm = 0; arm < 2 && p->role == WF_GATE_CASE; arm++) {
            if (p->kernel[arm] != NULL && strcmp(p->kernel[arm], name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Entries of kernels that are in no pair are left out: a gate that goes on does not
 * know the globs that it began with. */
static enum wf_status keep_ours(const struct wf_gate_record *record,
                                struct wf_json *line,
                                struct wf_error *err)
{
    const struct wf_json *all = wf_json_find(line, "entries");
    struct wf_json *kept = wf_json_array();
    enum wf_status status = WF_OK;
    for (const struct wf_json *e = all != NULL ? wf_json_first(all) : NULL;
         e != NULL && status == WF_OK; e = wf_json_next(e)) {
        struct wf_json *copy = NULL;
        if (is_ours(record, e)) {
            status = wf_json_copy(e, &copy, err);
            status = status == WF_OK ? wf_json_push_take(kept, copy, err) : status;
        }
    }
    if (status != WF_OK) {
        wf_json_free(kept);
        return status;
    }
    return wf_json_set_take(line, "entries", kept, err);
}

/* Two kernels of different names are compared by their names: *ret_base and *ret_cand,
 * as the record has them, else NULL. */
static void named_kernels(const struct wf_gate_record *record,
                          const char **ret_base,
                          const char **ret_cand)
{
    *ret_base = *ret_cand = NULL;
    for (size_t i = 0; i < wf_gate_record_count(record); i++) {
        const struct wf_gate_pair *p = wf_gate_record_pair(record, i);
        if (p->role == WF_GATE_CASE && p->kernel[0] != NULL && p->kernel[1] != NULL &&
            strcmp(p->kernel[0], p->kernel[1]) != 0) {
            *ret_base = p->kernel[0];
            *ret_cand = p->kernel[1];
            return;
        }
    }
}

static enum wf_status make_static(const struct gate_plan *plan,
                                  const struct wf_gate_record *record,
                                  const struct wf_gate_static_options *q,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    const struct wf_json *policy =
        wf_json_find(wf_gate_record_header(record), "policy");
    const bool has_policy = policy != NULL && wf_json_type(policy) == WF_JSON_OBJECT;
    enum wf_status status = wf_gate_static_line(
        plan->pack[WF_GATE_PACK_BASE].pack, plan->pack[WF_GATE_PACK_CANDIDATE].pack,
        has_policy ? wf_json_find(policy, "static") : NULL, q, ret, err);
    if (status == WF_OK && keep_ours(record, *ret, err) != WF_OK) {
        status = WF_ENOMEM; /* the text is there */
        wf_json_free(*ret);
        *ret = NULL;
    }
    return status;
}

enum wf_status gate_run_static(const struct gate_plan *plan,
                               const struct wf_gate_record *record,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    struct wf_gate_static_options q = { 0 };
    struct wf_json *line = NULL;
    int64_t compared = 0;
    bool done = false;
    enum wf_status status = WF_OK;
    const struct wf_json **records = wf_calloc(wf_gate_record_line_count(record) + 1,
                                               sizeof(const struct wf_json *));
    *ret = NULL;
    if (records == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the static comparison");
    }
    collect_pairs(record, records, &q.pair_record_count, &done);
    q.pair_record = records;
    named_kernels(record, &q.base_kernel, &q.cand_kernel);
    if (!done && anything_to_compare(record)) {
        status = make_static(plan, record, &q, &line, err);
    }
    if (line != NULL) {
        (void)wf_json_opt_i64(line, "compared", 0, INT64_MAX, &compared, NULL);
    }
    if (compared > 0) {
        *ret = line;
    } else {
        wf_json_free(line);
    }
    free(records);
    return status;
}
