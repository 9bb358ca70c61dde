/* Choosing a kernel for a case. */
#include "tune/selection_internal.h"

#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *wf_selection_way_name(enum wf_selection_way w)
{
    static const char *const names[] = {
#define X(name, text) text,
        WF_SELECTION_WAYS(X)
#undef X
    };
    return (unsigned)w < WF_SELECTION_WAY_COUNT ? names[w] : "";
}

enum wf_status wf_tune_problem_of(const struct wf_plan *plan,
                                  double k,
                                  double bytes,
                                  double cu_count,
                                  struct wf_tune_problem *ret,
                                  struct wf_error *err)
{
    const double split = plan->split > 0 ? (double)plan->split : 1;
    if (plan->launch_count > WF_TUNE_LAUNCHES) {
        return wf_errorf(err, WF_ERANGE, "more than %d launches", WF_TUNE_LAUNCHES);
    }
    *ret = (struct wf_tune_problem){ .launches = plan->launch_count,
                                     .length = k / split,
                                     .split = split,
                                     .bytes = bytes,
                                     .cu_count = cu_count };
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct wf_plan_launch *l = &plan->launch[i];
        ret->symbol[i] = l->symbol;
        ret->workgroups[i] = (double)l->grid[0] * l->grid[1] * l->grid[2];
    }
    return WF_OK;
}

struct choosing {
    const struct wf_selection *s;
    const struct wf_selection_case *c;
    const struct wf_pack_kernel *const *offered;
    size_t count;
    char reason[256]; /* of the last kernel that was passed over */
};

static size_t offered_as(const struct choosing *ch, const char *name)
{
    size_t i = 0;
    while (i < ch->count && strcmp(ch->offered[i]->name, name) != 0) {
        i++;
    }
    return i;
}

/* *ret_plan NULL: it does not do the case, and `reason` says why. */
static enum wf_status plan_of(struct choosing *ch,
                              size_t kernel,
                              struct wf_plan **ret_plan,
                              struct wf_error *err)
{
    struct wf_error why = { 0 };
    *ret_plan = NULL;
    const enum wf_status st =
        wf_plan_create(ch->offered[kernel], ch->c->tensor, ch->c->tensor_count,
                       ch->c->arch, ch->c->scope, ret_plan, &why);
    if (st == WF_ENOMEM) {
        return wf_errorf(err, st, "%s", why.text);
    }
    if (st != WF_OK) {
        (void)snprintf(ch->reason, sizeof(ch->reason), "%.255s", why.text);
    }
    return WF_OK;
}

static enum wf_status does(struct choosing *ch,
                           const char *name,
                           size_t *ret,
                           struct wf_error *err)
{
    struct wf_plan *plan = NULL;
    const size_t at = offered_as(ch, name);
    *ret = ch->count;
    if (at == ch->count) {
        (void)snprintf(ch->reason, sizeof(ch->reason), "no pack has the kernel %.200s",
                       name);
        return WF_OK;
    }
    const enum wf_status st = plan_of(ch, at, &plan, err);
    if (plan != NULL) {
        *ret = at;
    }
    wf_plan_free(plan);
    return st;
}

/* --- row --- */

static enum wf_status by_row(struct choosing *ch,
                             struct wf_selection_choice *ret,
                             struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < ch->s->row_count && st == WF_OK; i++) {
        const struct selection_row *r = &ch->s->row[i];
        if (!selection_same_case(r->problem, ch->c->json)) {
            continue;
        }
        st = does(ch, r->kernel, &ret->kernel, err);
        if (st == WF_OK && ret->kernel < ch->count) {
            ret->way = WF_SELECTION_ROW;
            (void)snprintf(ret->why, sizeof(ret->why), "the table's row %.200s",
                           r->name);
        } else if (st == WF_OK) {
            (void)snprintf(ret->passed, sizeof(ret->passed),
                           "the table's row %.100s is passed over: %.100s: %.255s",
                           r->name, r->kernel, ch->reason);
        }
        break;
    }
    return st;
}

static const char *no_row(const struct wf_selection_choice *c)
{
    return c->passed[0] != '\0' ? "the row's kernel is passed over" : "no row";
}

/* --- model --- */

static enum wf_status cycles_of(struct choosing *ch,
                                const struct selection_kernel *k,
                                double *ret,
                                size_t *ret_kernel,
                                struct wf_error *err)
{
    struct wf_plan *plan = NULL;
    struct wf_tune_problem p;
    const size_t at = offered_as(ch, k->name);
    *ret = (double)NAN;
    *ret_kernel = at;
    if (at == ch->count || k->model_count == 0) {
        return WF_OK;
    }
    enum wf_status st = plan_of(ch, at, &plan, err);
    if (st == WF_OK && plan != NULL &&
        wf_tune_problem_of(plan, ch->c->length, ch->c->bytes, ch->c->cu_count, &p,
                           NULL) == WF_OK) {
        for (size_t i = 0; i < k->model_count && isnan(*ret); i++) {
            *ret = wf_tune_cycles(&k->model[i], &p);
        }
    }
    wf_plan_free(plan);
    return st;
}

static enum wf_status by_model(struct choosing *ch,
                               struct wf_selection_choice *ret,
                               struct wf_error *err)
{
    enum wf_status st = WF_OK;
    double best = (double)INFINITY;
    for (size_t i = 0; i < ch->s->kernel_count && st == WF_OK; i++) {
        double cycles = 0;
        size_t kernel = ch->count;
        st = cycles_of(ch, &ch->s->kernel[i], &cycles, &kernel, err);
        if (st == WF_OK && cycles < best * (1 - WF_SELECTION_MARGIN)) {
            best = cycles;
            ret->kernel = kernel;
            ret->cycles = cycles;
            ret->way = WF_SELECTION_MODEL;
            (void)snprintf(ret->why, sizeof(ret->why),
                           "%s; the least modelled cycles: %.0f", no_row(ret), cycles);
        }
    }
    return st;
}

/* --- nearest --- */

static double size_of(const struct wf_json *c, const char *key)
{
    double v = 1;
    const struct wf_json *m = wf_json_find(c, key);
    if (m != NULL) {
        (void)wf_json_as_f64(m, &v);
    }
    return v > 1 ? v : 1;
}

static double distance(const struct wf_json *a, const struct wf_json *b)
{
    static const char *const sizes[] = { "M", "N", "K", "batch" };
    double d = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        d += fabs(log2(size_of(a, sizes[i]) / size_of(b, sizes[i])));
    }
    return d;
}

static enum wf_status by_nearest(struct choosing *ch,
                                 struct wf_selection_choice *ret,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    double best = (double)INFINITY;
    for (size_t i = 0; i < ch->s->row_count && st == WF_OK; i++) {
        const struct selection_row *r = &ch->s->row[i];
        size_t kernel = ch->count;
        const double d = selection_same_class(r->problem, ch->c->json)
                             ? distance(r->problem, ch->c->json)
                             : (double)INFINITY;
        if (d < best) {
            st = does(ch, r->kernel, &kernel, err);
        }
        if (st == WF_OK && kernel < ch->count) {
            best = d;
            ret->kernel = kernel;
            ret->way = WF_SELECTION_NEAREST;
            (void)snprintf(ret->why, sizeof(ret->why),
                           "%s and no model; the nearest row is %.200s", no_row(ret),
                           r->name);
        }
    }
    return st;
}

enum wf_status wf_selection_choose(const struct wf_selection *s,
                                   const struct wf_selection_case *c,
                                   const struct wf_pack_kernel *const *offered,
                                   size_t count,
                                   struct wf_selection_choice *ret,
                                   struct wf_error *err)
{
    struct choosing ch = { .s = s, .c = c, .offered = offered, .count = count };
    *ret = (struct wf_selection_choice){ .kernel = count,
                                         .way = WF_SELECTION_NONE,
                                         .cycles = (double)NAN };
    enum wf_status st = by_row(&ch, ret, err);
    st = st == WF_OK && ret->kernel == count ? by_model(&ch, ret, err) : st;
    st = st == WF_OK && ret->kernel == count ? by_nearest(&ch, ret, err) : st;
    if (st == WF_OK && ret->kernel == count) {
        (void)snprintf(ret->why, sizeof(ret->why),
                       "none of the selection's %zu kernels does this case%s%.255s",
                       s->kernel_count, ch.reason[0] != '\0' ? ": " : "", ch.reason);
    }
    return st;
}
