/* Which result of A belongs to which of B. A task is a case, a kernel and where and how
 * it was measured; what has no partner by all of that is looked for by less, so that a
 * renamed kernel or another device is told as such and not as one task lost and one
 * found. */
#include "gate/unpaired.h"

#include "core/buf.h"
#include "gate/unpaired_internal.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(name, text, means) text,
    WF_UNPAIRED_STATUSES(X)
#undef X
};
static const char *const meanings[] = {
#define X(name, text, means) means,
    WF_UNPAIRED_STATUSES(X)
#undef X
};

const char *wf_unpaired_status_name(enum wf_unpaired_status s)
{
    return names[s];
}

const char *wf_unpaired_status_meaning(enum wf_unpaired_status s)
{
    return meanings[s];
}

const char *wf_unpaired_text(const struct wf_json *result,
                             const char *object,
                             const char *key)
{
    const struct wf_json *o = object != NULL ? wf_json_find(result, object) : result;
    const char *s = o != NULL ? wf_json_string(wf_json_find(o, key)) : NULL;
    return s != NULL ? s : "";
}

/* X(NAME, object, key): what tells tasks apart. */
#define FIELDS(X)                         \
    X(CASE, "task", "case_id")            \
    X(NAME, "task", "case_name")          \
    X(KERNEL, "task", "kernel")           \
    X(PACK, "task", "pack_name")          \
    X(CODE, "code", "sha256")             \
    X(MODEL, "device", "model")           \
    X(ARCH, "device", "arch")             \
    X(RUNTIME, "device", "runtime")       \
    X(TEMPERATURE, "mode", "temperature") \
    X(ICACHE, "mode", "icache")

enum field {
#define X(name, object, key) FIELD_##name,
    FIELDS(X)
#undef X
    FIELD_COUNT
};
#define BIT(name) (1u << FIELD_##name)

static const struct {
    const char *object, *key;
} fields[FIELD_COUNT] = {
#define X(name, object, key) { object, key },
    FIELDS(X)
#undef X
};

#define PLACE (BIT(MODEL) | BIT(ARCH) | BIT(RUNTIME) | BIT(TEMPERATURE) | BIT(ICACHE))
/* One task: results that agree in these. */
#define TASK  (BIT(CASE) | BIT(KERNEL) | BIT(PACK) | PLACE)
/* What must be equal, from the most to the least; each only where it leaves one partner
 * on either side. */
static const unsigned stages[] = {
    TASK,
    BIT(CASE) | BIT(KERNEL) | PLACE,             /* a pack of another name */
    BIT(CASE) | BIT(CODE) | PLACE,               /* a kernel of another name */
    BIT(CASE) | BIT(KERNEL) | BIT(PACK),         /* another device or mode */
    BIT(CASE) | BIT(KERNEL),                     /* both */
    BIT(NAME) | BIT(KERNEL) | BIT(PACK) | PLACE, /* another case of that name */
    BIT(NAME) | BIT(KERNEL),
};

/* A case that could not be read has no id: then its name, else its label. */
static const char *field(const struct wf_json *result, int f)
{
    const char *s = wf_unpaired_text(result, fields[f].object, fields[f].key);
    if (s[0] == '\0' && f == FIELD_CASE) {
        s = wf_unpaired_text(result, "task", "case_name");
        s = s[0] != '\0' ? s : wf_unpaired_text(result, "task", "label");
    }
    if (s[0] == '\0' && f == FIELD_ICACHE) {
        return "hot"; /* results from before there was a choice */
    }
    return s;
}

static int compare_in(const struct wf_json *a, const struct wf_json *b, unsigned mask)
{
    int order = 0;
    for (int f = 0; f < FIELD_COUNT && order == 0; f++) {
        if ((mask >> f & 1) != 0) {
            order = strcmp(field(a, f), field(b, f));
        }
    }
    return order;
}

struct entry {
    const struct wf_json *result;
    size_t place; /* in the file */
};

static int by_task(const void *x, const void *y)
{
    const struct entry *a = x;
    const struct entry *b = y;
    const int order = compare_in(a->result, b->result, TASK);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

struct group {
    struct wf_unpaired_side side;
    const char *field[FIELD_COUNT];
    size_t place;   /* of its first result */
    size_t partner; /* in the other side's groups, SIZE_MAX: none */
};

struct groups {
    struct group *group;
    size_t count;
};

/* Unknown code or name is equal to nothing. */
static bool equal_in(const struct group *a, const struct group *b, unsigned mask)
{
    if (((mask & BIT(CODE)) != 0 && a->field[FIELD_CODE][0] == '\0') ||
        ((mask & BIT(NAME)) != 0 && a->field[FIELD_NAME][0] == '\0')) {
        return false;
    }
    for (int f = 0; f < FIELD_COUNT; f++) {
        if ((mask >> f & 1) != 0 && strcmp(a->field[f], b->field[f]) != 0) {
            return false;
        }
    }
    return true;
}

static int by_place(const void *x, const void *y)
{
    const struct group *a = x;
    const struct group *b = y;
    return (a->place > b->place) - (a->place < b->place);
}

static enum wf_status make_groups(const struct wf_json *const *result,
                                  size_t n,
                                  struct groups *g,
                                  const struct wf_json ***ret_order,
                                  struct wf_error *err)
{
    struct entry *e = wf_calloc(n + 1, sizeof(*e));
    enum wf_status status = WF_OK;
    *ret_order = wf_calloc(n + 1, sizeof(**ret_order));
    g->group = wf_calloc(n + 1, sizeof(*g->group));
    if (e == NULL || *ret_order == NULL || g->group == NULL) {
        free(e);
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu results", n);
    }
    for (size_t i = 0; i < n; i++) {
        e[i] = (struct entry){ result[i], i };
    }
    qsort(e, n, sizeof(*e), by_task);
    for (size_t i = 0; i < n; i++) {
        (*ret_order)[i] = e[i].result;
        if (i == 0 || compare_in(e[i - 1].result, e[i].result, TASK) != 0) {
            g->group[g->count++] = (struct group){ .side.result = *ret_order + i,
                                                   .place = e[i].place,
                                                   .partner = SIZE_MAX };
        }
        g->group[g->count - 1].side.count++;
    }
    free(e);
    qsort(g->group, g->count, sizeof(*g->group), by_place);
    for (size_t i = 0; i < g->count && status == WF_OK; i++) {
        for (int f = 0; f < FIELD_COUNT; f++) {
            g->group[i].field[f] = field(g->group[i].side.result[0], f);
        }
        status = wf_unpaired_fill(&g->group[i].side, err);
    }
    return status;
}

/* The only open group of `in` that equals `of`; SIZE_MAX when there is none or more. */
static size_t only_partner(const struct groups *in,
                           const struct group *of,
                           unsigned mask)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < in->count; i++) {
        const struct group *g = &in->group[i];
        if (g->partner == SIZE_MAX && equal_in(of, g, mask)) {
            if (found != SIZE_MAX) {
                return SIZE_MAX;
            }
            found = i;
        }
    }
    return found;
}

static void match(struct groups *a, struct groups *b, unsigned mask)
{
    for (size_t i = 0; i < a->count; i++) {
        struct group *g = &a->group[i];
        if (g->partner != SIZE_MAX) {
            continue;
        }
        const size_t k = only_partner(b, g, mask);
        if (k != SIZE_MAX && only_partner(a, &b->group[k], mask) == i) {
            g->partner = k;
            b->group[k].partner = i;
        }
    }
}

static enum wf_status add_row(struct wf_unpaired *u,
                              const struct wf_unpaired_side *a,
                              const struct wf_unpaired_side *b,
                              struct wf_error *err)
{
    struct wf_unpaired_row *r = &u->row[u->count++];
    if (a != NULL) {
        r->a = *a;
    }
    if (b != NULL) {
        r->b = *b;
    }
    enum wf_status status = wf_unpaired_judge(r, err);
    u->of_status[r->status]++;
    return status;
}

/* Rows in the order of A, then of B, brought into the order of their statuses. */
static enum wf_status sort_rows(struct wf_unpaired *u, struct wf_error *err)
{
    struct wf_unpaired_row *sorted = wf_calloc(u->count + 1, sizeof(*sorted));
    size_t n = 0;
    if (sorted == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu tasks", u->count);
    }
    for (int s = 0; s < WF_UNPAIRED_STATUS_COUNT; s++) {
        for (size_t i = 0; i < u->count; i++) {
            if ((int)u->row[i].status == s) {
                sorted[n++] = u->row[i];
            }
        }
    }
    free(u->row);
    u->row = sorted;
    return WF_OK;
}

static enum wf_status make_rows(struct wf_unpaired *u,
                                const struct groups *a,
                                const struct groups *b,
                                struct wf_error *err)
{
    enum wf_status status = WF_OK;
    u->row = wf_calloc(a->count + b->count + 1, sizeof(*u->row));
    if (u->row == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the tasks");
    }
    for (size_t i = 0; i < a->count && status == WF_OK; i++) {
        const size_t k = a->group[i].partner;
        status = add_row(u, &a->group[i].side, k != SIZE_MAX ? &b->group[k].side : NULL,
                         err);
    }
    for (size_t i = 0; i < b->count && status == WF_OK; i++) {
        if (b->group[i].partner == SIZE_MAX) {
            status = add_row(u, NULL, &b->group[i].side, err);
        }
    }
    return status == WF_OK ? sort_rows(u, err) : status;
}

enum wf_status wf_unpaired_compare(const struct wf_json *const *a,
                                   size_t a_count,
                                   const struct wf_json *const *b,
                                   size_t b_count,
                                   struct wf_unpaired *ret,
                                   struct wf_error *err)
{
    struct groups ga = { 0 }, gb = { 0 };
    struct wf_unpaired u = { 0 };
    enum wf_status status = make_groups(a, a_count, &ga, &u.order[0], err);
    if (status == WF_OK) {
        status = make_groups(b, b_count, &gb, &u.order[1], err);
    }
    if (status == WF_OK) {
        for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); s++) {
            match(&ga, &gb, stages[s]);
        }
        status = make_rows(&u, &ga, &gb, err);
    }
    free(ga.group);
    free(gb.group);
    if (status != WF_OK) {
        wf_unpaired_free(&u);
        return status;
    }
    *ret = u;
    return WF_OK;
}

void wf_unpaired_free(struct wf_unpaired *u)
{
    for (size_t i = 0; i < u->count; i++) {
        wf_json_free(u->row[i].note);
    }
    free(u->row);
    free(u->order[0]);
    free(u->order[1]);
    memset(u, 0, sizeof(*u));
}

static const struct wf_json *telling(const struct wf_unpaired_row *r)
{
    return r->b.count > 0 ? r->b.result[0] : r->a.result[0];
}

const char *wf_unpaired_case(const struct wf_unpaired_row *r)
{
    const char *name = wf_unpaired_text(telling(r), "task", "case_name");
    return name[0] != '\0' ? name : wf_unpaired_text(telling(r), "task", "label");
}

const char *wf_unpaired_kernel(const struct wf_unpaired_row *r)
{
    return wf_unpaired_text(telling(r), "task", "kernel");
}

const char *wf_unpaired_model(const struct wf_unpaired_row *r)
{
    return wf_unpaired_text(telling(r), "device", "model");
}
