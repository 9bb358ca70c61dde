#include "cli/gate_plan.h"

#include "cli/paths.h"
#include "core/buf.h"
#include "core/parse.h"
#include "datasets/measure.h"
#include "gate/baseline.h"
#include "gate/static.h"
#include "runner/measure_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wf_status open_packs(struct gate_plan *p, struct wf_error *err)
{
    const struct wf_gate_options *o = p->options;
    enum wf_status status =
        gate_pack_open(o->base, "--base", &p->pack[WF_GATE_PACK_BASE], err);
    return status == WF_OK ? gate_pack_open(o->cand, "--cand",
                                            &p->pack[WF_GATE_PACK_CANDIDATE], err)
                           : status;
}

static enum wf_status open_datasets(struct gate_plan *p, struct wf_error *err)
{
    enum wf_status status = wf_datasets_folder(&p->datasets, err);
    if (status == WF_OK) {
        status = wf_dataset_store_open(p->datasets, &p->store, err);
    }
    if (status == WF_OK && p->options->cancel != NULL) {
        wf_dataset_store_set_cancel(p->store, p->options->cancel);
    }
    return status;
}

enum wf_status gate_plan_open(struct gate_plan *p,
                              const struct wf_gate_options *o,
                              struct wf_error *err)
{
    memset(p, 0, sizeof(*p));
    p->options = o;
    p->measure = o->measure;
    enum wf_status status = open_packs(p, err);
    if (status == WF_OK && o->described != NULL) {
        p->device = *o->described;
    } else if (status == WF_OK) {
        status = wf_device_open(o->device, &p->device, err);
    }
    if (status == WF_OK) {
        status = open_datasets(p, err);
    }
    p->measured = !o->answers_only && !p->device.times_modelled;
    return status;
}

void gate_plan_close(struct gate_plan *p)
{
    for (int i = 0; i < WF_GATE_PACK_COUNT; i++) {
        gate_pack_close(&p->pack[i]);
    }
    for (size_t i = 0; i < p->text_count; i++) {
        free(p->text[i]);
    }
    for (size_t i = 0; i < p->json_count; i++) {
        wf_json_free(p->json[i]);
    }
    free(p->text);
    free(p->json);
    free(p->pair);
    free(p->sentinel);
    wf_json_free(p->baseline);
    wf_gate_policy_free(p->policy);
    gate_noise_free(p->noise);
    wf_suite_free(p->suite);
    wf_suite_free(p->sentinel_suite);
    wf_dataset_store_close(p->store);
    free(p->datasets);
    memset(p, 0, sizeof(*p));
}

/* Grown at powers of two. */
static bool has_room(size_t count)
{
    return count != 0 && (count & (count - 1)) != 0;
}

const char *gate_plan_text(struct gate_plan *p, char *text)
{
    if (text != NULL && !has_room(p->text_count)) {
        const size_t room = p->text_count == 0 ? 1 : 2 * p->text_count;
        char **grown = wf_realloc_array(p->text, room, sizeof(*grown));
        if (grown == NULL) {
            free(text);
            return NULL;
        }
        p->text = grown;
    }
    if (text != NULL) {
        p->text[p->text_count++] = text;
    }
    return text;
}

enum wf_status gate_plan_case(struct gate_plan *p,
                              const char *text,
                              const struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_json *v = NULL;
    enum wf_status status = wf_json_parse(text, strlen(text), "case", &v, err);
    if (status != WF_OK) {
        return status;
    }
    if (!has_room(p->json_count)) {
        const size_t room = p->json_count == 0 ? 1 : 2 * p->json_count;
        struct wf_json **grown = wf_realloc_array(p->json, room, sizeof(*grown));
        if (grown == NULL) {
            wf_json_free(v);
            return wf_errorf(err, WF_ENOMEM, "no memory for cases");
        }
        p->json = grown;
    }
    p->json[p->json_count++] = v;
    *ret = v;
    return WF_OK;
}

/* --- how times are asked for --- */

/* Suites may ask case by case; a gate measures all its pairs alike. */
static enum wf_status suite_measure(struct gate_plan *p, struct wf_error *err)
{
    const struct wf_gate_options *o = p->options;
    struct wf_measure_options first = { 0 }, m;
    const char *of = NULL;
    for (size_t c = 0; c < wf_suite_count(p->suite); c++) {
        const char *name = wf_suite_case_name(p->suite, c);
        if (o->cases != NULL && !wf_glob_match(o->cases, name)) {
            continue;
        }
        if (wf_measure_options_read(wf_suite_case_measure(p->suite, c), &m, err) !=
            WF_OK) {
            return wf_error_prefix(err, "case %s: measure", name);
        }
        first = of == NULL ? m : first;
        if (of != NULL && !o->hot && !o->measure.cold && m.cold != first.cold) {
            return wf_errorf(
                err, WF_EINVAL,
                "case %s is to be measured %s, case %s %s: a gate measures "
                "all its pairs alike; choose with --cases, --cold or --hot",
                of, first.cold ? "cold" : "hot", name, m.cold ? "cold" : "hot");
        }
        of = of == NULL ? name : of;
    }
    p->measure.cold = !o->hot && (o->measure.cold || first.cold);
    p->measure.launches =
        o->measure.launches > 0 ? o->measure.launches : first.launches;
    return WF_OK;
}

static enum wf_status measure_json(const struct wf_measure_options *m,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    static const char *const naive[] = { "auto", "on", "off" };
    struct wf_json *v = wf_json_object();
    enum wf_status st = wf_json_set_bool(v, "cold", m->cold, err);
    st = st == WF_OK ? wf_json_set_i64(v, "launches", m->launches, err) : st;
    st = st == WF_OK ? wf_json_set_string(v, "naive", naive[m->naive], err) : st;
    st = st == WF_OK
             ? wf_json_set_string(v, "mfma", m->mfma_exact ? "exact" : "fast", err)
             : st;
    st = st == WF_OK ? wf_json_set_bool(v, "checks", !m->no_checks, err) : st;
    st = st == WF_OK ? wf_json_set_bool(v, "counters", !m->no_counters, err) : st;
    if (st != WF_OK) {
        wf_json_free(v);
        return st;
    }
    *ret = v;
    return WF_OK;
}

/* --- policy --- */

/* The static rules are read only at the end: what is wrong with them is told now. */
static enum wf_status open_policy(struct gate_plan *p, struct wf_error *err)
{
    struct wf_static_rules *rules = NULL;
    const char *path = p->options->policy;
    enum wf_status status = path != NULL
                                ? wf_gate_policy_read(path, &p->policy, err)
                                : wf_gate_policy_parse(NULL, "", &p->policy, err);
    if (status == WF_OK && wf_gate_policy_static(p->policy) != NULL &&
        wf_static_rules_create(wf_gate_policy_static(p->policy), &rules, err) !=
            WF_OK) {
        status = wf_error_prefix(err, "%s: static", path);
    }
    wf_static_rules_free(rules);
    return status;
}

static enum wf_status check_age(const struct gate_plan *p, struct wf_error *err)
{
    double days = (double)NAN;
    const int most = wf_gate_policy_max_age_days(p->policy);
    const struct wf_json *age = wf_json_find(p->baseline, "age_days");
    if (most == 0 || (age != NULL && wf_json_as_f64(age, &days) && days <= most)) {
        return WF_OK;
    }
    if (isnan(days)) {
        return wf_errorf(err, WF_EREFUSED,
                         "the policy wants a base of at most %d days, and nobody knows "
                         "the age of this one: no git that has its commit is at hand",
                         most);
    }
    return wf_errorf(err, WF_EREFUSED,
                     "the base is %.0f days old, the policy allows %d: build the base "
                     "from the fork point of the change",
                     days, most);
}

static enum wf_status check_baseline(const struct gate_plan *p, struct wf_error *err)
{
    enum wf_gate_lineage l = WF_GATE_LINEAGE_UNKNOWN;
    const struct wf_json *v = wf_json_find(p->baseline, "lineage");
    if (v != NULL) {
        (void)wf_gate_lineage_parse(wf_json_string(v), &l);
    }
    if (wf_gate_policy_wants_ancestor(p->policy) && l != WF_GATE_LINEAGE_PARENT &&
        l != WF_GATE_LINEAGE_ANCESTOR && !p->options->same) {
        return wf_errorf(
            err, WF_EREFUSED,
            "the policy wants an ancestor of the candidate as base; this one "
            "is %s",
            wf_gate_lineage_words(l));
    }
    return check_age(p, err);
}

/* --- the header --- */

static enum wf_status open_suite(struct gate_plan *p, struct wf_error *err)
{
    char *suites = NULL;
    enum wf_status status = wf_suites_folder(&suites, err);
    if (status == WF_OK) {
        status = wf_suite_load(p->options->suite, suites, p->store, &p->suite, err);
    }
    free(suites);
    return status;
}

static enum wf_status devices_json(const struct gate_plan *p,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct wf_json *device = NULL;
    enum wf_status status = wf_device_to_json(&p->device, &device, err);
    if (status != WF_OK) {
        return status;
    }
    struct wf_json *list = wf_json_array();
    status = wf_json_push_take(list, device, err);
    if (status != WF_OK) {
        wf_json_free(list);
        return status;
    }
    *ret = list;
    return WF_OK;
}

static void name_packs(const struct gate_plan *p, struct wf_gate_header *h)
{
    for (int i = 0; i < WF_GATE_PACK_COUNT; i++) {
        if (p->pack[i].pack != NULL) {
            h->pack[i] = (struct wf_gate_header_pack){
                .id = wf_pack_id(p->pack[i].pack),
                .name = wf_pack_name(p->pack[i].pack),
                .archive = "",
                .provenance = p->pack[i].provenance,
            };
        }
    }
}

static enum wf_status make_header(struct gate_plan *p,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    static const struct wf_gate_rule usual = WF_GATE_PR_RULE;
    const struct wf_gate_options *o = p->options;
    struct wf_json *measure = NULL, *devices = NULL;
    enum wf_status status = measure_json(&p->measure, &measure, err);
    if (status == WF_OK) {
        status = devices_json(p, &devices, err);
    }
    struct wf_gate_header h = {
        .name = "",
        .suite = wf_suite_name(p->suite),
        .runtime = p->device.runtime,
        .measured = p->measured,
        .measure = measure,
        .devices = devices,
        .policy = wf_gate_policy_json(p->policy),
        .baseline = p->baseline,
        .seed_offset = o->seed_offset,
        .rule = o->rule != NULL ? *o->rule : usual,
        .groups = 1,
        .pair = p->pair,
        .pair_count = p->pair_count,
        .sentinel = p->sentinel,
        .sentinel_count = p->sentinel_count,
    };
    h.rule.max_blocks = o->max_blocks > 0 ? o->max_blocks : h.rule.max_blocks;
    name_packs(p, &h);
    if (status == WF_OK) {
        status = wf_gate_header_make(&h, ret, err);
    }
    wf_json_free(measure);
    wf_json_free(devices);
    return status;
}

static bool anything_launched(const struct gate_plan *p)
{
    for (size_t i = 0; i < p->pair_count; i++) {
        const struct wf_gate_pair *a = &p->pair[i].pair;
        if (!a->identical && a->refused == NULL && a->kernel[0] != NULL &&
            p->measured) {
            return true;
        }
    }
    return false;
}

enum wf_status gate_plan_header(struct gate_plan *p,
                                struct wf_json **ret,
                                struct wf_error *err)
{
    enum wf_status status = open_policy(p, err);
    if (status == WF_OK) {
        status = gate_baseline(&p->pack[WF_GATE_PACK_BASE],
                               &p->pack[WF_GATE_PACK_CANDIDATE], &p->baseline, err);
    }
    if (status == WF_OK) {
        status = check_baseline(p, err);
    }
    if (status == WF_OK) {
        status = open_suite(p, err);
    }
    if (status == WF_OK) {
        status = suite_measure(p, err);
    }
    if (status == WF_OK) {
        status = gate_noise_open(&p->noise, err);
    }
    if (status == WF_OK) {
        status = gate_plan_pairs(p, err);
    }
    if (status == WF_OK && anything_launched(p) && !p->options->no_sentinels) {
        status = gate_plan_sentinels(p, err);
    }
    return status == WF_OK ? make_header(p, ret, err) : status;
}
