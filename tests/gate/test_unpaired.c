/* Results that were measured apart: every task is told, and nothing more than is known.
 */
#include "core/buf.h"
#include "gate/unpaired.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 12

/* A result, and what a test changes in it. NULL and 0: the usual. */
struct made {
    const char *id, *name, *data, *kernel, *pack, *code, *model, *temperature, *icache;
    const char *answer, *time, *source, *unit, *driver, *partition, *invalid, *device;
    const char *median, *lo, *hi, *clock;
    int repetition;
};

#define OR(x, usual) ((x) != NULL ? (x) : (usual))

static struct wf_json *make(const struct made *m)
{
    struct wf_json *v = NULL;
    struct wf_error err = { 0 };
    const bool passes = strcmp(OR(m->answer, "PASS"), "PASS") == 0;
    const bool timed = passes && strcmp(OR(m->time, "OK"), "NOT_MEASURED") != 0;
    char *timing = wf_asprintf(
        "{\"unit\":\"%s\",\"source\":\"%s\",\"median\":%s,\"ci_lo\":%s,\"ci_hi\":%s,"
        "\"invalid\":[%s],\"clock_mhz\":[%s]}",
        OR(m->unit, "ns"), OR(m->source, "device-events"), OR(m->median, "1000"),
        OR(m->lo, "990"), OR(m->hi, "1010"), OR(m->invalid, ""), OR(m->clock, ""));
    char *text = wf_asprintf(
        "{\"schema\":\"wavefarm.result/1\",\"kind\":\"measured\",\"task\":{\"id\":\"1\","
        "\"case\":{\"M\":64,\"data\":\"%s\"},\"case_id\":\"%s\",\"case_name\":\"%s\","
        "\"label\":\"l\",\"op\":\"gemm\",\"pack_name\":\"%s\",\"kernel\":\"%s\","
        "\"repetition\":%d},\"mode\":{\"temperature\":\"%s\",\"icache\":\"%s\","
        "\"batch\":0},\"code\":{\"sha256\":\"%s\"},\"device\":{\"id\":\"%s\","
        "\"runtime\":\"cuda\",\"arch\":\"sm_90\",\"model\":\"%s\",\"partition\":\"%s\","
        "\"driver\":\"%s\"},\"answer\":\"%s\",\"time\":\"%s\",\"timing\":%s}",
        OR(m->data, "normal"), OR(m->id, "c1"), OR(m->name, "64x64"), OR(m->pack, "p"),
        OR(m->kernel, "k"), m->repetition, OR(m->temperature, "hot"),
        OR(m->icache, "hot"), OR(m->code, "aa"), OR(m->device, "cuda:0"),
        OR(m->model, "H200"), OR(m->partition, ""), OR(m->driver, "1"),
        OR(m->answer, "PASS"), OR(m->time, timed ? "OK" : "NOT_MEASURED"),
        timed ? timing : "null");
    cr_assert_eq(wf_json_parse(text, strlen(text), "made", &v, &err), WF_OK, "%s in %s",
                 err.text, text);
    free(timing);
    free(text);
    return v;
}

struct sides {
    struct wf_json *v[2][MOST];
    size_t n[2];
    struct wf_unpaired u;
};

#define ADD(s, side, ...) \
    ((s)->v[side][(s)->n[side]++] = make(&(struct made){ __VA_ARGS__ }))

static void compare(struct sides *s)
{
    struct wf_error err = { 0 };
    size_t told[2] = { 0, 0 };
    cr_assert_eq(wf_unpaired_compare((const struct wf_json *const *)s->v[0], s->n[0],
                                     (const struct wf_json *const *)s->v[1], s->n[1],
                                     &s->u, &err),
                 WF_OK, "%s", err.text);
    /* Nothing is dropped, whatever a test puts in. */
    for (size_t i = 0; i < s->u.count; i++) {
        told[0] += s->u.row[i].a.count;
        told[1] += s->u.row[i].b.count;
    }
    cr_assert_eq(told[0], s->n[0]);
    cr_assert_eq(told[1], s->n[1]);
}

static void done(struct sides *s)
{
    wf_unpaired_free(&s->u);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < s->n[side]; i++) {
            wf_json_free(s->v[side][i]);
        }
    }
}

static bool has_note(const struct wf_unpaired_row *r, const char *text)
{
    for (const struct wf_json *n = wf_json_first(r->note); n != NULL;
         n = wf_json_next(n)) {
        if (strstr(wf_json_string(n), text) != NULL) {
            return true;
        }
    }
    return false;
}

/* One task on either side. */
static void one(const struct made *a,
                const struct made *b,
                enum wf_unpaired_status want,
                const char *note)
{
    struct sides s = { .n = { 1, 1 } };
    s.v[0][0] = make(a);
    s.v[1][0] = make(b);
    compare(&s);
    cr_assert_eq(s.u.count, 1, "%zu rows", s.u.count);
    cr_assert_eq(s.u.row[0].status, want, "%s instead of %s",
                 wf_unpaired_status_name(s.u.row[0].status),
                 wf_unpaired_status_name(want));
    cr_assert(note == NULL || has_note(&s.u.row[0], note), "no note '%s'", note);
    done(&s);
}

#define ONE(a, b, want, note) \
    one(&(struct made)a, &(struct made)b, WF_UNPAIRED_##want, note)
#define M(...)      \
    {               \
        __VA_ARGS__ \
    }

Test(unpaired, intervals_decide_and_overlap_does_not)
{
    struct sides s = { 0 };
    ADD(&s, 0, .id = "1");
    ADD(&s, 1, .id = "1", .median = "1100", .lo = "1080", .hi = "1120", .code = "bb");
    compare(&s);
    const struct wf_unpaired_row *r = &s.u.row[0];
    cr_assert_eq(r->status, WF_UNPAIRED_SLOWER);
    cr_assert_float_eq(r->ratio, 1.1, 1e-12);
    cr_assert_float_eq(r->low, 1080.0 / 1010, 1e-12);
    cr_assert_float_eq(r->high, 1120.0 / 990, 1e-12);
    cr_assert_not(has_note(r, "the same on both sides"));
    done(&s);
    ONE(M(0), M(.median = "900", .lo = "880", .hi = "920"), FASTER,
        "what differs is not");
    ONE(M(0), M(.median = "1020", .lo = "1005", .hi = "1030"), UNDECIDED, NULL);
    ONE(M(0), M(.median = "1020", .lo = "null", .hi = "null"), UNDECIDED,
        "B has no interval");
    ONE(M(.lo = "null"), M(.median = "2000", .lo = "null", .hi = "null"), UNDECIDED,
        "A and B have no interval");
}

/* Reference 100.0 with noise of 3 %, new 101.0 with 0.4 %: the wider one counts. */
Test(unpaired, a62_the_wider_noise_counts_and_a_task_twice_is_told)
{
    ONE(M(.median = "100.0", .lo = "97", .hi = "103"),
        M(.median = "101.0", .lo = "100.6", .hi = "101.4"), UNDECIDED, NULL);
    struct sides s = { 0 };
    ADD(&s, 0, .id = "1");
    ADD(&s, 1, .id = "1");
    ADD(&s, 1, .id = "1", .median = "500", .lo = "499", .hi = "501");
    compare(&s);
    cr_assert_eq(s.u.count, 1);
    cr_assert_eq(s.u.row[0].status, WF_UNPAIRED_AMBIGUOUS);
    cr_assert(has_note(&s.u.row[0], "B has this task more than once"));
    cr_assert(isnan(s.u.row[0].ratio));
    done(&s);
}

/* Another unit is no figure to compare with; samples that failed do not discard others.
 */
Test(unpaired, a61_units_and_partial_results)
{
    ONE(M(0), M(.unit = "us", .median = "1"), INCOMPARABLE, "unit: ns / us");
    ONE(M(0), M(.invalid = "1", .median = "1200", .lo = "1190", .hi = "1210"), SLOWER,
        "B: 1 samples were not finite or not positive");
}

Test(unpaired, a55_data_of_another_kind_is_another_case)
{
    ONE(M(0), M(.id = "c2", .data = "zeros", .median = "850", .lo = "840", .hi = "860"),
        INCOMPARABLE, "the case's data: \"normal\" / \"zeros\"");
}

/* 3 of 8: the five others are named. */
Test(unpaired, a63_what_is_missing_is_named)
{
    static const char *const ids[] = { "1", "2", "3", "4", "5", "6", "7", "8" };
    struct sides s = { 0 };
    for (size_t i = 0; i < 8; i++) {
        ADD(&s, 0, .id = ids[i], .name = ids[i], .code = ids[i]);
    }
    for (size_t i = 2; i < 5; i++) {
        ADD(&s, 1, .id = ids[i], .name = ids[i], .code = ids[i]);
    }
    ADD(&s, 1, .id = "9", .name = "nine", .kernel = "other", .code = "99");
    compare(&s);
    cr_assert_eq(s.u.of_status[WF_UNPAIRED_ONLY_A], 5);
    cr_assert_eq(s.u.of_status[WF_UNPAIRED_ONLY_B], 1);
    cr_assert_eq(s.u.of_status[WF_UNPAIRED_UNDECIDED], 3);
    cr_assert_str_eq(wf_unpaired_case(&s.u.row[3]), "1");
    cr_assert_str_eq(wf_unpaired_case(&s.u.row[8]), "nine");
    done(&s);
}

Test(unpaired, answers_come_first)
{
    struct sides s = { 0 };
    static const char *const a[] = { "PASS", "PASS", "MISMATCH",     "CRASH",
                                     "PASS", "PASS", "NOT_SUPPORTED" };
    static const char *const b[] = { "PASS",         "MISMATCH",  "PASS",
                                     "MISMATCH",     "CANCELLED", "NOT_SUPPORTED",
                                     "NOT_SUPPORTED" };
    static const char *const ids[] = { "1", "2", "3", "4", "5", "6", "7" };
    for (size_t i = 0; i < 7; i++) {
        ADD(&s, 0, .id = ids[i], .answer = a[i]);
        ADD(&s, 1, .id = ids[i], .answer = b[i]);
    }
    compare(&s);
    static const enum wf_unpaired_status want[] = {
        WF_UNPAIRED_WRONG_NOW, WF_UNPAIRED_UNSUPPORTED_NOW, WF_UNPAIRED_STILL_WRONG,
        WF_UNPAIRED_RIGHT_NOW, WF_UNPAIRED_UNDECIDED,       WF_UNPAIRED_NOT_RUN,
        WF_UNPAIRED_NEITHER
    };
    for (size_t i = 0; i < 7; i++) {
        cr_assert_eq(s.u.row[i].status, want[i], "%zu: %s", i,
                     wf_unpaired_status_name(s.u.row[i].status));
    }
    done(&s);
}

Test(unpaired, another_meaning_has_no_ratio)
{
    ONE(M(0), M(.temperature = "cold"), INCOMPARABLE,
        "caches at each launch: hot / cold");
    ONE(M(0), M(.icache = "cold"), INCOMPARABLE, "instruction cache: hot / cold");
    ONE(M(0), M(.model = "MI300X"), INCOMPARABLE, "device: H200 / MI300X");
    ONE(M(.partition = "SPX"), M(.partition = "CPX"), INCOMPARABLE,
        "partition mode: SPX / CPX");
    ONE(M(0), M(.source = "self", .time = "SELF_TIMED"), INCOMPARABLE,
        "time taken by: device-events / self");
    ONE(M(.kernel = "x"), M(.kernel = "x", .temperature = "cold", .pack = "q"),
        INCOMPARABLE, "pack name: p / q");
}

Test(unpaired, a_time_that_is_none_is_told)
{
    ONE(M(0), M(.median = "0"), NO_TIME, "B: a median of 0 ns is no time");
    ONE(M(.median = "\"nan\""), M(0), NO_TIME, "A: a median of nan ns is no time");
    ONE(M(0), M(.median = "-3"), NO_TIME, "B: a median of -3 ns is no time");
    ONE(M(0), M(.median = "null"), NO_TIME, "B: a median of nan ns");
    ONE(M(0), M(.time = "NOT_MEASURED"), NO_TIME, "B: the time is NOT_MEASURED");
    ONE(M(0), M(.time = "THROTTLED"), NO_TIME, "B: the time is THROTTLED");
    ONE(M(.time = "IMPLAUSIBLE"), M(0), NO_TIME, "A: the time is IMPLAUSIBLE");
    ONE(M(.time = "MODELLED"), M(.time = "MODELLED"), NO_TIME, "the time is MODELLED");
    ONE(M(.time = "NOT_MEASURED"), M(.time = "NOT_MEASURED"), ANSWER_ONLY, NULL);
}

Test(unpaired, other_names_are_found_again)
{
    ONE(M(.kernel = "old"), M(.kernel = "new"), UNDECIDED, "kernel name: old / new");
    ONE(M(.pack = "v1"), M(.pack = "v2"), UNDECIDED, "pack name: v1 / v2");
    ONE(M(.name = "a"), M(.name = "b"), UNDECIDED, "case name: a / b");
    struct sides s = { 0 }; /* two could be it: neither is taken */
    ADD(&s, 0, .kernel = "old");
    ADD(&s, 1, .kernel = "new");
    ADD(&s, 1, .kernel = "newer");
    compare(&s);
    cr_assert_eq(s.u.of_status[WF_UNPAIRED_ONLY_A], 1);
    cr_assert_eq(s.u.of_status[WF_UNPAIRED_ONLY_B], 2);
    done(&s);
}

Test(unpaired, conditions_that_differ_are_noted)
{
    ONE(M(0), M(.driver = "2"), UNDECIDED, "driver: 1 / 2");
    ONE(M(.clock = "1980,1980"), M(.clock = "1700,1700"), UNDECIDED,
        "mean clock: 1980 / 1700 MHz");
    ONE(M(0), M(.time = "NOISY"), UNDECIDED, "B: the time is NOISY");
}

Test(unpaired, repetitions_are_one_task_with_the_hull_of_their_intervals)
{
    struct sides s = { 0 };
    ADD(&s, 0, .median = "1000", .lo = "990", .hi = "1010");
    ADD(&s, 0, .median = "1060", .lo = "1050", .hi = "1070", .repetition = 1);
    ADD(&s, 0, .median = "1010", .lo = "1000", .hi = "1020", .device = "cuda:1");
    ADD(&s, 1, .median = "1050", .lo = "1040", .hi = "1060");
    compare(&s);
    cr_assert_eq(s.u.count, 1);
    const struct wf_unpaired_row *r = &s.u.row[0];
    cr_assert_eq(r->a.count, 3);
    cr_assert_eq(r->a.median, 1010);
    cr_assert_eq(r->a.lo, 990);
    cr_assert_eq(r->a.hi, 1070);
    cr_assert_eq(r->status, WF_UNPAIRED_UNDECIDED);
    cr_assert(has_note(r, "A: 3 repetitions"));
    done(&s);
}

Test(unpaired, nothing_on_a_side)
{
    struct sides s = { 0 };
    compare(&s);
    cr_assert_eq(s.u.count, 0);
    done(&s);
    memset(&s, 0, sizeof(s));
    ADD(&s, 1, .id = "1");
    compare(&s);
    cr_assert_eq(s.u.row[0].status, WF_UNPAIRED_ONLY_B);
    cr_assert_eq(strlen(wf_unpaired_status_meaning(s.u.row[0].status)) > 0, 1);
    done(&s);
}
