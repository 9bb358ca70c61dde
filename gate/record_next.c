/* What is to be run next, and how running ends. */
#include "gate/record_internal.h"

#include "core/buf.h"

#include <stdlib.h>

static enum wf_status members_of(const struct wf_gate_record *r,
                                 int device,
                                 size_t **ret,
                                 size_t *ret_count,
                                 struct wf_error *err)
{
    size_t *member = wf_calloc(r->header.count, sizeof *member);
    size_t n = 0;

    if (member == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", r->header.count);
    }
    for (size_t i = 0; i < r->header.count; i++) {
        if (r->header.pair[i].device == device) {
            member[n++] = i;
        }
    }
    *ret = member;
    *ret_count = n;
    return WF_OK;
}

static void fill(const struct wf_gate_record *r,
                 size_t pair,
                 int32_t round,
                 struct wf_gate_todo *ret)
{
    const struct wf_gate_pair *p = &r->header.pair[pair];

    *ret = (struct wf_gate_todo){ .pair = pair, .block_count = p->blocks };
    for (int k = 0; k < p->blocks && k < (int)sizeof ret->mask; k++) {
        ret->mask[k] = (uint8_t)wf_gate_draw_mask(r->header.seed, p->key, round, k);
    }
}

/* All pairs of the group are put in order, then those that are open are taken: so the
 * order of any two does not depend on which others are open. */
enum wf_status wf_gate_record_next(struct wf_gate_record *r,
                                   int device,
                                   int32_t *ret_round,
                                   struct wf_gate_todo *ret,
                                   size_t *ret_count,
                                   struct wf_error *err)
{
    size_t *member = NULL;
    size_t *order = NULL;
    size_t n = 0;
    size_t open = 0;
    enum wf_status status;

    if (device < 0 || device >= r->header.groups) {
        return wf_errorf(err, WF_EINVAL, "device group %d: the gate has 0 to %d",
                         device, r->header.groups - 1);
    }
    if (r->group[device].under_way) {
        return wf_errorf(err, WF_EINVAL,
                         "round %d of group %d is under way: its round line must be "
                         "added first",
                         (int)r->group[device].done + 1, device);
    }
    status = members_of(r, device, &member, &n, err);
    if (status != WF_OK) {
        return status;
    }
    order = wf_calloc(n + 1, sizeof *order);
    if (order == NULL) {
        free(member);
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", n);
    }
    *ret_round = r->group[device].done + 1;
    wf_gate_draw_order(r->header.seed, device, *ret_round, order, n);
    for (size_t i = 0; i < n && r->verdict == NO_LINE; i++) {
        size_t pair = member[order[i]];
        if (r->pair[pair].due &&
            wf_gate_verdict_of(r->gate, pair, NULL) == WF_GATE_VERDICT_OPEN) {
            fill(r, pair, *ret_round, &ret[open++]);
        }
    }
    *ret_count = open;
    free(order);
    free(member);
    return WF_OK;
}

enum wf_status wf_gate_record_close(const struct wf_gate_record *r,
                                    int device,
                                    enum wf_gate_reason reason,
                                    const char *why,
                                    struct wf_json **ret,
                                    struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    bool good =
        wf_json_set_string(o, "kind", "close", err) == WF_OK &&
        wf_json_set_string(o, "gate", r->header.gate, err) == WF_OK &&
        (device < 0 ? wf_json_set_null(o, "group", err)
                    : wf_json_set_i64(o, "group", device, err)) == WF_OK &&
        wf_json_set_string(o, "reason", wf_gate_reason_name(reason), err) == WF_OK &&
        wf_json_set_string(o, "why", why == NULL ? "" : why, err) == WF_OK;

    if (!good) {
        wf_json_free(o);
        return wf_errorf(err, WF_ENOMEM, "no memory for a line");
    }
    *ret = o;
    return WF_OK;
}
