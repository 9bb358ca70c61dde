#include "cli/gate_noise.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define SCHEMA       "wavefarm.gate-noise/1"
#define BLOCKS_LEAST 4    /* before an entry is believed */
#define MEMORY       200  /* blocks or rounds: older ones fade */
#define OUTLIER      9.0  /* times the gate's own variance: a block counts no more */
#define S_MAX        0.5  /* a slot that scatters more is no measurement */
#define TAU_MAX      0.16 /* the margins that follow stay below 1 */

struct gate_noise {
    struct wf_json *entries; /* key: entry */
};

struct entry {
    double s0, tau;
    int64_t blocks, rounds;
};

static enum wf_status registry_path(char **ret, struct wf_error *err)
{
    char *cache = NULL;
    enum wf_status status = wf_cache_dir(&cache, err);
    if (status != WF_OK) {
        return status;
    }
    *ret = wf_path_join(cache, "gate-noise.json");
    free(cache);
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
}

static bool is_registry(const struct wf_json *root)
{
    if (wf_json_type(root) != WF_JSON_OBJECT) {
        return false;
    }
    const struct wf_json *schema = wf_json_find(root, "schema");
    const struct wf_json *entries = wf_json_find(root, "entries");
    const char *s = schema != NULL ? wf_json_string(schema) : NULL;
    return s != NULL && strcmp(s, SCHEMA) == 0 && entries != NULL &&
           wf_json_type(entries) == WF_JSON_OBJECT;
}

static enum wf_status none(struct wf_json **ret, struct wf_error *err)
{
    *ret = wf_json_object();
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for noise");
}

/* *ret: the entries, the caller's. */
static enum wf_status load(const char *path, struct wf_json **ret, struct wf_error *err)
{
    struct wf_error why = { 0 };
    struct wf_json *root = NULL;
    if (!wf_file_exists(path)) {
        return none(ret, err);
    }
    if (wf_json_parse_file(path, &root, &why) == WF_OK && is_registry(root)) {
        const enum wf_status status =
            wf_json_copy(wf_json_find(root, "entries"), ret, err);
        wf_json_free(root);
        return status;
    }
    wf_json_free(root);
    fprintf(stderr, "wavefarm: %s is no registry of noise%s%s; it is begun anew\n",
            path, why.text[0] != '\0' ? ": " : "", why.text);
    return none(ret, err);
}

enum wf_status gate_noise_open(struct gate_noise **ret, struct wf_error *err)
{
    char *path = NULL;
    struct gate_noise *n = wf_calloc(1, sizeof(*n));
    enum wf_status status =
        n != NULL ? registry_path(&path, err)
                  : wf_errorf(err, WF_ENOMEM, "no memory for the registry of noise");
    if (status == WF_OK) {
        status = load(path, &n->entries, err);
    }
    free(path);
    if (status != WF_OK) {
        gate_noise_free(n);
        return status;
    }
    *ret = n;
    return WF_OK;
}

void gate_noise_free(struct gate_noise *n)
{
    if (n != NULL) {
        wf_json_free(n->entries);
        free(n);
    }
}

/* --- entries --- */

static void key_of(const char *case_id,
                   const char *kernel,
                   const char *model,
                   char *ret,
                   size_t n)
{
    (void)snprintf(ret, n, "%.64s/%.150s/%.64s", case_id, kernel, model);
}

static bool good(double v, double most)
{
    return v >= 0 && v <= most; /* NAN is not */
}

static bool find(const struct wf_json *entries, const char *key, struct entry *ret)
{
    struct entry e = { .s0 = (double)NAN };
    const struct wf_json *v = wf_json_find(entries, key);
    if (v == NULL || wf_json_type(v) != WF_JSON_OBJECT ||
        wf_json_get_f64(v, "s0", &e.s0, NULL) != WF_OK ||
        wf_json_get_f64(v, "tau", &e.tau, NULL) != WF_OK ||
        wf_json_get_i64(v, "blocks", 0, INT64_MAX, &e.blocks, NULL) != WF_OK ||
        wf_json_get_i64(v, "rounds", 0, INT64_MAX, &e.rounds, NULL) != WF_OK) {
        return false;
    }
    *ret = e;
    return good(e.s0, S_MAX) && e.s0 > 0 && good(e.tau, TAU_MAX);
}

void gate_noise_margins(const struct gate_noise *n,
                        const char *case_id,
                        const char *kernel,
                        const char *model,
                        struct wf_gate_margins *ret,
                        char ret_source[GATE_NOISE_SOURCE])
{
    char key[320];
    struct entry e = { 0 };
    const struct wf_gate_margins unknown = WF_GATE_MARGINS_DEFAULT;
    key_of(case_id, kernel, model, key, sizeof key);
    if (!find(n->entries, key, &e) || e.blocks < BLOCKS_LEAST) {
        *ret = unknown;
        (void)snprintf(ret_source, GATE_NOISE_SOURCE, "default");
        return;
    }
    *ret = wf_gate_margins_for(e.s0, e.tau);
    (void)snprintf(ret_source, GATE_NOISE_SOURCE,
                   "registry: %lld blocks, %lld A/A rounds", (long long)e.blocks,
                   (long long)e.rounds);
}

/* --- learning --- */

struct shown {
    double square_sum; /* of variances of the base arm's two slots of a block */
    int64_t blocks;
};

/* The two slots of the base: mask has their bits clear. */
static void take_block(struct shown *s, const struct wf_json *block, double cap)
{
    int64_t mask = 0;
    double y[2] = { 0 };
    size_t n = 0;
    const struct wf_json *values = wf_json_find(block, "y");
    const struct wf_json *rejected = wf_json_find(block, "rejected");
    const char *why = rejected != NULL ? wf_json_string(rejected) : NULL;
    if ((why != NULL && why[0] != '\0') || values == NULL ||
        wf_json_get_i64(block, "mask", 0, 15, &mask, NULL) != WF_OK) {
        return;
    }
    for (size_t i = 0; i < WF_GATE_SLOTS && n < 2; i++) {
        const struct wf_json *v = wf_json_at(values, i);
        if ((mask >> i & 1) == 0 && v != NULL && wf_json_as_f64(v, &y[n])) {
            n++;
        }
    }
    const double variance = (y[0] - y[1]) * (y[0] - y[1]) / 2;
    if (n == 2 && isfinite(variance)) {
        s->square_sum += variance < cap ? variance : cap;
        s->blocks++;
    }
}

static void take_pair_line(struct wf_gate_record *record,
                           struct shown *shown,
                           const struct wf_json *line)
{
    const char *key = NULL;
    size_t index = 0;
    struct wf_gate_figures f;
    const struct wf_json *blocks = wf_json_find(line, "blocks");
    if (blocks == NULL || wf_json_get_string(line, "pair", &key, NULL) != WF_OK ||
        !wf_gate_record_find(record, key, &index)) {
        return;
    }
    wf_gate_figures(wf_gate_record_gate(record), index, &f);
    const double cap = OUTLIER * f.slot_noise * f.slot_noise;
    for (const struct wf_json *b = wf_json_first(blocks); b != NULL;
         b = wf_json_next(b)) {
        take_block(&shown[index], b, cap);
    }
}

/* Old and new weighted by how much each has seen, the old one with a bounded memory. */
static double blend(double old, int64_t old_n, double fresh_square, int64_t fresh_n)
{
    const double w = (double)(old_n < MEMORY ? old_n : MEMORY);
    return sqrt((w * old * old + (double)fresh_n * fresh_square) /
                (w + (double)fresh_n));
}

static enum wf_status put_entry(struct wf_json *entries,
                                const char *key,
                                const struct entry *e,
                                struct wf_error *err)
{
    char now[40];
    struct wf_json *v = wf_json_object();
    wf_format_utc(wf_realtime_ns(), now, sizeof now);
    enum wf_status status = wf_json_set_f64(v, "s0", e->s0, err);
    status = status == WF_OK ? wf_json_set_i64(v, "blocks", e->blocks, err) : status;
    status = status == WF_OK ? wf_json_set_f64(v, "tau", e->tau, err) : status;
    status = status == WF_OK ? wf_json_set_i64(v, "rounds", e->rounds, err) : status;
    status = status == WF_OK ? wf_json_set_string(v, "updated", now, err) : status;
    if (status != WF_OK) {
        wf_json_free(v);
        return status;
    }
    return wf_json_set_take(entries, key, v, err);
}

static enum wf_status learn_pair(struct wf_json *entries,
                                 struct wf_gate_record *record,
                                 size_t i,
                                 const struct shown *s,
                                 bool equal,
                                 const char *model,
                                 struct wf_error *err)
{
    char key[320];
    struct entry e = { 0 };
    struct wf_gate_figures f;
    const struct wf_gate_pair *p = wf_gate_record_pair(record, i);
    if (s->blocks == 0 || p->kernel[0] == NULL) {
        return WF_OK;
    }
    key_of(p->case_id, p->kernel[0], model, key, sizeof key);
    (void)find(entries, key, &e);
    wf_gate_figures(wf_gate_record_gate(record), i, &f);
    e.s0 = blend(e.s0, e.blocks, s->square_sum / (double)s->blocks, s->blocks);
    e.blocks += s->blocks;
    if (equal && isfinite(f.spread)) {
        e.tau = blend(e.tau, e.rounds, f.spread * f.spread, f.rounds);
        e.rounds += f.rounds;
    }
    return e.s0 > 0 && e.s0 <= S_MAX && e.tau <= TAU_MAX
               ? put_entry(entries, key, &e, err)
               : WF_OK;
}

static enum wf_status learn(struct wf_json *entries,
                            struct wf_gate_record *record,
                            const bool *equal,
                            const char *model,
                            struct wf_error *err)
{
    const size_t n = wf_gate_record_count(record);
    struct shown *shown = wf_calloc(n + 1, sizeof(*shown));
    enum wf_status status =
        shown != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for noise");
    for (size_t i = 0; i < wf_gate_record_line_count(record) && status == WF_OK; i++) {
        take_pair_line(record, shown, wf_gate_record_line(record, i));
    }
    for (size_t i = 0; i < n && status == WF_OK; i++) {
        status = learn_pair(entries, record, i, &shown[i], equal[i], model, err);
    }
    free(shown);
    return status;
}

/* Takes `entries`. */
static enum wf_status save(const char *path,
                           struct wf_json *entries,
                           struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    struct wf_json *root = wf_json_object();
    enum wf_status status = wf_json_set_string(root, "schema", SCHEMA, err);
    if (status == WF_OK) {
        status = wf_json_set_take(root, "entries", entries, err);
    } else {
        wf_json_free(entries);
    }
    if (status == WF_OK) {
        status = wf_json_write_pretty(root, &text, err);
    }
    if (status == WF_OK) {
        status = wf_buf_puts(&text, "\n", err);
    }
    if (status == WF_OK) {
        status = wf_file_write_atomic(path, text.data, text.len, err);
    }
    wf_buf_free(&text);
    wf_json_free(root);
    return status;
}

/* The lock is a file of its own: the registry itself is replaced by each writer. */
static enum wf_status take_lock(const char *path, int *ret_fd, struct wf_error *err)
{
    char *name = wf_asprintf("%s.lock", path);
    if (name == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    enum wf_status status = WF_OK;
    const int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        status = wf_error_errno(err, errno, "cannot lock %s", name);
        if (fd >= 0) {
            (void)close(fd);
        }
    } else {
        *ret_fd = fd;
    }
    free(name);
    return status;
}

enum wf_status gate_noise_learn(struct wf_gate_record *record,
                                const bool *equal,
                                const char *model,
                                struct wf_error *err)
{
    char *path = NULL;
    int lock = -1;
    struct wf_json *entries = NULL;
    enum wf_status status = registry_path(&path, err);
    if (status == WF_OK) {
        status = take_lock(path, &lock, err);
    }
    if (status == WF_OK) {
        status = load(path, &entries, err);
    }
    if (status == WF_OK) {
        status = learn(entries, record, equal, model, err);
    }
    if (status == WF_OK) {
        status = save(path, entries, err);
        entries = NULL;
    }
    if (lock >= 0) {
        (void)close(lock);
    }
    wf_json_free(entries);
    free(path);
    return status;
}
