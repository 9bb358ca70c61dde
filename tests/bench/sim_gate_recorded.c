#include "sim_gate_recorded.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/json.h"
#include "core/rng.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define RECORDED 32 /* launches a configuration */
#define SKIPPED  (RECORDED - RECORDED_LAUNCHES)
#define SUFFIX   ".json.gz"

/* --- reading --- */

static enum wf_status unzip(const char *path, struct wf_buf *out, struct wf_error *err)
{
    static const size_t step = (size_t)1 << 20;
    gzFile file = gzopen(path, "rb");
    enum wf_status status = WF_OK;
    int got = 1;
    if (file == NULL) {
        return wf_errorf(err, WF_ENOTFOUND, "%s: cannot be opened", path);
    }
    while (status == WF_OK && got > 0) {
        if ((status = wf_buf_reserve(out, step, err)) == WF_OK) {
            got = gzread(file, out->data + out->len, (unsigned)step);
            out->len += got > 0 ? (size_t)got : 0;
        }
    }
    if (gzclose_r(file) != Z_OK || got < 0) {
        status = wf_errorf(err, WF_EPARSE, "%s: its compressed data is damaged", path);
    }
    return status;
}

/* A configuration's times, where it ran to the end. */
static bool take_times(const struct wf_json *configuration, double *ret)
{
    const struct wf_json *times = wf_json_find(configuration, "times");
    if (times == NULL || wf_json_type(times) != WF_JSON_ARRAY ||
        wf_json_count(times) < RECORDED) {
        return false;
    }
    const struct wf_json *v = wf_json_first(times);
    for (int i = 0; i < RECORDED; i++, v = wf_json_next(v)) {
        double ms = 0;
        if (!wf_json_as_f64(v, &ms) || !(ms > 0) || isinf(ms)) {
            return false;
        }
        if (i >= SKIPPED) {
            ret[i - SKIPPED] = log(ms);
        }
    }
    return true;
}

static enum wf_status take_all(const struct wf_json *root,
                               const char *path,
                               struct recorded *ret,
                               struct wf_error *err)
{
    const struct wf_json *cache = NULL;
    if (wf_json_get_object(root, "cache", &cache, err) != WF_OK) {
        return wf_error_prefix(err, "%s", path);
    }
    ret->log_ms = wf_calloc(wf_json_count(cache) + 1, sizeof *ret->log_ms);
    if (ret->log_ms == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", path);
    }
    for (const struct wf_json *v = wf_json_first(cache); v != NULL;
         v = wf_json_next(v)) {
        ret->n += take_times(v, ret->log_ms[ret->n]);
    }
    return ret->n > 0 ? WF_OK
                      : wf_errorf(err, WF_EINVAL, "%s: no configuration with %d times",
                                  path, RECORDED);
}

enum wf_status recorded_read(const char *path,
                             struct recorded *ret,
                             struct wf_error *err)
{
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *root = NULL;
    *ret = (struct recorded){ .n = 0 };
    (void)snprintf(ret->name, sizeof ret->name, "%.*s",
                   (int)(strlen(name) - strlen(SUFFIX)), name);
    enum wf_status status = unzip(path, &text, err);
    if (status == WF_OK) {
        status = wf_json_parse(text.data, text.len, path, &root, err);
    }
    if (status == WF_OK) {
        status = take_all(root, path, ret, err);
    }
    wf_json_free(root);
    wf_buf_free(&text);
    return status;
}

static int wanted(const struct dirent *e)
{
    const size_t n = strlen(e->d_name);
    return n > strlen(SUFFIX) && strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX) == 0;
}

static char *usual_folder(void)
{
    const char *data = getenv("WF_SHARED_DATA");
    const char *source = getenv("WF_SOURCE_DIR");
    return data != NULL ? wf_asprintf("%s/gpu_repeats", data)
                        : wf_asprintf("%s/../shared/data/gpu_repeats",
                                      source != NULL ? source : ".");
}

static enum wf_status read_folder(const char *folder,
                                  struct dirent **names,
                                  size_t n,
                                  struct recorded *ret,
                                  struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < n && status == WF_OK; i++) {
        char *path = wf_path_join(folder, names[i]->d_name);
        status = path == NULL ? wf_errorf(err, WF_ENOMEM, "%s: no memory", folder)
                              : recorded_read(path, &ret[i], err);
        free(path);
    }
    return status;
}

enum wf_status recorded_read_all(const char *folder,
                                 struct recorded **ret,
                                 size_t *ret_count,
                                 struct wf_error *err)
{
    char *where = folder != NULL ? wf_strdup(folder) : usual_folder();
    struct dirent **names = NULL;
    const int n = where == NULL ? -1 : scandir(where, &names, wanted, alphasort);
    enum wf_status status = WF_OK;
    if (n <= 0) {
        status =
            wf_errorf(err, WF_ENOTFOUND,
                      "%s: no recorded times (*" SUFFIX ") there; name their folder "
                      "by --data or set WF_SHARED_DATA to the one above it",
                      where != NULL ? where : "?");
        goto out;
    }
    struct recorded *all = wf_calloc((size_t)n, sizeof *all);
    if (all == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "%s: no memory", where);
        goto out;
    }
    status = read_folder(where, names, (size_t)n, all, err);
    if (status != WF_OK) {
        recorded_free(all, (size_t)n);
        goto out;
    }
    *ret = all;
    *ret_count = (size_t)n;
out:
    for (int i = 0; i < n; i++) {
        free(names[i]);
    }
    free(names);
    free(where);
    return status;
}

void recorded_free(struct recorded *r, size_t count)
{
    for (size_t i = 0; r != NULL && i < count; i++) {
        free(r[i].log_ms);
    }
    free(r);
}

/* --- what the rule says --- */

static void make_blocks(const double *x,
                        double effect,
                        struct wf_rng *labels,
                        struct wf_gate_block *ret)
{
    for (int b = 0; b < RECORDED_BLOCKS; b++) {
        const unsigned drawn = (unsigned)wf_rng_next_below(labels, WF_GATE_MASK_COUNT);
        ret[b] =
            (struct wf_gate_block){ .round = b, .mask = (uint8_t)wf_gate_mask(drawn) };
        for (size_t i = 0; i < WF_GATE_SLOTS; i++) {
            ret[b].y[i] = x[(size_t)b * WF_GATE_SLOTS + i] +
                          ((ret[b].mask >> i & 1) != 0 ? effect : 0);
        }
    }
}

/* One case alone at e >= 6000, as among 300 at 5 %; the sign process says nothing. */
static struct wf_gate_rule alone_rule(void)
{
    struct wf_gate_rule r = WF_GATE_PR_RULE;
    r.alpha = 1. / 6000;
    r.sign_least = 1;
    r.max_blocks = RECORDED_BLOCKS;
    return r;
}

static void count_same(const double *x, struct wf_rng *rng, struct recorded_counts *ret)
{
    const struct wf_gate_rule rule = alone_rule();
    struct wf_gate_margins sharp = WF_GATE_MARGINS_DEFAULT;
    const struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;
    struct wf_gate_block blocks[RECORDED_BLOCKS];
    struct sim_alone_result r;
    sharp.d0 = 0;
    make_blocks(x, 0, rng, blocks);
    sim_alone_blocks(&rule, &sharp, blocks, RECORDED_BLOCKS, true, &r);
    ret->sharp_20 += r.log_w_slower >= log(20);
    sim_alone_blocks(&rule, &usual, blocks, RECORDED_BLOCKS, true, &r);
    ret->w_20 += r.log_w_slower >= log(20);
    ret->w_6000 += r.log_w_slower >= log(6000);
    ret->w_30000 += r.log_w_slower >= log(30000);
    sim_alone_blocks(&rule, &usual, blocks, RECORDED_BLOCKS, false, &r);
    ret->pass += r.verdict == WF_GATE_VERDICT_PASS;
    ret->open += r.verdict == WF_GATE_VERDICT_INCONCLUSIVE;
    ret->launches += (uint64_t)r.blocks * WF_GATE_SLOTS;
}

static void count_slower(const double *x,
                         struct wf_rng *rng,
                         struct recorded_counts *ret)
{
    const struct wf_gate_rule rule = alone_rule();
    const struct wf_gate_margins usual = WF_GATE_MARGINS_DEFAULT;
    struct wf_gate_block blocks[RECORDED_BLOCKS];
    struct sim_alone_result r;
    make_blocks(x, 0.02, rng, blocks);
    sim_alone_blocks(&rule, &usual, blocks, RECORDED_BLOCKS, false, &r);
    ret->slower_fail += r.verdict == WF_GATE_VERDICT_FAIL;
    ret->slower_pass += r.verdict == WF_GATE_VERDICT_PASS;
}

void recorded_count(const struct recorded *r,
                    size_t first,
                    size_t step,
                    uint64_t seed,
                    uint64_t run,
                    struct recorded_counts *ret)
{
    for (size_t i = first; i < r->n; i += step) {
        struct wf_rng rng = { seed, run * r->n + i, 0 };
        ret->sequences++;
        count_same(r->log_ms[i], &rng, ret);
        count_slower(r->log_ms[i], &rng, ret);
    }
}
