#include "cli/bisect_search.h"

#include "cli/output.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/json.h"
#include "core/sha256.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what a gate said --- */

struct said {
    size_t cases, slower, wrong, good, undecided;
    bool cancelled, infrastructure, ended;
    char why[64];             /* of an undecided one */
    double effect, low, high; /* of the pair with the largest effect */
};

static void hear_pair(struct said *s, const struct wf_gate_figures *f)
{
    s->cases++;
    switch (f->verdict) {
    case WF_GATE_VERDICT_FAIL:
        s->wrong += f->reason == WF_GATE_REASON_WRONG;
        s->slower += f->reason != WF_GATE_REASON_WRONG;
        break;
    case WF_GATE_VERDICT_PASS:
    case WF_GATE_VERDICT_IMPROVED:
    case WF_GATE_VERDICT_UNCHANGED:
        s->good++;
        break;
    case WF_GATE_VERDICT_OPEN:
    case WF_GATE_VERDICT_INCONCLUSIVE:
    case WF_GATE_VERDICT_COUNT:
        s->undecided++;
        s->cancelled = s->cancelled || f->reason == WF_GATE_REASON_CANCELLED;
        s->infrastructure =
            s->infrastructure || wf_gate_reason_is_infrastructure(f->reason);
        snprintf(s->why, sizeof(s->why), "%s", wf_gate_reason_name(f->reason));
        break;
    }
    if (isnan(s->effect) || f->effect > s->effect) {
        s->effect = f->effect;
        s->low = f->low;
        s->high = f->high;
    }
}

static void hear(struct wf_gate_record *record, struct said *s)
{
    *s = (struct said){ .effect = NAN, .low = NAN, .high = NAN };
    for (size_t i = 0; i < wf_gate_record_line_count(record); i++) {
        const struct wf_json *line = wf_gate_record_line(record, i);
        const char *kind = wf_json_string(wf_json_find(line, "kind"));
        s->ended = s->ended || (kind != NULL && strcmp(kind, "verdict") == 0);
    }
    for (size_t i = 0; i < wf_gate_record_count(record); i++) {
        struct wf_gate_figures f;
        wf_gate_figures(wf_gate_record_gate(record), i, &f);
        if (f.role == WF_GATE_CASE) {
            hear_pair(s, &f);
        }
    }
}

/* What it means for the search. */
static enum wf_bisect_mark judge(const struct said *s, enum bisect_seek seek)
{
    if (seek == BISECT_WRONG) {
        return s->wrong > 0                        ? WF_BISECT_BAD
               : s->undecided > 0 || s->cases == 0 ? WF_BISECT_SKIP
                                                   : WF_BISECT_GOOD;
    }
    if (s->slower > 0) {
        return WF_BISECT_BAD;
    }
    return s->wrong > 0 || s->undecided > 0 || s->cases == 0 ? WF_BISECT_SKIP
                                                             : WF_BISECT_GOOD;
}

static void describe(const struct said *s, struct bisect_step *step)
{
    step->effect = s->effect;
    step->low = s->low;
    step->high = s->high;
    if (s->wrong > 0) {
        snprintf(step->verdict, sizeof(step->verdict), "FAIL wrong");
    } else if (s->slower > 0) {
        snprintf(step->verdict, sizeof(step->verdict), "FAIL slower");
    } else if (s->undecided > 0) {
        snprintf(step->verdict, sizeof(step->verdict), "INCONCLUSIVE %s", s->why);
    } else {
        snprintf(step->verdict, sizeof(step->verdict), "%s",
                 s->cases > 0 ? "PASS" : "no case");
    }
}

/* --- one gate --- */

/* What was asked is part of the name: another case's record in the same folder is none
 * of this search's. */
static char *record_file(const struct bisect_search *s, size_t pack, int attempt)
{
    char tail[16] = "", hash[WF_SHA256_HEX];
    const struct wf_gate_options *g = &s->options.gate;
    if (s->options.record == NULL) {
        return NULL;
    }
    char *asked = wf_asprintf(
        "%s\n%s\n%s\n%s\n%s\n%d%d\n%d", g->suite, g->cases != NULL ? g->cases : "*",
        s->options.kernel, g->device, g->policy != NULL ? g->policy : "",
        (int)g->no_sentinels, (int)g->measure.cold, g->max_blocks);
    if (asked == NULL) {
        return NULL;
    }
    wf_sha256_hex(asked, strlen(asked), hash);
    free(asked);
    if (attempt > 1) {
        snprintf(tail, sizeof(tail), "-%d", attempt);
    }
    return wf_asprintf("%s/%.12s-%.12s-%.8s%s%s.jsonl", s->options.record,
                       s->packs->pack[0].id, s->packs->pack[pack].id, hash,
                       s->seek == BISECT_WRONG ? "-answers" : "", tail);
}

static double alpha_of(const struct wf_gate_record *record)
{
    double alpha = 0;
    const struct wf_json *rule = wf_json_find(wf_gate_record_header(record), "rule");
    (void)wf_json_as_f64(wf_json_find(rule, "alpha"), &alpha);
    return alpha;
}

/* FAIL and PASS err at most as often each: an error either way misleads the search. */
static struct wf_gate_rule rule_for(double alpha)
{
    struct wf_gate_rule r = WF_GATE_PR_RULE;
    r.alpha = alpha;
    r.pass_least = fmax(r.pass_least, 1 / alpha);
    r.pass_least_spread = fmax(r.pass_least_spread, 1 / alpha);
    r.max_blocks *= 2; /* more evidence is asked for than of a pull request */
    return r;
}

static enum wf_status run_gate(struct bisect_search *s,
                               size_t pack,
                               double alpha,
                               const char *file,
                               bool resume,
                               struct wf_gate_record **ret,
                               struct wf_error *err)
{
    const struct wf_gate_rule rule = rule_for(alpha);
    struct wf_gate_options o = s->options.gate;
    o.base = s->packs->pack[0].path;
    o.cand = s->packs->pack[pack].path;
    o.kernels = s->options.kernel;
    o.rule = &rule;
    o.out = resume ? NULL : file;
    o.resume = resume ? file : NULL;
    o.answers_only = s->seek == BISECT_WRONG;
    o.no_sentinels = o.no_sentinels || o.answers_only;
    return wf_gate_run_local(&o, ret, err);
}

/* A record that is there is read; one that was cut short is gone on with; one that was
 * cancelled is left as it is, and the gate is run anew. */
static enum wf_status get_gate(struct bisect_search *s,
                               size_t pack,
                               struct bisect_step *step,
                               struct said *said,
                               struct wf_error *err)
{
    struct wf_gate_record *record = NULL;
    enum wf_status status = WF_OK;
    const double alpha = wf_bisect_step_alpha(s->options.alpha, s->planned, s->count);
    for (int attempt = 1;; attempt++) {
        bool torn = false;
        free(step->record);
        step->record = record_file(s, pack, attempt);
        if (s->options.record != NULL && step->record == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for a path");
        }
        if (step->record == NULL || !wf_file_exists(step->record)) {
            status = run_gate(s, pack, alpha, step->record, false, &record, err);
            break;
        }
        status = wf_gate_record_read(step->record, true, &record, &torn, err);
        if (status != WF_OK) {
            return status;
        }
        hear(record, said);
        step->resumed = said->ended;
        if (!said->ended) {
            wf_gate_record_free(record);
            record = NULL;
            status = run_gate(s, pack, alpha, step->record, true, &record, err);
            break;
        }
        if (!said->infrastructure) {
            break;
        }
        wf_gate_record_free(record);
        record = NULL;
    }
    if (record != NULL) {
        hear(record, said);
        step->alpha = alpha_of(record);
    }
    wf_gate_record_free(record);
    return status;
}

/* --- the search --- */

static enum wf_status add_step(struct bisect_search *s,
                               const struct bisect_step *step,
                               struct wf_error *err)
{
    struct bisect_step *grown = wf_realloc_array(s->step, s->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu steps", s->count + 1);
    }
    s->step = grown;
    s->step[s->count++] = *step;
    return WF_OK;
}

static void tell(const struct bisect_search *s, const struct bisect_step *step)
{
    char name[16], effect[48] = "";
    if (s->options.quiet) {
        return;
    }
    bisect_pack_short(&s->packs->pack[step->pack], name);
    if (isfinite(step->effect)) {
        snprintf(effect, sizeof(effect), " (%+.2f %%)", 100 * expm1(step->effect));
    }
    wf_say("%zu of about %zu: %s is %s: %s%s%s", s->count, s->planned, name,
           wf_bisect_mark_name(step->mark), step->verdict, effect,
           step->resumed ? ", from its record" : "");
    (void)fflush(stdout);
}

/* A gate that the machine failed says nothing of the pack: the search stops there and
 * can be taken up again. */
static enum wf_status take_step(struct bisect_search *s,
                                size_t pack,
                                struct wf_error *err)
{
    struct said said = { 0 };
    struct bisect_step step = { .pack = pack, .effect = NAN };
    enum wf_status status = get_gate(s, pack, &step, &said, err);
    if (status == WF_OK && said.infrastructure && said.slower + said.wrong == 0) {
        status = wf_errorf(err, WF_EDEVICE,
                           "the gate of pack %s ended without a verdict (%s)%s",
                           s->packs->pack[pack].path, said.why,
                           s->options.record != NULL
                               ? "; the same command goes on from the records"
                               : "; with --record the search could be taken up again");
    }
    if (status == WF_OK) {
        if (s->count == 0 && s->seek == BISECT_AUTO) {
            s->seek = said.wrong > 0 ? BISECT_WRONG : BISECT_SLOWER;
        }
        step.mark = judge(&said, s->seek);
        describe(&said, &step);
        status = add_step(s, &step, err);
    }
    if (status != WF_OK) {
        free(step.record);
        return status;
    }
    tell(s, &s->step[s->count - 1]);
    return WF_OK;
}

static bool same_code(const struct bisect_pack *a, const struct bisect_pack *b)
{
    return strcmp(a->id, b->id) == 0 ||
           (a->identity[0] != '\0' && strcmp(a->identity, b->identity) == 0);
}

/* Numbers of equal code, as far as the packs are here; those without the kernel are
 * alone. */
static enum wf_status make_rule(struct bisect_search *s, struct wf_error *err)
{
    const struct bisect_packs *p = s->packs;
    size_t *group = wf_calloc(p->count, sizeof(*group));
    if (group == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu packs", p->count);
    }
    for (size_t i = 0; i < p->count; i++) {
        group[i] = i;
        for (size_t k = i; k > 0; k--) {
            if (same_code(&p->pack[k - 1], &p->pack[i])) {
                group[i] = group[k - 1];
            }
        }
    }
    enum wf_status status = wf_bisect_create(group, p->count, &s->rule, err);
    for (size_t i = 0; i < p->count && status == WF_OK; i++) {
        if (p->pack[i].path != NULL && p->pack[i].identity[0] == '\0') {
            wf_bisect_learn(s->rule, i, WF_BISECT_SKIP);
        }
    }
    free(group);
    return status;
}

/* Gets the pack where it is not here yet. Its code may then turn out to be one that was
 * looked at, or to lack the kernel: no gate is needed, and *ret is what is known. */
static enum wf_status get_pack(struct bisect_search *s,
                               size_t at,
                               enum wf_bisect_mark *ret,
                               struct wf_error *err)
{
    struct bisect_pack *p = &s->packs->pack[at];
    *ret = WF_BISECT_UNKNOWN;
    if (p->path != NULL) {
        return WF_OK;
    }
    enum wf_status status = s->packs->get(s->packs->ctx, p, err);
    if (status == WF_OK && p->identity[0] == '\0') {
        *ret = WF_BISECT_SKIP;
    }
    for (size_t i = 0; i < s->packs->count && status == WF_OK; i++) {
        const bool open = *ret == WF_BISECT_UNKNOWN || *ret == WF_BISECT_SKIP;
        if (open && same_code(p, &s->packs->pack[i])) {
            const enum wf_bisect_mark mark = wf_bisect_mark_of(s->rule, i);
            *ret = mark != WF_BISECT_UNKNOWN ? mark : *ret;
        }
    }
    return status;
}

static enum wf_status search(struct bisect_search *s, struct wf_error *err)
{
    size_t next = 0;
    enum wf_bisect_mark mark = WF_BISECT_UNKNOWN;
    enum wf_status status = take_step(s, s->packs->count - 1, err);
    if (status != WF_OK) {
        return status;
    }
    s->ends_differ = s->step[0].mark == WF_BISECT_BAD;
    while (status == WF_OK && s->ends_differ && wf_bisect_next(s->rule, &next)) {
        status = get_pack(s, next, &mark, err);
        if (status == WF_OK && mark == WF_BISECT_UNKNOWN) {
            status = take_step(s, next, err);
            mark = status == WF_OK ? s->step[s->count - 1].mark : mark;
        }
        if (status == WF_OK) {
            wf_bisect_learn(s->rule, next, mark);
        }
    }
    return status;
}

enum wf_status bisect_search_run(struct bisect_packs *packs,
                                 const struct bisect_options *options,
                                 struct bisect_search *ret,
                                 struct wf_error *err)
{
    *ret = (struct bisect_search){ .packs = packs,
                                   .options = *options,
                                   .planned = wf_bisect_steps(packs->count),
                                   .seek = options->seek };
    enum wf_status status = make_rule(ret, err);
    if (status == WF_OK && options->record != NULL) {
        status = wf_mkdir_parents(options->record, err);
    }
    return status == WF_OK ? search(ret, err) : status;
}

void bisect_search_free(struct bisect_search *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->step[i].record);
    }
    free(s->step);
    wf_bisect_free(s->rule);
    memset(s, 0, sizeof(*s));
}

double bisect_search_error(const struct bisect_search *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        sum += s->step[i].alpha;
    }
    return sum;
}
