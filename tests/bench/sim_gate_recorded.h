/* Recorded times of real devices (benchmark_hub: gpu_repeats/NAME.json.gz): each
 * configuration of a kernel was launched 32 times, one binary, one process. Every such
 * sequence is an A/A sample; scaling the slots of one arm injects a shift. */
#ifndef WF_TESTS_SIM_GATE_RECORDED_H
#define WF_TESTS_SIM_GATE_RECORDED_H

#include "sim_gate.h"

#define RECORDED_BLOCKS   7
#define RECORDED_LAUNCHES (RECORDED_BLOCKS * 4) /* the first 4 of 32 are left out */

struct recorded {
    char name[64];
    size_t n;
    double (*log_ms)[RECORDED_LAUNCHES];
};

/* The files of a folder, by name; NULL: $WF_SHARED_DATA/gpu_repeats, else
 * ../shared/data/gpu_repeats beside the source tree. ENOTFOUND: no such folder or no
 * file in it. */
enum wf_status recorded_read_all(const char *folder,
                                 struct recorded **ret,
                                 size_t *ret_count,
                                 struct wf_error *err);
enum wf_status recorded_read(const char *path,
                             struct recorded *ret,
                             struct wf_error *err);
void recorded_free(struct recorded *r, size_t count);

/* What the rule does with them. Labels are drawn anew by (seed, run). A sequence is a
 * pair of seven blocks whose slots are single launches; noise unknown (0.4 %); no sign
 * process, since there is one process. */
struct recorded_counts {
    uint64_t sequences;
    uint64_t sharp_20;                 /* W >= 20 at some look, at margin 0 */
    uint64_t w_20, w_6000, w_30000;    /* at the margin of 0.5 % */
    uint64_t pass, open, launches;     /* of the A/A gate, PASS and INCONCLUSIVE */
    uint64_t slower_fail, slower_pass; /* at a true 2 %, e >= 6000 */
};
/* Sequences first, first + step, ... */
void recorded_count(const struct recorded *r,
                    size_t first,
                    size_t step,
                    uint64_t seed,
                    uint64_t run,
                    struct recorded_counts *ret);

#endif
