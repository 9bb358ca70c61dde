/* The verdict line, and its comparison with what the blocks lead to. */
#include "gate/record_internal.h"

#include "core/buf.h"
#include "gate/gate_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Figures of a pair, in the order of the line. X(NAME, kind: real, whole) */
#define FIGURES(X)           \
    X(blocks, whole)         \
    X(lost, whole)           \
    X(rounds, whole)         \
    X(log_w_slower, real)    \
    X(log_w_faster, real)    \
    X(log_w_pass, real)      \
    X(log_sign_slower, real) \
    X(log_sign_faster, real) \
    X(slot_noise, real)      \
    X(effect, real)          \
    X(low, real)             \
    X(high, real)            \
    X(spread, real)

/* null: what is not finite; low and high then mean an open end, the others that there
 * are too few blocks. */
static bool put_real(struct wf_json *o, const char *key, double v, struct wf_error *err)
{
    return (isfinite(v) ? wf_json_set_f64(o, key, v + 0.0, err) /* no -0 */
                        : wf_json_set_null(o, key, err)) == WF_OK;
}

static bool put_whole(struct wf_json *o, const char *key, int v, struct wf_error *err)
{
    return wf_json_set_i64(o, key, v, err) == WF_OK;
}

static struct wf_json *pair_json(const struct wf_gate_record *r,
                                 size_t i,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    struct wf_gate_figures f;
    bool good;

    wf_gate_figures(r->gate, i, &f);
    good = wf_json_set_string(o, "key", r->header.pair[i].key, err) == WF_OK &&
           wf_json_set_string(o, "verdict", wf_gate_verdict_name(f.verdict), err) ==
               WF_OK &&
           wf_json_set_string(o, "reason", wf_gate_reason_name(f.reason), err) == WF_OK;
#define X(name, kind) good = good && put_##kind(o, #name, f.name, err);
    FIGURES(X)
#undef X
    if (!good) {
        wf_json_free(o);
        o = NULL;
    }
    return o;
}

bool wf_gate_record_device_is_good(const struct wf_gate_record *r,
                                   int device,
                                   char *ret_why,
                                   size_t n)
{
    size_t pair = 0;

    if (n > 0) {
        ret_why[0] = '\0';
    }
    if (!gate_device_culprit(r->gate, device, &pair)) {
        return true;
    }
    gate_sentinel_say(r->gate, pair, r->header.pair[pair].key, ret_why, n);
    return false;
}

static struct wf_json *device_json(const struct wf_gate_record *r,
                                   int group,
                                   struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    char why[WF_GATE_MAX_KEY + 200] = "";
    bool bad = !wf_gate_record_device_is_good(r, group, why, sizeof why);

    if (wf_json_set_i64(o, "group", group, err) != WF_OK ||
        wf_json_set_bool(o, "good", !bad, err) != WF_OK ||
        wf_json_set_string(o, "why", why, err) != WF_OK) {
        wf_json_free(o);
        o = NULL;
    }
    return o;
}

/* Of the cases; sentinels are nobody's regression. */
struct totals {
    int64_t count[WF_GATE_VERDICT_COUNT];
    bool infrastructure;
};

static struct totals count_all(const struct wf_gate_record *r)
{
    struct totals t = { .infrastructure = false };

    for (size_t i = 0; i < r->header.count; i++) {
        enum wf_gate_reason why;
        enum wf_gate_verdict v = wf_gate_verdict_of(r->gate, i, &why);
        if (r->header.pair[i].role == WF_GATE_CASE) {
            t.count[v]++;
            t.infrastructure =
                t.infrastructure || wf_gate_reason_is_infrastructure(why);
        }
    }
    return t;
}

static struct wf_json *counts_json(const struct totals *t, struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    bool good = o != NULL;

    for (int v = 0; v < WF_GATE_VERDICT_COUNT; v++) {
        good = good && wf_json_set_i64(o, wf_gate_verdict_name((enum wf_gate_verdict)v),
                                       t->count[v], err) == WF_OK;
    }
    if (!good) {
        wf_json_free(o);
        o = NULL;
    }
    return o;
}

static bool put_lists(const struct wf_gate_record *r,
                      struct wf_json *to,
                      struct wf_error *err)
{
    struct wf_json *pairs = wf_json_array();
    struct wf_json *devices = wf_json_array();
    bool good = true;

    for (size_t i = 0; i < r->header.count && good; i++) {
        good = wf_json_push_take(pairs, pair_json(r, i, err), err) == WF_OK;
    }
    for (int g = 0; g < r->header.groups && good; g++) {
        good = wf_json_push_take(devices, device_json(r, g, err), err) == WF_OK;
    }
    good = wf_json_set_take(to, "pairs", pairs, err) == WF_OK && good;
    return wf_json_set_take(to, "devices", devices, err) == WF_OK && good;
}

enum wf_status wf_gate_record_verdict(struct wf_gate_record *r,
                                      struct wf_json **ret,
                                      struct wf_error *err)
{
    struct totals t = count_all(r);
    struct wf_json *o = wf_json_object();
    bool good =
        wf_json_set_string(o, "kind", "verdict", err) == WF_OK &&
        wf_json_set_string(o, "gate", r->header.gate, err) == WF_OK &&
        put_lists(r, o, err) &&
        wf_json_set_take(o, "counts", counts_json(&t, err), err) == WF_OK &&
        wf_json_set_bool(o, "red", t.count[WF_GATE_VERDICT_FAIL] > 0, err) == WF_OK &&
        wf_json_set_bool(o, "infrastructure", t.infrastructure, err) == WF_OK &&
        wf_json_set_string(o, "closed", wf_gate_reason_name(r->gate->closed), err) ==
            WF_OK;

    if (!good) {
        wf_json_free(o);
        return wf_errorf(err, WF_ENOMEM, "no memory for a verdict of %zu pairs",
                         r->header.count);
    }
    *ret = o;
    return WF_OK;
}

/* --- replay --- */

struct comparison {
    void (*say)(void *ctx, const char *line);
    void *ctx;
    size_t differences;
    struct wf_error *err;
};

static enum wf_status text_of(const struct wf_json *v,
                              struct wf_buf *out,
                              struct wf_error *err)
{
    if (v == NULL) {
        return wf_buf_puts(out, "nothing", err);
    }
    return wf_json_write(v, out, err);
}

static enum wf_status tell(struct comparison *c,
                           const char *where,
                           const struct wf_json *stored,
                           const struct wf_json *computed)
{
    struct wf_buf line = WF_BUF_INIT;
    enum wf_status status = wf_buf_printf(&line, c->err, "%s: stored ", where);

    c->differences++;
    if (status == WF_OK) {
        status = text_of(stored, &line, c->err);
    }
    if (status == WF_OK) {
        status = wf_buf_puts(&line, ", computed ", c->err);
    }
    if (status == WF_OK) {
        status = text_of(computed, &line, c->err);
    }
    if (status == WF_OK && c->say != NULL) {
        c->say(c->ctx, wf_buf_cstr(&line));
    }
    wf_buf_free(&line);
    return status;
}

static uint64_t bits_of(double x)
{
    uint64_t u = 0;

    memcpy(&u, &x, sizeof u);
    return u;
}

static bool same_number(const struct wf_json *a, const struct wf_json *b)
{
    double x = 0;
    double y = 0;

    return wf_json_as_f64(a, &x) && wf_json_as_f64(b, &y) && bits_of(x) == bits_of(y);
}

static bool is_number(enum wf_json_type t)
{
    return t == WF_JSON_INT || t == WF_JSON_DOUBLE;
}

/* Leaves only. */
static bool same_leaf(const struct wf_json *a, const struct wf_json *b)
{
    enum wf_json_type t = wf_json_type(a);
    bool x = false;
    bool y = false;

    if (is_number(t)) {
        return is_number(wf_json_type(b)) && same_number(a, b);
    }
    if (t != wf_json_type(b)) {
        return false;
    }
    switch (t) {
    case WF_JSON_NULL:
        return true;
    case WF_JSON_BOOL:
        return wf_json_as_bool(a, &x) && wf_json_as_bool(b, &y) && x == y;
    case WF_JSON_STRING:
        return strcmp(wf_json_string(a), wf_json_string(b)) == 0;
    case WF_JSON_INT:
    case WF_JSON_DOUBLE:
    case WF_JSON_ARRAY:
    case WF_JSON_OBJECT:
        break;
    }
    return false;
}

static enum wf_status compare(struct comparison *c,
                              const char *where,
                              const struct wf_json *stored,
                              const struct wf_json *computed);

static const char *name_of(const struct wf_json *pair)
{
    const char *key = wf_json_string(wf_json_find(pair, "key"));

    return key == NULL ? "" : key;
}

static enum wf_status compare_arrays(struct comparison *c,
                                     const char *where,
                                     const struct wf_json *stored,
                                     const struct wf_json *computed)
{
    const struct wf_json *a = wf_json_first(stored);
    const struct wf_json *b = wf_json_first(computed);
    enum wf_status status = WF_OK;

    for (size_t i = 0; (a != NULL || b != NULL) && status == WF_OK; i++) {
        const char *key = b == NULL ? "" : name_of(b);
        char *at = key[0] != '\0' ? wf_asprintf("%s \"%s\"", where, key)
                                  : wf_asprintf("%s[%zu]", where, i);
        status = at == NULL ? wf_errorf(c->err, WF_ENOMEM, "no memory for a name")
                            : compare(c, at, a, b);
        free(at);
        a = a == NULL ? NULL : wf_json_next(a);
        b = b == NULL ? NULL : wf_json_next(b);
    }
    return status;
}

static enum wf_status compare_member(struct comparison *c,
                                     const char *where,
                                     const char *key,
                                     const struct wf_json *stored,
                                     const struct wf_json *computed)
{
    char *at = where[0] == '\0' ? wf_strdup(key) : wf_asprintf("%s: %s", where, key);
    enum wf_status status = at == NULL
                                ? wf_errorf(c->err, WF_ENOMEM, "no memory for a name")
                                : compare(c, at, stored, computed);

    free(at);
    return status;
}

static enum wf_status compare_objects(struct comparison *c,
                                      const char *where,
                                      const struct wf_json *stored,
                                      const struct wf_json *computed)
{
    enum wf_status status = WF_OK;

    for (const struct wf_json *b = wf_json_first(computed);
         b != NULL && status == WF_OK; b = wf_json_next(b)) {
        status = compare_member(c, where, wf_json_key(b),
                                wf_json_find(stored, wf_json_key(b)), b);
    }
    for (const struct wf_json *a = wf_json_first(stored); a != NULL && status == WF_OK;
         a = wf_json_next(a)) {
        if (wf_json_find(computed, wf_json_key(a)) == NULL) {
            status = compare_member(c, where, wf_json_key(a), a, NULL);
        }
    }
    return status;
}

static enum wf_status compare(struct comparison *c,
                              const char *where,
                              const struct wf_json *stored,
                              const struct wf_json *computed)
{
    if (stored != NULL && computed != NULL &&
        wf_json_type(stored) == wf_json_type(computed)) {
        if (wf_json_type(stored) == WF_JSON_OBJECT) {
            return compare_objects(c, where, stored, computed);
        }
        if (wf_json_type(stored) == WF_JSON_ARRAY) {
            return compare_arrays(c, where, stored, computed);
        }
    }
    if (stored != NULL && computed != NULL && same_leaf(stored, computed)) {
        return WF_OK;
    }
    return tell(c, where, stored, computed);
}

enum wf_status wf_gate_record_replay(struct wf_gate_record *r,
                                     void (*say)(void *ctx, const char *line),
                                     void *ctx,
                                     size_t *ret_differences,
                                     struct wf_error *err)
{
    struct comparison c = { .say = say, .ctx = ctx, .err = err };
    const struct wf_json *stored;
    struct wf_json *computed = NULL;
    const char *closed;
    enum wf_gate_reason why = WF_GATE_REASON_NONE;
    enum wf_status status;

    if (r->verdict == NO_LINE) {
        return wf_errorf(err, WF_ENOTFOUND,
                         "the record of gate %s has no verdict: it was not run to its "
                         "end, there is nothing to compare with",
                         r->header.gate);
    }
    stored = r->line[r->verdict];
    closed = wf_json_string(wf_json_find(stored, "closed"));
    if (closed != NULL && wf_gate_reason_parse(closed, &why) &&
        why != WF_GATE_REASON_NONE) {
        wf_gate_close(r->gate, why);
    }
    status = wf_gate_record_verdict(r, &computed, err);
    if (status == WF_OK) {
        status = compare(&c, "", stored, computed);
    }
    wf_json_free(computed);
    if (status == WF_OK) {
        *ret_differences = c.differences;
    }
    return status;
}
