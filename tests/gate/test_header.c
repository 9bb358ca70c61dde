/* Headers: made, renewed by a coordinator, pairs shared out. */
#include "record_play.h"

#include "core/buf.h"
#include "core/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct wf_json *o, const char *key)
{
    return wf_json_string(wf_json_find(o, key));
}

static int64_t whole_of(const struct wf_json *o, const char *key)
{
    int64_t v = -1;

    cr_assert(wf_json_as_i64(wf_json_find(o, key), &v), "%s", key);
    return v;
}

Test(header, made_and_read_back)
{
    struct wf_json *h = play_header(5, 2, true);
    struct wf_gate_record *r = NULL;
    struct wf_error err = { .text = "" };
    const struct wf_gate_pair *p;
    size_t i = 0;

    cr_assert_eq(wf_gate_header_check(h, &err), WF_OK, "%s", err.text);
    cr_assert_str_eq(text_of(h, "gate"), "0123456789abcdef");
    cr_assert_eq(wf_gate_record_create(h, &r, &err), WF_OK);
    cr_assert_eq(wf_gate_record_count(r), 5 + 4);
    cr_assert_eq(memcmp(wf_gate_record_seed(r), play_seed, sizeof play_seed), 0);
    cr_assert(wf_gate_record_find(r, "slower/alu@1", &i));
    p = wf_gate_record_pair(r, i);
    cr_assert(p->role == WF_GATE_SENTINEL_SLOWER && p->device == 1 && p->blocks == 2);
    cr_assert_str_eq(p->kernel[0], "k");
    cr_assert(wf_gate_record_find(r, "case-4/k", &i) && i == 4);
    cr_assert(!wf_gate_record_find(r, "case-5/k", &i));
    wf_gate_record_free(r);
}

/* What the file says is what the struct said. */
Test(header, rule_and_margins_survive)
{
    struct wf_json *h = play_header(1, 1, false);
    const struct wf_json *rule = wf_json_find(h, "rule");
    const struct wf_json *m =
        wf_json_find(wf_json_at(wf_json_find(h, "pairs"), 0), "margins");
    static const struct wf_gate_rule want = WF_GATE_PR_RULE;
    double v = 0;

#define X(name, kind) \
    cr_assert(wf_json_as_f64(wf_json_find(rule, #name), &v) && v == want.name, #name);
    WF_GATE_RULE_MEMBERS(X)
#undef X
    cr_assert(wf_json_as_f64(wf_json_find(m, "d1"), &v) && v == 0.02);
    wf_json_free(h);
}

Test(header, drawn_where_not_given)
{
    struct wf_json *h[2] = { play_header(3, 1, true), NULL };
    struct wf_error err = { .text = "" };

    cr_assert_eq(wf_gate_header_renew(h[0], 1, &h[1], &err), WF_OK, "%s", err.text);
    cr_assert_eq(strlen(text_of(h[1], "gate")), 16);
    cr_assert_str_neq(text_of(h[1], "gate"), text_of(h[0], "gate"));
    cr_assert_str_neq(text_of(h[1], "seed"), text_of(h[0], "seed"));
    cr_assert_str_neq(text_of(h[1], "created"), text_of(h[0], "created"));
    wf_json_free(h[0]);
    wf_json_free(h[1]);
}

static void drop_drawn(struct wf_json *h)
{
    wf_json_remove(h, "gate");
    wf_json_remove(h, "seed");
    wf_json_remove(h, "created");
}

static char *canonical(const struct wf_json *h)
{
    struct wf_buf b = WF_BUF_INIT;

    cr_assert_eq(wf_json_write_canonical(h, &b, NULL), WF_OK);
    return b.data;
}

/* Renewed to as many groups, all but the draws is the same; to more, each has its
 * sentinels and its share; and back again. */
Test(header, renewed_for_other_groups)
{
    struct wf_json *one = play_header(7, 1, true);
    struct wf_json *three = NULL;
    struct wf_json *back = NULL;
    struct wf_error err = { .text = "" };
    int cases[3] = { 0 };
    int sentinels[3] = { 0 };
    char *a;
    char *b;

    cr_assert_eq(wf_gate_header_renew(one, 3, &three, &err), WF_OK, "%s", err.text);
    cr_assert_eq(whole_of(three, "groups"), 3);
    for (const struct wf_json *p = wf_json_first(wf_json_find(three, "pairs"));
         p != NULL; p = wf_json_next(p)) {
        bool is_case = strcmp(text_of(p, "role"), "case") == 0;
        int64_t group = whole_of(p, "group");
        cases[group] += is_case;
        sentinels[group] += !is_case;
    }
    for (int g = 0; g < 3; g++) {
        cr_assert(sentinels[g] == 2 && (cases[g] == 2 || cases[g] == 3));
    }
    cr_assert_eq(wf_gate_header_renew(three, 1, &back, &err), WF_OK, "%s", err.text);
    drop_drawn(one);
    drop_drawn(back);
    a = canonical(one);
    b = canonical(back);
    cr_assert_str_eq(a, b);
    free(a);
    free(b);
    wf_json_free(one);
    wf_json_free(three);
    wf_json_free(back);
}

Test(header, renewing_nonsense)
{
    struct wf_json *h = play_header(2, 1, false);
    struct wf_json *none = NULL;
    struct wf_error err = { .text = "" };

    cr_assert_eq(wf_gate_header_renew(h, 0, &none, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "0 device groups") != NULL, "%s", err.text);
    cr_assert_eq(wf_gate_header_renew(h, 65, &none, &err), WF_EINVAL);
    wf_json_remove(h, "pairs");
    cr_assert_eq(wf_gate_header_renew(h, 1, &none, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "pairs") != NULL, "%s", err.text);
    cr_assert_null(none);
    wf_json_free(h);
}

Test(header, shares_are_even)
{
    enum {
        N = 300,
        GROUPS = 7
    };
    struct wf_rng r = { 61, 1, 0 };
    double cost[N];
    double load[GROUPS] = { 0 };
    double most = 0;
    double sum = 0;
    double largest = 0;
    int group[N];

    for (int i = 0; i < N; i++) {
        cost[i] = exp((double)wf_rng_next_below(&r, 1000) / 150);
        sum += cost[i];
        largest = fmax(largest, cost[i]);
    }
    cr_assert_eq(wf_gate_header_spread(cost, N, GROUPS, group, NULL), WF_OK);
    for (int i = 0; i < N; i++) {
        cr_assert(group[i] >= 0 && group[i] < GROUPS);
        load[group[i]] += cost[i];
        most = fmax(most, load[group[i]]);
    }
    cr_assert_leq(most, sum / GROUPS + largest);
    cr_assert_leq(most, 1.05 * sum / GROUPS);
}

Test(header, shares_without_estimates)
{
    static const double cost[] = { 0, NAN, 10, -3, 10, INFINITY };
    int group[6];
    int count[2] = { 0 };

    cr_assert_eq(wf_gate_header_spread(cost, 6, 2, group, NULL), WF_OK);
    for (int i = 0; i < 6; i++) {
        count[group[i]]++;
    }
    cr_assert(count[0] == 3 && count[1] == 3);
    cr_assert_eq(wf_gate_header_spread(cost, 0, 1, group, NULL), WF_OK);
    cr_assert_eq(wf_gate_header_spread(cost, 1, 3, group, NULL), WF_OK);
    cr_assert_eq(group[0], 0); /* of equal ones the first */
}

/* 20,000 pairs are allowed, one more is not. */
Test(header, as_many_pairs_as_allowed)
{
    struct wf_json *h = play_header(1, 1, false);
    struct wf_json *first = NULL;
    struct wf_json *pairs = wf_json_array();
    struct wf_error err = { .text = "" };

    cr_assert_eq(wf_json_copy(wf_json_at(wf_json_find(h, "pairs"), 0), &first, NULL),
                 WF_OK);
    for (unsigned i = 0; i <= WF_GATE_MAX_PAIRS; i++) {
        struct wf_json *p = NULL;
        char key[32];
        (void)snprintf(key, sizeof key, "p%u", i);
        cr_assert_eq(wf_json_copy(first, &p, NULL), WF_OK);
        cr_assert_eq(wf_json_set_string(p, "key", key, NULL), WF_OK);
        cr_assert_eq(wf_json_push_take(pairs, p, NULL), WF_OK);
        if (i + 1 == WF_GATE_MAX_PAIRS) {
            cr_assert_eq(wf_json_set_copy(h, "pairs", pairs, NULL), WF_OK);
            cr_assert_eq(wf_gate_header_check(h, &err), WF_OK, "%s", err.text);
        }
    }
    cr_assert_eq(wf_json_set_take(h, "pairs", pairs, NULL), WF_OK);
    cr_assert_eq(wf_gate_header_check(h, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "20001") != NULL, "%s", err.text);
    wf_json_free(first);
    wf_json_free(h);
}
