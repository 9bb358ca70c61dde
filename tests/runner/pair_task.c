#include "pair_task.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct wf_pair pair_of(const char *key, const char *base, const char *candidate)
{
    struct wf_pair p = { .key = key, .case_json = TASK_CASE, .case_name = "37x29x41" };
    p.arm[WF_PAIR_BASE].pack_folder = base ? task_pack() : NULL;
    p.arm[WF_PAIR_BASE].kernel = base;
    p.arm[WF_PAIR_CAND].pack_folder = candidate ? task_pack() : NULL;
    p.arm[WF_PAIR_CAND].kernel = candidate;
    return p;
}

struct wf_pair pair_measured(const char *key,
                             const char *base,
                             const char *candidate,
                             int blocks)
{
    static const uint8_t masks[] = { 5, 10, 3, 12, 6, 9 };
    struct wf_pair p = pair_of(key, base, candidate);
    p.block_count = blocks;
    for (int i = 0; i < blocks; i++) {
        p.mask[i] = masks[i % 6];
    }
    return p;
}

static char cache[64];

static void remove_cache(void)
{
    (void)wf_remove_tree(cache, NULL);
}

/* What somebody found out about this machine's clock must not decide here. */
static void own_cache(void)
{
    if (!cache[0]) {
        (void)snprintf(cache, sizeof(cache), "/tmp/wavefarm-pairs-XXXXXX");
        cr_assert_not_null(mkdtemp(cache));
        (void)atexit(remove_cache);
        cr_assert_eq(setenv("WAVEFARM_CACHE", cache, 1), 0);
    }
}

struct wf_pair_round pair_round_of(const struct wf_pair *pair, size_t count)
{
    const struct wf_execute_request task = task_request("right");
    own_cache();
    return (struct wf_pair_round){ .gate = "0123456789abcdef",
                                   .round = 3,
                                   .pair = pair,
                                   .pair_count = count,
                                   .device = task.device,
                                   .seed_offset = 77,
                                   .deadline_ns = task.deadline_ns,
                                   .kernel_deadline_ns = task.kernel_deadline_ns,
                                   .threads = 1,
                                   .measure = { .batch_min_ns = 200000 } };
}

/* All records and the facts, one JSON array, are as the schema says. */
static void expect_schema(const struct pair_records *r)
{
    char path[] = "/tmp/wavefarm-pairs-XXXXXX";
    char python[] = "python3";
    char script[] = SOURCE_FOLDER "/tests/support/validate_schema.py";
    char option[] = "--array";
    char schema[] = SOURCE_FOLDER "/docs/schemas/block.schema.json";
    char *argv[] = { python, script, option, schema, path, NULL };
    struct wf_buf text = WF_BUF_INIT;
    struct wf_error err = { 0 };
    pid_t pid = 0;
    int status = -1;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    for (size_t i = 0; i <= r->count; i++) {
        const struct wf_json *one = i < r->count ? r->record[i] : r->facts;
        if (one) {
            (void)wf_buf_puts(&text, text.len ? "," : "[", &err);
            cr_assert_eq(wf_json_write(one, &text, &err), WF_OK, "%s", err.text);
        }
    }
    (void)wf_buf_puts(&text, text.len ? "]" : "[]", &err);
    cr_assert_eq(wf_write_all(fd, text.data, text.len, path, &err), WF_OK);
    (void)close(fd);
    cr_assert_eq(posix_spawnp(&pid, python, NULL, NULL, argv, environ), 0);
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    (void)unlink(path);
    cr_expect_eq(status, 0, "not as the schema says: %s", text.data);
    wf_buf_free(&text);
}

static enum wf_status keep(void *ctx,
                           const struct wf_json *record,
                           struct wf_error *err)
{
    struct pair_records *r = ctx;
    cr_assert_lt(r->count, (size_t)PAIR_RECORDS_MAX);
    return wf_json_copy(record, &r->record[r->count++], err);
}

struct pair_records pair_run(const struct wf_pair_round *round)
{
    struct pair_records r = { .count = 0 };
    r.status = wf_pair_round(round, keep, &r, &r.facts, &r.err);
    if (r.count > 0 || r.facts) {
        expect_schema(&r);
    }
    return r;
}

struct pair_records pair_run_all(const struct wf_pair_round *round)
{
    struct pair_records r = pair_run(round);
    cr_assert_eq(r.status, WF_OK, "%s", r.err.text);
    cr_assert_eq(r.count, round->pair_count);
    return r;
}

static size_t count_blocks(const struct pair_records *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++) {
        n += wf_json_count(task_member(r->record[i], "blocks"));
    }
    return n;
}

struct pair_records pair_run_blocks(const struct wf_pair_round *round, size_t blocks)
{
    struct pair_records r = pair_run_all(round);
    for (int i = 1; i < 4 && count_blocks(&r) != blocks; i++) {
        pair_records_free(&r);
        r = pair_run_all(round);
    }
    return r;
}

void pair_records_free(struct pair_records *r)
{
    for (size_t i = 0; i < r->count; i++) {
        wf_json_free(r->record[i]);
    }
    wf_json_free(r->facts);
}
