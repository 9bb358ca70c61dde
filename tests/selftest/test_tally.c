/* What counts as caught, and what a manifest may say. */
#include "selftest/tally.h"

#include <criterion/criterion.h>
#include <string.h>

static struct wf_trial_outcome outcome(enum wf_answer a)
{
    return (struct wf_trial_outcome){ .answer = a, .time = WF_TIME_NOT_MEASURED };
}

Test(tally, only_named_answers_count)
{
    struct wf_mutant m = { .name = "m" };
    m.caught[WF_ANSWER_MISMATCH] = true;
    struct wf_tally t = { 0 };
    struct wf_trial_outcome o = outcome(WF_ANSWER_MISMATCH);
    wf_tally_add(&t, &m, "a", &o);
    cr_assert(wf_tally_caught(&t, true));
    o = outcome(WF_ANSWER_NONFINITE);
    wf_tally_add(&t, &m, "b", &o);
    cr_assert_not(wf_tally_caught(&t, true), "in each case, not in one");
    cr_assert(wf_tally_caught(&t, false));
    cr_assert(strstr(t.what, "b: NONFINITE") != NULL);
}

Test(tally, nothing_run_is_not_caught)
{
    struct wf_tally t = { 0 };
    cr_assert_not(wf_tally_caught(&t, true));
    cr_assert_not(wf_tally_caught(&t, false));
}

Test(tally, a_pass_is_never_a_catch_and_implausible_only_where_named)
{
    struct wf_mutant m = { .name = "m" };
    struct wf_tally t = { 0 };
    struct wf_trial_outcome o = outcome(WF_ANSWER_PASS);
    o.time = WF_TIME_IMPLAUSIBLE;
    wf_tally_add(&t, &m, "a", &o);
    cr_assert_not(wf_tally_caught(&t, true));
    m.caught_implausible = true;
    struct wf_tally named = { 0 };
    wf_tally_add(&named, &m, "a", &o);
    cr_assert(wf_tally_caught(&named, true));
    struct wf_tally generated = { 0 };
    wf_tally_add(&generated, NULL, "a", &o);
    cr_assert_not(wf_tally_caught(&generated, false));
}

Test(tally, failures_of_the_runner_are_errors)
{
    struct wf_error err = { 0 };
    struct wf_trial_outcome o = outcome(WF_ANSWER_MISMATCH);
    cr_assert_eq(wf_tally_check("k", "c", &o, &err), WF_OK);
    o.status = WF_EINTERNAL;
    cr_assert_neq(wf_tally_check("k", "c", &o, &err), WF_OK);
    static const enum wf_answer VOID[] = {
        WF_ANSWER_CANCELLED,     WF_ANSWER_LOST,         WF_ANSWER_INVALID_CASE,
        WF_ANSWER_NOT_SUPPORTED, WF_ANSWER_BUILD_FAILED, WF_ANSWER_OUT_OF_MEMORY
    };
    for (size_t i = 0; i < sizeof(VOID) / sizeof(VOID[0]); i++) {
        o = outcome(VOID[i]);
        cr_assert_neq(wf_tally_check("k", "c", &o, &err), WF_OK);
    }
}

Test(tally, peers_see_outputs_and_crashes_only)
{
    struct wf_tally t = { 0 };
    struct wf_trial_outcome o = outcome(WF_ANSWER_OUT_OF_BOUNDS);
    wf_tally_peers(&t, &o);
    cr_assert_not(t.peer[WF_PEER_ALLCLOSE]);
    cr_assert(wf_tally_needs_outputs(&o));
    o.peers_known = true;
    cr_assert_not(wf_tally_needs_outputs(&o));
    o.peer_rejects[WF_PEER_ALLCLOSE] = true;
    wf_tally_peers(&t, &o);
    cr_assert(t.peer[WF_PEER_ALLCLOSE]);
    cr_assert_not(t.peer[WF_PEER_FIVE_PERCENT]);
    o = outcome(WF_ANSWER_TIMEOUT);
    wf_tally_peers(&t, &o);
    cr_assert(t.peer[WF_PEER_FIVE_PERCENT]);
}

/* A launch without the emulator's checks: right outputs of a race are a pass for the
 * peers; memory that is nowhere ends it for everybody. */
Test(tally, peers_see_what_a_launch_without_checks_gives)
{
    struct wf_tally t = { 0 };
    struct wf_trial_outcome o = outcome(WF_ANSWER_PASS);
    o.peers_known = true;
    wf_tally_peers_unchecked(&t, &o);
    cr_assert_not(t.peer[WF_PEER_ALLCLOSE]);
    o = outcome(WF_ANSWER_OUT_OF_BOUNDS);
    o.peers_known = true;
    wf_tally_peers_unchecked(&t, &o);
    cr_assert_not(t.peer[WF_PEER_ALLCLOSE], "outputs were there, and right");
    cr_assert_not(wf_tally_all_peers(&t));
    o.peers_known = false;
    wf_tally_peers_unchecked(&t, &o);
    cr_assert(wf_tally_all_peers(&t));
}

Test(tally, the_verdict)
{
    struct wf_mutants_report r = { .wrong = { .total = 10, .caught = 10 },
                                   .cheats = { .total = 20, .caught = 19 },
                                   .generated = { .total = 100, .caught = 98 } };
    cr_assert(wf_mutants_report_is_good(&r));
    r.wrong.caught = 9;
    cr_assert_not(wf_mutants_report_is_good(&r));
    r.wrong.caught = 10;
    r.cheats.caught = 18;
    cr_assert_not(wf_mutants_report_is_good(&r));
    r.cheats.caught = 19;
    r.generated.caught = 97;
    cr_assert_not(wf_mutants_report_is_good(&r));
    r.generated.caught = 98;
    r.false_alarms = 1;
    cr_assert_not(wf_mutants_report_is_good(&r));
}

#define HEAD "{\"schema\":\"wavefarm.mutants/1\",\"cases\":{\"c\":{}},\"mutants\":["
#define ONE \
    "{\"name\":\"m\",\"op\":\"gemm\",\"pack\":\"p\",\"fault\":\"f\",\"cases\":[\"c\"]"

static enum wf_status add(const char *text, struct wf_error *err)
{
    struct wf_manifest *m = wf_manifest_create();
    struct wf_json *json = NULL;
    cr_assert_eq(wf_json_parse(text, strlen(text), "text", &json, err), WF_OK);
    enum wf_status st = wf_manifest_add(m, json, "text", err);
    wf_manifest_free(m);
    return st;
}

Test(manifest, says_what_is_wrong_with_it)
{
    static const char *const BAD[] = {
        HEAD ONE ",\"group\":\"wrong\"}]}",
        HEAD ONE ",\"group\":\"wrong\",\"caught\":[]}]}",
        HEAD ONE ",\"group\":\"wrong\",\"caught\":[\"PASS\"]}]}",
        HEAD ONE ",\"group\":\"wrong\",\"caught\":[\"NOT_SUPPORTED\"]}]}",
        HEAD ONE ",\"group\":\"right\",\"caught\":[\"MISMATCH\"]}]}",
        HEAD ONE ",\"group\":\"bad\",\"caught\":[\"MISMATCH\"]}]}",
        HEAD ONE ",\"group\":\"right\",\"unknown\":1}]}",
        HEAD ONE ",\"group\":\"right\"}," ONE ",\"group\":\"right\"}]}",
        "{\"schema\":\"wavefarm.mutants/2\",\"cases\":{},\"mutants\":[]}",
        HEAD
        "{\"name\":\"m\",\"op\":\"gemm\",\"pack\":\"p\",\"fault\":\"f\",\"cases\":["
        "\"d\"],\"group\":\"right\"}]}",
        HEAD "{\"name\":\"m\",\"op\":\"gemm\",\"pack\":\"../p\",\"fault\":\"f\","
             "\"cases\":[\"c\"],\"group\":\"right\"}]}",
    };
    struct wf_error err = { 0 };
    cr_assert_eq(add(HEAD ONE ",\"group\":\"right\"}]}", &err), WF_OK, "%s", err.text);
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        cr_assert_neq(add(BAD[i], &err), WF_OK, "%s", BAD[i]);
        cr_assert(err.text[0] != '\0');
    }
}
