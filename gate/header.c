/* Makes headers. What is made is read back by the strict reader before anybody sees it,
 * so a record that was started can always be gone on with. */
#include "gate/header.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/sha256.h"
#include "gate/header_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const pack_names[] = { "base", "candidate", "sentinel" };

/* Setters of wf_json give ENOMEM alone and accept a NULL object: a chain of them is
 * checked once, at its end, by `good`. */
static bool set_or_null(struct wf_json *obj,
                        const char *key,
                        const struct wf_json *v,
                        struct wf_error *err)
{
    return (v == NULL ? wf_json_set_null(obj, key, err)
                      : wf_json_set_copy(obj, key, v, err)) == WF_OK;
}

static bool set_object(struct wf_json *obj,
                       const char *key,
                       const struct wf_json *v,
                       struct wf_error *err)
{
    return (v == NULL ? wf_json_set_take(obj, key, wf_json_object(), err)
                      : wf_json_set_copy(obj, key, v, err)) == WF_OK;
}

static struct wf_json *rule_json(const struct wf_gate_rule *r, struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    bool good = true;

#define SET_real(name)  good = good && wf_json_set_f64(o, #name, r->name, err) == WF_OK;
#define SET_whole(name) good = good && wf_json_set_i64(o, #name, r->name, err) == WF_OK;
#define X(name, kind)   SET_##kind(name)
    WF_GATE_RULE_MEMBERS(X)
#undef X
#undef SET_real
#undef SET_whole
    if (!good) {
        wf_json_free(o);
        o = NULL;
    }
    return o;
}

static bool put_packs(struct wf_json *to,
                      const struct wf_gate_header *h,
                      struct wf_error *err)
{
    struct wf_json *packs = wf_json_object();
    bool good = true;

    for (int i = 0; i < WF_GATE_PACK_COUNT; i++) {
        const struct wf_gate_header_pack *p = &h->pack[i];
        struct wf_json *o;
        if (p->id == NULL) {
            continue;
        }
        o = wf_json_object();
        good = good && wf_json_set_string(o, "id", p->id, err) == WF_OK &&
               wf_json_set_string(o, "name", p->name, err) == WF_OK &&
               set_or_null(o, "provenance", p->provenance, err) &&
               wf_json_set_string(o, "archive", p->archive == NULL ? "" : p->archive,
                                  err) == WF_OK;
        good = wf_json_set_take(packs, pack_names[i], o, err) == WF_OK && good;
    }
    return wf_json_set_take(to, "packs", packs, err) == WF_OK && good;
}

/* --- pairs --- */

static bool put_arm(struct wf_json *to,
                    int arm,
                    const struct wf_gate_pair *p,
                    struct wf_error *err)
{
    const char *key = pack_names[arm];
    struct wf_json *o;
    bool good;

    if (p->kernel[arm] == NULL) {
        return wf_json_set_null(to, key, err) == WF_OK;
    }
    o = wf_json_object();
    good = wf_json_set_string(
               o, "pack",
               p->role == WF_GATE_CASE ? key : pack_names[WF_GATE_PACK_SENTINEL],
               err) == WF_OK &&
           wf_json_set_string(o, "kernel", p->kernel[arm], err) == WF_OK;
    return wf_json_set_take(to, key, o, err) == WF_OK && good;
}

static bool put_margins(struct wf_json *to,
                        const struct wf_gate_margins *m,
                        const char *source,
                        struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    bool good =
        wf_json_set_f64(o, "d0", m->d0, err) == WF_OK &&
        wf_json_set_f64(o, "d1", m->d1, err) == WF_OK &&
        wf_json_set_f64(o, "s0", m->s0, err) == WF_OK &&
        wf_json_set_f64(o, "tau", m->tau, err) == WF_OK &&
        (source == NULL || wf_json_set_string(o, "source", source, err) == WF_OK);

    return wf_json_set_take(to, "margins", o, err) == WF_OK && good;
}

static enum wf_status push_pair(struct wf_json *pairs,
                                const struct wf_gate_header_pair *from,
                                const char *key,
                                int group,
                                struct wf_error *err)
{
    const struct wf_gate_pair *p = &from->pair;
    struct wf_json *o = wf_json_object();
    bool good =
        wf_json_set_string(o, "key", key, err) == WF_OK &&
        set_object(o, "case", from->case_json, err) &&
        wf_json_set_string(o, "case_id", p->case_id, err) == WF_OK &&
        wf_json_set_string(o, "case_name", p->case_name, err) == WF_OK &&
        wf_json_set_string(o, "op", p->op, err) == WF_OK &&
        wf_json_set_string(o, "role", wf_gate_role_name(p->role), err) == WF_OK &&
        put_arm(o, WF_GATE_PACK_BASE, p, err) &&
        put_arm(o, WF_GATE_PACK_CANDIDATE, p, err) &&
        put_margins(o, &p->margins, from->margin_source, err) &&
        wf_json_set_i64(o, "group", group, err) == WF_OK &&
        wf_json_set_bool(o, "identical", p->identical, err) == WF_OK &&
        wf_json_set_string(o, "refused", p->refused, err) == WF_OK &&
        wf_json_set_i64(o, "blocks", p->blocks, err) == WF_OK &&
        wf_json_set_f64(o, "estimate_ns", from->estimate_ns, err) == WF_OK;

    if (!good) {
        wf_json_free(o);
        return WF_ENOMEM;
    }
    return wf_json_push_take(pairs, o, err);
}

static enum wf_status push_sentinels(struct wf_json *pairs,
                                     const struct wf_gate_header *h,
                                     struct wf_error *err)
{
    for (int group = 0; group < h->groups; group++) {
        for (size_t i = 0; i < h->sentinel_count; i++) {
            const struct wf_gate_header_pair *p = &h->sentinel[i];
            char *key = wf_asprintf("%s@%d", p->pair.key, group);
            enum wf_status status =
                key == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a key")
                            : push_pair(pairs, p, key, group, err);
            free(key);
            if (status != WF_OK) {
                return status;
            }
        }
    }
    return WF_OK;
}

static enum wf_status put_pairs(struct wf_json *to,
                                const struct wf_gate_header *h,
                                struct wf_error *err)
{
    struct wf_json *pairs = wf_json_array();
    double *estimate = wf_calloc(h->pair_count + 1, sizeof *estimate);
    int *group = wf_calloc(h->pair_count + 1, sizeof *group);
    enum wf_status status = WF_OK;

    if (pairs == NULL || estimate == NULL || group == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", h->pair_count);
        goto out;
    }
    for (size_t i = 0; i < h->pair_count; i++) {
        estimate[i] = h->pair[i].estimate_ns;
    }
    status = wf_gate_header_spread(estimate, h->pair_count, h->groups, group, err);
    for (size_t i = 0; i < h->pair_count && status == WF_OK; i++) {
        status = push_pair(pairs, &h->pair[i], h->pair[i].pair.key, group[i], err);
    }
    if (status == WF_OK) {
        status = push_sentinels(pairs, h, err);
    }
    if (status == WF_OK) {
        status = wf_json_set_take(to, "pairs", pairs, err);
        pairs = NULL;
    }
out:
    wf_json_free(pairs);
    free(estimate);
    free(group);
    return status;
}

/* --- sharing out --- */

struct share {
    double cost;
    size_t pair;
};

static int dearest_first(const void *a, const void *b)
{
    const struct share *x = a;
    const struct share *y = b;

    if (x->cost != y->cost) {
        return x->cost > y->cost ? -1 : 1;
    }
    return x->pair < y->pair ? -1 : x->pair > y->pair;
}

static bool is_known(double estimate)
{
    return estimate > 0 && estimate < 1e18;
}

static double mean_known(const double *estimate, size_t n)
{
    double sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < n; i++) {
        if (is_known(estimate[i])) {
            sum += estimate[i];
            known++;
        }
    }
    return known > 0 ? sum / (double)known : 1;
}

enum wf_status wf_gate_header_spread(const double *estimate_ns,
                                     size_t n,
                                     int groups,
                                     int *ret,
                                     struct wf_error *err)
{
    double load[WF_GATE_MAX_GROUPS] = { 0 };
    double mean = mean_known(estimate_ns, n);
    struct share *share;

    if (groups < 1 || groups > WF_GATE_MAX_GROUPS) {
        return wf_errorf(err, WF_EINVAL, "%d device groups: a gate has 1 to %d", groups,
                         WF_GATE_MAX_GROUPS);
    }
    share = wf_calloc(n + 1, sizeof *share);
    if (share == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory to share out %zu pairs", n);
    }
    for (size_t i = 0; i < n; i++) {
        share[i].cost = is_known(estimate_ns[i]) ? estimate_ns[i] : mean;
        share[i].pair = i;
    }
    qsort(share, n, sizeof *share, dearest_first);
    for (size_t i = 0; i < n; i++) {
        int least = 0;
        for (int g = 1; g < groups; g++) {
            least = load[g] < load[least] ? g : least;
        }
        load[least] += share[i].cost;
        ret[share[i].pair] = least;
    }
    free(share);
    return WF_OK;
}

/* --- the whole --- */

static enum wf_status put_drawn(struct wf_json *to,
                                const struct wf_gate_header *h,
                                struct wf_error *err)
{
    uint8_t bytes[WF_GATE_SEED_BYTES + 8];
    char seed[2 * WF_GATE_SEED_BYTES + 1];
    char id[WF_GATE_ID_HEX];
    char now[40];
    enum wf_status status = wf_random_bytes(bytes, sizeof bytes, err);

    if (status != WF_OK) {
        return status;
    }
    if (h->seed != NULL) {
        memcpy(bytes, h->seed, WF_GATE_SEED_BYTES);
    }
    wf_hex(bytes, WF_GATE_SEED_BYTES, seed);
    wf_hex(bytes + WF_GATE_SEED_BYTES, 8, id);
    wf_format_utc(wf_realtime_ns(), now, sizeof now);
    status = wf_json_set_string(to, "gate", h->gate == NULL ? id : h->gate, err);
    if (status == WF_OK) {
        status = wf_json_set_string(to, "created",
                                    h->created == NULL ? now : h->created, err);
    }
    return status == WF_OK ? wf_json_set_string(to, "seed", seed, err) : status;
}

static enum wf_status fill(struct wf_json *o,
                           const struct wf_gate_header *h,
                           struct wf_error *err)
{
    struct wf_json *no_devices = h->devices == NULL ? wf_json_array() : NULL;
    bool good =
        wf_json_set_string(o, "schema", WF_GATE_RECORD_SCHEMA, err) == WF_OK &&
        wf_json_set_string(o, "kind", "header", err) == WF_OK &&
        put_drawn(o, h, err) == WF_OK &&
        wf_json_set_string(o, "name", h->name == NULL ? "" : h->name, err) == WF_OK &&
        wf_json_set_string(o, "suite", h->suite == NULL ? "" : h->suite, err) ==
            WF_OK &&
        wf_json_set_string(o, "runtime", h->runtime == NULL ? "" : h->runtime, err) ==
            WF_OK &&
        wf_json_set_bool(o, "measured", h->measured, err) == WF_OK &&
        set_object(o, "measure", h->measure, err) &&
        wf_json_set_u64(o, "seed_offset", h->seed_offset, err) == WF_OK &&
        wf_json_set_take(o, "rule", rule_json(&h->rule, err), err) == WF_OK &&
        put_packs(o, h, err) && wf_json_set_i64(o, "groups", h->groups, err) == WF_OK &&
        set_or_null(o, "devices", h->devices == NULL ? no_devices : h->devices, err) &&
        set_or_null(o, "policy", h->policy, err) &&
        (h->baseline == NULL || set_object(o, "baseline", h->baseline, err)) &&
        put_pairs(o, h, err) == WF_OK;

    wf_json_free(no_devices);
    return good ? WF_OK : WF_EINVAL; /* the text is there */
}

enum wf_status wf_gate_header_make(const struct wf_gate_header *h,
                                   struct wf_json **ret,
                                   struct wf_error *err)
{
    struct wf_error own = { .text = "" };
    struct wf_json *o = wf_json_object();
    enum wf_status status;

    if (o == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a gate's header");
    }
    status = fill(o, h, &own);
    if (status == WF_OK) {
        status = wf_gate_header_check(o, &own);
    }
    if (status != WF_OK) {
        wf_json_free(o);
        return wf_errorf(err, own.status, "%s", own.text);
    }
    *ret = o;
    return WF_OK;
}

enum wf_status gate_header_gate(const struct gate_header *h,
                                struct wf_gate **ret,
                                struct wf_error *err)
{
    struct wf_gate *g = NULL;
    enum wf_status status = wf_gate_create(&h->rule, &g, err);

    for (size_t i = 0; i < h->count && status == WF_OK; i++) {
        const struct wf_gate_pair *p = &h->pair[i];
        status = wf_gate_add_pair(g, p->role, &p->margins, p->device, err);
        if (status != WF_OK) {
            status = wf_error_prefix(err, "pair \"%s\"", p->key);
        } else if (p->refused != NULL) {
            wf_gate_settle(g, i, WF_GATE_VERDICT_INCONCLUSIVE,
                           WF_GATE_REASON_NOT_SUPPORTED);
        } else if (p->identical) {
            wf_gate_settle(g, i, WF_GATE_VERDICT_UNCHANGED, WF_GATE_REASON_IDENTICAL);
        }
    }
    if (status != WF_OK) {
        wf_gate_free(g);
        return wf_error_prefix(err, "header");
    }
    *ret = g;
    return WF_OK;
}

enum wf_status wf_gate_header_check(const struct wf_json *header, struct wf_error *err)
{
    struct gate_header h;
    struct wf_gate *g = NULL;
    enum wf_status status = gate_header_read(header, &h, err);

    if (status != WF_OK) {
        return status;
    }
    status = gate_header_gate(&h, &g, err);
    if (status == WF_OK) {
        wf_gate_free(g);
    }
    gate_header_free(&h);
    return status;
}

/* --- renewal --- */

static const struct wf_json *or_null(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = wf_json_find(obj, key);

    return v == NULL || wf_json_type(v) == WF_JSON_NULL ? NULL : v;
}

static void take_packs(const struct wf_json *header, struct wf_gate_header *to)
{
    const struct wf_json *packs = wf_json_find(header, "packs");

    for (int i = 0; i < WF_GATE_PACK_COUNT; i++) {
        const struct wf_json *p = wf_json_find(packs, pack_names[i]);
        if (p != NULL) {
            to->pack[i] = (struct wf_gate_header_pack){
                .id = wf_json_string(wf_json_find(p, "id")),
                .name = wf_json_string(wf_json_find(p, "name")),
                .archive = wf_json_string(wf_json_find(p, "archive")),
                .provenance = or_null(p, "provenance"),
            };
        }
    }
}

/* Pairs of `old` into `ret`: cases first, then the sentinels of group 0, whose keys
 * lose their "@0" (in the copies *keys, one a pair). */
static enum wf_status take_pairs(const struct wf_json *header,
                                 const struct gate_header *old,
                                 struct wf_gate_header_pair *ret,
                                 char **keys,
                                 struct wf_gate_header *to,
                                 struct wf_error *err)
{
    const struct wf_json *pairs = wf_json_find(header, "pairs");
    size_t n = 0;

    for (int sentinels = 0; sentinels < 2; sentinels++) {
        const struct wf_json *v = wf_json_first(pairs);
        for (size_t i = 0; i < old->count; i++, v = wf_json_next(v)) {
            const struct wf_gate_pair *p = &old->pair[i];
            const char *at = strrchr(p->key, '@');
            bool is_sentinel = p->role != WF_GATE_CASE;
            int64_t blocks = 0;
            if (is_sentinel != (sentinels == 1) || (is_sentinel && p->device != 0)) {
                continue;
            }
            ret[n].pair = *p;
            ret[n].case_json = wf_json_find(v, "case");
            ret[n].margin_source =
                wf_json_string(wf_json_find(wf_json_find(v, "margins"), "source"));
            (void)wf_json_opt_f64(v, "estimate_ns", &ret[n].estimate_ns, NULL);
            (void)wf_json_as_i64(wf_json_find(v, "blocks"), &blocks);
            ret[n].pair.blocks = (int)blocks; /* as written, measured or not */
            if (is_sentinel) {
                keys[i] = wf_strndup(p->key, at == NULL ? strlen(p->key)
                                                        : (size_t)(at - p->key));
                if (keys[i] == NULL) {
                    return wf_errorf(err, WF_ENOMEM, "no memory for a key");
                }
                ret[n].pair.key = keys[i];
            }
            to->pair_count += !is_sentinel;
            to->sentinel_count += is_sentinel;
            n++;
        }
    }
    to->pair = ret;
    to->sentinel = ret + to->pair_count;
    return WF_OK;
}

enum wf_status wf_gate_header_renew(const struct wf_json *header,
                                    int groups,
                                    struct wf_json **ret,
                                    struct wf_error *err)
{
    struct gate_header old;
    struct wf_gate_header h = { .groups = groups };
    struct wf_gate_header_pair *pair = NULL;
    char **keys = NULL;
    enum wf_status status = gate_header_read(header, &old, err);

    if (status != WF_OK) {
        return status;
    }
    pair = wf_calloc(old.count, sizeof *pair);
    keys = wf_calloc(old.count, sizeof *keys);
    if (pair == NULL || keys == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %zu pairs", old.count);
        goto out;
    }
    h.name = wf_json_string(wf_json_find(header, "name"));
    h.suite = wf_json_string(wf_json_find(header, "suite"));
    h.runtime = wf_json_string(wf_json_find(header, "runtime"));
    h.measured = old.measured;
    h.rule = old.rule;
    h.measure = wf_json_find(header, "measure");
    h.policy = or_null(header, "policy");
    h.baseline = or_null(header, "baseline");
    (void)wf_json_as_u64(wf_json_find(header, "seed_offset"), &h.seed_offset);
    take_packs(header, &h);
    status = take_pairs(header, &old, pair, keys, &h, err);
    if (status == WF_OK) {
        status = wf_gate_header_make(&h, ret, err);
    }
out:
    for (size_t i = 0; keys != NULL && i < old.count; i++) {
        free(keys[i]);
    }
    free(keys);
    free(pair);
    gate_header_free(&old);
    return status;
}
