/* The same launch again: are equal inputs answered with equal bits?
 *
 * Every launch finds something else in the workspaces and outputs, so that nothing may
 * depend on what they held. A kernel that is declared deterministic must give the same
 * bits each time; when it does not, a few more launches tell why. Of one that is
 * declared non-deterministic every launch is judged, and the distinct outputs are
 * counted. After the timed launches one more launch on their inputs must agree with
 * them: a kernel may be right while it is cold and wrong when it is warm. */
#include "runner/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a launch finds. Outputs of launch 0 hold the type's poison, by which unwritten
 * elements are known; later ones also hold numbers, because a kernel that reads its
 * output may be deaf to NaN (a maximum). X(workspace byte, output byte or POISON) */
#define POISON JUDGE_POISON_TYPE
#define FINDS(X)    \
    X(0xff, POISON) \
    X(0x7f, 0x5a)   \
    X(0x00, 0xda)   \
    X(0x80, POISON) \
    X(0x3c, 0x5a)

static const struct {
    unsigned workspace, output;
} finds[] = {
#define X(workspace, output) { workspace, output },
    FINDS(X)
#undef X
};

#define FIND_COUNT (sizeof(finds) / sizeof(finds[0]))

void judge_set_finds(struct judge *j, size_t launch)
{
    j->workspace_poison = finds[launch % FIND_COUNT].workspace;
    j->output_fill = finds[launch % FIND_COUNT].output;
}

static enum wf_status launch_again(struct judge *j, uint64_t *ret, struct wf_error *err)
{
    struct wf_sp_ran ran;
    enum wf_status st = judge_set_reset(j, err);
    if (st == WF_OK) {
        st = judge_emulate(j, false, err);
    }
    if (st == WF_OK) {
        st = judge_launch(j, &ran, err);
    }
    return st == WF_OK ? judge_output_digest(j, 0, ret, err) : st;
}

/* A launch that finds what launch number `launch` found. */
static enum wf_status digest_again(struct judge *j,
                                   size_t launch,
                                   uint64_t *ret,
                                   struct wf_error *err)
{
    judge_set_finds(j, launch);
    return launch_again(j, ret, err);
}

/* --- why launch number `launch` gave other bits --- */

/* Whether the answer follows what the launch finds, in rounds of both: a kernel that
 * throws a fair coin would seem to in one of 2^(2 * rounds). */
#define FOLLOW_ROUNDS 3

static enum wf_status follows_finds(struct judge *j,
                                    size_t launch,
                                    uint64_t other,
                                    bool *ret,
                                    struct wf_error *err)
{
    uint64_t digest = 0;
    enum wf_status st = WF_OK;
    *ret = true;
    for (int i = 0; st == WF_OK && *ret && i < 2 * FOLLOW_ROUNDS; i++) {
        bool first = i % 2 == 1;
        st = digest_again(j, first ? 0 : launch, &digest, err);
        *ret = digest == (first ? j->output_digest : other);
    }
    return st;
}

/* Whose content the answer follows: workspaces of `launch` over the first launch's
 * outputs. */
static enum wf_status name_finds(struct judge *j, size_t launch, struct wf_error *err)
{
    uint64_t digest = 0;
    judge_set_finds(j, launch);
    j->output_fill = finds[0].output;
    enum wf_status st = launch_again(j, &digest, err);
    if (st == WF_OK) {
        result_answer(j->result, WF_ANSWER_UNINITIALISED_READ,
                      "outputs depend on what %s held before the launch",
                      digest == j->output_digest ? "they" : "workspaces");
    }
    return st;
}

/* Whether the first answer comes back when workspaces that are set once are set again.
 */
static enum wf_status comes_back(struct judge *j, bool *ret, struct wf_error *err)
{
    uint64_t digest = 0;
    *ret = false;
    if (!judge_kept_workspace(j)) {
        return WF_OK;
    }
    enum wf_status st = judge_fill_kept(j, err);
    st = st == WF_OK ? digest_again(j, 0, &digest, err) : st;
    *ret = digest == j->output_digest;
    return st;
}

static enum wf_status explain(struct judge *j,
                              size_t launch,
                              uint64_t other,
                              struct wf_error *err)
{
    bool follows = false;
    bool stale = false;
    enum wf_status st = follows_finds(j, launch, other, &follows, err);
    if (st == WF_OK && !follows) {
        st = comes_back(j, &stale, err);
    }
    if (st != WF_OK) {
        return st;
    }
    if (follows) {
        st = name_finds(j, launch, err);
    } else if (stale) {
        result_answer(j->result, WF_ANSWER_NONDETERMINISTIC,
                      "launch %zu on equal inputs gave different bits until workspace "
                      "%s was filled again: it is set once, and the kernel does not "
                      "leave it as the next launch needs it",
                      launch + 1, judge_kept_workspace(j));
    } else {
        result_answer(j->result, WF_ANSWER_NONDETERMINISTIC,
                      "launch %zu on equal inputs gave different bits, and the kernel "
                      "is declared deterministic",
                      launch + 1);
    }
    j->done = true;
    return st;
}

/* --- distinct outputs --- */

enum wf_status judge_outputs_init(struct judge_outputs *seen,
                                  size_t launches,
                                  struct wf_error *err)
{
    *seen = (struct judge_outputs){ wf_calloc(launches, sizeof(*seen->digest)), 0, 0 };
    return seen->digest
               ? WF_OK
               : wf_errorf(err, WF_ENOMEM, "no memory for %zu digests", launches);
}

void judge_outputs_fini(struct judge_outputs *seen)
{
    free(seen->digest);
    seen->digest = NULL;
}

bool judge_outputs_note(struct judge_outputs *seen, uint64_t digest)
{
    size_t i = 0;
    while (i < seen->distinct && seen->digest[i] != digest) {
        i++;
    }
    seen->launches++;
    if (i < seen->distinct) {
        return false;
    }
    seen->digest[seen->distinct++] = digest;
    return true;
}

enum wf_status judge_outputs_details(const struct judge_outputs *seen,
                                     struct judge *j,
                                     struct wf_error *err)
{
    struct wf_json *details = j->result->details;
    bool equal = seen->distinct == 1;
    enum wf_status st = wf_json_set_bool(details, "bitwise_repeatable", equal, err);
    if (st == WF_OK) {
        st = wf_json_set_bool(details, "declared_deterministic",
                              j->kernel->deterministic, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(details, "launches", seen->launches, err);
    }
    return st == WF_OK
               ? wf_json_set_u64(details, "distinct_outputs", seen->distinct, err)
               : st;
}

/* One launch more. A non-deterministic kernel is judged each time. */
static enum wf_status repeat_once(struct judge *j,
                                  size_t launch,
                                  struct judge_outputs *seen,
                                  struct wf_error *err)
{
    char what[64];
    uint64_t digest = 0;
    enum wf_status st = digest_again(j, launch, &digest, err);
    if (st == WF_OK && launch == 1) {
        st = judge_take_cost(j, err);
    }
    if (st != WF_OK) {
        return st;
    }
    bool fresh = judge_outputs_note(seen, digest);
    if (fresh && j->kernel->deterministic) {
        return explain(j, launch, digest, err);
    }
    if (fresh) {
        (void)snprintf(what, sizeof(what), "launch %zu of %d on equal inputs",
                       launch + 1, j->request->measure.launches);
        st = judge_verify(j, 0, what, err);
    }
    return st;
}

enum wf_status judge_repeat(struct judge *j, struct wf_error *err)
{
    const size_t count = (size_t)j->request->measure.launches;
    struct judge_outputs seen;
    enum wf_status st = judge_outputs_init(&seen, count, err);
    j->say("stage determinism");
    if (st != WF_OK) {
        return st;
    }
    (void)judge_outputs_note(&seen, j->output_digest);
    for (size_t i = 1; st == WF_OK && !j->done && i < count; i++) {
        st = repeat_once(j, i, &seen, err);
    }
    if (st == WF_OK) { /* the launches since the first may have written elsewhere */
        st = judge_verify_around(j, 0, err);
    }
    enum wf_status set = judge_outputs_details(&seen, j, err);
    judge_outputs_fini(&seen);
    judge_set_finds(j, 0);
    return st == WF_OK ? set : st;
}

enum wf_status judge_repeat_timed(struct judge *j, size_t set, struct wf_error *err)
{
    uint64_t timed = 0;
    uint64_t again = 0;
    j->say("stage determinism");
    enum wf_status st = judge_output_digest(j, set, &timed, err);
    if (st == WF_OK) {
        st = digest_again(j, 1, &again, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_bool(j->result->details, "timed_repeatable", timed == again,
                              err);
    }
    if (st != WF_OK || timed == again) {
        return st;
    }
    if (!j->kernel->deterministic) {
        return judge_verify(j, 0, "launch after the timed ones", err);
    }
    result_answer(j->result, WF_ANSWER_NONDETERMINISTIC,
                  "a launch after the timed ones gave other bits than they did on the "
                  "same inputs, and the kernel is declared deterministic");
    j->done = true;
    return WF_OK;
}
