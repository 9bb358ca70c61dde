/* What a subject sees of a round does not tell which arm is the candidate. */
#include "pair_task.h"

#include "core/file.h"
#include "runner/pair_rule.h"
#include "runner/subject_protocol.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOT_BATCHES (WF_PAIR_UNTIMED + WF_PAIR_TIMED)

static char folder[64];
static char record[96];

static void remove_folder(void)
{
    (void)wf_remove_tree(folder, NULL);
}

/* A folder of programs whose subject is the recording one. */
static void begin(void)
{
    char path[128];
    (void)snprintf(folder, sizeof(folder), "/tmp/wavefarm-blind-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)atexit(remove_folder);
    (void)snprintf(path, sizeof(path), "%s/wavefarm-judge", folder);
    cr_assert_eq(symlink(JUDGE_PROGRAM, path), 0);
    (void)snprintf(path, sizeof(path), "%s/wavefarm-subject", folder);
    cr_assert_eq(symlink(RECORDING_SUBJECT, path), 0);
    (void)snprintf(record, sizeof(record), "%s/record", folder);
    /* The device is looked for before the programs are replaced. */
    (void)task_request("right");
    cr_assert_eq(setenv("WAVEFARM_LIBEXEC", folder, 1), 0);
    cr_assert_eq(setenv("REAL_SUBJECT", SUBJECT_PROGRAM, 1), 0);
    cr_assert_eq(setenv("RECORD_TO", record, 1), 0);
}

struct said {
    struct wf_sp_header header;
    const char *payload;
};

/* The next message of the record; false at its end. */
static bool next(const struct wf_buf *text, size_t *at, struct said *ret)
{
    if (*at >= text->len) {
        return false;
    }
    cr_assert_leq(*at + sizeof(ret->header), text->len);
    memcpy(&ret->header, text->data + *at, sizeof(ret->header));
    cr_assert_eq(ret->header.magic, WF_SP_MAGIC);
    *at += sizeof(ret->header);
    ret->payload = text->data + *at;
    *at += ret->header.payload_bytes;
    cr_assert_leq(*at, text->len);
    return true;
}

static struct wf_buf run(const struct wf_pair *pair, int32_t number)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_error err = { 0 };
    struct wf_pair_round round = pair_round_of(pair, 1);
    round.round = number;
    struct pair_records r;
    for (int i = 0;; i++) { /* until the machine is calm enough */
        (void)unlink(record);
        r = pair_run_all(&round);
        if (i == 3 || wf_json_count(task_member(r.record[0], "blocks")) > 0) {
            break;
        }
        pair_records_free(&r);
    }
    cr_assert_str_eq(task_text(r.record[0], "base.answer"), "PASS", "%s",
                     task_text(r.record[0], "base.answer_text"));
    cr_assert_eq(wf_json_count(task_member(r.record[0], "blocks")),
                 (size_t)pair->block_count, "%s", task_text(r.record[0], "note"));
    pair_records_free(&r);
    cr_assert_eq(wf_file_read(record, 64u << 20, &text, &err), WF_OK, "%s", err.text);
    return text;
}

/* Requests for slots, in order: all equal but for the program's number, which goes with
 * the seat that the label has. */
static void expect_slots(const struct wf_buf *text,
                         const struct wf_pair *pair,
                         bool swapped)
{
    struct said said;
    struct wf_sp_measure first = { 0 };
    size_t slots = 0;
    size_t at = 0;
    uint32_t reset_bytes = 0;
    while (next(text, &at, &said)) {
        struct wf_sp_measure m;
        if (said.header.command == WF_SP_SET_RESET) {
            reset_bytes = said.header.payload_bytes;
        }
        if (said.header.command != WF_SP_MEASURE) {
            continue;
        }
        cr_assert_eq(said.header.payload_bytes, sizeof(m));
        memcpy(&m, said.payload, sizeof(m));
        if (m.batches != SLOT_BATCHES) {
            continue;
        }
        first = slots == 0 ? m : first;
        cr_expect_neq(reset_bytes, 0);
        const size_t block = slots / PAIR_SLOTS;
        if (block < (size_t)pair->block_count) {
            const bool candidate = pair->mask[block] >> slots % PAIR_SLOTS & 1;
            cr_expect_eq(m.base, candidate != swapped ? WF_SP_MAX_PROGRAMS / 2 : 0,
                         "slot %zu", slots);
        }
        m.base = first.base;
        cr_expect_arr_eq(&m, &first, sizeof(m), "slot %zu is asked for otherwise",
                         slots);
        slots++;
    }
    cr_expect_eq(slots, (size_t)pair->block_count * PAIR_SLOTS + 1,
                 "%zu slots: those of the blocks, and one to judge the other arm",
                 slots);
}

/* Messages up to the first launch: loaded, allocated, written, prepared. */
static size_t count_until_run(const struct wf_buf *text,
                              uint16_t command,
                              uint32_t object)
{
    struct said said;
    size_t at = 0;
    size_t n = 0;
    while (next(text, &at, &said) && said.header.command != WF_SP_RUN) {
        uint32_t first = 0;
        cr_assert(said.header.payload_bytes >= sizeof(first) ||
                  said.header.command == WF_SP_CLEAR);
        memcpy(&first, said.payload, said.header.payload_bytes ? sizeof(first) : 0);
        n +=
            said.header.command == command && (object == UINT32_MAX || first == object);
    }
    return n;
}

/* The number of a round in which this pair's arms sit so. */
static int32_t round_with(const char *key, bool swapped)
{
    struct pair_draw draw;
    for (int32_t i = 1; i < 100; i++) {
        pair_draw(77, i, key, &draw);
        if (draw.swapped == swapped) {
            return i;
        }
    }
    cr_assert(false, "all rounds are alike");
    return 0;
}

Test(pair_blind, slots_differ_in_the_number_of_the_program_alone, .init = begin)
{
    const struct wf_pair pair = pair_measured("blind", "right", "right", 3);
    for (int swapped = 0; swapped < 2; swapped++) {
        struct wf_buf text = run(&pair, round_with("blind", swapped));
        expect_slots(&text, &pair, swapped);
        wf_buf_free(&text);
    }
}

Test(pair_blind, both_arms_find_the_same_tensors, .init = begin)
{
    struct wf_pair pair = pair_measured("inputs", "right", "right", 1);
    struct wf_buf text = run(&pair, 1);
    /* A, B, no C, D, no bias and scales, then a workspace for each arm; pads have
     * numbers at the end. */
    static const uint32_t wanted[] = { 1, 1, 0, 1, 0, 0, 0, 1, 1, 0 };
    for (uint32_t object = 0; object < sizeof(wanted) / sizeof(wanted[0]); object++) {
        cr_expect_eq(count_until_run(&text, WF_SP_ALLOC, object), wanted[object],
                     "object %u", object);
    }
    /* Two guard zones each; the inputs once for both arms. */
    cr_expect_eq(count_until_run(&text, WF_SP_WRITE, 0), 3u);
    cr_expect_eq(count_until_run(&text, WF_SP_WRITE, 1), 3u);
    cr_expect_eq(count_until_run(&text, WF_SP_WRITE, 3), 2u);
    cr_expect_eq(count_until_run(&text, WF_SP_LIB_LOAD, UINT32_MAX), 2u);
    cr_expect_eq(count_until_run(&text, WF_SP_LIB_PREPARE, UINT32_MAX), 2u);
    wf_buf_free(&text);
}
