/* Records that lie, are torn or are made to break the reader: each refused with what is
 * wrong and where, and the record stays as it was. */
#include "record_play.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void make_path(void)
{
    int fd;

    (void)snprintf(path, sizeof path, "/tmp/wf-record-bad-XXXXXX");
    fd = mkstemp(path);
    cr_assert(fd >= 0);
    (void)close(fd);
}

static void remove_path(void)
{
    (void)unlink(path);
}

TestSuite(record_bad, .init = make_path, .fini = remove_path);

static enum wf_status read_text(const char *text,
                                size_t n,
                                bool torn_ok,
                                bool *ret_torn,
                                struct wf_error *err)
{
    struct wf_gate_record *r = NULL;
    enum wf_status status;

    cr_assert_eq(wf_file_write_atomic(path, text, n, NULL), WF_OK);
    status = wf_gate_record_read(path, torn_ok, &r, ret_torn, err);
    if (status == WF_OK) {
        wf_gate_record_free(r);
    }
    return status;
}

/* The text with the first `from` after `start` replaced by `to`; caller frees. */
static char *replaced(const char *text,
                      const char *start,
                      const char *from,
                      const char *to)
{
    const char *near = strstr(text, start);
    const char *at = near == NULL ? NULL : strstr(near, from);

    cr_assert_not_null(at, "no %s after %s in %.3000s", from, start, text);
    return wf_asprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* A whole gate of one group; played once for all rows. */
static char *whole(void)
{
    struct play p = { .effect = { 0.03 } };
    struct wf_gate_record *r = play_record(3, 1, true);
    char *text;

    play_to_the_end(r, &p);
    text = play_text(r);
    wf_gate_record_free(r);
    return text;
}

struct lie {
    const char *start, *from, *to; /* the change */
    const char *where, *word;      /* what the error must hold */
};

#define HEADER "{\"schema\""
#define PAIR   "\"kind\":\"pair\""
#define ROUND  "\"kind\":\"round\""
#define LAST   "\"kind\":\"verdict\""

static const struct lie lies[] = {
    { HEADER, "wavefarm.gate/1", "wavefarm.gate/9", ":1: header", "\"schema\"" },
    { HEADER, "\"kind\":\"header\"", "\"kind\":\"pair\"", ":1: header", "first line" },
    { HEADER, "0123456789abcdef", "0123456789abcdeg", ":1: header", "\"gate\"" },
    { HEADER, "0908070605", "09080706", ":1: header", "\"seed\"" },
    { HEADER, "\"name\":\"a test\"", "\"name\":\"a\\u0007\"", ":1: header",
      "\"name\"" },
    { HEADER, "\"name\":\"a test\"", "\"nome\":\"a test\"", ":1: header", "nome" },
    { HEADER, "\"groups\":1", "\"groups\":65", ":1: header", "groups" },
    { HEADER, "\"groups\":1", "\"groups\":0", ":1: header", "groups" },
    { HEADER, "\"alpha\":0.01", "\"alpha\":1", ":1: header", "alpha" },
    { HEADER, "\"alpha\":0.01", "\"alpha\":\"nan\"", ":1: header", "alpha" },
    { HEADER, "\"max_blocks\":24", "\"max_blocks\":0", ":1: header", "max_blocks" },
    { HEADER, "\"max_lost\":24,", "", ":1: header", "max_lost" },
    { HEADER, "\"packs\":{\"base\":", "\"packs\":{\"bose\":", ":1: header", "bose" },
    { HEADER, "\"sentinel\":{\"id\"", "\"sentinel\":{\"ad\"", ":1: header", "ad" },
    { HEADER, "\"id\":\"0011", "\"id\":\"0x11", ":1: header", "\"id\"" },
    { HEADER, "\"key\":\"case-1/k\"", "\"key\":\"case-0/k\"", "two pairs", "case-0/k" },
    { HEADER, "\"role\":\"case\"", "\"role\":\"cases\"", "\"case-0/k\"", "role" },
    { HEADER, "\"d1\":0.02", "\"d1\":0.005", "\"case-0/k\"", "d0" },
    { HEADER, "\"s0\":0.004", "\"s0\":0", "\"case-0/k\"", "s0" },
    { HEADER, "\"tau\":0}", "\"tau\":\"inf\"}", "\"case-0/k\"", "tau" },
    { HEADER, "\"group\":0", "\"group\":1", "\"case-0/k\"", "group" },
    { HEADER, "\"blocks\":1", "\"blocks\":9", "\"case-0/k\"", "blocks" },
    { HEADER, "\"identical\":false", "\"identical\":0", "\"case-0/k\"", "identical" },
    { HEADER, "\"candidate\":{\"pack\":\"candidate\"",
      "\"candidate\":{\"pack\":\"base\"", "\"case-0/k\"", "must be \"candidate\"" },
    { HEADER, "\"candidate\":{\"pack\":\"candidate\",\"kernel\":\"k\"}",
      "\"candidate\":null", "\"case-0/k\"", "refused" },
    { HEADER, "\"pairs\":[", "\"pairs\":[7,", "pairs[0]", "object" },
    { "sentinel-same", "\"identical\":false", "\"identical\":true", "same/alu@0",
      "sentinel" },
    { PAIR, "\"kind\":\"pair\"", "\"kind\":\"pear\"", ":2:", "pear" },
    { PAIR, "0123456789abcdef", "fedcba9876543210", ":2:", "fedcba9876543210" },
    { PAIR, "\"round\":1", "\"round\":2", ":2:", "the next one is 1" },
    { PAIR, "\"round\":1", "\"round\":99999999999", ":2:", "round" },
    { PAIR, "\"group\":0", "\"group\":1", ":2:", "group" },
    { PAIR, "\"pair\":\"", "\"pair\":\"x", ":2:", "no such pair" },
    { PAIR, "\"answer\":\"PASS\"", "\"answer\":\"FINE\"", ":2:", "FINE" },
    { PAIR, "\"base\":{\"answer\":\"PASS\"}", "\"base\":null", ":2:", "base" },
    { PAIR, "\"blocks\":[", "\"blocks\":[7,", ":2:", "blocks" },
    { PAIR, "\"y\":[", "\"y\":[1,", ":2:", "5 values" },
    { PAIR, "\"y\":[", "\"y\":[\"nan\",", ":2:", "5 values" },
    { PAIR, "\"y\":[9", "\"y\":[1e9,1,1,1],\"z\":[9", ":2:", "y[0]" },
    { PAIR, "\"y\":[9", "\"y\":[null,1,1,1],\"z\":[9", ":2:", "y[0]" },
    { PAIR, "\"rejected\":\"\"", "\"rejected\":false", ":2:", "rejected" },
    { ROUND, "\"round\":1", "\"round\":3", "", "the next one is 1" },
    { ROUND, "\"void\":\"\"", "\"void\":null", "", "void" },
    { LAST, "\"pairs\":[", "\"pears\":[", "", "pairs" },
};

Test(record_bad, lies_are_named)
{
    char *good = whole();
    struct wf_error err = { .text = "" };

    cr_assert_eq(read_text(good, strlen(good), false, NULL, &err), WF_OK, "%s",
                 err.text);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        const struct lie *l = &lies[i];
        char *text = replaced(good, l->start, l->from, l->to);
        cr_expect_neq(read_text(text, strlen(text), false, NULL, &err), WF_OK,
                      "accepted: %s -> %s", l->from, l->to);
        cr_expect(strstr(err.text, l->where) != NULL &&
                      strstr(err.text, l->word) != NULL &&
                      strstr(err.text, path) != NULL,
                  "%s -> %s: %s", l->from, l->to, err.text);
        free(text);
    }
    free(good);
}

/* Line number k (from 0) of a text; with its newline. */
static const char *line_at(const char *text, int k, size_t *ret_n)
{
    for (; k > 0; k--) {
        text = strchr(text, '\n') + 1;
    }
    *ret_n = (size_t)(strchr(text, '\n') - text) + 1;
    return text;
}

/* The text with line k put a second time after itself, or (drop) without it. */
static char *edited(const char *text, int k, bool drop)
{
    size_t n = 0;
    const char *line = line_at(text, k, &n);

    return wf_asprintf("%.*s%s", (int)(line - text) + (drop ? 0 : (int)n), text,
                       drop ? line + n : line);
}

Test(record_bad, lines_that_come_twice_or_not_at_all)
{
    char *good = whole();
    struct wf_error err = { .text = "" };
    char *text = edited(good, 1, false);

    cr_assert_eq(read_text(text, strlen(text), false, NULL, &err), WF_EINVAL);
    cr_assert(strstr(err.text, ":3:") != NULL && strstr(err.text, "second record"),
              "%s", err.text);
    free(text);
    text = edited(good, 6, false); /* three cases, two sentinels, then the round */
    cr_assert_eq(read_text(text, strlen(text), false, NULL, &err), WF_EINVAL);
    cr_assert(strstr(err.text, ":8:") && strstr(err.text, "the next one is 2"), "%s",
              err.text);
    free(text);
    text = edited(good, 0, false);
    cr_assert_eq(read_text(text, strlen(text), false, NULL, &err), WF_EINVAL);
    cr_assert(strstr(err.text, ":2:") && strstr(err.text, "kind"), "%s", err.text);
    free(text);
    text = edited(good, 0, true);
    cr_assert_eq(read_text(text, strlen(text), false, NULL, &err), WF_EINVAL);
    free(text);
    text = edited(good, 6, true); /* a round that is never ended */
    cr_assert_eq(read_text(text, strlen(text), false, NULL, &err), WF_EINVAL);
    cr_assert(strstr(err.text, ":7:") != NULL, "%s", err.text);
    free(text);
    text = wf_asprintf("%s{\"kind\":\"static\",\"entries\":[]}\n", good);
    cr_assert_eq(read_text(text, strlen(text), false, NULL, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "after the verdict") != NULL, "%s", err.text);
    free(text);
    free(good);
}

/* A pair that has its verdict is measured no more: nobody adds blocks to taste. */
Test(record_bad, a_pair_with_its_verdict)
{
    struct play p = { .candidate = { "MISMATCH" } };
    struct play fine = { .candidate = { NULL } };
    struct wf_gate_record *r = play_record(2, 1, false);
    struct wf_gate_todo todo = { .pair = 0, .block_count = 0 };
    struct wf_error err = { .text = "" };
    size_t lines;

    cr_assert(play_round(r, &p, 0, ""));
    lines = wf_gate_record_line_count(r);
    cr_assert_eq(wf_gate_record_add(r, play_pair_line(r, &fine, &todo, 2), &err),
                 WF_EINVAL);
    cr_assert(strstr(err.text, "had its verdict before round 2") != NULL, "%s",
              err.text);
    cr_assert_eq(wf_gate_record_line_count(r), lines);
    cr_assert(play_round(r, &fine, 0, ""));
    wf_gate_record_free(r);
}

Test(record_bad, torn_last_lines)
{
    char *good = whole();
    size_t n = strlen(good);
    struct wf_error err = { .text = "" };
    bool torn = true;

    cr_assert_eq(read_text(good, n, true, &torn, &err), WF_OK);
    cr_assert(!torn);
    cr_assert_eq(read_text(good, n - 1, true, &torn, &err), WF_OK);
    cr_assert(torn);
    cr_assert_eq(read_text(good, n - 40, true, &torn, &err), WF_OK);
    cr_assert(torn);
    cr_assert_eq(read_text(good, n - 40, false, &torn, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "cut off") != NULL, "%s", err.text);
    cr_assert_eq(read_text(good, 300, true, &torn, &err), WF_EPARSE); /* no header */
    free(good);
}

Test(record_bad, no_record_at_all)
{
    struct wf_gate_record *r = NULL;
    struct wf_error err = { .text = "" };
    bool torn;

    cr_assert_eq(read_text("", 0, true, &torn, &err), WF_EINVAL);
    cr_assert(strstr(err.text, "is empty") != NULL, "%s", err.text);
    cr_assert_eq(read_text("\n", 1, true, &torn, &err), WF_EPARSE);
    cr_assert_eq(read_text("[]\n", 3, true, &torn, &err), WF_EINVAL);
    cr_assert_eq(read_text("{}\0{}\n", 6, true, &torn, &err), WF_EPARSE);
    cr_assert_eq(wf_gate_record_read("/nowhere/at/all", false, &r, NULL, &err),
                 WF_ENOTFOUND);
}

/* Bytes changed at random: never a crash, whatever comes out. */
Test(record_bad, noise_in_the_file)
{
    char *good = whole();
    size_t n = strlen(good);
    struct wf_rng r = { 51, 1, 0 };
    int refused = 0;

    for (int i = 0; i < 400; i++) {
        char *text = wf_strdup(good);
        struct wf_error err;
        bool torn;
        for (uint64_t k = 0; k <= wf_rng_next_below(&r, 4); k++) {
            size_t at = (size_t)wf_rng_next_below(&r, i % 2 == 0 ? n : 4000);
            text[at] = (char)(wf_rng_next_below(&r, 2) == 0
                                  ? " {}[]\",:0189-eE.ntf\\u"[wf_rng_next_below(&r, 22)]
                                  : (char)wf_rng_next_below(&r, 256));
        }
        refused += read_text(text, n, true, &torn, &err) != WF_OK;
        free(text);
    }
    cr_assert_gt(refused, 200);
    free(good);
}
