#include "cli/isa_compare.h"

#include "cli/isa_files.h"
#include "cli/isa_view.h"
#include "cli/output.h"
#include "core/buf.h"
#include "core/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All reports of one side; kernels are numbered through. */
struct side {
    const char *what;
    struct wf_isa_report **report;
    size_t report_count;
};

struct place {
    const struct wf_isa_report *report;
    size_t kernel;
};

static size_t kernels_of(const struct side *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->report_count; i++) {
        n += wf_isa_report_count(s->report[i]);
    }
    return n;
}

static struct place place_at(const struct side *s, size_t i)
{
    for (size_t r = 0; r < s->report_count; r++) {
        size_t n = wf_isa_report_count(s->report[r]);
        if (i < n) {
            return (struct place){ s->report[r], i };
        }
        i -= n;
    }
    return (struct place){ NULL, 0 };
}

static const char *name_at(const struct side *s, size_t i)
{
    struct place p = place_at(s, i);
    return wf_isa_report_kernel(p.report, p.kernel);
}

static bool find(const struct side *s, const char *name, size_t *ret)
{
    for (size_t i = 0; i < kernels_of(s); i++) {
        if (strcmp(name_at(s, i), name) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static enum wf_status read_side(const char *what,
                                const struct wf_isa_options *options,
                                struct side *ret,
                                struct wf_error *err)
{
    struct wf_isa_files f = { .path = NULL };
    enum wf_status st = wf_isa_files_of(what, &f, err);
    ret->what = what;
    ret->report = wf_calloc(f.count + 1, sizeof(struct wf_isa_report *));
    if (st == WF_OK && ret->report == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for %zu reports", f.count);
    }
    for (size_t i = 0; st == WF_OK && i < f.count; i++) {
        st = wf_isa_report_read(f.path[i], options, &ret->report[i], err);
        ret->report_count += st == WF_OK;
    }
    wf_isa_files_free(&f);
    return st;
}

static void free_side(struct side *s)
{
    for (size_t i = 0; i < s->report_count; i++) {
        wf_isa_report_free(s->report[i]);
    }
    free(s->report);
}

/* --- one pair --- */

static const char *verdict(const struct wf_isa_figure *a, const struct wf_isa_figure *b)
{
    bool known_a = isfinite(a->value);
    bool known_b = isfinite(b->value);
    if (!known_a && !known_b) {
        return "same";
    }
    if (!known_a || !known_b) {
        return "unknown";
    }
    double d = (b->value - a->value) * a->worse;
    if (b->value > a->value || b->value < a->value) {
        return d > 0 ? "worse" : d < 0 ? "better" : "differs";
    }
    return "same";
}

static enum wf_status set_figure(struct wf_json *o,
                                 const char *key,
                                 double value,
                                 struct wf_error *err)
{
    return isfinite(value) ? wf_json_set_f64(o, key, value, err)
                           : wf_json_set_null(o, key, err);
}

static enum wf_status add_figure(struct wf_json *list,
                                 const struct wf_isa_figure *a,
                                 const struct wf_isa_figure *b,
                                 struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "figure", a->name, err);
    st = st == WF_OK ? set_figure(o, "a", a->value, err) : st;
    st = st == WF_OK ? set_figure(o, "b", b->value, err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "verdict", verdict(a, b), err) : st;
    if (st == WF_OK) {
        return wf_json_push_take(list, o, err);
    }
    wf_json_free(o);
    return st;
}

static enum wf_status figures_of(struct place a,
                                 struct place b,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    struct wf_json *list = wf_json_array();
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < wf_isa_figure_names() && st == WF_OK; i++) {
        struct wf_isa_figure x = wf_isa_figure_at(a.report, a.kernel, i);
        struct wf_isa_figure y = wf_isa_figure_at(b.report, b.kernel, i);
        st = add_figure(list, &x, &y, err);
    }
    if (st == WF_OK) {
        *ret = list;
    } else {
        wf_json_free(list);
    }
    return st;
}

static enum wf_status add_pair(struct wf_json *pairs,
                               const char *name_a,
                               const char *name_b,
                               struct wf_json *figures,
                               struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "a", name_a, err);
    st = st == WF_OK ? wf_json_set_string(o, "b", name_b, err) : st;
    if (st == WF_OK && figures != NULL) {
        st = wf_json_set_take(o, "figures", figures, err);
    } else {
        wf_json_free(figures);
    }
    if (st == WF_OK) {
        return wf_json_push_take(pairs, o, err);
    }
    wf_json_free(o);
    return st;
}

/* --- all of them --- */

struct comparison {
    struct side a, b;
    struct wf_json *pairs; /* NULL: text */
    bool all;
};

static enum wf_status show_pair(const struct comparison *c,
                                size_t a,
                                size_t b,
                                struct wf_error *err)
{
    struct wf_json *figures = NULL;
    const char *name_a = name_at(&c->a, a);
    const char *name_b = name_at(&c->b, b);
    enum wf_status st =
        figures_of(place_at(&c->a, a), place_at(&c->b, b), &figures, err);
    if (st == WF_OK && c->pairs != NULL) {
        return add_pair(c->pairs, name_a, name_b, figures, err);
    }
    if (st == WF_OK) {
        struct wf_isa_pair pair = { name_a, name_b, figures };
        wf_print_isa_pair(&pair, c->all);
        wf_json_free(figures);
    }
    return st;
}

static enum wf_status show_single(const struct comparison *c,
                                  const char *name_a,
                                  const char *name_b,
                                  struct wf_error *err)
{
    if (c->pairs != NULL) {
        return add_pair(c->pairs, name_a, name_b, NULL, err);
    }
    const char *name = name_a != NULL ? name_a : name_b;
    wf_say("%s", name != NULL ? name : "");
    wf_say("only %s has it", name_a != NULL ? c->a.what : c->b.what);
    wf_say("%s", "");
    return WF_OK;
}

static enum wf_status show_all(const struct comparison *c, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    size_t other = 0;
    if (kernels_of(&c->a) == 1 && kernels_of(&c->b) == 1) {
        return show_pair(c, 0, 0, err);
    }
    for (size_t i = 0; i < kernels_of(&c->a) && st == WF_OK; i++) {
        st = find(&c->b, name_at(&c->a, i), &other)
                 ? show_pair(c, i, other, err)
                 : show_single(c, name_at(&c->a, i), NULL, err);
    }
    for (size_t i = 0; i < kernels_of(&c->b) && st == WF_OK; i++) {
        if (!find(&c->a, name_at(&c->b, i), &other)) {
            st = show_single(c, NULL, name_at(&c->b, i), err);
        }
    }
    return st;
}

static enum wf_status print_pairs(const struct comparison *c, struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    enum wf_status st = wf_json_set_string(o, "schema", "wavefarm.isa-compare/1", err);
    st = st == WF_OK ? wf_json_set_string(o, "a", c->a.what, err) : st;
    st = st == WF_OK ? wf_json_set_string(o, "b", c->b.what, err) : st;
    st = st == WF_OK ? wf_json_set_copy(o, "kernels", c->pairs, err) : st;
    st = st == WF_OK ? wf_print_json(o, err) : st;
    wf_json_free(o);
    return st;
}

enum wf_status wf_isa_compare(const char *a,
                              const char *b,
                              const struct wf_isa_options *options,
                              bool json,
                              bool all,
                              struct wf_error *err)
{
    struct comparison c = { .pairs = json ? wf_json_array() : NULL, .all = all };
    enum wf_status st = read_side(a, options, &c.a, err);
    st = st == WF_OK ? read_side(b, options, &c.b, err) : st;
    if (st == WF_OK && !json) {
        wf_say("A %s", a);
        wf_say("B %s", b);
        wf_say("%s", "");
    }
    st = st == WF_OK ? show_all(&c, err) : st;
    st = st == WF_OK && json ? print_pairs(&c, err) : st;
    free_side(&c.a);
    free_side(&c.b);
    wf_json_free(c.pairs);
    return st;
}
