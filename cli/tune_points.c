/* Step 1: which versions a case may have at all, by the space's conditions, or of the
 * packs' kernels by their `supports`. */
#include "cli/tune.h"
#include "core/buf.h"
#include "core/parse.h"
#include "core/rng.h"
#include "core/sha256.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- lists --- */

/* NULL: no memory. */
static struct tune_point *new_point(struct tune *t, struct wf_error *err)
{
    if (t->point_count == t->point_room) {
        const size_t room = t->point_room == 0 ? 64 : 2 * t->point_room;
        struct tune_point *grown = wf_realloc_array(t->point, room, sizeof(*grown));
        if (grown == NULL) {
            (void)wf_errorf(err, WF_ENOMEM, "no memory for %zu points", room);
            return NULL;
        }
        t->point = grown;
        t->point_room = room;
    }
    struct tune_point *p = &t->point[t->point_count++];
    memset(p, 0, sizeof(*p));
    return p;
}

static enum wf_status new_entry(struct tune_case *c,
                                size_t point,
                                struct tune_entry **ret,
                                struct wf_error *err)
{
    if (c->count == c->room) {
        const size_t room = c->room == 0 ? 64 : 2 * c->room;
        struct tune_entry *grown = wf_realloc_array(c->entry, room, sizeof(*grown));
        if (grown == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for %zu points", room);
        }
        c->entry = grown;
        c->room = room;
    }
    *ret = &c->entry[c->count++];
    **ret = (struct tune_entry){ .point = point,
                                 .cycles = (double)NAN,
                                 .fill = (double)NAN,
                                 .time_ns = (double)NAN };
    return WF_OK;
}

/* --- cases --- */

static bool wanted(const struct tune *t, size_t i)
{
    return strcmp(wf_case_op_name(wf_suite_case(t->suite, i)), t->o.op) == 0 &&
           (t->o.cases == NULL ||
            wf_glob_match(t->o.cases, wf_suite_case_name(t->suite, i)));
}

static enum wf_status open_case(struct tune *t, size_t i, struct wf_error *err)
{
    struct tune_case *c = &t->cases[t->case_count];
    const char *text = wf_case_canonical(wf_suite_case(t->suite, i));
    *c = (struct tune_case){ .index = i,
                             .c = wf_suite_case(t->suite, i),
                             .winner = TUNE_NONE,
                             .gates = wf_json_array() };
    t->case_count++;
    enum wf_status st = wf_json_parse(text, strlen(text), "case", &c->json, err);
    return st == WF_OK ? case_plan_init(&c->plan, c->c, &t->device, err) : st;
}

static enum wf_status open_cases(struct tune *t, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    t->cases = wf_calloc(wf_suite_count(t->suite) + 1, sizeof(*t->cases));
    if (t->cases == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for cases");
    }
    for (size_t i = 0; i < wf_suite_count(t->suite) && st == WF_OK; i++) {
        st = wanted(t, i) ? open_case(t, i, err) : WF_OK;
    }
    if (st == WF_OK && t->case_count == 0) {
        st = wf_errorf(err, WF_ENOTFOUND, "suite '%s' has no case of op %s%s%s%s",
                       wf_suite_name(t->suite), t->o.op,
                       t->o.cases != NULL ? " whose name matches '" : "",
                       t->o.cases != NULL ? t->o.cases : "",
                       t->o.cases != NULL ? "'" : "");
    }
    return st;
}

/* --- the packs' own kernels --- */

static enum wf_status own_knobs(struct tune_point *p, struct wf_error *err)
{
    p->knobs = wf_json_object();
    enum wf_status st =
        p->knobs != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for knobs");
    for (size_t i = 0; i < p->k->knob_count && st == WF_OK; i++) {
        int64_t v = 0;
        if (wf_parse_i64(wf_expr_text(p->k->knob[i].value), "", INT64_MIN, INT64_MAX,
                         &v, NULL) == WF_OK) {
            st = wf_json_set_i64(p->knobs, p->k->knob[i].name, v, err);
        }
    }
    return st;
}

static enum wf_status add_own(struct tune *t,
                              const struct wf_kernel_choice *k,
                              struct wf_error *err)
{
    char key[256], hash[WF_SHA256_HEX];
    struct tune_point *p = new_point(t, err);
    if (p == NULL) {
        return WF_ENOMEM;
    }
    (void)snprintf(key, sizeof(key), "%s/%s", wf_pack_id(k->pack), k->kernel->name);
    wf_sha256_hex(key, strlen(key), hash);
    (void)snprintf(p->id, sizeof(p->id), "%.12s", hash);
    (void)snprintf(p->kernel, sizeof(p->kernel), "%s", k->kernel->name);
    p->pack = k->pack;
    p->k = k->kernel;
    p->rank = (unsigned)t->point_count - 1;
    return own_knobs(p, err);
}

/* What is there already, in its order: the first that does the case is its incumbent.
 */
static enum wf_status offer_own(struct tune *t,
                                struct tune_case *c,
                                struct wf_error *err)
{
    enum wf_status st = WF_OK;
    bool any = false;
    for (size_t i = 0; i < t->point_count && st == WF_OK; i++) {
        struct tune_entry *e = NULL;
        struct wf_plan *plan = NULL;
        char why[400];
        st = new_entry(c, i, &e, err);
        st = st == WF_OK
                 ? case_plan_make(&c->plan, t->point[i].k, &plan, why, sizeof(why), err)
                 : st;
        if (st == WF_OK && plan == NULL) {
            char text[480];
            (void)snprintf(text, sizeof(text), "not supported: %s", why);
            st = tune_drop_entry(t, e, text, err);
        } else if (st == WF_OK) {
            e->incumbent = !any;
            any = true;
        }
        wf_plan_free(plan);
    }
    return st;
}

static enum wf_status points_of_packs(struct tune *t, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < t->kernels.count && st == WF_OK; i++) {
        const struct wf_pack_kernel *k = t->kernels.choice[i].kernel;
        if (strcmp(k->op, t->o.op) == 0 && wf_kernel_fits_arch(k, t->device.arch)) {
            st = add_own(t, &t->kernels.choice[i], err);
        }
    }
    if (st == WF_OK && t->point_count == 0) {
        st = wf_errorf(err, WF_ENOTFOUND,
                       "no kernel for %s among the packs' does %s; 'wavefarm list "
                       "kernels' shows them, --space FILE names a knob space",
                       t->device.arch, t->o.op);
    }
    for (size_t c = 0; c < t->case_count && st == WF_OK; c++) {
        st = offer_own(t, &t->cases[c], err);
    }
    return st;
}

/* --- a space --- */

static enum wf_status point_of(struct tune *t,
                               size_t base,
                               uint64_t number,
                               size_t *ret,
                               struct wf_error *err)
{
    for (size_t i = 0; i < t->point_count; i++) {
        if (t->point[i].base == base && t->point[i].number == number) {
            *ret = i;
            return WF_OK;
        }
    }
    struct tune_point *p = new_point(t, err);
    if (p == NULL) {
        return WF_ENOMEM;
    }
    *ret = t->point_count - 1;
    p->base = base;
    p->number = number;
    p->rank = wf_space_rank(t->space, number);
    wf_space_point_id(t->space, base, number, p->id);
    (void)snprintf(p->kernel, sizeof(p->kernel), "%.48s_t%s",
                   wf_space_base(t->space, base), p->id);
    return wf_space_point_json(t->space, number, &p->knobs, err);
}

/* The numbers of the points that a case allows. */
struct allowed {
    uint64_t *number;
    size_t count, room;
};

static enum wf_status push(struct allowed *a, uint64_t number, struct wf_error *err)
{
    if (a->count == a->room) {
        const size_t room = a->room == 0 ? 256 : 2 * a->room;
        uint64_t *grown = wf_realloc_array(a->number, room, sizeof(*grown));
        if (grown == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for %zu points", room);
        }
        a->number = grown;
        a->room = room;
    }
    a->number[a->count++] = number;
    return WF_OK;
}

static void count_condition(struct tune *t, const char *why)
{
    struct tune_step *s = &t->step[t->step_count - 1];
    for (size_t i = 0; i < s->drop_count; i++) {
        if (strcmp(s->drop[i].why, why) == 0) {
            s->drop[i].count++;
            return;
        }
    }
    if (s->drop_count < sizeof(s->drop) / sizeof(s->drop[0])) {
        (void)snprintf(s->drop[s->drop_count].why, sizeof(s->drop[0].why), "%s", why);
        s->drop[s->drop_count++].count = 1;
    }
}

static enum wf_status allow(struct tune *t,
                            struct tune_case *c,
                            size_t base,
                            struct allowed *ret,
                            struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (uint64_t n = 0; n < wf_space_count(t->space) && st == WF_OK; n++) {
        bool good = false;
        const char *why = "";
        st = wf_space_allows(t->space, base, n, &c->plan.scope, &good, &why, err);
        if (st == WF_OK && good) {
            st = push(ret, n, err);
        } else if (st == WF_OK) {
            count_condition(t, why);
        }
    }
    return st;
}

/* Which of them are searched: all, or a drawn part with the incumbent and the point
 * nearest to recorded facts. The draw depends on seed, base and point alone, so cases
 * of one base look at the same points. */
static bool is_drawn(const struct tune *t, size_t base, uint64_t number, size_t allowed)
{
    return t->o.points == 0 || allowed <= (size_t)t->o.points ||
           wf_rng_uniform(t->o.seed, base, number) * (double)allowed <
               (double)t->o.points;
}

static enum wf_status take_points(struct tune *t,
                                  struct tune_case *c,
                                  size_t base,
                                  const struct allowed *a,
                                  struct wf_error *err)
{
    const uint64_t incumbent = wf_space_incumbent(t->space, base);
    uint64_t start = incumbent;
    enum wf_status st = WF_OK;
    const bool has_start = wf_space_nearest(
        t->space, base, wf_suite_case_known_best(t->suite, c->index), &start);
    for (size_t i = 0; i < a->count && st == WF_OK; i++) {
        const uint64_t n = a->number[i];
        struct tune_entry *e = NULL;
        size_t point = 0;
        const bool named = n == incumbent || (has_start && n == start);
        if (!named && !is_drawn(t, base, n, a->count)) {
            count_condition(t, "not drawn (--points)");
            continue;
        }
        st = point_of(t, base, n, &point, err);
        st = st == WF_OK ? new_entry(c, point, &e, err) : st;
        if (st == WF_OK) {
            e->incumbent = n == incumbent;
            e->start = has_start && n == start;
            t->point[point].start = t->point[point].start || named;
        }
    }
    return st;
}

static enum wf_status offer_space(struct tune *t,
                                  struct tune_case *c,
                                  struct wf_error *err)
{
    bool found = false;
    size_t base = 0;
    struct allowed a = { 0 };
    enum wf_status st = wf_space_base_of(t->space, &c->plan.scope, &found, &base, err);
    if (st == WF_OK && !found) {
        (void)snprintf(c->why, sizeof(c->why), "the space has no base for this case");
        return WF_OK;
    }
    t->step[t->step_count - 1].before += (size_t)wf_space_count(t->space);
    st = st == WF_OK ? allow(t, c, base, &a, err) : st;
    st = st == WF_OK ? take_points(t, c, base, &a, err) : st;
    free(a.number);
    return st;
}

enum wf_status tune_points(struct tune *t, struct wf_error *err)
{
    enum wf_status st = open_cases(t, err);
    tune_step_begin(t, "conditions");
    if (st == WF_OK && t->space == NULL) {
        st = points_of_packs(t, err);
        t->step[0].before = t->point_count * t->case_count;
    }
    for (size_t c = 0; t->space != NULL && c < t->case_count && st == WF_OK; c++) {
        bool over = false;
        st = offer_space(t, &t->cases[c], err);
        st = st == WF_OK ? tune_check_time(t, &over, err) : st;
    }
    if (st == WF_OK) {
        tune_step_end(t);
    }
    return st;
}
