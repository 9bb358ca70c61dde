#include "runner/pair_request.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS_MAX     100000u
#define PAIR_LAUNCHES 2

static const char *const arm_names[WF_PAIR_ARMS] = { "base", "candidate" };

enum wf_status pair_request_common(const struct wf_pair_round *round,
                                   struct wf_execute_request *ret,
                                   struct wf_error *err)
{
    bool blocks = false;
    for (size_t i = 0; i < round->pair_count; i++) {
        blocks = blocks || round->pair[i].block_count > 0;
    }
    *ret = (struct wf_execute_request){
        .task_id = round->gate,
        .case_json = "",
        .pack_folder = "",
        .kernel = "",
        .device = round->device,
        .dataset_folder = round->dataset_folder,
        .seed_offset = round->seed_offset,
        .deadline_ns = round->deadline_ns,
        .kernel_deadline_ns = round->kernel_deadline_ns,
        .lock_timeout_ns = round->lock_timeout_ns,
        .threads = round->threads,
        .measure = round->measure,
        .cancel = round->cancel,
    };
    ret->measure.measure = blocks;
    if (ret->measure.launches == 0) {
        ret->measure.launches = PAIR_LAUNCHES;
    }
    if (ret->measure.naive == WF_NAIVE_AUTO) {
        ret->measure.naive = WF_NAIVE_OFF;
    }
    return request_complete(ret, err);
}

/* --- checking --- */

static bool is_mask(unsigned mask)
{
    unsigned bits = 0;
    for (unsigned m = mask; m; m >>= 1) {
        bits += m & 1;
    }
    return mask < 16 && bits == 2;
}

static enum wf_status check_pair(const struct wf_pair *p, struct wf_error *err)
{
    if (!p->key || !p->case_json) {
        return wf_errorf(err, WF_EINVAL, "a pair needs a key and a case");
    }
    if (!p->arm[WF_PAIR_BASE].pack_folder && !p->arm[WF_PAIR_CAND].pack_folder) {
        return wf_errorf(err, WF_EINVAL, "pair %.200s has neither base nor candidate",
                         p->key);
    }
    for (int a = 0; a < WF_PAIR_ARMS; a++) {
        if (p->arm[a].pack_folder && !p->arm[a].kernel) {
            return wf_errorf(err, WF_EINVAL, "pair %.200s: its %s names no kernel",
                             p->key, arm_names[a]);
        }
    }
    if (p->block_count < 0 || p->block_count > WF_PAIR_BLOCKS_MAX) {
        return wf_errorf(err, WF_EINVAL, "pair %.200s: %d blocks, at most %d", p->key,
                         p->block_count, WF_PAIR_BLOCKS_MAX);
    }
    for (int i = 0; i < p->block_count; i++) {
        if (!is_mask(p->mask[i])) {
            return wf_errorf(err, WF_EINVAL,
                             "pair %.200s: mask %u does not give each arm two of four "
                             "slots",
                             p->key, p->mask[i]);
        }
    }
    return WF_OK;
}

enum wf_status pair_request_check(const struct wf_pair_round *round,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (!round->device || round->pair_count == 0 || !round->pair) {
        return wf_errorf(err, WF_EINVAL, "a round needs a device and pairs");
    }
    if (round->pair_count > PAIRS_MAX) {
        return wf_errorf(err, WF_EINVAL, "%zu pairs in a round, at most %u",
                         round->pair_count, PAIRS_MAX);
    }
    if (round->measure.icache_cold) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "a gate measures with warm instruction caches only: two arms "
                         "side by side would need copies of both codes");
    }
    for (size_t i = 0; st == WF_OK && i < round->pair_count; i++) {
        st = check_pair(&round->pair[i], err);
    }
    return st;
}

/* --- to JSON --- */

static const char *text(const char *s)
{
    return s ? s : "";
}

/* null: there is no such arm. */
static enum wf_status set_arm(struct wf_json *obj,
                              const char *name,
                              const struct wf_pair_arm *arm,
                              struct wf_error *err)
{
    if (!arm->pack_folder) {
        return wf_json_set_null(obj, name, err);
    }
    struct wf_json *one = wf_json_object();
    enum wf_status st = wf_json_set_string(one, "pack_folder", arm->pack_folder, err);
    st = st == WF_OK ? wf_json_set_string(one, "pack_id", text(arm->pack_id), err) : st;
    st = st == WF_OK ? wf_json_set_string(one, "provenance_file",
                                          text(arm->provenance_file), err)
                     : st;
    st = st == WF_OK ? wf_json_set_string(one, "kernel", arm->kernel, err) : st;
    enum wf_status took = wf_json_set_take(obj, name, one, err);
    return st == WF_OK ? took : st;
}

static enum wf_status pair_to_json(const struct wf_pair *p,
                                   struct wf_json *obj,
                                   struct wf_error *err)
{
    struct wf_json *masks = wf_json_array();
    enum wf_status st = wf_json_set_string(obj, "key", p->key, err);
    st = st == WF_OK ? wf_json_set_string(obj, "case_json", p->case_json, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "case_name", text(p->case_name), err)
                     : st;
    st = st == WF_OK ? wf_json_set_string(obj, "case_id", text(p->case_id), err) : st;
    for (int a = 0; st == WF_OK && a < WF_PAIR_ARMS; a++) {
        st = set_arm(obj, arm_names[a], &p->arm[a], err);
    }
    for (int i = 0; st == WF_OK && i < p->block_count; i++) {
        st = wf_json_push_i64(masks, p->mask[i], err);
    }
    enum wf_status took = wf_json_set_take(obj, "masks", masks, err);
    return st == WF_OK ? took : st;
}

static enum wf_status pairs_to_json(const struct wf_pair_round *round,
                                    struct wf_json *list,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < round->pair_count; i++) {
        struct wf_json *one = wf_json_object();
        st = pair_to_json(&round->pair[i], one, err);
        enum wf_status took = wf_json_push_take(list, one, err);
        st = st == WF_OK ? took : st;
    }
    return st;
}

enum wf_status pair_request_to_json(const struct wf_pair_round *round,
                                    const struct wf_execute_request *common,
                                    const char *no_times,
                                    struct wf_json **ret,
                                    struct wf_error *err)
{
    struct wf_json *obj = NULL;
    struct wf_json *list = wf_json_array();
    enum wf_status st = request_to_json(common, &obj, err);
    if (st == WF_OK) {
        st = wf_json_set_string(obj, "gate", text(round->gate), err);
    }
    st = st == WF_OK ? wf_json_set_i64(obj, "round", round->round, err) : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "group", round->group, err) : st;
    st = st == WF_OK ? wf_json_set_string(obj, "no_times", no_times, err) : st;
    st = st == WF_OK ? pairs_to_json(round, list, err) : st;
    if (!obj) {
        wf_json_free(list);
        return st;
    }
    enum wf_status took = wf_json_set_take(obj, "pairs", list, err);
    st = st == WF_OK ? took : st;
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

/* --- from JSON --- */

static enum wf_status get_arm(const struct wf_json *obj,
                              const char *name,
                              struct wf_pair_arm *ret,
                              struct wf_error *err)
{
    const struct wf_json *one = wf_json_find(obj, name);
    if (one && wf_json_type(one) == WF_JSON_NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_json_get_object(obj, name, &one, err);
    st = st == WF_OK ? wf_json_get_string(one, "pack_folder", &ret->pack_folder, err)
                     : st;
    st = st == WF_OK ? wf_json_get_string(one, "pack_id", &ret->pack_id, err) : st;
    st = st == WF_OK
             ? wf_json_get_string(one, "provenance_file", &ret->provenance_file, err)
             : st;
    return st == WF_OK ? wf_json_get_string(one, "kernel", &ret->kernel, err) : st;
}

static enum wf_status get_masks(const struct wf_json *obj,
                                struct wf_pair *ret,
                                struct wf_error *err)
{
    const struct wf_json *masks = NULL;
    enum wf_status st = wf_json_get_array(obj, "masks", &masks, err);
    if (st == WF_OK && wf_json_count(masks) > WF_PAIR_BLOCKS_MAX) {
        st = wf_errorf(err, WF_EINVAL, "%zu masks", wf_json_count(masks));
    }
    for (size_t i = 0; st == WF_OK && i < wf_json_count(masks); i++) {
        int64_t mask = 0;
        if (!wf_json_as_i64(wf_json_at(masks, i), &mask) || mask < 0 || mask > 15) {
            return wf_errorf(err, WF_EINVAL, "mask %zu is none", i);
        }
        ret->mask[i] = (uint8_t)mask;
        ret->block_count++;
    }
    return st;
}

static enum wf_status get_pair(const struct wf_json *obj,
                               struct wf_pair *ret,
                               struct wf_error *err)
{
    enum wf_status st = wf_json_get_string(obj, "key", &ret->key, err);
    st = st == WF_OK ? wf_json_get_string(obj, "case_json", &ret->case_json, err) : st;
    st = st == WF_OK ? wf_json_get_string(obj, "case_name", &ret->case_name, err) : st;
    st = st == WF_OK ? wf_json_get_string(obj, "case_id", &ret->case_id, err) : st;
    for (int a = 0; st == WF_OK && a < WF_PAIR_ARMS; a++) {
        st = get_arm(obj, arm_names[a], &ret->arm[a], err);
    }
    return st == WF_OK ? get_masks(obj, ret, err) : st;
}

static enum wf_status get_pairs(const struct wf_json *json,
                                struct pair_request *ret,
                                struct wf_error *err)
{
    const struct wf_json *list = NULL;
    enum wf_status st = wf_json_get_array(json, "pairs", &list, err);
    const size_t count = st == WF_OK ? wf_json_count(list) : 0;
    ret->pair = wf_calloc(count + 1, sizeof(*ret->pair));
    if (st == WF_OK && !ret->pair) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", count);
    }
    for (size_t i = 0; st == WF_OK && i < count; i++) {
        st = get_pair(wf_json_at(list, i), &ret->pair[i], err);
    }
    ret->round.pair = ret->pair;
    ret->round.pair_count = count;
    return st;
}

enum wf_status pair_request_from_json(const struct wf_json *json,
                                      struct pair_request *ret,
                                      struct wf_error *err)
{
    int64_t number = 0;
    int64_t group = 0;
    memset(ret, 0, sizeof(*ret));
    enum wf_status st = request_from_json(json, &ret->common, &ret->device, err);
    if (st != WF_OK) {
        return st;
    }
    ret->round.device = &ret->device;
    ret->round.measure = ret->common.measure;
    ret->round.seed_offset = ret->common.seed_offset;
    st = wf_json_get_string(json, "gate", &ret->round.gate, err);
    st = st == WF_OK ? wf_json_get_string(json, "no_times", &ret->no_times, err) : st;
    st = st == WF_OK ? wf_json_get_i64(json, "round", 0, INT32_MAX, &number, err) : st;
    st = st == WF_OK ? wf_json_get_i64(json, "group", 0, INT32_MAX, &group, err) : st;
    ret->round.round = (int32_t)number;
    ret->round.group = (int32_t)group;
    st = st == WF_OK ? get_pairs(json, ret, err) : st;
    st = st == WF_OK ? pair_request_check(&ret->round, err) : st;
    if (st != WF_OK) {
        pair_request_fini(ret);
    }
    return st;
}

void pair_request_fini(struct pair_request *r)
{
    free(r->pair);
    r->pair = NULL;
}
