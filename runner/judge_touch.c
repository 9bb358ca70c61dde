/* Which bytes of a tensor the judge writes, hashes and reads back.
 *
 * Of an ordinary tensor all of them. Of a huge one of which little is used (a pool of
 * more than 4 GiB with a dozen pages) only the used ranges, what lies around them, and
 * the places where their offsets would land after a wrap: modulo 2^31 and 2^32, in
 * bytes and in elements, and with the outermost index cut to 16 bits. Gaps among these
 * hold poison, so that a wrapped read gives NaN and a wrapped write is seen. What lies
 * outside stays untouched where memory costs nothing until it is used (host, emulator);
 * elsewhere the device fills it with poison once. */
#include "runner/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARSE_MIN_BYTES (UINT64_C(256) << 20)
#define SPARSE_SHARE     8u /* at most a so-manieth part is touched */
#define MAX_RUNS         (1u << 22)
#define NEIGHBOUR_BYTES  (UINT64_C(16) << 10)
#define ALIGN_BYTES      (UINT64_C(4) << 10)
#define INDEX_BITS       16

/* A growing list; after a failure nothing more is added. */
struct collection {
    struct judge_range *range;
    size_t count, room;
    uint64_t bytes;   /* of storage */
    uint64_t touched; /* sum of what was added */
    bool no_memory;
};

static bool grow(struct collection *c)
{
    size_t room = c->room ? 2 * c->room : 64;
    struct judge_range *more = wf_calloc(room, sizeof(*more));
    if (!more) {
        c->no_memory = true;
        return false;
    }
    for (size_t i = 0; i < c->count; i++) {
        more[i] = c->range[i];
    }
    free(c->range);
    c->range = more;
    c->room = room;
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct judge_range *x = a;
    const struct judge_range *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Sorts and joins what overlaps or meets. */
static void merge(struct collection *c)
{
    size_t kept = 0;
    if (c->count == 0) {
        return;
    }
    qsort(c->range, c->count, sizeof(c->range[0]), by_start);
    c->touched = 0;
    for (size_t i = 1; i < c->count; i++) {
        struct judge_range *last = &c->range[kept];
        uint64_t end = c->range[i].at + c->range[i].bytes;
        if (c->range[i].at > last->at + last->bytes) {
            c->touched += last->bytes;
            c->range[++kept] = c->range[i];
        } else if (end > last->at + last->bytes) {
            last->bytes = end - last->at;
        }
    }
    c->count = kept + 1;
    c->touched += c->range[kept].bytes;
}

/* A range with its neighbours, inside the storage. */
static void add(struct collection *c, uint64_t at, uint64_t bytes)
{
    uint64_t low = at > NEIGHBOUR_BYTES ? at - NEIGHBOUR_BYTES : 0;
    uint64_t high = at + bytes + NEIGHBOUR_BYTES;
    if (at >= c->bytes || c->no_memory) {
        return;
    }
    low = low / ALIGN_BYTES * ALIGN_BYTES;
    high = (high + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
    high = high < c->bytes ? high : c->bytes;
    if (c->count > 0) { /* runs come in order: most join the one before */
        struct judge_range *last = &c->range[c->count - 1];
        if (low >= last->at && low <= last->at + last->bytes) {
            if (high > last->at + last->bytes) {
                c->touched += high - last->at - last->bytes;
                last->bytes = high - last->at;
            }
            return;
        }
    }
    if (c->count == c->room && !grow(c)) {
        return;
    }
    c->range[c->count++] = (struct judge_range){ low, high - low };
    c->touched += high - low;
}

/* Bytes after which an offset or an index starts again. */
static size_t wraps_of(const struct wf_tensor *t, uint64_t wrap[5])
{
    uint64_t width = wf_dtype_bytes(t->dtype);
    size_t n = 0;
    wrap[n++] = UINT64_C(1) << 31;
    wrap[n++] = UINT64_C(1) << 32;
    if (width > 1) {
        wrap[n++] = width << 31;
        wrap[n++] = width << 32;
    }
    if (t->dim[0] > INT64_C(1) << INDEX_BITS && t->stride[0] > 0) {
        wrap[n++] = ((uint64_t)t->stride[0] * width) << INDEX_BITS;
    }
    return n;
}

static void add_images(struct collection *c,
                       const struct wf_tensor *t,
                       const struct judge_range *used,
                       size_t count)
{
    uint64_t wrap[5];
    size_t wraps = wraps_of(t, wrap);
    for (size_t w = 0; w < wraps; w++) {
        for (size_t i = 0; i < count; i++) {
            uint64_t end = used[i].at + used[i].bytes;
            if (used[i].at >= wrap[w]) {
                add(c, used[i].at % wrap[w], used[i].bytes);
            } else if (end > wrap[w]) {
                add(c, 0, end - wrap[w]);
            }
        }
    }
}

/* False: too much of it is used to be treated as sparse. */
static bool collect(const struct judge *j, size_t tensor, struct collection *c)
{
    const struct wf_tensor *t = wf_case_tensor(j->c, tensor);
    uint64_t width = wf_dtype_bytes(t->dtype);
    size_t runs = 0;
    for (uint64_t at = 0; at < t->elements; runs++) {
        bool used = false;
        uint64_t run = wf_case_run(j->c, tensor, at, &used);
        if (used) {
            add(c, at * width, run * width);
        }
        if (c->touched > t->bytes / SPARSE_SHARE || runs > MAX_RUNS || c->no_memory) {
            return false;
        }
        at += run;
    }
    merge(c);
    struct collection images = { .bytes = t->bytes };
    add_images(&images, t, c->range, c->count);
    for (size_t i = 0; i < images.count; i++) {
        add(c, images.range[i].at, images.range[i].bytes);
    }
    c->no_memory = c->no_memory || images.no_memory;
    free(images.range);
    merge(c);
    return !c->no_memory && c->touched <= t->bytes / SPARSE_SHARE;
}

static enum wf_status whole(struct judge_touch *ret,
                            uint64_t bytes,
                            struct wf_error *err)
{
    ret->range = wf_calloc(1, sizeof(*ret->range));
    if (!ret->range) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the ranges of a tensor");
    }
    ret->range[0] = (struct judge_range){ 0, bytes };
    ret->count = bytes > 0;
    ret->bytes = bytes;
    return WF_OK;
}

static enum wf_status find(const struct judge *j,
                           size_t tensor,
                           struct judge_touch *ret,
                           struct wf_error *err)
{
    const struct wf_tensor *t = wf_case_tensor(j->c, tensor);
    struct collection c = { .bytes = t->bytes };
    if (t->bytes < SPARSE_MIN_BYTES || !collect(j, tensor, &c)) {
        free(c.range);
        return whole(ret, t->bytes, err);
    }
    *ret = (struct judge_touch){ c.range, c.count, c.touched, true };
    return WF_OK;
}

enum wf_status judge_find_touched(struct judge *j, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (j->touch) {
        return WF_OK;
    }
    j->touch = wf_calloc(j->tensor_count + 1, sizeof(*j->touch));
    if (!j->touch) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the ranges of tensors");
    }
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        st = find(j, i, &j->touch[i], err);
    }
    return st;
}

void judge_forget_touched(struct judge *j)
{
    for (size_t i = 0; j->touch && i < j->tensor_count; i++) {
        free(j->touch[i].range);
    }
    free(j->touch);
    j->touch = NULL;
}

bool judge_memory_is_sparse(const struct judge *j)
{
    return j->emulates || j->request->device->library_kernels;
}

const char *judge_sparse_tensor(const struct judge *j)
{
    for (size_t i = 0; i < j->tensor_count; i++) {
        if (j->touch[i].sparse) {
            return wf_case_tensor(j->c, i)->name;
        }
    }
    return NULL;
}

/* Bytes from the start of a tensor to behind the last touched one. */
static uint64_t reach(const struct judge_touch *t)
{
    return t->count ? t->range[t->count - 1].at + t->range[t->count - 1].bytes : 0;
}

/* What a wrong address may come from where offsets pass 32 bits. */
static void add_hint(struct judge *j)
{
    char *text = j->result->answer_text;
    const size_t room = sizeof(j->result->answer_text), used = strlen(text);
    for (size_t i = 0; i < j->tensor_count; i++) {
        const struct wf_tensor *t = wf_case_tensor(j->c, i);
        const uint64_t width = wf_dtype_bytes(t->dtype);
        if (reach(&j->touch[i]) <= UINT64_C(1) << 31) {
            continue;
        }
        (void)snprintf(text + used, room - used,
                       "; %s is used beyond 2^%d %s, where %s offsets wrap", t->name,
                       t->elements > UINT64_C(1) << 32           ? 32
                       : t->elements > UINT64_C(1) << 31         ? 31
                       : t->elements * width > UINT64_C(1) << 32 ? 32
                                                                 : 31,
                       t->elements > UINT64_C(1) << 31 ? "elements" : "bytes",
                       "32-bit");
        return;
    }
}

static bool may_be_an_address(enum wf_answer answer)
{
    return answer == WF_ANSWER_MISMATCH || answer == WF_ANSWER_NONFINITE ||
           answer == WF_ANSWER_UNWRITTEN || answer == WF_ANSWER_OUT_OF_BOUNDS ||
           answer == WF_ANSWER_CRASH || answer == WF_ANSWER_DEVICE_FAULT ||
           answer == WF_ANSWER_INPUT_MODIFIED || answer == WF_ANSWER_UNINITIALISED_READ;
}

static enum wf_status note_touched(struct judge *j, struct wf_error *err)
{
    struct wf_json *list = wf_json_object();
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        if (j->touch[i].sparse) {
            st = wf_json_set_u64(list, wf_case_tensor(j->c, i)->name, j->touch[i].bytes,
                                 err);
        }
    }
    if (st != WF_OK) {
        wf_json_free(list);
        return st;
    }
    return wf_json_set_take(j->result->details, "touched_bytes", list, err);
}

enum wf_status judge_note_layout(struct judge *j, struct wf_error *err)
{
    if (!j->touch) {
        return WF_OK;
    }
    if (may_be_an_address(j->result->answer)) {
        add_hint(j);
    }
    return judge_sparse_tensor(j) ? note_touched(j, err) : WF_OK;
}
