/* Replay: the same bits from the same lines, and each changed digit named. */
#include "record_play.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum wf_gate_verdict verdict_of(struct wf_gate_record *r, size_t i)
{
    return wf_gate_verdict_of(wf_gate_record_gate(r), i, NULL);
}

static enum wf_gate_reason reason_of(struct wf_gate_record *r, size_t i)
{
    enum wf_gate_reason why;

    (void)wf_gate_verdict_of(wf_gate_record_gate(r), i, &why);
    return why;
}

struct told {
    size_t count;
    char first[600];
};

static void hear(void *ctx, const char *line)
{
    struct told *t = ctx;

    if (t->count++ == 0) {
        (void)snprintf(t->first, sizeof t->first, "%s", line);
    }
}

static char path[64];

static void make_path(void)
{
    int fd;

    (void)snprintf(path, sizeof path, "/tmp/wf-record-XXXXXX");
    fd = mkstemp(path);
    cr_assert(fd >= 0);
    (void)close(fd);
}

static void remove_path(void)
{
    (void)unlink(path);
}

/* Reads `text` as a record and replays it. */
static enum wf_status replay(const char *text,
                             size_t n,
                             struct told *told,
                             struct wf_error *err)
{
    struct wf_gate_record *r = NULL;
    size_t differences = 0;
    enum wf_status status;

    *told = (struct told){ .count = 0 };
    cr_assert_eq(wf_file_write_atomic(path, text, n, NULL), WF_OK);
    status = wf_gate_record_read(path, false, &r, NULL, err);
    if (status == WF_OK) {
        status = wf_gate_record_replay(r, hear, told, &differences, err);
        cr_assert(status != WF_OK || differences == told->count);
        wf_gate_record_free(r);
    }
    return status;
}

/* Raises the digit at `at` by one (9 to 8). */
static void flip(char *at)
{
    cr_assert(*at >= '0' && *at <= '9', "'%c' is no digit", *at);
    *at = (char)(*at == '9' ? '8' : *at + 1);
}

Test(replay, replay_gives_the_same_bits, .init = make_path, .fini = remove_path)
{
    struct play p = { .effect = { 0.03, -0.04, 0.0125 } };
    struct wf_gate_record *r = play_record(6, 2, true);
    struct told told;
    struct wf_error err = { .text = "" };
    char *text;

    play_to_the_end(r, &p);
    text = play_text(r);
    cr_assert_eq(replay(text, strlen(text), &told, &err), WF_OK, "%s", err.text);
    cr_assert_eq(told.count, 0, "%s", told.first);
    free(text);
    wf_gate_record_free(r);
}

Test(replay, replay_names_a_changed_time, .init = make_path, .fini = remove_path)
{
    struct play p = { .effect = { 0.03 } };
    struct wf_gate_record *r = play_record(2, 1, false);
    struct told told;
    struct wf_error err = { .text = "" };
    char *text;

    play_to_the_end(r, &p);
    text = play_text(r);
    flip(strstr(text, "\"y\":[") + strlen("\"y\":[9.00"));
    cr_assert_eq(replay(text, strlen(text), &told, &err), WF_OK, "%s", err.text);
    cr_assert_gt(told.count, 3);
    cr_assert(strstr(told.first, "pairs \"case-") != NULL &&
                  strstr(told.first, ": stored ") != NULL,
              "%s", told.first);
    free(text);
    wf_gate_record_free(r);
}

Test(replay, replay_names_a_changed_figure, .init = make_path, .fini = remove_path)
{
    static const struct {
        const char *at, *word;
    } rows[] = {
        { "\"log_w_slower\":-", "log_w_slower" },
        { "\"blocks\":", "blocks" },
        { "\"effect\":0.00", "effect" },
        { "\"FAIL\":", "FAIL" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct play p = { .stream = 3 };
        struct wf_gate_record *r = play_record(1, 1, false);
        struct told told;
        struct wf_error err = { .text = "" };
        char *text;
        char *verdict;
        play_to_the_end(r, &p);
        text = play_text(r);
        verdict = strstr(text, "\"kind\":\"verdict\"");
        cr_assert_not_null(strstr(verdict, rows[i].at), "%s: %s", rows[i].at, verdict);
        flip(strstr(verdict, rows[i].at) + strlen(rows[i].at));
        cr_assert_eq(replay(text, strlen(text), &told, &err), WF_OK, "%s", err.text);
        cr_assert_eq(told.count, 1);
        cr_assert(strstr(told.first, rows[i].word) != NULL, "%s", told.first);
        free(text);
        wf_gate_record_free(r);
    }
}

/* The last of 17 digits: equal to 1e-15, and named all the same. */
Test(replay, replay_compares_bits, .init = make_path, .fini = remove_path)
{
    struct play p = { .stream = 3 };
    struct wf_gate_record *r = play_record(1, 1, false);
    struct told told;
    struct wf_error err = { .text = "" };
    char *text;
    char *at;

    play_to_the_end(r, &p);
    text = play_text(r);
    at = strstr(strstr(text, "\"kind\":\"verdict\""), "\"log_w_slower\":");
    flip(strchr(at, ',') - 1);
    cr_assert_eq(replay(text, strlen(text), &told, &err), WF_OK, "%s", err.text);
    cr_assert_eq(told.count, 1);
    free(text);
    wf_gate_record_free(r);
}

Test(replay, replay_names_a_changed_label, .init = make_path, .fini = remove_path)
{
    struct play p = { .noise = 0.003 };
    struct wf_gate_record *r = play_record(1, 1, false);
    struct told told;
    struct wf_error err = { .text = "" };
    char *text;
    char *at;

    play_to_the_end(r, &p);
    text = play_text(r);
    at = strstr(text, "\"mask\":") + strlen("\"mask\":");
    flip(at[1] == ',' ? at : at + 1);
    cr_assert_eq(replay(text, strlen(text), &told, &err), WF_EINVAL);
    cr_assert(strstr(err.text, ":2: pair \"case-0/k\": blocks[0]: mask ") != NULL &&
                  strstr(err.text, "the seed gives") != NULL,
              "%s", err.text);
    free(text);
    wf_gate_record_free(r);
}

Test(replay, replay_needs_a_verdict, .init = make_path, .fini = remove_path)
{
    struct play p = { .noise = 0.003 };
    struct wf_gate_record *r = play_record(1, 1, false);
    struct told told;
    struct wf_error err = { .text = "" };
    char *text;

    cr_assert(play_round(r, &p, 0, ""));
    text = play_text(r);
    cr_assert_eq(replay(text, strlen(text), &told, &err), WF_ENOTFOUND);
    free(text);
    wf_gate_record_free(r);
}

/* Closed through the gate, without a line of its own: the verdict line says so. */
Test(replay, replay_of_a_cancelled_gate, .init = make_path, .fini = remove_path)
{
    struct play p = { .effect = { 0.0125 } };
    struct wf_gate_record *r = play_record(2, 1, true);
    struct told told;
    struct wf_error err = { .text = "" };
    char *text;

    cr_assert(play_round(r, &p, 0, ""));
    wf_gate_close(wf_gate_record_gate(r), WF_GATE_REASON_CANCELLED);
    play_to_the_end(r, &p);
    cr_assert_eq(reason_of(r, 0), WF_GATE_REASON_CANCELLED);
    text = play_text(r);
    cr_assert_eq(replay(text, strlen(text), &told, &err), WF_OK, "%s", err.text);
    cr_assert_eq(told.count, 0, "%s", told.first);
    free(text);
    wf_gate_record_free(r);
}

/* A record of an earlier build, on another machine perhaps: FAIL, wrong, IMPROVED, void
 * rounds, a closed group. It replays to the same bits for ever; a change of the rule
 * that breaks this needs a new schema number. */
Test(replay, replay_of_a_stored_record)
{
    const char *source = getenv("WF_SOURCE_DIR");
    char file[512];
    struct wf_gate_record *r = NULL;
    struct told told = { .count = 0 };
    struct wf_error err = { .text = "" };
    size_t differences = 0;

    (void)snprintf(file, sizeof file, "%s/tests/gate/golden.jsonl",
                   source == NULL ? "." : source);
    cr_assert_eq(wf_gate_record_read(file, false, &r, NULL, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_gate_record_replay(r, hear, &told, &differences, &err), WF_OK);
    cr_assert_eq(differences, 0, "%s", told.first);
    cr_assert_eq(verdict_of(r, 0), WF_GATE_VERDICT_FAIL);
    cr_assert_eq(verdict_of(r, 1), WF_GATE_VERDICT_IMPROVED);
    cr_assert_eq(reason_of(r, 3), WF_GATE_REASON_WRONG);
    wf_gate_record_free(r);
}
