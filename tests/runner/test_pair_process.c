/* Pairs of process kernels: two live adapters (tests/packs/process_example) that take
 * turns. An adapter's fault is in its own pack, so that the other arm stays right. */
#include "core/file.h"
#include "packs/pack.h"
#include "pair_task.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE "{\"op\":\"gemm\",\"M\":9,\"N\":7,\"K\":11,\"a_type\":\"f32\"}"

static char root[64];

static void make_root(void)
{
    (void)snprintf(root, sizeof(root), "/tmp/wavefarm-pair-process-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void remove_root(void)
{
    (void)wf_remove_tree(root, NULL);
}

TestSuite(pair_process, .init = make_root, .fini = remove_root);

static void copy_changed(const char *folder,
                         const char *name,
                         const char *from,
                         const char *to)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_error err = { 0 };
    char *source = wf_asprintf("%s/%s", PROCESS_EXAMPLE, name);
    cr_assert_eq(wf_file_read(source, 1 << 20, &text, &err), WF_OK, "%s", err.text);
    const char *all = wf_buf_cstr(&text);
    const char *at = strstr(all, from);
    char *changed =
        at ? wf_asprintf("%.*s%s%s", (int)(at - all), all, to, at + strlen(from))
           : wf_strdup(all);
    char *target = wf_path_join(folder, name);
    cr_assert_eq(wf_file_write_atomic(target, changed, strlen(changed), &err), WF_OK,
                 "%s", err.text);
    free(target);
    free(changed);
    free(source);
    wf_buf_free(&text);
}

/* A pack whose adapter has one text replaced. */
static const char *adapter(const char *name, const char *from, const char *to)
{
    static char folder[8][128];
    static size_t count;
    struct wf_pack *pack = NULL;
    struct wf_error err = { 0 };
    char *path = folder[count++ % 8];
    (void)snprintf(path, sizeof(folder[0]), "%s/%s", root, name);
    cr_assert_eq(wf_mkdir_parents(path, &err), WF_OK, "%s", err.text);
    copy_changed(path, "adapter.py", from, to);
    copy_changed(path, "pack.json.in", "", "");
    cr_assert_eq(wf_pack_build(path, &pack, &err), WF_OK, "%s", err.text);
    wf_pack_free(pack);
    return path;
}

#define RIGHT adapter("right", "", "")
#define WITH_BUG(bug) \
    adapter(bug, "os.environ.get(\"PROCESS_EXAMPLE_BUG\", \"\")", "\"" bug "\"")

static struct wf_pair pair_in(const char *base, const char *candidate, int blocks)
{
    struct wf_pair p = pair_measured("k", "gemm_python", "gemm_python", blocks);
    p.case_json = CASE;
    p.arm[WF_PAIR_BASE].pack_folder = base;
    p.arm[WF_PAIR_CAND].pack_folder = candidate;
    return p;
}

static void expect(const struct wf_json *one,
                   const char *base,
                   const char *candidate,
                   size_t blocks,
                   const char *note)
{
    cr_expect_str_eq(task_text(one, "base.answer"), base, "%s",
                     task_text(one, "base.answer_text"));
    cr_expect_str_eq(task_text(one, "candidate.answer"), candidate, "%s",
                     task_text(one, "candidate.answer_text"));
    cr_expect_eq(wf_json_count(wf_json_find(one, "blocks")), blocks, "%s",
                 task_text(one, "note"));
    cr_expect(strstr(task_text(one, "note"), note) != NULL, "'%s' lacks '%s'",
              task_text(one, "note"), note);
}

/* Mean of candidate less base over the blocks, in logs. */
static double effect_of(const struct wf_json *record)
{
    double sum = 0;
    const struct wf_json *blocks = wf_json_find(record, "blocks");
    for (const struct wf_json *b = wf_json_first(blocks); b; b = wf_json_next(b)) {
        const struct wf_json *y = wf_json_find(b, "y");
        int64_t mask = 0;
        cr_assert(wf_json_as_i64(wf_json_find(b, "mask"), &mask));
        for (size_t i = 0; i < 4; i++) {
            double v = 0;
            cr_assert(wf_json_as_f64(wf_json_at(y, i), &v));
            sum += (mask >> i & 1 ? v : -v) / 2;
        }
    }
    return sum / (double)wf_json_count(blocks);
}

#define SLEEPS(name, ms)                      \
    adapter(name, "    def product(self):\n", \
            "    def product(self):\n        time.sleep(" ms " / 1000)\n")

static void expect_twice_the_time(const struct wf_json *record)
{
    expect(record, "PASS", "PASS", 2, "self-timed");
    const double effect = effect_of(record);
    cr_expect(effect > log(1.5) && effect < log(2.7), "a factor of %.2f", exp(effect));
    cr_expect_gt(task_number(record, "launches"), 1);
}

/* In one round: whatever an arm does, the other one and the pairs behind it get their
 * answers. A lie is seen by the judge's clock, a replay by the timed launches' outputs
 * (its times may be doubted, too). The last pair's launches take 2 and 4 ms: whoever
 * mixes up arms, or divides by the wrong number of launches, does not find a factor of
 * two. */
Test(pair_process, each_arm_gets_its_own_answer)
{
    const char *right = RIGHT;
    struct wf_pair pair[] = {
        pair_in(right, WITH_BUG("wrong"), 1),
        pair_in(WITH_BUG("crash"), right, 1),
        pair_in(right, WITH_BUG("lies"), 1),
        pair_in(WITH_BUG("replay"), right, 1),
        pair_in(right, right, 1),
        pair_in(NULL, right, 1),
        pair_in(SLEEPS("base", "2"), SLEEPS("candidate", "4"), 2),
    };
    pair[4].arm[WF_PAIR_CAND].pack_folder = task_pack(); /* a library */
    pair[4].arm[WF_PAIR_CAND].kernel = "right";
    pair[5].arm[WF_PAIR_BASE].kernel = NULL;
    const struct wf_pair_round round =
        pair_round_of(pair, sizeof(pair) / sizeof(pair[0]));
    struct pair_records r = pair_run_all(&round);
    expect(r.record[0], "PASS", "MISMATCH", 0, "an answer is not PASS");
    expect(r.record[1], "CRASH", "PASS", 0, "an answer is not PASS");
    expect(r.record[2], "PASS", "PASS", 0, "times cannot be believed (the candidate");
    expect(r.record[3], "CHEAT_SUSPECTED", "PASS", 0, "no blocks");
    expect(r.record[4], "PASS", "PASS", 0, "one kernel is a command");
    cr_expect_str_eq(task_text(r.record[5], "candidate.answer"), "PASS");
    cr_expect_str_eq(task_text(r.record[5], "note"),
                     "no blocks: there is one arm only");
    expect_twice_the_time(r.record[6]);
    pair_records_free(&r);
}
