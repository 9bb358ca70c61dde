/* What is known of how the base relates to the candidate: a comparison with a stale or
 * unrelated base says nothing about a change. From the header's member "baseline",
 * which was worked out where git was at hand, else from the packs' provenance alone. */
#include "gate/baseline.h"

#include "gate/report_internal.h"

#include <stdio.h>
#include <string.h>

static const char *const lineage_names[] = {
#define X(name, text, words) text,
    WF_GATE_LINEAGES(X)
#undef X
};
static const char *const lineage_words[] = {
#define X(name, text, words) words,
    WF_GATE_LINEAGES(X)
#undef X
};

const char *wf_gate_lineage_name(enum wf_gate_lineage l)
{
    return lineage_names[l];
}

const char *wf_gate_lineage_words(enum wf_gate_lineage l)
{
    return lineage_words[l];
}

bool wf_gate_lineage_parse(const char *text, enum wf_gate_lineage *ret)
{
    for (int i = 0; i < WF_GATE_LINEAGE_COUNT; i++) {
        if (strcmp(text, lineage_names[i]) == 0) {
            *ret = (enum wf_gate_lineage)i;
            return true;
        }
    }
    return false;
}

static bool is_parent(const struct wf_json *cand, const char *commit)
{
    const struct wf_json *parents = wf_json_find(cand, "parents");
    if (parents == NULL || wf_json_type(parents) != WF_JSON_ARRAY) {
        return false;
    }
    for (const struct wf_json *p = wf_json_first(parents); p != NULL;
         p = wf_json_next(p)) {
        const char *s = wf_json_string(p);
        if (s != NULL && strcmp(s, commit) == 0) {
            return true;
        }
    }
    return false;
}

enum wf_gate_lineage wf_gate_lineage_of(const struct wf_json *base,
                                        const struct wf_json *cand)
{
    const char *b = report_text(base, "commit");
    const char *c = report_text(cand, "commit");
    if (b[0] == '\0' || c[0] == '\0' || strspn(b, "0") == strlen(b)) {
        return WF_GATE_LINEAGE_UNKNOWN;
    }
    if (strcmp(b, c) == 0) {
        return WF_GATE_LINEAGE_SAME;
    }
    return is_parent(cand, b) ? WF_GATE_LINEAGE_PARENT : WF_GATE_LINEAGE_UNPROVEN;
}

static const struct wf_json *provenance(const struct wf_gate_report *r, const char *arm)
{
    return report_object(report_object(report_object(r->header, "packs"), arm),
                         "provenance");
}

static void add(char *ret, size_t n, const char *text)
{
    const size_t used = strlen(ret);
    (void)snprintf(ret + used, n - used, "%s", text);
}

static void add_age(struct wf_gate_report *r, const struct wf_json *baseline)
{
    char text[96];
    const double days = report_number(baseline, "age_days");
    const double behind = report_number(baseline, "commits_between");
    if (days >= 0) {
        (void)snprintf(text, sizeof text, ", %.0f days old", days);
        add(r->baseline, sizeof(r->baseline), text);
    }
    if (behind >= 0) {
        (void)snprintf(text, sizeof text, ", %.0f commits apart", behind);
        add(r->baseline, sizeof(r->baseline), text);
    }
}

void report_baseline(struct wf_gate_report *r)
{
    const struct wf_json *base = provenance(r, "base");
    const struct wf_json *cand = provenance(r, "candidate");
    const struct wf_json *known = report_object(r->header, "baseline");
    enum wf_gate_lineage l = wf_gate_lineage_of(base, cand);
    (void)wf_gate_lineage_parse(report_text(known, "lineage"), &l);
    const char *commit = report_text(base, "commit");
    (void)snprintf(r->baseline, sizeof(r->baseline), "base %.12s%s: %s", commit,
                   commit[0] != '\0' ? "" : "of no known commit",
                   wf_gate_lineage_words(l));
    const char *fork = report_text(known, "fork_point");
    if (l == WF_GATE_LINEAGE_NOT_ANCESTOR && fork[0] != '\0') {
        char text[96];
        (void)snprintf(text, sizeof text, " (%.12s is)", fork);
        add(r->baseline, sizeof(r->baseline), text);
    }
    if (l != WF_GATE_LINEAGE_SAME) {
        add_age(r, known);
    }
    if (report_flag(base, "dirty", false)) {
        add(r->baseline, sizeof(r->baseline), "; its tree was not clean");
    }
    if (report_flag(cand, "dirty", false)) {
        add(r->baseline, sizeof(r->baseline), "; the candidate's tree was not clean");
    }
}
