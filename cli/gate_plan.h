/* What a local gate compares: pairs of case and kernel that both packs have, their
 * margins, and the header that says so before the first launch. */
#ifndef WF_CLI_GATE_PLAN_H
#define WF_CLI_GATE_PLAN_H

#include "cli/gate_local.h"
#include "cli/gate_noise.h"
#include "cli/gate_packs.h"
#include "datasets/suite.h"
#include "gate/header.h"
#include "gate/policy.h"

#include <stdbool.h>

struct gate_plan {
    const struct wf_gate_options *options;
    struct gate_pack pack[WF_GATE_PACK_COUNT]; /* of the sentinels: NULL inside, none */
    struct wf_device device;
    struct wf_gate_policy *policy;
    struct gate_noise *noise;
    struct wf_dataset_store *store;
    char *datasets;
    struct wf_suite *suite, *sentinel_suite; /* NULL: none */
    struct wf_measure_options measure;
    bool measured;
    struct wf_json *baseline;
    struct wf_gate_header_pair *pair; /* texts in `text` */
    size_t pair_count, pair_room;
    struct wf_gate_header_pair *sentinel;
    size_t sentinel_count;
    char **text; /* owned texts of the pairs */
    size_t text_count;
    struct wf_json **json; /* owned cases */
    size_t json_count;
};

/* Opens packs, device, datasets: what resuming needs, too. */
enum wf_status gate_plan_open(struct gate_plan *p,
                              const struct wf_gate_options *o,
                              struct wf_error *err);
/* Policy, suite, pairs, sentinels; *ret the header, to be freed. EREFUSED: there is
 * nothing to compare, or the policy refuses the base. */
enum wf_status gate_plan_header(struct gate_plan *p,
                                struct wf_json **ret,
                                struct wf_error *err);
void gate_plan_close(struct gate_plan *p);

/* Whether kernels of base and candidate are the same loadable code; NULL in either is
 * not. */
enum wf_status gate_plan_same_code(const struct gate_plan *p,
                                   const struct wf_pack_kernel *const arm[2],
                                   bool *ret,
                                   struct wf_error *err);

/* For gate_pairs.c and gate_sentinels.c: a text that the plan owns; NULL: no memory. */
const char *gate_plan_text(struct gate_plan *p, char *text);
enum wf_status gate_plan_pairs(struct gate_plan *p, struct wf_error *err);
enum wf_status gate_plan_sentinels(struct gate_plan *p, struct wf_error *err);
/* Opens the pack of sentinels for the device's arch where there is one. */
enum wf_status gate_sentinel_pack(struct gate_plan *p, struct wf_error *err);
/* Parsed, owned by the plan. */
enum wf_status gate_plan_case(struct gate_plan *p,
                              const char *text,
                              const struct wf_json **ret,
                              struct wf_error *err);

#endif
