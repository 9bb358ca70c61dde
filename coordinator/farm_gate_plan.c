/* From a request to groups on devices: which devices, which pairs where, with which
 * margins. Happens once, as soon as a device matches. */
#include "coordinator/store_gates.h"

#include "coordinator/gate_groups.h"
#include "coordinator/store_runs.h"
#include "gate/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Columns of GATE_LOCK (statements.def). */
enum head {
    H_RUNTIME = 10,
    H_ARCH,
    H_MODEL,
    H_LABELS,
    H_ARCHS,
    H_MEMORY
};

/* Columns of GATE_DEVICES. */
enum device_column {
    D_RUNNER,
    D_ID,
    D_MODEL,
    D_FACTS,
    D_BUSY
};

/* Columns of GATE_NOISE. */
enum noise_column {
    N_PAIR,
    N_S0,
    N_TAU,
    N_GATES,
    N_SAME
};

struct plan {
    struct wf_db *db;
    int64_t id;
    const struct wf_rows *head;
    struct wf_rows *devices;
    size_t *chosen; /* rows of devices, one a group */
    int groups;
    struct wf_gate_request *request;
};

static enum wf_status find_devices(struct plan *p, struct wf_error *err)
{
    static const int wants[] = {
        H_RUNTIME, H_ARCH, H_MODEL, H_LABELS, H_ARCHS, H_MEMORY
    };
    struct wf_params q = WF_PARAMS_INIT;
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        wf_param_text(&q, wf_rows_null(p->head, 0, wants[i])
                              ? NULL
                              : wf_rows_text(p->head, 0, wants[i]));
    }
    return wf_db_run(p->db, WF_STMT_GATE_DEVICES, &q, &p->devices, err);
}

/* A device whose times are modelled cannot measure. */
static bool fits(const struct wf_rows *devices, size_t i, bool measured)
{
    const char *facts = wf_rows_text(devices, i, D_FACTS);
    struct wf_json *o = NULL;
    bool modelled = false;
    if (wf_json_parse(facts, strlen(facts), "device", &o, NULL) == WF_OK) {
        (void)wf_json_opt_bool(o, "times_modelled", &modelled, NULL);
    }
    wf_json_free(o);
    return !measured || !modelled;
}

static size_t count_measured(const struct wf_gate_record *r)
{
    size_t n = 0;
    for (size_t i = 0; i < wf_gate_record_count(r); i++) {
        const struct wf_gate_pair *p = wf_gate_record_pair(r, i);
        n += p->role == WF_GATE_CASE && !p->identical && !p->refused;
    }
    return n;
}

static enum wf_status choose(struct plan *p,
                             bool measured,
                             size_t pairs,
                             struct wf_error *err)
{
    size_t n = wf_rows_count(p->devices);
    size_t found = 0;
    struct wf_gate_place *place = wf_calloc(n + 1, sizeof *place);
    size_t *row = wf_calloc(n + 1, sizeof *row);
    p->chosen = wf_calloc(n + 1, sizeof *p->chosen);
    enum wf_status s = place && row && p->chosen
                           ? WF_OK
                           : wf_errorf(err, WF_ENOMEM, "no memory for %zu devices", n);
    for (size_t i = 0; s == WF_OK && i < n; i++) {
        if (fits(p->devices, i, measured)) {
            place[found] =
                (struct wf_gate_place){ wf_rows_text(p->devices, i, D_MODEL),
                                        wf_rows_bool(p->devices, i, D_BUSY) };
            row[found++] = i;
        }
    }
    if (s == WF_OK) {
        p->groups = wf_gate_groups_pick(place, found, pairs, p->chosen);
    }
    for (int g = 0; s == WF_OK && g < p->groups; g++) {
        p->chosen[g] = row[p->chosen[g]];
    }
    free(place);
    free(row);
    return s;
}

/* --- what the header gets --- */

static enum wf_status set_devices(const struct plan *p,
                                  struct wf_json *header,
                                  struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status s = WF_OK;
    for (int g = 0; s == WF_OK && g < p->groups; g++) {
        const char *facts = wf_rows_text(p->devices, p->chosen[g], D_FACTS);
        struct wf_json *o = NULL;
        s = wf_json_parse(facts, strlen(facts), "device", &o, err);
        s = s == WF_OK ? wf_json_push_take(list, o, err) : s;
    }
    enum wf_status taken = wf_json_set_take(header, "devices", list, err);
    return s == WF_OK ? taken : s;
}

static const char *kernel_of(const struct wf_json *pair)
{
    const struct wf_json *arm = wf_json_find(pair, "candidate");
    if (!arm || wf_json_type(arm) != WF_JSON_OBJECT) {
        arm = wf_json_find(pair, "base");
    }
    return wf_json_string(wf_json_find(arm, "kernel"));
}

static enum wf_status read_noise(const struct plan *p,
                                 const struct wf_json *pairs,
                                 struct wf_rows **ret,
                                 struct wf_error *err)
{
    struct wf_buf cases = WF_BUF_INIT, kernels = WF_BUF_INIT;
    struct wf_params q = WF_PARAMS_INIT;
    enum wf_status s = WF_OK;
    for (const struct wf_json *v = wf_json_first(pairs); s == WF_OK && v;
         v = wf_json_next(v)) {
        s = wf_pg_array_add(&cases, wf_json_string(wf_json_find(v, "case_id")), err);
        s = s == WF_OK ? wf_pg_array_add(&kernels, kernel_of(v), err) : s;
    }
    s = s == WF_OK ? wf_pg_array_end(&cases, err) : s;
    s = s == WF_OK ? wf_pg_array_end(&kernels, err) : s;
    wf_param_text(&q, wf_buf_cstr(&cases));
    wf_param_text(&q, wf_buf_cstr(&kernels));
    wf_param_text(&q, wf_rows_text(p->devices, p->chosen[0], D_MODEL));
    s = s == WF_OK ? wf_db_run(p->db, WF_STMT_GATE_NOISE, &q, ret, err) : s;
    wf_buf_free(&cases);
    wf_buf_free(&kernels);
    return s;
}

static enum wf_status write_margins(struct wf_json *pair,
                                    const struct wf_gate_margins *m,
                                    const char *source,
                                    struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status s = wf_json_set_f64(o, "d0", m->d0, err);
    s = s == WF_OK ? wf_json_set_f64(o, "d1", m->d1, err) : s;
    s = s == WF_OK ? wf_json_set_f64(o, "s0", m->s0, err) : s;
    s = s == WF_OK ? wf_json_set_f64(o, "tau", m->tau, err) : s;
    s = s == WF_OK ? wf_json_set_string(o, "source", source, err) : s;
    enum wf_status taken = wf_json_set_take(pair, "margins", o, err);
    return s == WF_OK ? taken : s;
}

struct margins_ctx {
    const struct wf_rows *noise; /* GATE_NOISE */
    const char *suite;
    const struct wf_gate_policy *policy;
};

/* Margins by the registry's rule, the policy's over them; and where they are from. */
static enum wf_status known_margins(const struct margins_ctx *c,
                                    size_t row,
                                    struct wf_json *pair,
                                    struct wf_error *err)
{
    char source[96];
    const struct wf_rows *noise = c->noise;
    const char *name = wf_json_string(wf_json_find(pair, "case_name"));
    struct wf_gate_margins m = wf_gate_margins_for(wf_rows_f64(noise, row, N_S0),
                                                   wf_rows_f64(noise, row, N_TAU));
    int of_policy =
        wf_gate_policy_margins(c->policy, c->suite, name, kernel_of(pair), &m);
    if (of_policy >= 0) {
        snprintf(source, sizeof source, "policy: margins[%d]", of_policy);
    } else {
        snprintf(source, sizeof source,
                 "farm: %" PRId64 " gates, %" PRId64 " of them A/A",
                 wf_rows_i64(noise, row, N_GATES), wf_rows_i64(noise, row, N_SAME));
    }
    /* A policy's d1 may be too near for the noise: what was asked for stays. */
    return m.d0 < m.d1 ? write_margins(pair, &m, source, err) : WF_OK;
}

static enum wf_status adapt_pair(const struct margins_ctx *c,
                                 const struct wf_json *pair,
                                 size_t i,
                                 size_t *at,
                                 struct wf_json *to,
                                 struct wf_error *err)
{
    struct wf_json *copy = NULL;
    const char *role = wf_json_string(wf_json_find(pair, "role"));
    enum wf_status s = wf_json_copy(pair, &copy, err);
    bool known = *at < wf_rows_count(c->noise) &&
                 wf_rows_i64(c->noise, *at, N_PAIR) == (int64_t)i;
    if (s == WF_OK && known && strcmp(role, "case") == 0) {
        s = known_margins(c, *at, copy, err);
    }
    *at += known;
    if (s != WF_OK) {
        wf_json_free(copy);
        return s;
    }
    return wf_json_push_take(to, copy, err);
}

static enum wf_status set_margins(const struct plan *p,
                                  struct wf_json *header,
                                  struct wf_error *err)
{
    const struct wf_json *pairs = wf_json_find(header, "pairs");
    const struct wf_json *said = wf_json_find(header, "policy");
    struct wf_gate_policy *policy = NULL;
    struct wf_rows *noise = NULL;
    struct wf_json *list = wf_json_array();
    size_t at = 0, i = 0;
    bool none = wf_json_type(said) == WF_JSON_NULL;
    enum wf_status s =
        wf_gate_policy_parse(none ? NULL : said, "the gate's policy", &policy, err);
    s = s == WF_OK ? read_noise(p, pairs, &noise, err) : s;
    const struct margins_ctx c = { noise, wf_json_string(wf_json_find(header, "suite")),
                                   policy };
    for (const struct wf_json *v = wf_json_first(pairs); s == WF_OK && v;
         v = wf_json_next(v), i++) {
        s = adapt_pair(&c, v, i, &at, list, err);
    }
    wf_rows_free(noise);
    wf_gate_policy_free(policy);
    if (s != WF_OK) {
        wf_json_free(list);
        return s;
    }
    return wf_json_set_take(header, "pairs", list, err);
}

static enum wf_status adjust(void *ctx, struct wf_json *header, struct wf_error *err)
{
    enum wf_status s = set_devices(ctx, header, err);
    return s == WF_OK ? set_margins(ctx, header, err) : s;
}

/* --- rows --- */

static enum wf_status add_groups(const struct plan *p, struct wf_error *err)
{
    enum wf_status s = WF_OK;
    for (int g = 0; s == WF_OK && g < p->groups; g++) {
        struct wf_params q = WF_PARAMS_INIT;
        wf_param_i64(&q, p->id);
        wf_param_i64(&q, g);
        for (int c = D_RUNNER; c <= D_FACTS; c++) {
            wf_param_text(&q, wf_rows_text(p->devices, p->chosen[g], c));
        }
        s = wf_db_run(p->db, WF_STMT_GATE_GROUP_ADD, &q, NULL, err);
    }
    return s;
}

static enum wf_status arm_text(const struct wf_json *pair,
                               const char *key,
                               struct wf_buf *line,
                               struct wf_error *err)
{
    const struct wf_json *arm = wf_json_find(pair, key);
    char *text = NULL;
    if (!arm || wf_json_type(arm) != WF_JSON_OBJECT) {
        return wf_copy_text(line, NULL, err);
    }
    enum wf_status s = wf_json_text(arm, &text, err);
    s = s == WF_OK ? wf_copy_text(line, text, err) : s;
    free(text);
    return s;
}

static enum wf_status pair_row(const struct plan *p,
                               const struct wf_run_keys *keys,
                               size_t i,
                               const struct wf_json *json,
                               struct wf_buf *line,
                               struct wf_error *err)
{
    const struct wf_gate_pair *pair = wf_gate_record_pair(p->request->record, i);
    const struct wf_gate_margins *m = &pair->margins;
    const int64_t ids[] = { p->id, (int64_t)i, keys->cases[2 * i],
                            keys->cases[2 * i + 1],
                            keys->kernels[p->request->kernel[i]] };
    const double margins[] = { m->d0, m->d1, m->s0, m->tau };
    enum wf_status s = WF_OK;
    for (size_t k = 0; s == WF_OK && k < sizeof ids / sizeof ids[0]; k++) {
        s = wf_copy_i64(line, ids[k], err);
    }
    s = s == WF_OK ? wf_copy_text(line, pair->case_name, err) : s;
    s = s == WF_OK ? wf_copy_text(line, wf_gate_role_name(pair->role), err) : s;
    s = s == WF_OK ? arm_text(json, "base", line, err) : s;
    s = s == WF_OK ? arm_text(json, "candidate", line, err) : s;
    s = s == WF_OK ? wf_copy_i64(line, pair->device, err) : s;
    for (size_t k = 0; s == WF_OK && k < sizeof margins / sizeof margins[0]; k++) {
        s = wf_copy_f64(line, margins[k], err);
    }
    s = s == WF_OK ? wf_copy_i64(line, pair->blocks, err) : s;
    s = s == WF_OK
            ? wf_copy_text(line, pair->identical || pair->refused ? "f" : "t", err)
            : s;
    return s == WF_OK ? wf_copy_end_row(line, err) : s;
}

static enum wf_status add_pairs(const struct plan *p,
                                const struct wf_run_keys *keys,
                                struct wf_error *err)
{
    struct wf_buf lines = WF_BUF_INIT;
    const struct wf_json *v = wf_json_first(wf_json_find(p->request->header, "pairs"));
    enum wf_status s = WF_OK;
    for (size_t i = 0; s == WF_OK && v; v = wf_json_next(v), i++) {
        s = pair_row(p, keys, i, v, &lines, err);
    }
    s = s == WF_OK ? wf_db_copy_begin(p->db,
                                      "COPY gate_pair(run_id, ordinal, run_case_id,"
                                      " case_key, kernel_key, case_name, role, base,"
                                      " candidate, grp, d0, d1, s0, tau, blocks,"
                                      " launched) FROM STDIN",
                                      err)
                   : s;
    s = s == WF_OK ? wf_db_copy_data(p->db, &lines, err) : s;
    s = s == WF_OK ? wf_db_copy_end(p->db, NULL, err) : s;
    wf_buf_free(&lines);
    return s;
}

/* The tasks of the rounds' facts need a case of the run: one a group, named "#0", ...
 */
static enum wf_status add_round_cases(const struct plan *p,
                                      const struct wf_run_keys *keys,
                                      struct wf_error *err)
{
    struct wf_params q = WF_PARAMS_INIT;
    wf_param_i64(&q, p->id);
    wf_param_i64(&q, (int64_t)p->request->run->case_count);
    wf_param_i64(&q, keys->cases[1]);
    wf_param_i64(&q, p->groups);
    return wf_db_run(p->db, WF_STMT_GATE_ROUND_CASES_ADD, &q, NULL, err);
}

static enum wf_status store_header(const struct plan *p, struct wf_error *err)
{
    struct wf_params q = WF_PARAMS_INIT;
    char *text = NULL;
    enum wf_status s = wf_json_text(p->request->header, &text, err);
    wf_param_i64(&q, p->id);
    wf_param_text(&q, text);
    wf_param_i64(&q, p->groups);
    wf_param_i64(&q, (int64_t)wf_gate_record_count(p->request->record));
    s = s == WF_OK ? wf_db_run(p->db, WF_STMT_GATE_PLANNED, &q, NULL, err) : s;
    free(text);
    return s;
}

static enum wf_status store_plan(const struct plan *p, struct wf_error *err)
{
    struct wf_run_keys keys = { NULL, NULL };
    enum wf_status s = wf_store_run_parts(p->db, p->id, p->request->run, &keys, err);
    s = s == WF_OK ? add_round_cases(p, &keys, err) : s;
    s = s == WF_OK ? add_pairs(p, &keys, err) : s;
    s = s == WF_OK ? add_groups(p, err) : s;
    s = s == WF_OK ? store_header(p, err) : s;
    free(keys.cases);
    free(keys.kernels);
    return s;
}

/* --- both readings --- */

static enum wf_status read_again(struct plan *p,
                                 struct wf_blobs *blobs,
                                 int groups,
                                 wf_gate_adjust_fn fn,
                                 struct wf_error *err)
{
    struct wf_blob_datasets *datasets = wf_blob_datasets_create(blobs);
    if (!datasets) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a gate");
    }
    struct wf_dataset_resolver resolver = wf_blob_datasets_resolver(datasets);
    wf_gate_request_free(p->request);
    p->request = NULL;
    struct wf_params q = WF_PARAMS_INIT;
    struct wf_rows *rows = NULL;
    wf_param_i64(&q, p->id);
    enum wf_status s =
        wf_db_one(p->db, WF_STMT_GATE_REQUEST, &q, "the gate is gone", &rows, err);
    s = s == WF_OK ? wf_gate_request_again(wf_rows_text(rows, 0, 0), groups, fn, p,
                                           &resolver, &p->request, err)
                   : s;
    wf_rows_free(rows);
    wf_blob_datasets_destroy(datasets);
    return s;
}

static bool is_measured(const struct wf_gate_request *g)
{
    bool measured = true;
    (void)wf_json_opt_bool(g->header, "measured", &measured, NULL);
    return measured;
}

enum wf_status wf_gate_plan(struct wf_db *db,
                            struct wf_blobs *blobs,
                            int64_t id,
                            const struct wf_rows *head,
                            int *ret_groups,
                            struct wf_error *err)
{
    struct plan p = { .db = db, .id = id, .head = head };
    enum wf_status s = find_devices(&p, err);
    if (s == WF_OK && wf_rows_count(p.devices) > 0) {
        s = read_again(&p, blobs, 1, NULL, err);
        s = s == WF_OK ? choose(&p, is_measured(p.request),
                                count_measured(p.request->record), err)
                       : s;
    }
    if (s == WF_OK && p.groups > 0) {
        s = read_again(&p, blobs, p.groups, adjust, err);
        s = s == WF_OK ? store_plan(&p, err) : s;
    }
    *ret_groups = p.groups;
    wf_gate_request_free(p.request);
    wf_rows_free(p.devices);
    free(p.chosen);
    return s;
}
