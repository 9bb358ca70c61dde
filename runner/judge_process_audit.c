/* The audit of a command's times: the same launches one by one. */
#include "runner/judge_process.h"

#include "core/clock.h"

#include <math.h>

#define SINGLE_ROUNDS  3
#define SINGLE_SLOW_NS 2e9 /* one round is enough */
#define SINGLE_RATIO   2.5
#define SINGLE_NS      2e6 /* a command's answer may take this */
#define SINGLE_READ_NS 3e6

/* The shortest of a few rounds: a busy machine is no fault of the command's. */
struct singly {
    double launch_ns; /* one launch until synchronised */
    double read_ns;   /* the read behind it */
    double again_ns;  /* and once more, with nothing between */
};

static void keep_least(double *least, double ns)
{
    *least = ns < *least ? ns : *least;
}

static enum wf_status timed_read(struct process_task *p,
                                 double *least,
                                 struct wf_error *err)
{
    const int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = p->j->done ? WF_OK : process_read(p, err);
    keep_least(least, (double)(wf_monotonic_ns() - start_ns));
    return st;
}

static enum wf_status run_singly(struct process_task *p,
                                 struct singly *s,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    *s = (struct singly){ (double)INFINITY, (double)INFINITY, (double)INFINITY };
    for (int i = 0; st == WF_OK && !p->j->done && i < SINGLE_ROUNDS; i++) {
        double self_ns = 0;
        double wall_ns = 0;
        st = process_launch(p, 1, &self_ns, &wall_ns, err);
        keep_least(&s->launch_ns, wall_ns);
        st = st == WF_OK ? timed_read(p, &s->read_ns, err) : st;
        st = st == WF_OK ? timed_read(p, &s->again_ns, err) : st;
        if (wall_ns + s->read_ns > SINGLE_SLOW_NS) {
            break;
        }
    }
    return st;
}

enum wf_status process_audit(struct process_task *p,
                             double median_ns,
                             uint32_t launches,
                             struct wf_error *err)
{
    struct judge *j = p->j;
    struct singly s;
    enum wf_status st = run_singly(p, &s, err);
    if (st != WF_OK || j->done) {
        return st;
    }
    if (s.launch_ns > SINGLE_RATIO * median_ns + SINGLE_NS) {
        result_answer(j->result, WF_ANSWER_CHEAT_SUSPECTED,
                      "a single launch took %.0f ns by the judge's clock, each of "
                      "%u behind each other is said to take %.0f ns",
                      s.launch_ns, launches, median_ns);
    } else if (s.read_ns > SINGLE_RATIO * s.again_ns + SINGLE_READ_NS &&
               s.read_ns - s.again_ns > SINGLE_RATIO * median_ns) {
        result_answer(j->result, WF_ANSWER_CHEAT_SUSPECTED,
                      "the read behind a launch took %.0f ns, reading once more %.0f "
                      "ns: work of the launch (%.0f ns) is done when it is read",
                      s.read_ns, s.again_ns, median_ns);
    }
    j->done = j->done || j->result->answer != WF_ANSWER_PASS;
    return WF_OK;
}
