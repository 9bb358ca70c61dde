/* Measures how many generated mutants are caught, and by what; for the numbers of
 * docs/mutants.md and for whoever changes the generator. A line for each survivor.
 *
 * generated_rate PACK KERNEL COUNT SEED FOLDER [seed offset] */
#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"
#include "packs/pack.h"
#include "selftest/generate.h"
#include "selftest/generate_cases.h"
#include "selftest/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct one {
    char *folder;
    char id[WF_SHA256_HEX];
    const char *name, *kind;
    bool caught;
    enum wf_answer answer;
    int by;
};

static struct one *mutants;
static size_t errors;

static void ended(void *ctx, const struct wf_trial *t, const struct wf_trial_outcome *o)
{
    (void)ctx;
    struct one *m = (struct one *)(uintptr_t)t->user;
    if (o->status != WF_OK) {
        if (errors++ > 3) {
            return;
        }
        (void)printf("ERROR\t%s\t%s\t%s\n", m ? m->name : "right", t->case_json,
                     o->text);
    } else if (!m && o->answer != WF_ANSWER_PASS) {
        (void)printf("ALARM\t%s\t%s\n", t->case_json, o->text);
    } else if (m && (wf_trial_answer_is_void(o->answer))) {
        (void)printf("VOID\t%s\t%s\n", m->name, o->text);
    } else if (m && o->answer != WF_ANSWER_PASS) {
        m->caught = true;
        m->answer = o->answer;
    }
}

static void check(enum wf_status st, const struct wf_error *err)
{
    if (st != WF_OK) {
        (void)fprintf(stderr, "%s\n", err->text);
        exit(3);
    }
}

static void read_id(const char *folder, char id[WF_SHA256_HEX])
{
    struct wf_error err;
    struct wf_pack *pack = NULL;
    check(wf_pack_open(folder, &pack, &err), &err);
    memcpy(id, wf_pack_id(pack), WF_SHA256_HEX);
    wf_pack_free(pack);
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct wf_error err = { 0 };
    struct wf_generated_set *set = NULL;
    struct wf_generated_cases *cases = NULL;
    struct wf_device device;
    int64_t count = 0;
    int64_t seed = 0;
    if (argc < 6 || wf_parse_i64(argv[3], "COUNT", 1, 100000, &count, &err) != WF_OK ||
        wf_parse_i64(argv[4], "SEED", 0, 1000000, &seed, &err) != WF_OK) {
        (void)fprintf(stderr, "usage: generated_rate PACK KERNEL COUNT SEED FOLDER\n");
        return 2;
    }
    double start = now();
    check(wf_generated_create(argv[1], argv[2], (size_t)count, (uint64_t)seed, &set,
                              &err),
          &err);
    (void)printf("# %s: %zu drawn in %.2f s\n", argv[2], wf_generated_count(set),
                 now() - start);
    check(wf_mkdir_parents(argv[5], &err), &err);
    char *data = wf_path_join(argv[5], "datasets");
    check(wf_mkdir_parents(data, &err), &err);
    check(wf_generated_cases_create(argv[2], data, &cases, &err), &err);
    check(wf_device_open("emulator", &device, &err), &err);
    size_t n = wf_generated_count(set);
    mutants = wf_calloc(n, sizeof(*mutants));
    start = now();
    for (size_t i = 0; i < n; i++) {
        mutants[i].folder = wf_asprintf("%s/m%zu", argv[5], i);
        mutants[i].name = wf_generated_name(set, i);
        mutants[i].kind = wf_generated_kind(set, i);
        check(wf_generated_write(set, i, mutants[i].folder, &err), &err);
        read_id(mutants[i].folder, mutants[i].id);
    }
    (void)printf("# written in %.2f s\n", now() - start);
    struct wf_trial *trial = wf_calloc(n + 1, sizeof(*trial));
    char id[WF_SHA256_HEX];
    read_id(argv[1], id);
    for (size_t c = 0; c < wf_generated_cases_count(cases); c++) {
        size_t k = 0;
        struct wf_trial t = { .kernel = argv[2],
                              .case_json = wf_generated_case(cases, c),
                              .device = &device,
                              .dataset_folder = data,
                              .kernel_deadline_ns = 5000000000 };
        start = now();
        t.pack_folder = argv[1];
        t.pack_id = id;
        check(wf_trials_run(&t, 1, 1, NULL, ended, NULL, &err), &err);
        double right = now() - start;
        for (size_t i = 0; i < n; i++) {
            if (!mutants[i].caught) {
                trial[k] = t;
                trial[k].pack_folder = mutants[i].folder;
                trial[k].pack_id = mutants[i].id;
                trial[k].user = &mutants[i];
                k++;
            }
        }
        start = now();
        check(wf_trials_run(trial, k, 2, NULL, ended, NULL, &err), &err);
        double took = now() - start;
        size_t left = 0;
        for (size_t i = 0; i < n; i++) {
            if (mutants[i].caught && mutants[i].by == 0) {
                mutants[i].by = (int)c + 1;
            }
            left += !mutants[i].caught;
        }
        (void)printf("# case %zu: right %.3f s, %zu trials in %.2f s, %zu left: %s\n",
                     c, right, k, took, left, t.case_json);
    }
    size_t caught = 0;
    for (size_t i = 0; i < n; i++) {
        caught += mutants[i].caught;
        (void)printf("%s\t%s\t%d\t%s\n", mutants[i].caught ? "CAUGHT" : "SURVIVED",
                     mutants[i].caught ? wf_answer_name(mutants[i].answer) : "-",
                     mutants[i].by, mutants[i].name);
    }
    const char *why;
    size_t out = 0;
    for (size_t i = 0; (why = wf_generated_excluded(set, i, &out)); i++) {
        (void)printf("EXCLUDED\t%zu\t%s\n", out, why);
    }
    (void)printf("# %zu of %zu caught, %zu errors\n", caught, n, errors);
    (void)wf_remove_tree(argv[5], &err);
    return 0;
}
