/* The expected words of a probe and their comparison, bit for bit. */
#include "kernels/probe/probe.h"

#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_WORDS 65536u

struct wf_reference {
    struct probe p;
    uint64_t seed;
    uint32_t *want; /* of Y */
};

static void destroy(struct wf_reference *ref)
{
    if (ref != NULL) {
        free(ref->want);
        free(ref);
    }
}

/* Words of Y: every group of PROBE_GROUP_BYTES adds to one of them. */
static enum wf_status sum_groups(struct wf_reference *ref, struct wf_error *err)
{
    const uint64_t words = (uint64_t)ref->p.bytes / 4;
    const uint64_t group = PROBE_GROUP_BYTES / 4;
    uint32_t *chunk = wf_calloc(CHUNK_WORDS, sizeof *chunk);
    if (chunk == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a probe's words");
    }
    for (uint64_t at = 0; at < words; at += CHUNK_WORDS) {
        const uint64_t n = words - at < CHUNK_WORDS ? words - at : CHUNK_WORDS;
        probe_words(ref->seed, at, n, chunk);
        for (uint64_t i = 0; i < n; i++) {
            ref->want[(at + i) / group % (uint64_t)ref->p.parts] += chunk[i];
        }
    }
    free(chunk);
    return WF_OK;
}

static uint32_t step(uint32_t v, uint32_t i)
{
    v = (v ^ (0x9e3779b9u * i + 0x7f4a7c15u)) * ((0x85ebca6bu * i) | 1u);
    return v ^ (v >> 15);
}

static void run_steps(struct wf_reference *ref)
{
    const uint64_t lanes = (uint64_t)ref->p.lanes;
    probe_words(ref->seed, 0, lanes, ref->want);
    for (uint64_t l = 0; l < lanes; l++) {
        for (int64_t i = 0; i < ref->p.steps; i++) {
            ref->want[l] = step(ref->want[l], (uint32_t)i);
        }
    }
}

static enum wf_status expect(struct wf_reference *ref, struct wf_error *err)
{
    switch (ref->p.work) {
    case PROBE_READ:
        return sum_groups(ref, err);
    case PROBE_CODE:
        run_steps(ref);
        break;
    case PROBE_SPIN:
    case PROBE_CLOCKS:
    case PROBE_WORK_COUNT:
        for (int i = 0; i < PROBE_SPIN_WORDS; i++) {
            ref->want[i] =
                (uint32_t)(ref->p.work == PROBE_SPIN ? ref->p.ns : ref->p.clocks);
        }
        break;
    }
    return WF_OK;
}

static enum wf_status create(const struct wf_case *c,
                             const void *state,
                             const struct wf_reference_options *options,
                             struct wf_reference **ret,
                             struct wf_error *err)
{
    struct wf_reference *ref = wf_calloc(1, sizeof *ref);
    if (ref == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a probe's reference");
    }
    memcpy(&ref->p, state, sizeof ref->p);
    ref->seed = wf_case_seed(c) + options->seed_offset;
    ref->want = wf_calloc(ref->p.tensor[PROBE_Y].elements, sizeof *ref->want);
    enum wf_status st = ref->want == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory for a probe's words")
                            : expect(ref, err);
    if (st != WF_OK) {
        destroy(ref);
        return st;
    }
    *ret = ref;
    return WF_OK;
}

static void note_wrong(struct wf_check_report *r,
                       uint64_t i,
                       uint32_t got,
                       uint32_t want)
{
    if (r->mismatches++ > 0) {
        return;
    }
    r->answer = WF_ANSWER_MISMATCH;
    r->has_worst = r->has_first = true;
    r->worst_ndim = r->first_ndim = 1;
    r->worst_index[0] = r->first_index[0] = (int64_t)i;
    r->worst_got = r->first_got = (double)(int32_t)got;
    r->worst_want = r->first_want = (double)(int32_t)want;
    (void)snprintf(r->worst_tensor, sizeof r->worst_tensor, "Y");
    (void)snprintf(r->first_tensor, sizeof r->first_tensor, "Y");
}

static void compare(const struct wf_reference *ref,
                    const uint32_t *got,
                    uint64_t first,
                    uint64_t n,
                    struct wf_check_report *r)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t want = ref->want[first + i];
        if (got[i] != want) {
            note_wrong(r, first + i, got[i], want);
            r->unwritten += wf_is_poison(WF_I32, &got[i]);
        }
    }
}

static void describe(const struct wf_reference *ref, struct wf_check_report *r)
{
    struct wf_check *c = &r->check[r->check_count++];
    (void)snprintf(r->tolerance_model, sizeof r->tolerance_model, "probe-exact/1");
    (void)snprintf(r->tolerance_text, sizeof r->tolerance_text,
                   "32-bit integers that wrap: equal to the bit");
    (void)snprintf(c->name, sizeof c->name, "every-word");
    c->passed = r->mismatches == 0;
    c->elements = ref->p.tensor[PROBE_Y].elements;
    c->worst_ratio = r->mismatches == 0 ? 0 : 2;
    c->smallest_caught = 1;
    if (r->unwritten > 0 && r->unwritten == r->mismatches) {
        r->answer = WF_ANSWER_UNWRITTEN;
    }
}

static enum wf_status check(struct wf_reference *ref,
                            const struct wf_output_source *outputs,
                            struct wf_check_report *ret,
                            struct wf_error *err)
{
    struct wf_check_report r;
    const uint64_t words = ref->p.tensor[PROBE_Y].elements;
    memset(&r, 0, sizeof r);
    r.answer = WF_ANSWER_PASS;
    uint32_t *got = wf_calloc(CHUNK_WORDS, sizeof *got);
    if (got == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a probe's words");
    }
    enum wf_status st = WF_OK;
    for (uint64_t at = 0; st == WF_OK && at < words; at += CHUNK_WORDS) {
        const uint64_t n = words - at < CHUNK_WORDS ? words - at : CHUNK_WORDS;
        st = outputs->read(outputs->ctx, PROBE_Y, at * 4, n * 4, got, err);
        if (st == WF_OK) {
            compare(ref, got, at, n, &r);
        }
    }
    free(got);
    if (st == WF_OK) {
        describe(ref, &r);
        *ret = r;
    }
    return st;
}

static uint64_t held_bytes(const struct wf_reference *ref)
{
    return ref->p.tensor[PROBE_Y].bytes + 2 * CHUNK_WORDS * 4;
}

const struct wf_reference_ops probe_reference_ops = {
    .create = create,
    .destroy = destroy,
    .check = check,
    .bytes = held_bytes,
};
