/* What every launch that a pack allows makes sure of, for the analysis of values. */
#ifndef WF_SELFTEST_GENERATE_LAUNCH_H
#define WF_SELFTEST_GENERATE_LAUNCH_H

#include "emulator/load/image.h"
#include "packs/pack.h"
#include "selftest/generate_values.h"

enum {
    GEN_MAX_ARGUMENTS = 256
};

/* Fills `ret`; its arguments are those in `argument`. */
enum wf_status gen_launch_of(const struct wf_pack_kernel *kernel,
                             const struct wf_pack_launch *launch,
                             const struct em_kernel *code,
                             struct gen_argument argument[GEN_MAX_ARGUMENTS],
                             struct gen_launch *ret,
                             struct wf_error *err);

#endif
