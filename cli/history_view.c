#include "cli/history_view.h"

#include "cli/output.h"
#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLOT_COLUMNS 60

static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

static const char *short_commit(const struct wf_history_point *p, char ret[32])
{
    if (p->commit[0] != '\0') {
        snprintf(ret, 32, "%.12s", p->commit);
    } else {
        snprintf(ret, 32, "pack %.12s", p->pack);
    }
    return ret;
}

/* --- text --- */

static void range_of(const struct wf_history_series *s, double *ret_lo, double *ret_hi)
{
    *ret_lo = *ret_hi = s->point[0].value;
    for (size_t i = 1; i < s->count; i++) {
        *ret_lo = fmin(*ret_lo, s->point[i].value);
        *ret_hi = fmax(*ret_hi, s->point[i].value);
    }
}

/* A row of bars; of many nights a bar is the mean of its share. */
static void print_plot(const struct wf_history_series *s)
{
    static const char *const bar[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    double lo, hi;
    const size_t columns = s->count < PLOT_COLUMNS ? s->count : PLOT_COLUMNS;
    range_of(s, &lo, &hi);
    printf("  %+.2f %% ", percent(lo));
    for (size_t c = 0; c < columns; c++) {
        const size_t from = c * s->count / columns;
        const size_t to = (c + 1) * s->count / columns;
        double sum = 0;
        for (size_t i = from; i < to; i++) {
            sum += s->point[i].value;
        }
        const double part =
            hi > lo ? (sum / (double)(to - from) - lo) / (hi - lo) : 0.5;
        printf("%s", bar[(size_t)fmin(7, 8 * fmax(part, 0))]);
    }
    printf(" %+.2f %%", percent(hi));
    if (isnan(s->change.noise)) {
        printf("; fewer than %u values: no change point is looked for\n",
               WF_CHANGE_MIN_VALUES);
    } else {
        printf("; noise %.2f %%\n", 100 * s->change.noise);
    }
}

static const struct history_proposal *proposal_of(const struct history_view *v,
                                                  const struct wf_change_point *p)
{
    for (size_t i = 0; i < v->proposals; i++) {
        if (v->proposal[i].change == p) {
            return &v->proposal[i];
        }
    }
    return NULL;
}

static void print_proposal(const struct history_proposal *p)
{
    if (p->outcome == HISTORY_NO_GATE) {
        wf_say("      no gate: %s", p->why);
    } else if (p->outcome != HISTORY_UNTOLD) {
        wf_say("      %s: the gate of the two packs says %s, %+.2f %%",
               history_outcome_name(p->outcome), p->verdict, percent(p->effect));
    }
}

static void print_change(const struct history_view *v,
                         const struct wf_history_series *s,
                         const struct wf_change_point *p)
{
    char before[32], after[32];
    const struct wf_history_point *last = &s->point[p->before_index];
    const struct wf_history_point *first = &s->point[p->index];
    const struct history_proposal *proposal = proposal_of(v, p);
    wf_say("  %s %+.2f %% (standard error %.2f %%) between %s (%.10s) and %s (%.10s)%s",
           p->size > 0 ? "slower" : "faster", percent(p->size), 100 * p->noise,
           short_commit(last, before), last->at, short_commit(first, after), first->at,
           p->is_new ? ": NEW" : "");
    for (size_t i = p->before_index + 1; i <= p->index; i++) {
        if (wf_history_driver_changed(s, i)) {
            wf_say("      the driver changed here, too: %s after %s",
                   s->point[i].driver, s->point[i - 1].driver);
        }
    }
    if (strcmp(last->pack, first->pack) == 0) {
        wf_say("      both nights have the same pack: the change is not in the code");
    }
    if (proposal != NULL) {
        print_proposal(proposal);
    }
}

static void print_series(const struct history_view *v,
                         const struct wf_history_series *s)
{
    wf_say("%s  %s  against pack %.12s, %zu nights, %.10s .. %.10s", s->key,
           s->model[0] != '\0' ? s->model : "(model not known)", s->base, s->count,
           s->point[0].at, s->point[s->count - 1].at);
    print_plot(s);
    for (size_t k = 0; k < s->change.count; k++) {
        print_change(v, s, &s->change.point[k]);
    }
}

static void print_end(const struct history_view *v, size_t quiet)
{
    const struct wf_history *h = v->history;
    if (quiet > 0) {
        printf("%zu series without a change point are not shown (--all)\n", quiet);
    }
    printf("%zu series, %zu new change points", h->count, v->proposals);
    if (h->unchanged > 0) {
        printf("; %zu values are missing because pack and base were the same code",
               h->unchanged);
    }
    if (h->left_out > 0) {
        printf("; %zu because there was no time to use", h->left_out);
    }
    if (h->repeated > 0) {
        printf("; %zu were there more than once (copies of a record), counted once",
               h->repeated);
    }
    printf("\n");
    if (v->proposals > 0 && isnan(v->alpha)) {
        printf(
            "A new point is a proposal, without an error rate: --confirm runs a gate "
            "of the packs before and after it.\n");
    } else if (v->proposals > 0) {
        printf("Confirmed at a false discovery rate of at most %g over the %zu "
               "proposals.\n",
               v->alpha, v->proposals);
    }
}

void history_print_text(const struct history_view *v)
{
    size_t quiet = 0;
    for (size_t i = 0; i < v->history->count; i++) {
        const struct wf_history_series *s = &v->history->series[i];
        if (v->changed_only && s->change.count == 0) {
            quiet++;
        } else {
            print_series(v, s);
        }
    }
    print_end(v, quiet);
}

/* --- JSON --- */

/* Where a number is not finite it is null. */
static bool put_number(struct wf_json *o,
                       const char *key,
                       double v,
                       struct wf_error *err)
{
    return (isfinite(v) ? wf_json_set_f64(o, key, v, err)
                        : wf_json_set_null(o, key, err)) == WF_OK;
}

/* "" is null. */
static bool put_text(struct wf_json *o,
                     const char *key,
                     const char *s,
                     struct wf_error *err)
{
    return wf_json_set_string(o, key, s[0] != '\0' ? s : NULL, err) == WF_OK;
}

static struct wf_json *point_json(const struct wf_history_series *s,
                                  size_t i,
                                  struct wf_error *err)
{
    const struct wf_history_point *p = &s->point[i];
    struct wf_json *o = wf_json_object();
    if (!put_text(o, "at", p->at, err) || !put_number(o, "value", p->value, err) ||
        !put_number(o, "low", p->low, err) || !put_number(o, "high", p->high, err) ||
        !put_text(o, "pack", p->pack, err) || !put_text(o, "commit", p->commit, err) ||
        !put_text(o, "gate", p->gate, err) || !put_text(o, "driver", p->driver, err) ||
        wf_json_set_bool(o, "driver_changed", wf_history_driver_changed(s, i), err) !=
            WF_OK) {
        wf_json_free(o);
        return NULL;
    }
    return o;
}

static struct wf_json *proposal_json(const struct history_proposal *p,
                                     struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    if (!put_text(o, "outcome", history_outcome_name(p->outcome), err) ||
        !put_text(o, "gate_verdict", p->verdict, err) ||
        !put_text(o, "why", p->why, err) || !put_number(o, "effect", p->effect, err) ||
        !put_number(o, "log_e", p->outcome != HISTORY_UNTOLD ? p->log_e : NAN, err)) {
        wf_json_free(o);
        return NULL;
    }
    return o;
}

static struct wf_json *change_json(const struct history_view *v,
                                   const struct wf_history_series *s,
                                   const struct wf_change_point *p,
                                   struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    const struct history_proposal *proposal = proposal_of(v, p);
    bool good =
        wf_json_set_u64(o, "index", p->index, err) == WF_OK &&
        put_number(o, "before", p->before, err) &&
        put_number(o, "after", p->after, err) && put_number(o, "size", p->size, err) &&
        put_number(o, "standard_error", p->noise, err) &&
        wf_json_set_bool(o, "new", p->is_new, err) == WF_OK &&
        wf_json_set_take(o, "last_before", point_json(s, p->before_index, err), err) ==
            WF_OK &&
        wf_json_set_take(o, "first_after", point_json(s, p->index, err), err) == WF_OK;
    if (good && proposal != NULL) {
        good =
            wf_json_set_take(o, "proposal", proposal_json(proposal, err), err) == WF_OK;
    }
    if (!good) {
        wf_json_free(o);
        return NULL;
    }
    return o;
}

static struct wf_json *series_json(const struct history_view *v,
                                   const struct wf_history_series *s,
                                   struct wf_error *err)
{
    struct wf_json *o = wf_json_object();
    struct wf_json *points = wf_json_array();
    struct wf_json *changes = wf_json_array();
    bool good =
        put_text(o, "key", s->key, err) && put_text(o, "case", s->case_name, err) &&
        put_text(o, "kernel", s->kernel, err) && put_text(o, "model", s->model, err) &&
        put_text(o, "base", s->base, err) &&
        put_number(o, "noise", s->change.noise, err);
    for (size_t i = 0; i < s->count && good; i++) {
        good = wf_json_push_take(points, point_json(s, i, err), err) == WF_OK;
    }
    for (size_t k = 0; k < s->change.count && good; k++) {
        good = wf_json_push_take(changes, change_json(v, s, &s->change.point[k], err),
                                 err) == WF_OK;
    }
    good = wf_json_set_take(o, "points", points, err) == WF_OK && good;
    good = wf_json_set_take(o, "changes", changes, err) == WF_OK && good;
    if (!good) {
        wf_json_free(o);
        return NULL;
    }
    return o;
}

enum wf_status history_print_json(const struct history_view *v, struct wf_error *err)
{
    const struct wf_history *h = v->history;
    struct wf_json *o = wf_json_object();
    struct wf_json *list = wf_json_array();
    bool good = put_text(o, "schema", "wavefarm.history/1", err) &&
                wf_json_set_u64(o, "proposals", v->proposals, err) == WF_OK &&
                wf_json_set_u64(o, "unchanged", h->unchanged, err) == WF_OK &&
                wf_json_set_u64(o, "repeated", h->repeated, err) == WF_OK &&
                wf_json_set_u64(o, "left_out", h->left_out, err) == WF_OK;
    for (size_t i = 0; i < h->count && good; i++) {
        good =
            wf_json_push_take(list, series_json(v, &h->series[i], err), err) == WF_OK;
    }
    good = wf_json_set_take(o, "series", list, err) == WF_OK && good;
    enum wf_status status =
        good ? wf_print_json(o, err) : wf_errorf(err, WF_ENOMEM, "no memory for JSON");
    wf_json_free(o);
    return status;
}
