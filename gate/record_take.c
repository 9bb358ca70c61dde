/* Rounds from a store that keeps the record's lines itself and hands over what they
 * say. The checks are those of a line. */
#include "gate/record_internal.h"

#include <math.h>
#include <string.h>

static enum wf_status take_answers(const struct wf_gate_pair *p,
                                   const char *const answer[2],
                                   struct record_part *ret,
                                   struct wf_error *err)
{
    for (int arm = 0; arm < ARM_COUNT; arm++) {
        ret->has[arm] = p->kernel[arm] != NULL;
        if (ret->has[arm] != (answer[arm][0] != '\0')) {
            return wf_errorf(err, WF_EINVAL, "pair \"%s\": the header has %s %s",
                             p->key, ret->has[arm] ? "a" : "no",
                             arm == ARM_BASE ? "base" : "candidate");
        }
        if (ret->has[arm] && !wf_answer_parse(answer[arm], &ret->answer[arm])) {
            return wf_errorf(err, WF_EINVAL, "pair \"%s\": answer \"%.40s\" is none",
                             p->key, answer[arm]);
        }
    }
    return WF_OK;
}

static enum wf_status take_block(const struct wf_gate_record *r,
                                 const struct wf_gate_pair *p,
                                 const struct wf_gate_block *b,
                                 int index,
                                 struct wf_error *err)
{
    unsigned want = wf_gate_draw_mask(r->header.seed, p->key, b->round, index);

    if (b->mask != want) {
        return wf_errorf(err, WF_EINVAL,
                         "pair \"%s\": mask %u: the seed gives %u for round %d", p->key,
                         b->mask, want, (int)b->round);
    }
    for (unsigned i = 0; i < WF_GATE_SLOTS && !b->rejected; i++) {
        if (!(fabs(b->y[i]) <= 1000)) {
            return wf_errorf(err, WF_EINVAL,
                             "pair \"%s\": y[%u] is no logarithm of a time", p->key, i);
        }
    }
    return WF_OK;
}

enum wf_status wf_gate_record_take_pair(struct wf_gate_record *r,
                                        size_t pair,
                                        int32_t round,
                                        const char *const answer[2],
                                        const struct wf_gate_block *block,
                                        int block_count,
                                        struct wf_error *err)
{
    struct record_part part = { .line = NO_LINE };
    const struct wf_gate_pair *p = &r->header.pair[pair];
    enum wf_status status = record_check_round(r, p->device, round, err);

    if (status == WF_OK) {
        status = take_answers(p, answer, &part, err);
    }
    if (status == WF_OK && block_count > p->blocks) {
        status = wf_errorf(err, WF_EINVAL, "pair \"%s\": %d blocks of %d", p->key,
                           block_count, p->blocks);
    }
    for (int k = 0; k < block_count && status == WF_OK; k++) {
        part.block[k] = block[k];
        part.block[k].round = round;
        status = take_block(r, p, &part.block[k], k, err);
        part.block_count++;
    }
    return status == WF_OK ? record_take_part(r, pair, p->device, &part, err) : status;
}

enum wf_status wf_gate_record_take_round(struct wf_gate_record *r,
                                         int device,
                                         int32_t round,
                                         bool is_void,
                                         struct wf_error *err)
{
    enum wf_status status = WF_OK;

    if (device < 0 || device >= r->header.groups) {
        return wf_errorf(err, WF_EINVAL, "a gate of %d groups has no group %d",
                         r->header.groups, device);
    }
    status = record_check_round(r, device, round, err);
    return status == WF_OK ? record_round_over(r, device, is_void, err) : status;
}
