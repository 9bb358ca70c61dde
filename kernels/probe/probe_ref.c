/* The expected words of a probe and their comparison, bit for bit. */
#include "kernels/probe/probe.h"

#include "core/buf.h"
#include "kernels/parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_WORDS 65536u

#define LANES_AT_ONCE 4096u

struct wf_reference {
    struct probe p;
    int threads;
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
static enum wf_status sum_groups(struct wf_reference *ref,
                                 const struct wf_case *c,
                                 uint64_t seed_offset,
                                 struct wf_error *err)
{
    const uint64_t words = (uint64_t)ref->p.bytes / 4;
    const uint64_t group = PROBE_GROUP_BYTES / 4;
    enum wf_status st = WF_OK;
    uint32_t *chunk = wf_calloc(CHUNK_WORDS, sizeof *chunk);
    if (chunk == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a probe's words");
    }
    for (uint64_t at = 0; st == WF_OK && at < words; at += CHUNK_WORDS) {
        const uint64_t n = words - at < CHUNK_WORDS ? words - at : CHUNK_WORDS;
        st = wf_case_fill(c, PROBE_X, seed_offset, at, n, chunk, err);
        for (uint64_t i = 0; st == WF_OK && i < n; i++) {
            ref->want[(at + i) / group % (uint64_t)ref->p.parts] += chunk[i];
        }
    }
    free(chunk);
    return st;
}

/* Step by step over many lanes: the compiler makes vectors of them. */
static enum wf_status run_steps(void *ctx, uint64_t piece, struct wf_error *err)
{
    struct wf_reference *ref = ctx;
    (void)err;
    const uint64_t first = piece * LANES_AT_ONCE;
    const uint64_t left = (uint64_t)ref->p.lanes - first;
    const uint64_t n = left < LANES_AT_ONCE ? left : LANES_AT_ONCE;
    uint32_t *v = ref->want + first;
    for (uint32_t i = 0; i < (uint32_t)ref->p.steps; i++) {
        const uint32_t k = 0x9e3779b9u * i + 0x7f4a7c15u;
        const uint32_t m = (0x85ebca6bu * i) | 1u;
        for (uint64_t l = 0; l < n; l++) {
            const uint32_t x = (v[l] ^ k) * m;
            v[l] = x ^ (x >> 15);
        }
    }
    return WF_OK;
}

static enum wf_status expect_lds(struct wf_reference *ref,
                                 const struct wf_case *c,
                                 uint64_t seed_offset,
                                 struct wf_error *err)
{
    uint32_t table[PROBE_TABLE * 4];
    enum wf_status st =
        wf_case_fill(c, PROBE_X, seed_offset, 0, PROBE_TABLE * 4, table, err);
    if (st == WF_OK) {
        probe_expect_lds(&ref->p, table, ref->want);
    }
    return st;
}

static enum wf_status expect(struct wf_reference *ref,
                             const struct wf_case *c,
                             uint64_t seed_offset,
                             struct wf_error *err)
{
    const uint64_t lanes = (uint64_t)ref->p.lanes;
    enum wf_status st = WF_OK;
    switch (ref->p.work) {
    case PROBE_READ:
    case PROBE_HBM:
        return sum_groups(ref, c, seed_offset, err);
    case PROBE_LDS:
        return expect_lds(ref, c, seed_offset, err);
    case PROBE_ALU:
        st = wf_case_fill(c, PROBE_X, seed_offset, 0, lanes, ref->want, err);
        if (st == WF_OK) {
            probe_expect_alu(&ref->p, ref->want);
        }
        return st;
    case PROBE_CODE:
        st = wf_case_fill(c, PROBE_X, seed_offset, 0, lanes, ref->want, err);
        return st == WF_OK ? wf_parallel(ref->threads,
                                         (lanes + LANES_AT_ONCE - 1) / LANES_AT_ONCE,
                                         run_steps, ref, err)
                           : st;
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
    ref->threads = options->threads;
    ref->want = wf_calloc(ref->p.tensor[PROBE_Y].elements, sizeof *ref->want);
    enum wf_status st = ref->want == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory for a probe's words")
                            : expect(ref, c, options->seed_offset, err);
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
