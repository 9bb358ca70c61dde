/* Takes the tables of the step at which a replay stands, counts what is in them, and
 * writes the file. The metadata says how the table came about; it holds no path and no
 * time, so that equal parameters give equal bytes. */
#include "datasets/page_table_image.h"

#include "datasets/dataset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tables {
    int64_t batch, indices;
    int32_t *kv_indptr, *kv_indices, *kv_last_page_len, *qo_indptr;
};

static bool takes(const struct wf_replay *replay,
                  const struct wf_replay_sequence *s,
                  enum wf_page_table_mode mode)
{
    switch (mode) {
    case WF_PAGE_TABLE_DECODE:
        return !wf_replay_is_new(replay, s);
    case WF_PAGE_TABLE_PREFILL:
        return wf_replay_is_new(replay, s);
    case WF_PAGE_TABLE_EXTEND:
    case WF_PAGE_TABLE_MODE_COUNT:
        break;
    }
    return true;
}

int64_t wf_page_table_batch(const struct wf_replay *replay,
                            enum wf_page_table_mode mode)
{
    int64_t n = 0;
    for (size_t i = 0; i < wf_replay_running(replay); i++) {
        n += takes(replay, wf_replay_sequence(replay, i), mode) ? 1 : 0;
    }
    return n;
}

static void free_tables(struct tables *t)
{
    free(t->kv_indptr);
    free(t->kv_indices);
    free(t->kv_last_page_len);
    free(t->qo_indptr);
}

static enum wf_status alloc_tables(const struct wf_page_table_source *source,
                                   struct tables *t,
                                   struct wf_error *err)
{
    const struct wf_replay *replay = source->replay;
    for (size_t i = 0; i < wf_replay_running(replay); i++) {
        const struct wf_replay_sequence *s = wf_replay_sequence(replay, i);
        if (takes(replay, s, source->spec->mode)) {
            t->batch++;
            t->indices += (int64_t)s->page_count;
        }
    }
    if (t->indices > INT32_MAX) {
        return wf_errorf(err, WF_ERANGE,
                         "%" PRId64
                         " page entries do not fit int32: lower the batch or "
                         "raise the page size",
                         t->indices);
    }
    const size_t rows = (size_t)t->batch + 1;
    t->kv_indptr = wf_calloc(rows, sizeof(int32_t));
    t->kv_indices = wf_calloc((size_t)t->indices + 1, sizeof(int32_t));
    t->kv_last_page_len = wf_calloc(rows, sizeof(int32_t));
    t->qo_indptr = wf_calloc(rows, sizeof(int32_t));
    if (!t->kv_indptr || !t->kv_indices || !t->kv_last_page_len || !t->qo_indptr) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu sequences", rows);
    }
    return WF_OK;
}

/* Tokens that the step computes: one for a decoding sequence, what was not cached (at
 * least the last token) for a new one. */
static int64_t query_tokens(const struct wf_replay *replay,
                            const struct wf_replay_sequence *s)
{
    if (!wf_replay_is_new(replay, s)) {
        return 1;
    }
    const int64_t n = s->kv_tokens - s->cached_tokens;
    return n > 0 ? n : 1;
}

static enum wf_status add_sequence(const struct wf_page_table_source *source,
                                   const struct wf_replay_sequence *s,
                                   struct tables *t,
                                   struct wf_page_table_stats *stats,
                                   struct wf_error *err)
{
    const int64_t row = stats->batch++, size = source->spec->page_size;
    const int64_t last = s->kv_tokens - ((int64_t)s->page_count - 1) * size;
    const int64_t queries = query_tokens(source->replay, s);
    if (stats->qo_tokens + queries > INT32_MAX) {
        return wf_errorf(err, WF_ERANGE,
                         "more than 2^31-1 query tokens: lower the batch");
    }
    memcpy(t->kv_indices + stats->indices, s->pages, s->page_count * sizeof(int32_t));
    stats->indices += (int64_t)s->page_count;
    stats->kv_tokens += s->kv_tokens;
    stats->qo_tokens += queries;
    t->kv_indptr[row + 1] = (int32_t)stats->indices;
    t->qo_indptr[row + 1] = (int32_t)stats->qo_tokens;
    t->kv_last_page_len[row] = (int32_t)last;
    stats->partial_last_pages += last < size ? 1 : 0;
    stats->min_kv =
        row == 0 || s->kv_tokens < stats->min_kv ? s->kv_tokens : stats->min_kv;
    stats->max_kv = s->kv_tokens > stats->max_kv ? s->kv_tokens : stats->max_kv;
    for (size_t i = 1; i < s->page_count; i++) {
        stats->ascending_pairs += s->pages[i] == s->pages[i - 1] + 1 ? 1 : 0;
    }
    return WF_OK;
}

static enum wf_status count_pages(const struct tables *t,
                                  struct wf_page_table_stats *stats,
                                  struct wf_error *err)
{
    int32_t *uses = wf_calloc((size_t)stats->num_pages, sizeof *uses);
    if (!uses) {
        return wf_errorf(err, WF_ENOMEM, "no memory to count pages");
    }
    for (int64_t i = 0; i < t->indices; i++) {
        const int32_t n = ++uses[t->kv_indices[i]];
        stats->distinct_pages += n == 1 ? 1 : 0;
        stats->shared_pages += n == 2 ? 1 : 0;
    }
    free(uses);
    return WF_OK;
}

static enum wf_status fill_tables(const struct wf_page_table_source *source,
                                  struct tables *t,
                                  struct wf_page_table_stats *stats,
                                  struct wf_error *err)
{
    const struct wf_replay *replay = source->replay;
    const struct wf_replay_stats r = wf_replay_stats(replay);
    *stats = (struct wf_page_table_stats){
        .step = wf_replay_current_step(replay),
        .num_pages = source->spec->num_pages,
        .page_size = source->spec->page_size,
        .free_pages = wf_page_pool_free_count(wf_replay_pool(replay)),
        .requests = source->spec->requests,
        .admitted = r.admitted,
        .finished = r.finished,
        .preempted = r.preempted,
        .refused = r.refused,
        .time_scale = source->spec->time_scale,
    };
    for (size_t i = 0; i < wf_replay_running(replay); i++) {
        const struct wf_replay_sequence *s = wf_replay_sequence(replay, i);
        if (!takes(replay, s, source->spec->mode)) {
            continue;
        }
        enum wf_status st = add_sequence(source, s, t, stats, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return count_pages(t, stats, err);
}

/* X(member): the statistics that the metadata records. */
#define STAT_LIST(X)      \
    X(kv_tokens)          \
    X(qo_tokens)          \
    X(min_kv)             \
    X(max_kv)             \
    X(indices)            \
    X(distinct_pages)     \
    X(shared_pages)       \
    X(partial_last_pages) \
    X(ascending_pairs)    \
    X(free_pages)         \
    X(admitted)           \
    X(finished)           \
    X(preempted)          \
    X(refused)

static enum wf_status stats_json(const struct wf_page_table_stats *stats,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } all[] = {
#define X(member) { #member, stats->member },
        STAT_LIST(X)
#undef X
    };
    struct wf_json *obj = wf_json_object();
    enum wf_status st = obj ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for JSON");
    for (size_t i = 0; i < sizeof all / sizeof all[0] && st == WF_OK; i++) {
        st = wf_json_set_i64(obj, all[i].name, all[i].value, err);
    }
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

static enum wf_status trace_json(const struct wf_trace_report *trace,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st =
        wf_json_set_string(obj, "format", wf_trace_format_name(trace->format), err);
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "rows", trace->rows, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "taken", trace->taken, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "skipped_no_prompt", trace->skipped_no_prompt, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "skipped_no_output", trace->skipped_no_output, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "skipped_past_end", trace->skipped_past_end, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "reordered", trace->reordered, err);
    }
    if (st != WF_OK) {
        wf_json_free(obj);
        return st;
    }
    *ret = obj;
    return WF_OK;
}

/* Metadata values are strings: JSON inside JSON, in canonical form. Takes `value`. */
static enum wf_status set_json_text(struct wf_json *metadata,
                                    const char *key,
                                    struct wf_json *value,
                                    struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status st = wf_json_write_canonical(value, &text, err);
    if (st == WF_OK) {
        st = wf_json_set_string(metadata, key, wf_buf_cstr(&text), err);
    }
    wf_buf_free(&text);
    wf_json_free(value);
    return st;
}

static enum wf_status set_number(struct wf_json *metadata,
                                 const char *key,
                                 int64_t v,
                                 struct wf_error *err)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, v);
    return wf_json_set_string(metadata, key, text, err);
}

static enum wf_status set_numbers(const struct wf_page_table_source *source,
                                  const struct wf_page_table_stats *stats,
                                  struct wf_json *metadata,
                                  struct wf_error *err)
{
    enum wf_status st = set_number(metadata, "page_size", stats->page_size, err);
    if (st == WF_OK) {
        st = set_number(metadata, "num_pages", stats->num_pages, err);
    }
    if (st == WF_OK) {
        st = set_number(metadata, "batch", stats->batch, err);
    }
    if (st == WF_OK) {
        st = set_number(metadata, "step", stats->step, err);
    }
    if (st == WF_OK) {
        st = set_number(metadata, "seed", source->spec->seed, err);
    }
    return st;
}

static enum wf_status fill_metadata(const struct wf_page_table_source *source,
                                    const struct wf_page_table_stats *stats,
                                    struct wf_json *metadata,
                                    struct wf_error *err)
{
    struct wf_json *part = NULL;
    enum wf_status st =
        wf_json_set_string(metadata, "format", WF_PAGE_TABLE_FORMAT, err);
    if (st == WF_OK) {
        st = set_numbers(source, stats, metadata, err);
    }
    if (st == WF_OK) {
        st = wf_page_table_spec_json(source->spec, &part, err);
    }
    if (st == WF_OK) {
        st = set_json_text(metadata, "recipe", part, err);
    }
    if (st == WF_OK) {
        st = stats_json(stats, &part, err);
    }
    if (st == WF_OK) {
        st = set_json_text(metadata, "statistics", part, err);
    }
    if (st != WF_OK || !source->trace) {
        return st;
    }
    st = wf_json_set_string(metadata, "trace_sha256", source->trace->sha256, err);
    if (st == WF_OK) {
        st = trace_json(source->trace, &part, err);
    }
    return st == WF_OK ? set_json_text(metadata, "trace", part, err) : st;
}

static struct wf_dataset_tensor vector(const char *name, const int32_t *data, int64_t n)
{
    return (struct wf_dataset_tensor){
        .name = name,
        .dtype = WF_I32,
        .ndim = 1,
        .dim = { n },
        .data = data,
        .bytes = (uint64_t)n * sizeof *data,
    };
}

static enum wf_status write_image(const struct wf_page_table_source *source,
                                  const struct wf_page_table_stats *stats,
                                  const struct tables *t,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    const struct wf_dataset_tensor tensors[] = {
        vector("kv_indptr", t->kv_indptr, t->batch + 1),
        vector("kv_indices", t->kv_indices, t->indices),
        vector("kv_last_page_len", t->kv_last_page_len, t->batch),
        vector("qo_indptr", t->qo_indptr, t->batch + 1),
    };
    const size_t count = source->spec->mode == WF_PAGE_TABLE_DECODE ? 3 : 4;
    struct wf_json *metadata = wf_json_object();
    enum wf_status st = fill_metadata(source, stats, metadata, err);
    if (st == WF_OK) {
        st = wf_dataset_write(tensors, count, metadata, out, err);
    }
    wf_json_free(metadata);
    return st;
}

enum wf_status wf_page_table_image(const struct wf_page_table_source *source,
                                   struct wf_buf *out,
                                   struct wf_page_table_stats *ret,
                                   struct wf_error *err)
{
    struct tables t = { 0 };
    struct wf_page_table_stats stats;
    enum wf_status st = alloc_tables(source, &t, err);
    if (st == WF_OK) {
        st = fill_tables(source, &t, &stats, err);
    }
    if (st == WF_OK) {
        st = write_image(source, &stats, &t, out, err);
    }
    if (st == WF_OK && ret) {
        *ret = stats;
    }
    free_tables(&t);
    return st;
}
