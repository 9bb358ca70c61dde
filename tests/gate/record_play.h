/* Records played without a device: a made-up runner asks what is next and answers. */
#ifndef WF_TESTS_GATE_RECORD_PLAY_H
#define WF_TESTS_GATE_RECORD_PLAY_H

#include "gate/header.h"
#include "gate/record.h"

/* What the made-up device does with pair i; NULL members: the usual thing. */
struct play {
    double effect[16];         /* of the pair, 0 */
    const char *base[16];      /* answers, PASS */
    const char *candidate[16]; /* likewise */
    double noise;              /* of a slot, 0.003 */
    double level_step;         /* added to all values from round level_round on */
    int level_round;
    uint64_t stream;
};

/* A header of `cases` pairs "case-0/k", ... and, with_sentinels, of the two sentinels
 * of every group. Aborts the test on an error, as all here do. */
struct wf_json *play_header(int cases, int groups, bool with_sentinels);
struct wf_gate_record *play_record(int cases, int groups, bool with_sentinels);
/* A seed that is the same in every test; so are the draws. */
extern const uint8_t play_seed[WF_GATE_SEED_BYTES];

/* The line of a pair in the round, as a runner would write it. */
struct wf_json *play_pair_line(const struct wf_gate_record *r,
                               const struct play *p,
                               const struct wf_gate_todo *todo,
                               int32_t round);
struct wf_json *play_round_line(const struct wf_gate_record *r,
                                int device,
                                int32_t round,
                                const char *is_void);
void play_add(struct wf_gate_record *r, struct wf_json *line);
/* One round of a group; false: nothing was left to do. */
bool play_round(struct wf_gate_record *r,
                const struct play *p,
                int device,
                const char *is_void);
/* All rounds of all groups and the verdict line. */
void play_to_the_end(struct wf_gate_record *r, const struct play *p);
/* The record's lines as a file's text; caller frees. */
char *play_text(const struct wf_gate_record *r);

#endif
