/* Which pairs a gate has: for each case the kernels of its op, matched by name. A
 * kernel that one side alone has is a pair with one arm: it is reported, never dropped.
 */
#include "cli/gate_plan.h"
#include "cli/kernel_set.h"
#include "core/buf.h"
#include "core/parse.h"
#include "packs/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS_A_ROUND 1

static const struct wf_pack *pack_of(const struct gate_plan *p, enum wf_gate_pack arm)
{
    return p->pack[arm].pack;
}

static bool glob_fits(const char *glob, const char *text)
{
    return glob == NULL || wf_glob_match(glob, text);
}

/* The probes measure the measuring, and are no kernels of anybody's. */
static bool does(const struct gate_plan *p,
                 const struct wf_pack_kernel *k,
                 const struct wf_case *c)
{
    return strcmp(k->op, "probe") != 0 && strcmp(k->op, wf_case_op_name(c)) == 0 &&
           wf_kernel_fits_arch(k, p->device.arch);
}

enum wf_status gate_plan_same_code(const struct gate_plan *p,
                                   const struct wf_pack_kernel *const arm[2],
                                   bool *ret,
                                   struct wf_error *err)
{
    char id[2][WF_SHA256_HEX];
    *ret = false;
    if (arm[0] == NULL || arm[1] == NULL) {
        return WF_OK;
    }
    for (int i = 0; i < 2; i++) {
        const enum wf_status status =
            wf_kernel_identity(p->pack[i].pack, arm[i], id[i], err);
        if (status != WF_OK) {
            return wf_error_prefix(err, "kernel %s", arm[i]->name);
        }
    }
    *ret = strcmp(id[0], id[1]) == 0;
    return WF_OK;
}

static enum wf_status grow(struct gate_plan *p, struct wf_error *err)
{
    if (p->pair_count < p->pair_room) {
        return WF_OK;
    }
    const size_t room = p->pair_room == 0 ? 64 : 2 * p->pair_room;
    struct wf_gate_header_pair *pair = wf_realloc_array(p->pair, room, sizeof(*pair));
    if (pair == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", room);
    }
    p->pair = pair;
    p->pair_room = room;
    return WF_OK;
}

/* By the registry, else the default; the policy over both. */
static enum wf_status set_margins(struct gate_plan *p,
                                  struct wf_gate_header_pair *h,
                                  struct wf_error *err)
{
    char source[GATE_NOISE_SOURCE];
    const struct wf_gate_pair *a = &h->pair;
    const char *kernel = a->kernel[0] != NULL ? a->kernel[0] : a->kernel[1];
    gate_noise_margins(p->noise, a->case_id, kernel, p->device.model, &h->pair.margins,
                       source);
    const int row = wf_gate_policy_margins(p->policy, wf_suite_name(p->suite),
                                           a->case_name, kernel, &h->pair.margins);
    if (row >= 0) {
        (void)snprintf(source, sizeof source, "policy: margins[%d]", row);
    }
    h->margin_source = gate_plan_text(p, wf_strdup(source));
    return h->margin_source != NULL ? WF_OK
                                    : wf_errorf(err, WF_ENOMEM, "no memory for a pair");
}

static const char *refusal(struct gate_plan *p,
                           const struct wf_pack_kernel *const arm[2],
                           const struct wf_case *c)
{
    const struct wf_pack_kernel *there =
        arm[0] != NULL
            ? wf_pack_kernel(pack_of(p, WF_GATE_PACK_CANDIDATE), arm[0]->name)
            : NULL;
    if (arm[1] != NULL) {
        return NULL;
    }
    return gate_plan_text(
        p, there == NULL
               ? wf_asprintf("the candidate pack has no kernel %s", arm[0]->name)
           : strcmp(there->op, wf_case_op_name(c)) != 0
               ? wf_asprintf("the candidate's kernel of this name does %s, not %s",
                             there->op, wf_case_op_name(c))
               : wf_asprintf("the candidate's kernel is not for %s any more",
                             p->device.arch));
}

static enum wf_status add_pair(struct gate_plan *p,
                               size_t c,
                               const struct wf_json *case_json,
                               const struct wf_pack_kernel *const arm[2],
                               bool equal,
                               struct wf_error *err)
{
    const struct wf_case *wc = wf_suite_case(p->suite, c);
    const struct wf_gate_options *o = p->options;
    enum wf_status status = grow(p, err);
    if (status != WF_OK) {
        return status;
    }
    struct wf_gate_header_pair *h = &p->pair[p->pair_count];
    memset(h, 0, sizeof(*h));
    const char *name = arm[1] != NULL ? arm[1]->name : arm[0]->name;
    h->pair.key = gate_plan_text(
        p, o->base_kernel != NULL
               ? wf_asprintf("%s/%s:%s", wf_suite_case_name(p->suite, c),
                             o->base_kernel, o->cand_kernel)
               : wf_asprintf("%s/%s", wf_suite_case_name(p->suite, c), name));
    h->pair.case_id = wf_case_id(wc);
    h->pair.case_name = wf_suite_case_name(p->suite, c);
    h->pair.op = wf_case_op_name(wc);
    h->pair.role = WF_GATE_CASE;
    h->pair.kernel[0] = arm[0] != NULL ? arm[0]->name : NULL;
    h->pair.kernel[1] = arm[1] != NULL ? arm[1]->name : NULL;
    h->pair.identical = equal && !o->same;
    h->pair.refused = refusal(p, arm, wc);
    h->pair.blocks =
        arm[0] != NULL && arm[1] != NULL && p->measured ? BLOCKS_A_ROUND : 0;
    h->case_json = case_json;
    if (h->pair.key == NULL || (arm[1] == NULL && h->pair.refused == NULL)) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a pair");
    }
    status = set_margins(p, h, err);
    p->pair_count += status == WF_OK;
    return status;
}

/* Two kernels that the command line names, on every case that both do. */
static enum wf_status add_named(struct gate_plan *p,
                                size_t c,
                                const struct wf_json *case_json,
                                struct wf_error *err)
{
    const char *names[2] = { p->options->base_kernel, p->options->cand_kernel };
    const struct wf_pack_kernel *arm[2];
    bool equal = false;
    for (int i = 0; i < 2; i++) {
        arm[i] = wf_pack_kernel(p->pack[i].pack, names[i]);
        if (arm[i] == NULL) {
            return wf_errorf(err, WF_ENOTFOUND, "the %s pack %s has no kernel %s",
                             i == 0 ? "base" : "candidate",
                             wf_pack_name(p->pack[i].pack), names[i]);
        }
        if (!does(p, arm[i], wf_suite_case(p->suite, c))) {
            return WF_OK;
        }
    }
    enum wf_status status = gate_plan_same_code(p, arm, &equal, err);
    return status == WF_OK ? add_pair(p, c, case_json, arm, equal, err) : status;
}

/* Equality of kernel k of the candidate with its namesake, worked out once a kernel:
 * it reads files. */
struct code_cache {
    signed char *equal; /* -1: not known yet */
};

static enum wf_status add_of_candidate(struct gate_plan *p,
                                       size_t c,
                                       const struct wf_json *case_json,
                                       struct code_cache *cache,
                                       struct wf_error *err)
{
    const struct wf_pack *cand = pack_of(p, WF_GATE_PACK_CANDIDATE);
    const struct wf_case *wc = wf_suite_case(p->suite, c);
    enum wf_status status = WF_OK;
    for (size_t k = 0; k < wf_pack_kernel_count(cand) && status == WF_OK; k++) {
        const struct wf_pack_kernel *arm[2] = { NULL, wf_pack_kernel_at(cand, k) };
        if (!does(p, arm[1], wc) || !glob_fits(p->options->kernels, arm[1]->name)) {
            continue;
        }
        arm[0] = wf_pack_kernel(pack_of(p, WF_GATE_PACK_BASE), arm[1]->name);
        if (arm[0] != NULL && !does(p, arm[0], wc)) {
            arm[0] = NULL;
        }
        bool equal = cache->equal[k] > 0;
        if (cache->equal[k] < 0) {
            status = gate_plan_same_code(p, arm, &equal, err);
            cache->equal[k] = equal;
        }
        if (status == WF_OK) {
            status = add_pair(p, c, case_json, arm, equal && arm[0] != NULL, err);
        }
    }
    return status;
}

static enum wf_status add_removed(struct gate_plan *p,
                                  size_t c,
                                  const struct wf_json *case_json,
                                  struct wf_error *err)
{
    const struct wf_pack *base = pack_of(p, WF_GATE_PACK_BASE);
    const struct wf_case *wc = wf_suite_case(p->suite, c);
    enum wf_status status = WF_OK;
    for (size_t k = 0; k < wf_pack_kernel_count(base) && status == WF_OK; k++) {
        const struct wf_pack_kernel *arm[2] = { wf_pack_kernel_at(base, k), NULL };
        if (!does(p, arm[0], wc) || !glob_fits(p->options->kernels, arm[0]->name)) {
            continue;
        }
        const struct wf_pack_kernel *there =
            wf_pack_kernel(pack_of(p, WF_GATE_PACK_CANDIDATE), arm[0]->name);
        if (there == NULL || !does(p, there, wc)) {
            status = add_pair(p, c, case_json, arm, false, err);
        }
    }
    return status;
}

static enum wf_status nothing(const struct gate_plan *p,
                              bool any_case,
                              struct wf_error *err)
{
    if (!any_case) {
        return wf_errorf(err, WF_ENOTFOUND, "no case of suite '%s' matches '%s'",
                         wf_suite_name(p->suite), p->options->cases);
    }
    return wf_errorf(
        err, WF_EREFUSED,
        "nothing to compare, so there is no verdict: no kernel for %s in %s "
        "or %s does a case of suite '%s'%s%s%s; 'wavefarm pack show' lists a "
        "pack's kernels",
        p->device.arch, wf_pack_name(pack_of(p, WF_GATE_PACK_BASE)),
        wf_pack_name(pack_of(p, WF_GATE_PACK_CANDIDATE)), wf_suite_name(p->suite),
        p->options->kernels != NULL ? " and matches '" : "",
        p->options->kernels != NULL ? p->options->kernels : "",
        p->options->kernels != NULL ? "'" : "");
}

static enum wf_status add_case(struct gate_plan *p,
                               size_t c,
                               struct code_cache *cache,
                               struct wf_error *err)
{
    const struct wf_json *json = NULL;
    enum wf_status status =
        gate_plan_case(p, wf_case_canonical(wf_suite_case(p->suite, c)), &json, err);
    if (status == WF_OK && p->options->base_kernel != NULL) {
        return add_named(p, c, json, err);
    }
    if (status == WF_OK) {
        status = add_of_candidate(p, c, json, cache, err);
    }
    return status == WF_OK ? add_removed(p, c, json, err) : status;
}

enum wf_status gate_plan_pairs(struct gate_plan *p, struct wf_error *err)
{
    const size_t kernels = wf_pack_kernel_count(pack_of(p, WF_GATE_PACK_CANDIDATE));
    struct code_cache cache = { wf_calloc(kernels + 1, 1) };
    bool any_case = false;
    enum wf_status status =
        cache.equal != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for pairs");
    if (status == WF_OK) {
        memset(cache.equal, -1, kernels + 1);
    }
    for (size_t c = 0; c < wf_suite_count(p->suite) && status == WF_OK; c++) {
        if (glob_fits(p->options->cases, wf_suite_case_name(p->suite, c))) {
            any_case = true;
            status = add_case(p, c, &cache, err);
        }
    }
    free(cache.equal);
    return status == WF_OK && p->pair_count == 0 ? nothing(p, any_case, err) : status;
}
