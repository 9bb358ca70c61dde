/* A gate's record: JSON Lines of docs/schemas/gate-record.schema.json. All that the
 * verdicts rest on, in the order in which it came to be:
 *
 *   {"kind":"header", ...}  gate, seed, rule, packs with provenance, suite, policy, and
 *                           the pairs with their margins: written before any launch
 *   {"kind":"pair", ...}    one pair's part of one round (runner/pair.h)
 *   {"kind":"round", ...}   the round's facts; "void": why nothing of it counts; "cut":
 *                           who ended it early (what had come of it counts)
 *   {"kind":"close", ...}   no more rounds on a group ("group": null: on all of them),
 *                           with the reason: "cancelled" or "not-run"
 *   {"kind":"static", ...}  static comparison, kept for the report
 *   {"kind":"verdict", ...} figures of every pair and of the gate, the last line
 *
 * The same lines are what a farm stores and serves. */
#ifndef WF_GATE_RECORD_H
#define WF_GATE_RECORD_H

#include "core/error.h"
#include "core/json.h"
#include "gate/draw.h"
#include "gate/gate.h"

#include <stdbool.h>
#include <stdio.h>

#define WF_GATE_RECORD_SCHEMA "wavefarm.gate/1"

/* A pair as the header has it. Texts are borrowed from the record. */
struct wf_gate_pair {
    const char *key, *case_id, *case_name, *op;
    const char *kernel[2]; /* of base and candidate; NULL: that arm does not exist */
    enum wf_gate_role role;
    struct wf_gate_margins margins;
    int device;          /* group */
    bool identical;      /* loadable code, metadata, plan and inputs: not launched */
    const char *refused; /* why it is not run at all; NULL: it is */
    int blocks;          /* a round, 0: answers only */
};

struct wf_gate_record; /* opaque: everything read so far, and the state it leads to */

/* From a header (an object; taken over, also on error). */
enum wf_status wf_gate_record_create(struct wf_json *header,
                                     struct wf_gate_record **ret,
                                     struct wf_error *err);
void wf_gate_record_free(struct wf_gate_record *r);
/* One further line, taken over also on error. Rounds of a group are numbered from 1
 * without gaps. Blocks count when their round's line has come: what the round should
 * have brought and did not (cut short, void) counts as lost; EINVAL names what is
 * wrong with the line: a pair, mask or round that the seed does not give, a second
 * record of the same pair and round. After a verdict line nothing may follow. */
enum wf_status wf_gate_record_add(struct wf_gate_record *r,
                                  struct wf_json *line,
                                  struct wf_error *err);
/* The same by what the lines say, for a store that keeps the lines itself: nothing is
 * known here of their text (wf_gate_record_newest). `answer` of base and candidate, ""
 * where there is no such arm. */
enum wf_status wf_gate_record_take_pair(struct wf_gate_record *r,
                                        size_t pair,
                                        int32_t round,
                                        const char *const answer[2],
                                        const struct wf_gate_block *block,
                                        int block_count,
                                        struct wf_error *err);
enum wf_status wf_gate_record_take_round(struct wf_gate_record *r,
                                         int device,
                                         int32_t round,
                                         bool is_void,
                                         struct wf_error *err);
/* Reads a file or, with "-", standard input; errors name file and line. A torn last
 * line is an error unless `torn_ok`, then it is dropped and *ret_torn set. */
enum wf_status wf_gate_record_read(const char *path,
                                   bool torn_ok,
                                   struct wf_gate_record **ret,
                                   bool *ret_torn,
                                   struct wf_error *err);

const struct wf_json *wf_gate_record_header(const struct wf_gate_record *r);
size_t wf_gate_record_count(const struct wf_gate_record *r);
const struct wf_gate_pair *wf_gate_record_pair(const struct wf_gate_record *r,
                                               size_t i);
struct wf_gate *wf_gate_record_gate(struct wf_gate_record *r);
/* The newest record of the pair, NULL before the first: answers, diagnosis. */
const struct wf_json *wf_gate_record_newest(const struct wf_gate_record *r, size_t i);
/* The newest one whose candidate (else whose base) is not PASS, of rounds that counted;
 * else the newest. */
const struct wf_json *wf_gate_record_telling(const struct wf_gate_record *r, size_t i);
const uint8_t *wf_gate_record_seed(const struct wf_gate_record *r);
/* Every line after the header, in the order of adding. */
size_t wf_gate_record_line_count(const struct wf_gate_record *r);
const struct wf_json *wf_gate_record_line(const struct wf_gate_record *r, size_t i);
/* Number of the pair with this key; false: there is none. */
bool wf_gate_record_find(const struct wf_gate_record *r, const char *key, size_t *ret);
/* A round of the device group that no line has ended yet (the gate was killed in it):
 * to be closed by a round line, so that what had come of it counts. */
bool wf_gate_record_open_round(const struct wf_gate_record *r,
                               int device,
                               int32_t *ret_round);

/* wf_gate_device_is_good, with the sentinel by its key. */
bool wf_gate_record_device_is_good(const struct wf_gate_record *r,
                                   int device,
                                   char *ret_why,
                                   size_t n);

/* Whether a same-code sentinel of the group's round under way is off its level
 * (gate/level.h) in the rounds before it: the round's line should then be void, with
 * *ret_why. Call before the round's line is added. */
bool wf_gate_record_level_is_off(const struct wf_gate_record *r,
                                 int device,
                                 char *ret_why,
                                 size_t n);
/* A line of kind "close". `device` -1: all groups. Rounds under way must be ended
 * before it is added. */
enum wf_status wf_gate_record_close(const struct wf_gate_record *r,
                                    int device,
                                    enum wf_gate_reason reason,
                                    const char *why,
                                    struct wf_json **ret,
                                    struct wf_error *err);

/* What comes next on a device group: its round's number and the pairs that are open, in
 * the drawn order; *ret_count 0: nothing is left to do there. `ret` has room for all
 * pairs. Call after the last round's line has been added. */
struct wf_gate_todo {
    size_t pair;
    int block_count;
    uint8_t mask[8];
};
enum wf_status wf_gate_record_next(struct wf_gate_record *r,
                                   int device,
                                   int32_t *ret_round,
                                   struct wf_gate_todo *ret,
                                   size_t *ret_count,
                                   struct wf_error *err);

/* The verdict line for the state reached; caller frees. Numbers read back to the same
 * bits. What is still OPEN is said so: close first. */
enum wf_status wf_gate_record_verdict(struct wf_gate_record *r,
                                      struct wf_json **ret,
                                      struct wf_error *err);
/* Compares what the blocks lead to (computed while the lines were added) with the
 * stored verdict line, bit by bit. *ret_differences: how many figures differ (0: the
 * same); each is told to `say`. ENOTFOUND: the record has no verdict line. */
enum wf_status wf_gate_record_replay(struct wf_gate_record *r,
                                     void (*say)(void *ctx, const char *line),
                                     void *ctx,
                                     size_t *ret_differences,
                                     struct wf_error *err);

#endif
