/* How the tensors of an attention problem lie: strides and offsets of a case, their
 * defaults, and the alignment that follows. Defaults build on each other from the
 * inside out, so that one wider stride moves all that lies outside it. */
#include "kernels/attention/attention.h"

#include "core/parse.h"
#include "kernels/strided.h"

#include <stddef.h>
#include <string.h>

#define NOT_GIVEN  (-1)
#define MAX_STRIDE (INT64_C(1) << 60)

static const struct {
    const char *key;
    enum attention_place_name place;
    size_t offset; /* in struct attention_place */
} MEMBERS[] = {
#define X(key, place, member) \
    { key, ATTENTION_PLACE_##place, offsetof(struct attention_place, member) },
    ATTENTION_PLACE_MEMBERS(X)
#undef X
};

#define MEMBER_COUNT (sizeof(MEMBERS) / sizeof(MEMBERS[0]))

static int64_t get(const struct attention_place *p, size_t i)
{
    int64_t v;

    memcpy(&v, (const char *)p + MEMBERS[i].offset, sizeof(v));
    return v;
}

static void set(struct attention_place *p, size_t i, int64_t v)
{
    memcpy((char *)p + MEMBERS[i].offset, &v, sizeof(v));
}

enum attention_tensor attention_placed(const struct attention *a,
                                       enum attention_place_name i)
{
    static const enum attention_tensor TENSORS[][2] = {
#define X(name, text, dense, paged) { ATTENTION_##dense, ATTENTION_##paged },
        ATTENTION_PLACE_LIST(X)
#undef X
    };

    return TENSORS[i][a->layout == ATTENTION_PAGED];
}

/* --- defaults --- */

static int64_t times(int64_t x, int64_t y)
{
    int64_t v;

    return wf_mul_i64(x, y, &v) && v <= MAX_STRIDE ? v : MAX_STRIDE;
}

/* Replaces *at by its default when it was not given, and notes the default. */
static int64_t fall_back(int64_t *at, int64_t *dense, int64_t value)
{
    *dense = value;
    *at = *at == NOT_GIVEN ? value : *at;
    return *at;
}

static void complete(struct attention *a, enum attention_place_name i)
{
    const bool keys = i == ATTENTION_PLACE_K || i == ATTENTION_PLACE_V;
    const bool values = i == ATTENTION_PLACE_V || i == ATTENTION_PLACE_O;
    const int64_t heads = keys ? a->kv_heads : a->q_heads;
    const int64_t d = i == ATTENTION_PLACE_LSE ? 1
                      : values                 ? a->head_dim_v
                                               : a->head_dim;
    struct attention_place *p = &a->place[i], *dense = &a->dense[i];

    (void)fall_back(&p->offset, &dense->offset, 0);
    if (keys && a->head_major) {
        (void)fall_back(&p->token, &dense->token, d);
        (void)fall_back(&p->head, &dense->head, times(a->page_size, p->token));
        (void)fall_back(&p->page, &dense->page, times(heads, p->head));
        return;
    }
    (void)fall_back(&p->head, &dense->head, d);
    (void)fall_back(&p->token, &dense->token, times(heads, p->head));
    (void)fall_back(&p->page, &dense->page,
                    keys && a->layout == ATTENTION_PAGED ? times(a->page_size, p->token)
                                                         : 0);
}

/* --- reading and writing --- */

static enum wf_status read_member(struct attention *a,
                                  const struct wf_json *json,
                                  size_t i,
                                  struct wf_error *err)
{
    const enum attention_place_name place = MEMBERS[i].place;
    const size_t width = wf_dtype_bytes(a->tensor[attention_placed(a, place)].dtype);
    const bool offset = MEMBERS[i].offset == offsetof(struct attention_place, offset);
    const int64_t max = offset ? (int64_t)(WF_MAX_BASE_BYTES / width) - 1 : MAX_STRIDE;
    int64_t v = NOT_GIVEN;
    enum wf_status st =
        wf_json_opt_i64(json, MEMBERS[i].key, offset ? 0 : 1, max, &v, err);

    if (st != WF_OK || v == NOT_GIVEN) {
        return st;
    }
    if (MEMBERS[i].offset == offsetof(struct attention_place, page) &&
        a->layout != ATTENTION_PAGED) {
        return wf_errorf(err, WF_EINVAL, "%s has no meaning with layout %s; remove it",
                         MEMBERS[i].key, attention_layout_name(a->layout));
    }
    if (place == ATTENTION_PLACE_LSE && !a->lse) {
        return wf_errorf(err, WF_EINVAL, "%s has no meaning without lse; remove it",
                         MEMBERS[i].key);
    }
    set(&a->place[place], i, v);
    return WF_OK;
}

enum wf_status attention_read_places(struct attention *a,
                                     const struct wf_json *json,
                                     struct wf_error *err)
{
    enum wf_status st = WF_OK;

    attention_name_tensors(a);
    for (int i = 0; i < ATTENTION_PLACE_COUNT; i++) {
        a->place[i] =
            (struct attention_place){ NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN };
    }
    for (size_t i = 0; st == WF_OK && i < MEMBER_COUNT; i++) {
        st = read_member(a, json, i, err);
    }
    for (int i = 0; st == WF_OK && i < ATTENTION_PLACE_COUNT; i++) {
        complete(a, (enum attention_place_name)i);
    }
    return st;
}

enum wf_status attention_put_places(const struct attention *a,
                                    struct wf_json *obj,
                                    struct wf_error *err)
{
    enum wf_status st = WF_OK;

    for (size_t i = 0; st == WF_OK && i < MEMBER_COUNT; i++) {
        const int64_t v = get(&a->place[MEMBERS[i].place], i);

        if (v != get(&a->dense[MEMBERS[i].place], i)) {
            st = wf_json_set_i64(obj, MEMBERS[i].key, v, err);
        }
    }
    return st;
}

/* --- checks and parameters --- */

static enum wf_status check_place(const struct attention *a,
                                  enum attention_place_name i,
                                  const char *const keys[4],
                                  struct wf_error *err)
{
    const struct wf_tensor *t = &a->tensor[attention_placed(a, i)];
    const char *names[WF_MAX_DIMS] = { keys[0], keys[1], keys[2], keys[3] };

    if (t->ndim == 4 && a->layout != ATTENTION_PAGED) {
        names[0] = keys[1]; /* sequences are so many tokens apart */
    } else if (t->ndim == 4 && a->head_major) {
        names[1] = keys[2];
        names[2] = keys[1];
    } else if (t->ndim == 3) {
        names[0] = keys[1];
        names[1] = keys[2];
        names[2] = keys[3];
    }
    if (t->elements == 0) {
        return WF_OK;
    }
    /* A pool is a row of pages: what a page holds never lies between two others. */
    if (a->layout == ATTENTION_PAGED && t->ndim == 4 && t->dim[0] > 1) {
        for (int d = 1; d < 3; d++) {
            if (t->dim[d] > 1 && t->stride[d] >= t->stride[0]) {
                return wf_errorf(
                    err, WF_EINVAL, "%s is %lld; it must be below %s, %lld", names[d],
                    (long long)t->stride[d], names[0], (long long)t->stride[0]);
            }
        }
    }
    return wf_strided_check(t, names, err);
}

enum wf_status attention_check_places(const struct attention *a, struct wf_error *err)
{
    static const char *const KEYS[][4] = {
#define X(name, text, dense, paged) \
    { text "_page_stride", text "_token_stride", text "_head_stride", "head_dim" },
        ATTENTION_PLACE_LIST(X)
#undef X
    };
    enum wf_status st = WF_OK;

    for (int i = 0; st == WF_OK && i < ATTENTION_PLACE_LSE; i++) {
        st = check_place(a, (enum attention_place_name)i, KEYS[i], err);
    }
    return st;
}

bool attention_place_param(const struct attention *a, const char *name, int64_t *ret)
{
    static const char *const ALIGN[] = {
#define X(name, text, dense, paged) "align_" text,
        ATTENTION_PLACE_LIST(X)
#undef X
    };

    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (strcmp(name, MEMBERS[i].key) == 0) {
            *ret = get(&a->place[MEMBERS[i].place], i);
            return true;
        }
    }
    for (size_t i = 0; i < ATTENTION_PLACE_COUNT; i++) {
        if (strcmp(name, ALIGN[i]) == 0) {
            *ret = wf_strided_align(
                &a->tensor[attention_placed(a, (enum attention_place_name)i)]);
            return true;
        }
    }
    return false;
}

int64_t attention_row_at(const struct attention *a,
                         enum attention_place_name i,
                         int64_t row,
                         int64_t head)
{
    return row * a->place[i].token + head * a->place[i].head;
}
