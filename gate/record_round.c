/* One round: what its lines say, and what it does to the gate when it has ended. */
#include "gate/record_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- a pair's line --- */

static const char *const arm_names[ARM_COUNT] = { "base", "candidate" };

static enum wf_status read_arm(const struct wf_gate_pair *p,
                               const struct wf_json *line,
                               int arm,
                               struct record_part *ret,
                               struct wf_error *err)
{
    const struct wf_json *v = wf_json_find(line, arm_names[arm]);
    const char *answer = NULL;
    enum wf_status status;

    ret->has[arm] = p->kernel[arm] != NULL;
    if (!ret->has[arm]) {
        return v != NULL && wf_json_type(v) == WF_JSON_NULL
                   ? WF_OK
                   : wf_errorf(err, WF_EINVAL,
                               "\"%s\" must be null: the header has no such arm",
                               arm_names[arm]);
    }
    status = wf_json_get_object(line, arm_names[arm], &v, err);
    if (status == WF_OK) {
        status = wf_json_get_string(v, "answer", &answer, err);
    }
    if (status == WF_OK && !wf_answer_parse(answer, &ret->answer[arm])) {
        status = wf_errorf(err, WF_EINVAL, "%s: \"answer\" is \"%.40s\", which is none",
                           arm_names[arm], answer);
    }
    return status;
}

static enum wf_status read_y(const struct wf_json *v,
                             struct wf_gate_block *b,
                             struct wf_error *err)
{
    const struct wf_json *y = NULL;
    const struct wf_json *item;
    enum wf_status status = wf_json_get_array(v, "y", &y, err);
    unsigned i = 0;

    if (status != WF_OK) {
        return status;
    }
    if (wf_json_count(y) != WF_GATE_SLOTS) {
        return wf_errorf(err, WF_EINVAL, "\"y\" has %zu values: a block has %u slots",
                         wf_json_count(y), WF_GATE_SLOTS);
    }
    for (item = wf_json_first(y); item != NULL; item = wf_json_next(item), i++) {
        b->y[i] = NAN;
        if (!(wf_json_as_f64(item, &b->y[i]) && fabs(b->y[i]) <= 1000) &&
            !b->rejected) {
            return wf_errorf(err, WF_EINVAL,
                             "y[%u] is no logarithm of a time in a block that is not "
                             "rejected",
                             i);
        }
    }
    return WF_OK;
}

static enum wf_status read_block(const struct wf_gate_record *r,
                                 const struct wf_gate_pair *p,
                                 const struct wf_json *v,
                                 int index,
                                 struct wf_gate_block *b,
                                 struct wf_error *err)
{
    const char *rejected = NULL;
    int64_t mask = 0;
    unsigned want = wf_gate_draw_mask(r->header.seed, p->key, b->round, index);
    enum wf_status status = wf_json_get_i64(v, "mask", 0, 15, &mask, err);

    if (status == WF_OK) {
        status = wf_json_get_string(v, "rejected", &rejected, err);
    }
    if (status != WF_OK) {
        return status;
    }
    if (mask != (int64_t)want) {
        return wf_errorf(err, WF_EINVAL,
                         "mask %d: the seed gives %u for round %d: the record was "
                         "changed, or the round was run with labels of its own",
                         (int)mask, want, (int)b->round);
    }
    b->mask = (uint8_t)mask;
    b->rejected = rejected[0] != '\0';
    return read_y(v, b, err);
}

static enum wf_status read_blocks(const struct wf_gate_record *r,
                                  const struct wf_gate_pair *p,
                                  const struct wf_json *line,
                                  struct record_part *ret,
                                  struct wf_error *err)
{
    const struct wf_json *blocks = NULL;
    enum wf_status status = wf_json_get_array(line, "blocks", &blocks, err);

    if (status != WF_OK) {
        return status;
    }
    if (wf_json_count(blocks) > (size_t)p->blocks) {
        return wf_errorf(err, WF_EINVAL, "%zu blocks: the header allows %d a round",
                         wf_json_count(blocks), p->blocks);
    }
    for (const struct wf_json *v = wf_json_first(blocks); v != NULL;
         v = wf_json_next(v)) {
        struct wf_gate_block *b = &ret->block[ret->block_count];
        b->round = r->group[p->device].done + 1;
        if (wf_json_type(v) != WF_JSON_OBJECT) {
            return wf_errorf(err, WF_EINVAL, "blocks[%d]: must be an object",
                             ret->block_count);
        }
        status = read_block(r, p, v, ret->block_count, b, err);
        if (status != WF_OK) {
            return wf_error_prefix(err, "blocks[%d]", ret->block_count);
        }
        ret->block_count++;
    }
    return WF_OK;
}

enum wf_status record_part_read(const struct wf_gate_record *r,
                                const struct wf_json *line,
                                size_t *ret_pair,
                                struct record_part *ret,
                                struct wf_error *err)
{
    const struct wf_gate_pair *p;
    const char *key = NULL;
    enum wf_status status = wf_json_get_string(line, "pair", &key, err);

    if (status != WF_OK) {
        return status;
    }
    if (!gate_header_find(&r->header, key, ret_pair)) {
        return wf_errorf(err, WF_EINVAL, "pair \"%.200s\": the header has no such pair",
                         key);
    }
    p = &r->header.pair[*ret_pair];
    for (int arm = 0; arm < ARM_COUNT && status == WF_OK; arm++) {
        status = read_arm(p, line, arm, ret, err);
    }
    if (status == WF_OK) {
        status = read_blocks(r, p, line, ret, err);
    }
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "pair \"%s\"", key);
}

/* --- answers --- */

enum quality {
    RIGHT,
    REFUSED, /* this kernel or device does not do the case */
    WRONG,
    UNKNOWN /* the farm failed, not the kernel */
};

static enum quality quality_of(enum wf_answer a)
{
    if (a == WF_ANSWER_PASS) {
        return RIGHT;
    }
    if (a == WF_ANSWER_NOT_SUPPORTED || a == WF_ANSWER_INVALID_CASE) {
        return REFUSED;
    }
    return a == WF_ANSWER_LOST || a == WF_ANSWER_CANCELLED ? UNKNOWN : WRONG;
}

struct finding {
    enum wf_gate_verdict verdict; /* OPEN: the answers settle nothing */
    enum wf_gate_reason reason;
};

#define FINDING(v, r) ((struct finding){ WF_GATE_VERDICT_##v, WF_GATE_REASON_##r })

/* The candidate is right. */
static struct finding with_right(const struct record_part *part, bool timed)
{
    if (!part->has[ARM_BASE]) {
        return FINDING(PASS, ANSWER_ONLY);
    }
    switch (quality_of(part->answer[ARM_BASE])) {
    case RIGHT:
        return timed ? FINDING(OPEN, NONE) : FINDING(PASS, ANSWER_ONLY);
    case REFUSED: /* nothing to compare with: as if new */
        return FINDING(PASS, ANSWER_ONLY);
    case UNKNOWN:
        return FINDING(INCONCLUSIVE, NOT_RUN);
    case WRONG:
        break;
    }
    return FINDING(INCONCLUSIVE, BASE_WRONG);
}

static struct finding judge_answers(const struct record_part *part, bool timed)
{
    enum quality base =
        part->has[ARM_BASE] ? quality_of(part->answer[ARM_BASE]) : REFUSED;

    switch (quality_of(part->answer[ARM_CANDIDATE])) {
    case RIGHT:
        return with_right(part, timed);
    case UNKNOWN:
        return FINDING(INCONCLUSIVE, NOT_RUN);
    case REFUSED:              /* what the base could do is lost: a regression */
        if (base == UNKNOWN) { /* could it? nobody knows */
            return FINDING(INCONCLUSIVE, NOT_RUN);
        }
        return base == RIGHT ? FINDING(FAIL, WRONG)
                             : FINDING(INCONCLUSIVE, NOT_SUPPORTED);
    case WRONG:
        break;
    }
    /* A case too large for the device is nobody's fault. */
    if (part->has[ARM_BASE] && part->answer[ARM_BASE] == WF_ANSWER_OUT_OF_MEMORY &&
        part->answer[ARM_CANDIDATE] == WF_ANSWER_OUT_OF_MEMORY) {
        return FINDING(INCONCLUSIVE, NOT_SUPPORTED);
    }
    return FINDING(FAIL, WRONG);
}

static void note_wrong(struct record_pair *p)
{
    for (int arm = 0; arm < ARM_COUNT; arm++) {
        if (p->part.has[arm] && p->part.answer[arm] != WF_ANSWER_PASS) {
            p->wrong[arm] = p->part.line;
        }
    }
}

/* --- levels --- */

static bool level_of(const struct record_part *part, double *ret)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < part->block_count; i++) {
        for (unsigned k = 0; k < WF_GATE_SLOTS && !part->block[i].rejected; k++) {
            sum += part->block[i].y[k];
            n++;
        }
    }
    *ret = n > 0 ? sum / n : NAN;
    return part->there && n > 0;
}

static void keep_level(struct record_pair *p)
{
    double level = NAN;

    if (!level_of(&p->part, &level)) {
        return;
    }
    if (p->level_count == WF_GATE_LEVELS) {
        memmove(p->level, p->level + 1, (WF_GATE_LEVELS - 1) * sizeof p->level[0]);
        p->level_count--;
    }
    p->level[p->level_count++] = level;
}

bool wf_gate_record_level_is_off(const struct wf_gate_record *r,
                                 int device,
                                 char *ret_why,
                                 size_t n)
{
    for (size_t i = 0; i < r->header.count; i++) {
        const struct wf_gate_pair *p = &r->header.pair[i];
        const struct record_pair *s = &r->pair[i];
        double level = NAN;
        double limit = 0;
        if (p->role == WF_GATE_SENTINEL_SAME && p->device == device &&
            level_of(&s->part, &level) &&
            wf_gate_level_is_off(s->level, s->level_count, level, &limit)) {
            (void)snprintf(ret_why, n,
                           "%s takes %.4g ns, more than %.2g %% from the rounds before",
                           p->key, exp(level), 100 * limit);
            return true;
        }
    }
    if (n > 0) {
        ret_why[0] = '\0';
    }
    return false;
}

/* --- the round's end --- */

/* Blocks that were due and did not come, or came in a void round. */
static enum wf_status lose(struct wf_gate_record *r,
                           size_t i,
                           int from,
                           int to,
                           struct wf_error *err)
{
    const struct wf_gate_pair *p = &r->header.pair[i];
    struct wf_gate_block b = { .round = r->group[p->device].done + 1,
                               .rejected = true };
    enum wf_status status = WF_OK;

    for (int k = from; k < to && status == WF_OK; k++) {
        b.mask = (uint8_t)wf_gate_draw_mask(r->header.seed, p->key, b.round, k);
        status = wf_gate_add_block(r->gate, i, &b, err);
    }
    return status;
}

static enum wf_status count_part(struct wf_gate_record *r,
                                 size_t i,
                                 bool is_void,
                                 struct wf_error *err)
{
    const struct record_part *part = &r->pair[i].part;
    int due = r->header.pair[i].blocks;
    struct finding f;
    enum wf_status status = WF_OK;

    if (is_void || !part->there) { /* answers only: one, so that it ends some day */
        return lose(r, i, 0, due > 0 ? due : 1, err);
    }
    note_wrong(&r->pair[i]);
    f = judge_answers(part, due > 0);
    if (f.verdict != WF_GATE_VERDICT_OPEN) {
        /* It may have had a verdict from another group's round meanwhile: only a wrong
         * answer goes over that. */
        if (f.reason == WF_GATE_REASON_WRONG ||
            wf_gate_verdict_of(r->gate, i, NULL) == WF_GATE_VERDICT_OPEN) {
            wf_gate_settle(r->gate, i, f.verdict, f.reason);
        }
        return WF_OK;
    }
    for (int k = 0; k < part->block_count && status == WF_OK; k++) {
        status = wf_gate_add_block(r->gate, i, &part->block[k], err);
    }
    return status == WF_OK ? lose(r, i, part->block_count, due, err) : status;
}

enum wf_status record_round_end(struct wf_gate_record *r,
                                int group,
                                bool is_void,
                                struct wf_error *err)
{
    enum wf_status status = WF_OK;

    for (size_t i = 0; i < r->header.count && status == WF_OK; i++) {
        const struct wf_gate_pair *p = &r->header.pair[i];
        if (p->device != group || !r->pair[i].due) {
            continue;
        }
        status = count_part(r, i, is_void, err);
        if (p->role == WF_GATE_SENTINEL_SAME) {
            keep_level(&r->pair[i]);
        }
        r->pair[i].part = (struct record_part){ .there = false };
    }
    return status;
}
