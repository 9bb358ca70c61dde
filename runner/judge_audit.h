/* The audit of a timed kernel: launches on inputs that nobody has seen before, by the
 * judge's own clock. Private to the judge.
 *
 * Timed launches repeat the same work, so a kernel that keeps its answer is faster than
 * one that does the work. The audit changes small parts of the inputs on the device
 * just before each of a few launches, at random places and with random seeds that are
 * drawn by the judge when it begins; a later copy of an output element shows whether a
 * launch has written it by the time it is over. The changed inputs stay for the samples
 * that follow, whose outputs are judged against a reference of the changed inputs. So
 * an answer from before is a wrong one, and an answer that is kept and used again is
 * a time far below that of the audit. docs/isolation.md has the rule. */
#ifndef WF_RUNNER_JUDGE_AUDIT_H
#define WF_RUNNER_JUDGE_AUDIT_H

#include "runner/judge.h"

/* Runs it. Sets the answer when outputs come late. */
enum wf_status judge_audit(struct judge *j, struct wf_error *err);

/* Whether the audit's launches contradict this time of a launch. More rounds are run
 * before it says so, because a busy machine is no fault of the kernel's; *ret_ran:
 * there were some, which left their outputs behind. */
enum wf_status judge_audit_compare(struct judge *j,
                                   double median_ns,
                                   bool *ret_ran,
                                   struct wf_error *err);

/* The parts of it. The ratio is that of a launch on changed inputs to `median_ns`, NaN
 * where there is none. */
enum wf_status judge_audit_look_again(struct judge *j,
                                      double median_ns,
                                      bool *ret_ran,
                                      bool *ret_contradicts,
                                      struct wf_error *err);
double judge_audit_ratio(const struct judge *j, double median_ns);
void judge_audit_accuse(struct judge *j, double median_ns);

/* The rule itself: a launch on changed inputs against one of the samples. `launches`:
 * behind each other in a round; `host`: a host kernel. */
bool audit_contradicts(double fresh_ns, double median_ns, uint32_t launches, bool host);

/* The audit ran, and there was nothing that it could change; and that in words. */
bool judge_audit_is_blind(const struct judge *j);
const char *judge_audit_blind_text(void);
void judge_audit_destroy(struct judge *j);

#endif
