/* Series of nights: from what a coordinator serves, and their order. */
#include "gate/history.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct wf_change_rule rule = WF_CHANGE_RULE_DEFAULT;

static enum wf_status add(struct wf_history *h, const char *text, struct wf_error *err)
{
    struct wf_json *v = NULL;
    cr_assert_eq(wf_json_parse(text, strlen(text), "answer", &v, err), WF_OK, "%s",
                 err->text);
    const enum wf_status status = wf_history_add_served(h, v, err);
    wf_json_free(v);
    return status;
}

Test(history, what_a_coordinator_serves)
{
    struct wf_history h = { 0 };
    struct wf_error err = { 0 };
    const char *answer =
        "{\"series\":[{\"key\":\"a/b/k\",\"case_id\":\"1\",\"kernel\":\"k\","
        "\"model\":\"MI300X\",\"points\":["
        "{\"at\":\"2026-01-02T00:00:00Z\",\"value\":0.01,\"low\":null,\"high\":0.02,"
        "\"pack\":\"p2\",\"commit\":null,\"gate\":\"7\",\"base\":\"b1\",\"verdict\":\"PASS\"},"
        "{\"at\":\"2026-01-01T00:00:00Z\",\"value\":0.00,\"low\":-0.01,\"high\":0.01,"
        "\"pack\":\"p1\",\"commit\":\"c1\",\"gate\":\"6\",\"base\":\"b1\",\"verdict\":\"PASS\"},"
        "{\"at\":\"2026-01-03T00:00:00Z\",\"value\":0.01,\"low\":0,\"high\":0.02,"
        "\"pack\":\"p3\",\"commit\":\"c3\",\"gate\":\"8\",\"base\":\"b2\",\"verdict\":\"PASS\"},"
        "{\"at\":\"2026-01-04T00:00:00Z\",\"value\":null,\"low\":null,\"high\":null,"
        "\"pack\":\"p4\",\"commit\":\"c4\",\"gate\":\"9\",\"base\":\"b1\",\"verdict\":"
        "\"INCONCLUSIVE\"}]}]}";
    cr_assert_eq(add(&h, answer, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_history_analyse(&h, &rule, NULL, 0, &err), WF_OK, "%s", err.text);
    cr_assert_eq(h.count, 2, "two bases are two series");
    cr_assert_eq(h.left_out, 1);
    const struct wf_history_series *s = &h.series[0];
    cr_assert_str_eq(s->case_name, "a/b");
    cr_assert_str_eq(s->kernel, "k");
    cr_assert_str_eq(s->model, "MI300X");
    cr_assert_eq(s->count, 2);
    cr_assert_str_eq(s->point[0].pack, "p1"); /* by time */
    cr_assert_str_eq(s->point[1].commit, "");
    cr_assert(isinf(s->point[1].low) && s->point[1].high == 0.02);
    cr_assert_str_eq(h.series[1].base, "b2");
    wf_history_free(&h);
    cr_assert_null(h.series);
    cr_assert_neq(add(&h, "{\"other\":1}", &err), WF_OK);
    wf_history_free(&h);
}

/* Points that come in any order, with a level that changes at commit 31. */
Test(history, points_stand_at_their_commits_place)
{
    char answer[12000] = "";
    size_t used = 0;
    struct wf_history h = { 0 };
    struct wf_error err = { 0 };
    used += (size_t)snprintf(answer, sizeof(answer),
                             "{\"series\":[{\"key\":\"c/k\",\"kernel\":\"k\",\"model\":"
                             "\"m\",\"points\":[");
    for (int i = 0; i < 40; i++) {
        const int n = i * 7 % 40; /* all were measured in one second */
        used += (size_t)snprintf(
            answer + used, sizeof(answer) - used,
            "%s{\"at\":\"2026-01-01T00:00:00Z\",\"value\":%.4f,\"low\":0,\"high\":0,"
            "\"pack\":\"p%d\",\"commit\":\"c%d\",\"parents\":[\"c%d\"],\"gate\":\"g\","
            "\"base\":\"b\",\"driver\":\"%s\"}",
            i > 0 ? "," : "", (n > 30 ? 0.05 : 0) + 0.002 * (n * 5 % 7), n, n, n - 1,
            n >= 20 ? "570" : "");
    }
    (void)snprintf(answer + used, sizeof(answer) - used, "]}]}");
    cr_assert_eq(add(&h, answer, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_history_analyse(&h, &rule, NULL, 0, &err), WF_OK, "%s", err.text);
    const struct wf_history_series *s = &h.series[0];
    for (int n = 0; n < 40; n++) {
        char want[8];
        (void)snprintf(want, sizeof(want), "c%d", n);
        cr_assert_str_eq(s->point[n].commit, want);
    }
    cr_assert_eq(s->change.count, 1);
    cr_assert_str_eq(s->point[s->change.point[0].before_index].commit, "c30");
    cr_assert_str_eq(s->point[s->change.point[0].index].commit, "c31");
    cr_assert_not(wf_history_driver_changed(s, 20), "unknown before: no change");
    wf_history_free(&h);
}
