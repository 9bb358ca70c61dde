/* Running rounds of pairs on the fixture library: shared by the tests of pairs. */
#ifndef WF_TESTS_RUNNER_PAIR_TASK_H
#define WF_TESTS_RUNNER_PAIR_TASK_H

#include "runner/pair.h"
#include "task.h"

#define PAIR_RECORDS_MAX 64

/* Records of a round in the order in which they came; checked against the schema. */
struct pair_records {
    struct wf_json *record[PAIR_RECORDS_MAX];
    size_t count;
    struct wf_json *facts; /* of the round; NULL: it failed */
    enum wf_status status;
    struct wf_error err;
};

/* A pair of two kernels of the fixture pack; NULL: that arm does not exist. */
struct wf_pair pair_of(const char *key, const char *base, const char *candidate);
/* With so many blocks of different masks. */
struct wf_pair pair_measured(const char *key,
                             const char *base,
                             const char *candidate,
                             int blocks);
/* On host:0; a batch is 200 us. */
struct wf_pair_round pair_round_of(const struct wf_pair *pair, size_t count);
struct pair_records pair_run(const struct wf_pair_round *round);
/* As above; expects that the round came to its end. */
struct pair_records pair_run_all(const struct wf_pair_round *round);
/* As above, up to four times until there are so many blocks in all: on a machine that
 * is very busy times are not believed now and then, which the notes say. */
struct pair_records pair_run_blocks(const struct wf_pair_round *round, size_t blocks);
void pair_records_free(struct pair_records *r);

#endif
