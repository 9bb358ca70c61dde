/* The record: lines in the order in which they came, and the state that they lead to.
 *
 * A line is understood whole before anything changes, so a refused one leaves the
 * record as it was. What a line may say is bound by what the seed gives: the labels of
 * every block, the number of every round, the pairs that were open. */
#include "gate/record_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

static void mark_due(struct wf_gate_record *r, int group)
{
    for (size_t i = 0; i < r->header.count; i++) {
        if (r->header.pair[i].device == group) {
            r->pair[i].due =
                wf_gate_verdict_of(r->gate, i, NULL) == WF_GATE_VERDICT_OPEN;
        }
    }
}

static enum wf_status start(struct wf_gate_record *r, struct wf_error *err)
{
    size_t n = r->header.count;
    size_t open = 0;
    enum wf_status status;

    r->pair = wf_calloc(n, sizeof *r->pair);
    r->group = wf_calloc((size_t)r->header.groups, sizeof *r->group);
    if (r->pair == NULL || r->group == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a gate of %zu pairs", n);
    }
    for (size_t i = 0; i < n; i++) {
        r->pair[i].newest = NO_LINE;
        r->pair[i].wrong[ARM_BASE] = r->pair[i].wrong[ARM_CANDIDATE] = NO_LINE;
    }
    status = gate_header_gate(&r->header, &r->gate, err);
    if (status == WF_OK) {
        status = wf_gate_decide(r->gate, &open, err);
    }
    for (int g = 0; g < r->header.groups && status == WF_OK; g++) {
        mark_due(r, g);
    }
    return status;
}

enum wf_status wf_gate_record_create(struct wf_json *header,
                                     struct wf_gate_record **ret,
                                     struct wf_error *err)
{
    struct wf_gate_record *r = wf_calloc(1, sizeof *r);
    enum wf_status status;

    if (r == NULL) {
        wf_json_free(header);
        return wf_errorf(err, WF_ENOMEM, "no memory for a gate's record");
    }
    r->header_json = header;
    r->verdict = NO_LINE;
    status = gate_header_read(header, &r->header, err);
    if (status == WF_OK) {
        status = start(r, err);
    }
    if (status != WF_OK) {
        wf_gate_record_free(r);
        return status;
    }
    *ret = r;
    return WF_OK;
}

void wf_gate_record_free(struct wf_gate_record *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->line_count; i++) {
        wf_json_free(r->line[i]);
    }
    free(r->line);
    free(r->pair);
    free(r->group);
    wf_gate_free(r->gate);
    gate_header_free(&r->header);
    wf_json_free(r->header_json);
    free(r);
}

/* --- kinds of lines --- */

enum wf_status record_check_round(const struct wf_gate_record *r,
                                  int group,
                                  int64_t round,
                                  struct wf_error *err)
{
    if (round != (int64_t)r->group[group].done + 1) {
        return wf_errorf(err, WF_EINVAL, "round %lld of group %d: the next one is %d",
                         (long long)round, group, (int)r->group[group].done + 1);
    }
    if (r->group[group].closed) {
        return wf_errorf(err, WF_EINVAL, "round %lld: group %d was closed before",
                         (long long)round, group);
    }
    return WF_OK;
}

static enum wf_status read_round(const struct wf_gate_record *r,
                                 const struct wf_json *line,
                                 int *ret_group,
                                 struct wf_error *err)
{
    int64_t round = 0;
    int64_t group = 0;
    enum wf_status status =
        wf_json_get_i64(line, "group", 0, r->header.groups - 1, &group, err);

    if (status == WF_OK) {
        status = wf_json_get_i64(line, "round", 1, INT32_MAX, &round, err);
    }
    *ret_group = (int)group;
    return status == WF_OK ? record_check_round(r, (int)group, round, err) : status;
}

enum wf_status record_take_part(struct wf_gate_record *r,
                                size_t i,
                                int group,
                                const struct record_part *part,
                                struct wf_error *err)
{
    if (r->header.pair[i].device != group) {
        return wf_errorf(err, WF_EINVAL, "pair \"%s\" belongs to group %d, not to %d",
                         r->header.pair[i].key, r->header.pair[i].device, group);
    }
    if (r->pair[i].part.there) {
        return wf_errorf(err, WF_EINVAL,
                         "pair \"%s\": a second record in round %d: a round measures "
                         "a pair once",
                         r->header.pair[i].key, (int)r->group[group].done + 1);
    }
    if (!r->pair[i].due) {
        return wf_errorf(err, WF_EINVAL,
                         "pair \"%s\" had its verdict before round %d: it is measured "
                         "no more",
                         r->header.pair[i].key, (int)r->group[group].done + 1);
    }
    r->pair[i].part = *part;
    r->pair[i].part.there = true;
    r->pair[i].newest = part->line;
    r->group[group].under_way = true;
    return WF_OK;
}

static enum wf_status add_pair(struct wf_gate_record *r,
                               const struct wf_json *line,
                               struct wf_error *err)
{
    struct record_part part = { .line = r->line_count - 1 };
    size_t i = 0;
    int group = 0;
    enum wf_status status = read_round(r, line, &group, err);

    if (status == WF_OK) {
        status = record_part_read(r, line, &i, &part, err);
    }
    return status == WF_OK ? record_take_part(r, i, group, &part, err) : status;
}

enum wf_status record_round_over(struct wf_gate_record *r,
                                 int group,
                                 bool is_void,
                                 struct wf_error *err)
{
    size_t open = 0;
    enum wf_status status = record_round_end(r, group, is_void, err);

    if (status == WF_OK) {
        status = wf_gate_decide(r->gate, &open, err);
    }
    if (status == WF_OK) {
        r->group[group].done++;
        r->group[group].under_way = false;
        mark_due(r, group);
    }
    return status;
}

static enum wf_status add_round(struct wf_gate_record *r,
                                const struct wf_json *line,
                                struct wf_error *err)
{
    const char *why = NULL;
    int group = 0;
    enum wf_status status = read_round(r, line, &group, err);

    if (status == WF_OK) {
        status = wf_json_get_string(line, "void", &why, err);
    }
    return status == WF_OK ? record_round_over(r, group, why[0] != '\0', err) : status;
}

/* {"kind":"close","gate","group":0 | null (all),"reason":"cancelled","why":""} */
static enum wf_status add_close(struct wf_gate_record *r,
                                const struct wf_json *line,
                                struct wf_error *err)
{
    const struct wf_json *group = wf_json_find(line, "group");
    bool all = group != NULL && wf_json_type(group) == WF_JSON_NULL;
    const char *text = NULL;
    enum wf_gate_reason reason = WF_GATE_REASON_NONE;
    int64_t g = -1;
    enum wf_status status = wf_json_get_string(line, "reason", &text, err);

    if (status == WF_OK && !all) {
        status = wf_json_get_i64(line, "group", 0, r->header.groups - 1, &g, err);
    }
    if (status != WF_OK) {
        return status;
    }
    if (!wf_gate_reason_parse(text, &reason) ||
        (reason != WF_GATE_REASON_CANCELLED && reason != WF_GATE_REASON_NOT_RUN)) {
        return wf_errorf(err, WF_EINVAL,
                         "\"reason\": must be \"cancelled\" or \"not-run\"");
    }
    for (int i = 0; i < r->header.groups; i++) {
        if ((all || i == g) && r->group[i].under_way) {
            return wf_errorf(err, WF_EINVAL,
                             "close: round %d of group %d is under way: end it with a "
                             "round line first",
                             (int)r->group[i].done + 1, i);
        }
    }
    for (int i = 0; i < r->header.groups; i++) {
        if (all || i == g) {
            wf_gate_close_device(r->gate, i, reason);
            r->group[i].closed = true;
            mark_due(r, i);
        }
    }
    return WF_OK;
}

static enum wf_status add_static(struct wf_gate_record *r,
                                 const struct wf_json *line,
                                 struct wf_error *err)
{
    const struct wf_json *entries = NULL;

    (void)r;
    return wf_json_get_array(line, "entries", &entries, err);
}

static enum wf_status add_verdict(struct wf_gate_record *r,
                                  const struct wf_json *line,
                                  struct wf_error *err)
{
    const struct wf_json *pairs = NULL;
    enum wf_status status = wf_json_get_array(line, "pairs", &pairs, err);

    if (status != WF_OK) {
        return status;
    }
    for (int i = 0; i < r->header.groups; i++) {
        if (r->group[i].under_way) {
            return wf_errorf(err, WF_EINVAL,
                             "a verdict while round %d of group %d is under way",
                             (int)r->group[i].done + 1, i);
        }
    }
    r->verdict = r->line_count - 1;
    return WF_OK;
}

static const struct {
    const char *kind;
    enum wf_status (*add)(struct wf_gate_record *r,
                          const struct wf_json *line,
                          struct wf_error *err);
} kinds[] = {
    { "pair", add_pair },     { "round", add_round },     { "close", add_close },
    { "static", add_static }, { "verdict", add_verdict },
};

static enum wf_status dispatch(struct wf_gate_record *r,
                               const struct wf_json *line,
                               struct wf_error *err)
{
    const char *kind = NULL;
    const char *gate = NULL;
    enum wf_status status;

    if (wf_json_type(line) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "a line of a record is an object, not %s",
                         wf_json_type_name(wf_json_type(line)));
    }
    if (r->verdict != NO_LINE) {
        return wf_errorf(err, WF_EINVAL, "a line after the verdict");
    }
    status = wf_json_get_string(line, "kind", &kind, err);
    if (status != WF_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kind, kinds[i].kind) != 0) {
            continue;
        }
        /* The static comparison may have been made apart from the gate. */
        if (wf_json_find(line, "gate") != NULL || kinds[i].add != add_static) {
            status = wf_json_get_string(line, "gate", &gate, err);
        }
        if (status == WF_OK && gate != NULL && strcmp(gate, r->header.gate) != 0) {
            status =
                wf_errorf(err, WF_EINVAL, "a line of gate %.40s in the record of %s",
                          gate, r->header.gate);
        }
        return status == WF_OK ? kinds[i].add(r, line, err) : status;
    }
    return wf_errorf(err, WF_EINVAL,
                     "\"kind\" is \"%.40s\": must be pair, round, close, static or "
                     "verdict",
                     kind);
}

enum wf_status wf_gate_record_add(struct wf_gate_record *r,
                                  struct wf_json *line,
                                  struct wf_error *err)
{
    enum wf_status status;

    if (r->line_count == r->line_cap) {
        size_t cap = r->line_cap == 0 ? 64 : 2 * r->line_cap;
        struct wf_json **lines =
            wf_realloc_array(r->line, cap, sizeof(struct wf_json *));
        if (lines == NULL) {
            wf_json_free(line);
            return wf_errorf(err, WF_ENOMEM, "no memory for %zu lines", cap);
        }
        r->line = lines;
        r->line_cap = cap;
    }
    r->line[r->line_count++] = line;
    status = dispatch(r, line, err);
    if (status != WF_OK) {
        r->line_count--;
        wf_json_free(line);
    }
    return status;
}

/* --- what is known --- */

const struct wf_json *wf_gate_record_header(const struct wf_gate_record *r)
{
    return r->header_json;
}

size_t wf_gate_record_count(const struct wf_gate_record *r)
{
    return r->header.count;
}

const struct wf_gate_pair *wf_gate_record_pair(const struct wf_gate_record *r, size_t i)
{
    return &r->header.pair[i];
}

struct wf_gate *wf_gate_record_gate(struct wf_gate_record *r)
{
    return r->gate;
}

const struct wf_json *wf_gate_record_newest(const struct wf_gate_record *r, size_t i)
{
    return wf_gate_record_line(r, r->pair[i].newest);
}

const struct wf_json *wf_gate_record_telling(const struct wf_gate_record *r, size_t i)
{
    const struct record_pair *p = &r->pair[i];

    for (int arm = ARM_CANDIDATE; arm >= ARM_BASE; arm--) {
        if (p->wrong[arm] != NO_LINE) {
            return wf_gate_record_line(r, p->wrong[arm]);
        }
    }
    return wf_gate_record_newest(r, i);
}

const uint8_t *wf_gate_record_seed(const struct wf_gate_record *r)
{
    return r->header.seed;
}

size_t wf_gate_record_line_count(const struct wf_gate_record *r)
{
    return r->line_count;
}

const struct wf_json *wf_gate_record_line(const struct wf_gate_record *r, size_t i)
{
    return i < r->line_count ? r->line[i] : NULL;
}

bool wf_gate_record_find(const struct wf_gate_record *r, const char *key, size_t *ret)
{
    return gate_header_find(&r->header, key, ret);
}

bool wf_gate_record_open_round(const struct wf_gate_record *r,
                               int device,
                               int32_t *ret_round)
{
    if (device < 0 || device >= r->header.groups || !r->group[device].under_way) {
        return false;
    }
    *ret_round = r->group[device].done + 1;
    return true;
}
