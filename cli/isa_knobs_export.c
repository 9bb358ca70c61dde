/* Tables of knobs beside figures as CSV (RFC 4180) and JSON. */
#include "cli/isa_knobs_internal.h"
#include "cli/output.h"
#include "core/buf.h"
#include "core/parse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- CSV --- */

static void put_text(const char *s, const char *end)
{
    putchar('"');
    for (; *s != '\0'; s++) {
        if (*s == '"') {
            putchar('"');
        }
        putchar(*s);
    }
    printf("\"%s", end);
}

enum wf_status wf_knob_print_csv(const struct wf_knob_table *t, struct wf_error *err)
{
    struct knob_names n = { .name = NULL };
    enum wf_status st = knob_names_collect(t, &n, err);
    if (st == WF_OK) {
        printf("object,kernel,scheme");
        for (size_t i = 0; i < n.count; i++) {
            putchar(',');
            put_text(n.name[i], "");
        }
        for (size_t i = 0; i < wf_knob_figure_count(); i++) {
            printf(",%s", wf_knob_figure_name(i));
        }
        printf("\r\n");
    }
    for (size_t r = 0; st == WF_OK && r < t->count; r++) {
        put_text(t->row[r].object, ",");
        put_text(t->row[r].kernel, ",");
        put_text(t->row[r].scheme, "");
        for (size_t i = 0; i < n.count; i++) {
            const char *v = knob_value(&t->row[r], n.name[i]);
            putchar(',');
            put_text(strcmp(v, "-") == 0 ? "" : v, "");
        }
        for (size_t i = 0; i < wf_knob_figure_count(); i++) {
            char text[32];
            printf(",%s", isfinite(t->row[r].figure[i])
                              ? wf_format_f64(t->row[r].figure[i], text, sizeof(text))
                              : "");
        }
        printf("\r\n");
    }
    knob_names_free(&n);
    return st;
}

/* --- JSON --- */

static enum wf_status set_knobs(struct wf_json *o,
                                const struct wf_isa_knobs *k,
                                struct wf_error *err)
{
    struct wf_json *knobs = wf_json_object(), *unknown = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < k->count; i++) {
        st = wf_json_set_string(knobs, k->knob[i].key, k->knob[i].value, err);
        if (st == WF_OK && k->knob[i].meaning == NULL) {
            st = wf_json_push_string(unknown, k->knob[i].key, err);
        }
    }
    if (st != WF_OK) {
        wf_json_free(knobs);
        wf_json_free(unknown);
        return st;
    }
    st = wf_json_set_take(o, "knobs", knobs, err);
    if (st != WF_OK) {
        wf_json_free(unknown);
        return st;
    }
    return wf_json_set_take(o, "unknown", unknown, err);
}

static enum wf_status set_number(struct wf_json *o,
                                 const char *name,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(o, name, v, err)
                       : wf_json_set_null(o, name, err);
}

static enum wf_status row_json(const struct wf_knob_row *r,
                               struct wf_json *o,
                               struct wf_error *err)
{
    struct wf_json *figures = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "object", r->object, err);
    st = st == WF_OK ? wf_json_set_string(o, "kernel", r->kernel, err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "scheme", r->scheme, err) : st;
    st = st == WF_OK ? set_knobs(o, &r->knobs, err) : st;
    for (size_t i = 0; st == WF_OK && i < wf_knob_figure_count(); i++) {
        st = set_number(figures, wf_knob_figure_name(i), r->figure[i], err);
    }
    if (st != WF_OK) {
        wf_json_free(figures);
        return st;
    }
    return wf_json_set_take(o, "figures", figures, err);
}

static enum wf_status group_json(const struct wf_knob_table *t,
                                 const char *by,
                                 const char *value,
                                 double *room,
                                 struct wf_json *o,
                                 struct wf_error *err)
{
    struct wf_json *figures = wf_json_object();
    size_t rows = 0;
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < wf_knob_figure_count(); i++) {
        st = set_number(figures, wf_knob_figure_name(i),
                        knob_median(t, by, value, i, room, &rows), err);
    }
    st = st == WF_OK ? wf_json_set_string(o, "value", value, err) : st;
    st = st == WF_OK ? wf_json_set_i64(o, "kernels", (int64_t)rows, err) : st;
    if (st != WF_OK) {
        wf_json_free(figures);
        return st;
    }
    return wf_json_set_take(o, "medians", figures, err);
}

static enum wf_status push_groups(const struct wf_knob_table *t,
                                  const char *by,
                                  struct wf_json *list,
                                  struct wf_error *err)
{
    struct knob_groups g = { .value = NULL };
    struct knob_names n = { .name = NULL };
    double *room = wf_calloc(t->count + 1, sizeof(*room));
    enum wf_status st = room != NULL
                            ? knob_names_collect(t, &n, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for medians");
    if (st == WF_OK && knob_name_index(&n, by) == n.count) {
        st = knob_missing(&n, by, err);
    }
    st = st == WF_OK ? knob_group(t, by, &g, err) : st;
    for (size_t i = 0; st == WF_OK && i < g.count; i++) {
        struct wf_json *o = wf_json_object();
        st = group_json(t, by, g.value[i], room, o, err);
        if (st == WF_OK) {
            st = wf_json_push_take(list, o, err);
        } else {
            wf_json_free(o);
        }
    }
    free(g.value);
    free(room);
    knob_names_free(&n);
    return st;
}

static enum wf_status push_rows(const struct wf_knob_table *t,
                                struct wf_json *list,
                                struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t r = 0; st == WF_OK && r < t->count; r++) {
        struct wf_json *o = wf_json_object();
        st = row_json(&t->row[r], o, err);
        if (st == WF_OK) {
            st = wf_json_push_take(list, o, err);
        } else {
            wf_json_free(o);
        }
    }
    return st;
}

enum wf_status wf_knob_print_json(const struct wf_knob_table *t,
                                  const char *by,
                                  struct wf_error *err)
{
    struct wf_json *o = wf_json_object(), *list = wf_json_array();
    enum wf_status st = wf_json_set_string(o, "schema", "wavefarm.isa-knobs/1", err);
    if (st == WF_OK && by != NULL) {
        st = wf_json_set_string(o, "by", by, err);
    }
    if (st == WF_OK) {
        st = by != NULL ? push_groups(t, by, list, err) : push_rows(t, list, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_take(o, by != NULL ? "groups" : "rows", list, err);
    } else {
        wf_json_free(list);
    }
    if (st == WF_OK && by == NULL && t->selections != NULL) {
        st = wf_json_set_copy(o, "selections", t->selections, err);
    }
    st = st == WF_OK ? wf_print_json(o, err) : st;
    wf_json_free(o);
    return st;
}
