#include "selftest/tally.h"

#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum wf_status wf_tally_check(const char *name,
                              const char *case_text,
                              const struct wf_trial_outcome *o,
                              struct wf_error *err)
{
    if (o->status != WF_OK) {
        return wf_errorf(err, o->status, "%.80s on %.300s: the runner failed: %.300s",
                         name, case_text, o->text);
    }
    if (wf_trial_answer_is_void(o->answer)) {
        return wf_errorf(err, WF_EINTERNAL, "%.80s on %.300s did not run: %s: %.300s",
                         name, case_text, wf_answer_name(o->answer), o->text);
    }
    return WF_OK;
}

static bool counts(const struct wf_mutant *m, const struct wf_trial_outcome *o)
{
    if (m == NULL) {
        return o->answer != WF_ANSWER_PASS;
    }
    return m->caught[o->answer] ||
           (m->caught_implausible && o->time == WF_TIME_IMPLAUSIBLE);
}

static void note(struct wf_tally *t,
                 const char *case_name,
                 const struct wf_trial_outcome *o)
{
    const size_t used = strlen(t->what);
    (void)snprintf(t->what + used, sizeof(t->what) - used, "%s%s: %s%s%.200s",
                   used ? "; " : "", case_name, wf_answer_name(o->answer),
                   o->text[0] ? " " : "", o->text);
}

void wf_tally_add(struct wf_tally *t,
                  const struct wf_mutant *m,
                  const char *case_name,
                  const struct wf_trial_outcome *o)
{
    const bool counted = counts(m, o);
    t->trials++;
    t->counted += counted;
    if (!counted) {
        note(t, case_name, o);
    }
    for (size_t i = 0; m != NULL && i < m->says_count; i++) {
        t->said[i] = t->said[i] || strstr(o->text, m->says[i]) != NULL ||
                     strstr(o->diagnosis, m->says[i]) != NULL;
    }
    wf_tally_peers(t, o);
}

bool wf_tally_caught(const struct wf_tally *t, bool all)
{
    return t->trials > 0 && (all ? t->counted == t->trials : t->counted > 0);
}

bool wf_tally_needs_outputs(const struct wf_trial_outcome *o)
{
    return !o->peers_known &&
           (o->answer == WF_ANSWER_RACE || o->answer == WF_ANSWER_UNINITIALISED_READ ||
            o->answer == WF_ANSWER_OUT_OF_BOUNDS ||
            o->answer == WF_ANSWER_INPUT_MODIFIED);
}

static void add_peers(struct wf_tally *t, const struct wf_trial_outcome *o, bool by_all)
{
    for (int p = 0; p < WF_PEER_COUNT; p++) {
        t->peer[p] = t->peer[p] || by_all || (o->peers_known && o->peer_rejects[p]);
    }
}

/* Without outputs: the process or the device failed, which everybody sees. */
static bool ended_for_all(const struct wf_trial_outcome *o)
{
    return o->answer == WF_ANSWER_CRASH || o->answer == WF_ANSWER_DEVICE_FAULT ||
           o->answer == WF_ANSWER_TIMEOUT;
}

void wf_tally_peers(struct wf_tally *t, const struct wf_trial_outcome *o)
{
    add_peers(t, o, ended_for_all(o));
}

/* What is left of OUT_OF_BOUNDS then is no memory at all: a device's memory fault. */
void wf_tally_peers_unchecked(struct wf_tally *t, const struct wf_trial_outcome *o)
{
    add_peers(t, o,
              ended_for_all(o) ||
                  (o->answer == WF_ANSWER_OUT_OF_BOUNDS && !o->peers_known));
}

bool wf_tally_all_peers(const struct wf_tally *t)
{
    bool all = true;
    for (int p = 0; p < WF_PEER_COUNT; p++) {
        all = all && t->peer[p];
    }
    return all;
}

enum wf_status wf_list_add(char ***list,
                           size_t *count,
                           char *text,
                           struct wf_error *err)
{
    char **more =
        text != NULL ? wf_realloc_array(*list, *count + 1, sizeof(char *)) : NULL;
    if (more == NULL) {
        free(text);
        return wf_errorf(err, WF_ENOMEM, "no memory for a list");
    }
    *list = more;
    (*list)[(*count)++] = text;
    return WF_OK;
}

enum wf_status wf_group_add(struct wf_mutants_group *g,
                            const char *name,
                            const struct wf_tally *t,
                            bool caught,
                            struct wf_error *err)
{
    g->total++;
    g->caught += caught;
    for (int p = 0; p < WF_PEER_COUNT; p++) {
        g->peer_caught[p] += t->peer[p];
    }
    if (caught) {
        return WF_OK;
    }
    return wf_list_add(&g->survivor, &g->survivor_count,
                       wf_asprintf("%s (%s)", name, t->what), err);
}
