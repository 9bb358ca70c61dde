#include "tests/campaign/gemm_state.h"

#include "core/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define MAX_STATE_BYTES ((size_t)512 << 20)

struct gemm_state {
    FILE *file; /* NULL: nothing is kept */
    struct wf_json **line;
    size_t count, room;
    size_t *slot; /* hash table: line number + 1; 0: empty */
    size_t slots;
};

static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    }
    return h;
}

static const char *key_of(const struct wf_json *line)
{
    const char *key = wf_json_string(wf_json_find(line, "key"));
    return key != NULL ? key : "";
}

static void put(struct gemm_state *s, size_t line)
{
    size_t i = hash(key_of(s->line[line])) % s->slots;
    while (s->slot[i] != 0) {
        i = (i + 1) % s->slots;
    }
    s->slot[i] = line + 1;
}

static bool grow(struct gemm_state *s)
{
    const size_t room = s->room == 0 ? 1024 : 2 * s->room;
    struct wf_json **line = wf_realloc_array(s->line, room, sizeof(*line));
    size_t *slot = wf_calloc(2 * room, sizeof(*slot));
    s->line = line != NULL ? line : s->line;
    if (line == NULL || slot == NULL) {
        free(slot);
        return false;
    }
    free(s->slot);
    s->slot = slot;
    s->slots = 2 * room;
    s->room = room;
    for (size_t i = 0; i < s->count; i++) {
        put(s, i);
    }
    return true;
}

static enum wf_status take(struct gemm_state *s,
                           struct wf_json *line,
                           struct wf_error *err)
{
    if (s->count == s->room && !grow(s)) {
        wf_json_free(line);
        return wf_errorf(err, WF_ENOMEM, "no memory for the campaign's lines");
    }
    s->line[s->count++] = line;
    put(s, s->count - 1);
    return WF_OK;
}

const struct wf_json *gemm_state_find(const struct gemm_state *s, const char *key)
{
    for (size_t i = s->slots == 0 ? 0 : hash(key) % s->slots;
         s->slots != 0 && s->slot[i] != 0; i = (i + 1) % s->slots) {
        if (strcmp(key_of(s->line[s->slot[i] - 1]), key) == 0) {
            return s->line[s->slot[i] - 1];
        }
    }
    return NULL;
}

static enum wf_status read_lines(struct gemm_state *s,
                                 const char *path,
                                 struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    size_t number = 0;
    enum wf_status status = wf_file_read(path, MAX_STATE_BYTES, &text, err);
    for (const char *at = wf_buf_cstr(&text); status == WF_OK && *at != '\0';) {
        const char *end = strchr(at, '\n');
        struct wf_json *line = NULL;
        if (end == NULL) { /* interrupted while writing: the next line goes there */
            status = truncate(path, (off_t)(at - wf_buf_cstr(&text))) == 0
                         ? WF_OK
                         : wf_error_errno(err, errno, "%s", path);
            break;
        }
        number++;
        status = wf_json_parse(at, (size_t)(end - at), path, &line, err);
        if (status == WF_OK) {
            status = take(s, line, err);
        }
        at = end + 1;
    }
    wf_buf_free(&text);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "line %zu", number);
}

enum wf_status gemm_state_open(const char *path,
                               struct gemm_state **ret,
                               struct wf_error *err)
{
    enum wf_status status = WF_OK;
    struct gemm_state *s = wf_calloc(1, sizeof(*s));
    if (s == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a campaign");
    }
    if (path != NULL && wf_file_exists(path)) {
        status = read_lines(s, path, err);
    }
    if (status == WF_OK && path != NULL) {
        s->file = fopen(path, "a");
        status = s->file != NULL ? WF_OK : wf_error_errno(err, errno, "%s", path);
    }
    if (status != WF_OK) {
        gemm_state_close(s);
        return status;
    }
    *ret = s;
    return WF_OK;
}

void gemm_state_close(struct gemm_state *s)
{
    if (s == NULL) {
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        wf_json_free(s->line[i]);
    }
    if (s->file != NULL) {
        (void)fclose(s->file); /* every line was flushed */
    }
    free(s->line);
    free(s->slot);
    free(s);
}

size_t gemm_state_count(const struct gemm_state *s)
{
    return s->count;
}

char *gemm_state_key(const struct gemm_cell *cell, const char *case_id, bool exact)
{
    struct wf_buf key = WF_BUF_INIT;
    bool good = true;
    for (size_t i = 0; i < cell->kernel->code_count; i++) {
        const char *sha = wf_pack_file_sha256(cell->pack, cell->kernel->code[i].file);
        good &= wf_buf_printf(&key, NULL, "%.16s:", sha != NULL ? sha : "") == WF_OK;
    }
    good &= wf_buf_printf(&key, NULL, "%s:%.32s:%s", cell->kernel->name, case_id,
                          exact ? "exact" : "fast") == WF_OK;
    if (!good) {
        wf_buf_free(&key);
        return NULL;
    }
    return key.data;
}

/* --- a line --- */
struct sums {
    int64_t launches, faults, instructions, mfma, conflicts;
    double seconds;
};

static int64_t number_at(const struct wf_json *obj, const char *key)
{
    int64_t v = 0;
    const struct wf_json *found = obj != NULL ? wf_json_find(obj, key) : NULL;
    return found != NULL && wf_json_as_i64(found, &v) ? v : 0;
}

static void add_launch(struct sums *s, const struct wf_json *launch)
{
    const struct wf_json *fault = wf_json_find(launch, "fault");
    const struct wf_json *counters = wf_json_find(launch, "counters");
    s->launches++;
    s->faults += fault != NULL && wf_json_type(fault) != WF_JSON_NULL;
    s->instructions += number_at(launch, "instructions");
    if (counters != NULL && wf_json_type(counters) == WF_JSON_OBJECT) {
        s->conflicts += number_at(counters, "lds_conflict_cycles");
        s->mfma += number_at(wf_json_find(counters, "instructions"), "mfma");
    }
}

static struct sums sum_launches(const struct wf_json *result)
{
    struct sums s = { 0 };
    const struct wf_json *phases = wf_json_find(result, "phases_ns");
    const struct wf_json *at = wf_json_find(result, "details");
    s.seconds = phases != NULL ? (double)number_at(phases, "total") * 1e-9 : 0.0;
    at = at != NULL && wf_json_type(at) == WF_JSON_OBJECT
             ? wf_json_find(at, "emulation")
             : NULL;
    at = at != NULL && wf_json_type(at) == WF_JSON_OBJECT ? wf_json_find(at, "launches")
                                                          : NULL;
    if (at != NULL) {
        for (at = wf_json_first(at); at != NULL; at = wf_json_next(at)) {
            add_launch(&s, at);
        }
    }
    return s;
}

static bool set_text(struct wf_json *line, const char *key, const char *value)
{
    return wf_json_set_string(line, key, value != NULL ? value : "", NULL) == WF_OK;
}

static bool set_sums(struct wf_json *line, const struct sums *s)
{
    return wf_json_set_i64(line, "launches", s->launches, NULL) == WF_OK &&
           wf_json_set_i64(line, "faults", s->faults, NULL) == WF_OK &&
           wf_json_set_i64(line, "instructions", s->instructions, NULL) == WF_OK &&
           wf_json_set_i64(line, "mfma", s->mfma, NULL) == WF_OK &&
           wf_json_set_i64(line, "conflicts", s->conflicts, NULL) == WF_OK &&
           wf_json_set_f64(line, "seconds", s->seconds, NULL) == WF_OK;
}

enum wf_status gemm_state_line(const struct gemm_pick *pick,
                               const struct gemm_made *made,
                               const char *key,
                               const struct wf_json *result,
                               struct wf_json **ret,
                               struct wf_error *err)
{
    char label[64];
    const struct sums sums = sum_launches(result);
    const struct wf_json *task = wf_json_find(result, "task");
    struct wf_json *line = wf_json_object();
    gemm_cell_label(pick->cell, label, sizeof(label));
    const bool good =
        line != NULL && task != NULL && set_text(line, "key", key) &&
        set_text(line, "kernel", pick->cell->kernel->name) &&
        set_text(line, "cell", label) &&
        set_text(line, "kind", gemm_kind_name(pick->kind)) &&
        set_text(line, "note", made->note) &&
        set_text(line, "mfma_mode", made->exact ? "exact" : "fast") &&
        set_text(line, "answer", wf_json_string(wf_json_find(result, "answer"))) &&
        set_text(line, "text", wf_json_string(wf_json_find(result, "answer_text"))) &&
        set_text(line, "label", wf_json_string(wf_json_find(task, "label"))) &&
        wf_json_set_copy(line, "case", wf_json_find(task, "case"), NULL) == WF_OK &&
        set_sums(line, &sums);
    if (!good) {
        wf_json_free(line);
        return wf_errorf(err, WF_ENOMEM,
                         "no memory for a line, or a result without task");
    }
    *ret = line;
    return WF_OK;
}

enum wf_status gemm_state_add(struct gemm_state *s,
                              struct wf_json *line,
                              struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = WF_OK;
    if (s->file != NULL) {
        status = wf_json_write(line, &text, err);
        if (status == WF_OK && (fprintf(s->file, "%s\n", wf_buf_cstr(&text)) < 0 ||
                                fflush(s->file) != 0)) {
            status = wf_error_errno(err, errno, "writing the campaign's line");
        }
        wf_buf_free(&text);
    }
    if (status != WF_OK) {
        wf_json_free(line);
        return status;
    }
    return take(s, line, err);
}

/* A pass in which no launch faulted, and in which something ran. */
bool gemm_line_is_good(const struct wf_json *line)
{
    const char *answer = wf_json_string(wf_json_find(line, "answer"));
    return answer != NULL && strcmp(answer, "PASS") == 0 &&
           number_at(line, "faults") == 0;
}
