/* The static part of a gate: figures of the machine code of two packs, and the
 * emulator's counters where their pairs ran on it. Needs no device. */
#ifndef WF_CLI_GATE_STATIC_H
#define WF_CLI_GATE_STATIC_H

#include "core/error.h"
#include "core/json.h"
#include "packs/pack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_gate_static_options {
    const char *base_kernel; /* with cand_kernel: compare these two; NULL: kernels of
                                equal names */
    const char *cand_kernel;
    const char *kernels;     /* glob over the candidate's names, NULL: all */
    bool mca;                /* ask llvm-mca about the hot loops */
    const char *mca_program; /* NULL: the ones on PATH */
    int64_t mca_timeout_ns;  /* 0: 20 s */
    /* Records of pairs (runner/pair.h), for the emulator's counters; may be none. */
    const struct wf_json *const *pair_record;
    size_t pair_record_count;
};

/* The record's line "kind": "static" (gate/static.h), to be freed. `policy`: the member
 * "static" of the policy (wf_gate_policy_static), or NULL. Kernels whose code objects
 * are the same files count as compared and are not read; packs without gfx942 code give
 * a line with "compared": 0. */
enum wf_status wf_gate_static_line(const struct wf_pack *base,
                                   const struct wf_pack *cand,
                                   const struct wf_json *policy,
                                   const struct wf_gate_static_options *options,
                                   struct wf_json **ret,
                                   struct wf_error *err);

#endif
