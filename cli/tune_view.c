/* A tuning table for people. */
#include "cli/result_view.h"
#include "cli/table.h"
#include "cli/tune.h"
#include "core/buf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *m = obj != NULL && wf_json_type(obj) == WF_JSON_OBJECT
                                  ? wf_json_find(obj, key)
                                  : NULL;
    const char *s = m != NULL ? wf_json_string(m) : NULL;
    return s != NULL ? s : "";
}

static double real(const struct wf_json *obj, const char *key)
{
    double v = (double)NAN;
    const struct wf_json *m = obj != NULL ? wf_json_find(obj, key) : NULL;
    return m != NULL && wf_json_as_f64(m, &v) ? v : (double)NAN;
}

static int64_t whole(const struct wf_json *obj, const char *key)
{
    int64_t v = -1;
    const struct wf_json *m = obj != NULL ? wf_json_find(obj, key) : NULL;
    return m != NULL && wf_json_as_i64(m, &v) ? v : -1;
}

/* With the unit behind it; "-" where it is not known. */
static void cell_real(char *ret, size_t n, double v, const char *unit)
{
    if (isfinite(v)) {
        (void)snprintf(ret, n, "%.0f%s", v, unit);
    } else {
        (void)snprintf(ret, n, "-");
    }
}

/* "BLOCK_M=128 BLOCK_N=256": what differs from the incumbent, or all. */
static void knobs_text(const struct wf_json *knobs,
                       const struct wf_json *usual,
                       struct wf_buf *b)
{
    for (const struct wf_json *v = wf_json_first(knobs); v != NULL;
         v = wf_json_next(v)) {
        int64_t n = 0, other = 0;
        const struct wf_json *u =
            usual != NULL ? wf_json_find(usual, wf_json_key(v)) : NULL;
        const bool same = u != NULL && wf_json_as_i64(u, &other) &&
                          wf_json_as_i64(v, &n) && n == other;
        if (!same && wf_json_as_i64(v, &n)) {
            (void)wf_buf_printf(b, NULL, "%s%s=%" PRId64, b->len > 0 ? " " : "",
                                wf_json_key(v), n);
        }
    }
}

static const struct wf_json *incumbent_of(const struct wf_json *c)
{
    const struct wf_json *v = wf_json_first(wf_json_find(c, "candidates"));
    bool yes = false;
    while (v != NULL && !(wf_json_find(v, "incumbent") != NULL &&
                          wf_json_as_bool(wf_json_find(v, "incumbent"), &yes) && yes)) {
        v = wf_json_next(v);
    }
    return v;
}

static void gain_text(const struct wf_json *winner,
                      const struct wf_json *incumbent,
                      bool measured,
                      char *ret,
                      size_t n)
{
    const char *key = measured ? "time_ns" : "cycles";
    const double g = 100 * (real(incumbent, key) / real(winner, key) - 1);
    if (incumbent == winner) {
        (void)snprintf(ret, n, "is it");
    } else if (incumbent != NULL && isfinite(g)) {
        (void)snprintf(ret, n, "%+.1f %%", g);
    } else {
        (void)snprintf(ret, n, "-");
    }
}

static void print_case(struct wf_table *t, const struct wf_json *c, bool measured)
{
    char cycles[32], fill[32], gain[32], mca[32], others[32];
    struct wf_buf knobs = WF_BUF_INIT;
    const int64_t at = whole(c, "winner");
    const struct wf_json *list = wf_json_find(c, "candidates");
    const struct wf_json *w = at >= 0 ? wf_json_at(list, (size_t)at) : NULL;
    const struct wf_json *usual = incumbent_of(c);
    const double ns = real(w, "time_ns");
    if (w == NULL) {
        wf_table_row(t, (const char *[]){ text(c, "name"), "none", "", "", "", "", "",
                                          text(c, "why") });
        return;
    }
    if (measured) {
        wf_format_time_ns(ns, cycles, sizeof(cycles));
    } else {
        cell_real(cycles, sizeof(cycles), real(w, "cycles"), "");
    }
    cell_real(fill, sizeof(fill), 100 * real(w, "fill"), " %");
    cell_real(mca, sizeof(mca), real(wf_json_find(w, "figures"), "mca"), "");
    gain_text(w, usual, measured, gain, sizeof(gain));
    (void)snprintf(others, sizeof(others), "%zu", wf_json_count(list) - 1);
    knobs_text(wf_json_find(w, "knobs"),
               usual != NULL && usual != w ? wf_json_find(usual, "knobs") : NULL,
               &knobs);
    wf_table_row(
        t, (const char *[]){
               text(c, "name"), text(w, "kernel"), cycles, fill, mca, others, gain,
               text(w, "variant")[0] != '\0' ? wf_buf_cstr(&knobs) : text(c, "why") });
    wf_buf_free(&knobs);
}

static void print_head(const struct wf_json *table)
{
    const struct wf_json *p = wf_json_find(table, "provenance");
    const struct wf_json *device = p != NULL ? wf_json_find(p, "device") : NULL;
    wf_say("%s of suite %s for %s, %s on %s", text(table, "op"), text(table, "suite"),
           text(table, "arch"), text(table, "basis"), text(device, "model"));
    wf_say("made %s by %s, commit %.12s", text(p, "created"), text(p, "tool"),
           text(p, "commit")[0] != '\0' ? text(p, "commit") : "unknown");
}

static void print_steps(const struct wf_json *table)
{
    const struct wf_json *s = wf_json_first(wf_json_find(table, "steps"));
    for (; s != NULL; s = wf_json_next(s)) {
        wf_say("%-10s %7" PRId64 " -> %" PRId64, text(s, "step"), whole(s, "before"),
               whole(s, "after"));
        const struct wf_json *d = wf_json_first(wf_json_find(s, "dropped"));
        for (; d != NULL; d = wf_json_next(d)) {
            wf_say("           %7" PRId64 "  %s", whole(d, "count"), text(d, "why"));
        }
    }
}

static void print_gates(const struct wf_json *c)
{
    const struct wf_json *list = wf_json_find(c, "candidates");
    const struct wf_json *g = wf_json_first(wf_json_find(c, "gates"));
    for (; g != NULL; g = wf_json_next(g)) {
        char effect[48] = "";
        const double e = real(g, "effect");
        if (isfinite(e)) {
            (void)snprintf(effect, sizeof(effect), " (%+.2f %%)", 100 * expm1(e));
        }
        wf_say("  %s: %s against %s: %s%s, %" PRId64 " blocks, alpha %.3g",
               text(c, "name"),
               text(wf_json_at(list, (size_t)whole(g, "challenger")), "kernel"),
               text(wf_json_at(list, (size_t)whole(g, "champion")), "kernel"),
               text(g, "outcome"), effect, whole(g, "blocks"), real(g, "alpha"));
    }
}

enum wf_status tune_print(const struct wf_json *table, struct wf_error *err)
{
    const bool measured = strcmp(text(table, "basis"), "measured") == 0;
    const char *const header[] = {
        "case",          "kernel", measured ? ">first look" : ">modelled cycles",
        ">fill",         ">mca",   ">others",
        ">incumbent by", "knobs"
    };
    struct wf_table *t = wf_table_create(header, sizeof(header) / sizeof(header[0]));
    if (t == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a table");
    }
    print_head(table);
    print_steps(table);
    const struct wf_json *c = wf_json_first(wf_json_find(table, "cases"));
    for (; c != NULL; c = wf_json_next(c)) {
        print_case(t, c, measured);
    }
    const bool whole_table = wf_table_print(t);
    wf_table_free(t);
    for (c = wf_json_first(wf_json_find(table, "cases")); c != NULL;
         c = wf_json_next(c)) {
        print_gates(c);
    }
    return whole_table ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a table");
}
