/* Pairs of process kernels: commands that allocate and measure themselves. Not compared
 * yet: both arms say so, and nothing is started. */
#include "runner/judge_pair.h"

bool pair_has_process(const struct pair *p)
{
    for (size_t a = 0; a < WF_PAIR_ARMS; a++) {
        const struct judge *j = &p->arm[a].j;
        if (p->arm[a].exists && j->kernel && j->kernel->kind == WF_KERNEL_PROCESS) {
            return true;
        }
    }
    return false;
}

enum wf_status pair_run_process(struct pair *p, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t a = 0; st == WF_OK && a < WF_PAIR_ARMS; a++) {
        struct pair_arm *arm = &p->arm[a];
        if (arm->exists && !arm->judged) {
            result_answer(&arm->result, WF_ANSWER_NOT_SUPPORTED,
                          "a pair with a process kernel: commands are not yet measured "
                          "side by side");
            st = judge_end(&arm->j, WF_OK, err);
            arm->judged = true;
        }
    }
    return st;
}
