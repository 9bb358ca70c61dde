/* hipBLASLt's logic files: YAML as Tensile writes it, a list whose places have
 * meanings: version, schedule, architecture, devices, problem type, solutions, index
 * order, sizes with their solutions. Read line by line, since they have up to a
 * million: what counts is the column of a line's first dash and of its text. A
 * solution's parameters are at column 4, a size is "[M, N, batch, K, ...]" with
 * "[solution, rating]" on the next line. Whatever else the format can say (anchors,
 * quotes over lines) is not in these files. */
#include "isa/knobs_internal.h"

#include "core/buf.h"
#include "core/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETER_COLUMN 4
#define MAX_LINE         ((size_t)1 << 20)
#define MAX_ROWS         ((size_t)1 << 22)

enum section {
    OTHER,
    SOLUTIONS,
    SIZES
};

struct reader {
    struct wf_isa_logic *l;
    const char *path;
    size_t line;
    enum section section;
    size_t solution_room, selection_room;
    bool has_size; /* a size waits for its solution */
    struct wf_isa_selection size;
    struct wf_error *err;
};

/* A line without its dashes. */
struct line {
    int first_dash; /* column, -1: none */
    int dashes;
    int column; /* of the text */
    char *text;
};

static struct line split(char *text)
{
    struct line l = { .first_dash = -1 };
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]) != 0) {
        text[--n] = '\0';
    }
    char *at = text;
    for (;;) {
        while (*at == ' ') {
            at++;
        }
        if (at[0] != '-' || (at[1] != ' ' && at[1] != '\0')) {
            break;
        }
        l.first_dash = l.dashes++ == 0 ? (int)(at - text) : l.first_dash;
        at++;
    }
    l.column = (int)(at - text);
    l.text = at;
    return l;
}

static enum wf_status wrong(const struct reader *r, const char *what, const char *text)
{
    return wf_errorf(r->err, WF_EPARSE, "%s, line %zu: %s: %.80s", r->path, r->line,
                     what, text);
}

static enum wf_status wrong_nul(const struct reader *r, const char *text)
{
    return *text != '\0'
               ? wrong(r, "a NUL behind", text)
               : wf_errorf(r->err, WF_EPARSE, "%s, line %zu: a NUL at its beginning",
                           r->path, r->line);
}

/* Room for one more element. */
static enum wf_status grow(const struct reader *r,
                           void **list,
                           size_t count,
                           size_t *room,
                           size_t size)
{
    if (count < *room) {
        return WF_OK;
    }
    const size_t wanted = *room > 0 ? 2 * *room : 64;
    void *grown = wanted <= MAX_ROWS ? wf_realloc_array(*list, wanted, size) : NULL;
    if (grown == NULL) {
        return wf_errorf(r->err, WF_ENOMEM, "%s: no memory for its %zu rows", r->path,
                         count);
    }
    *list = grown;
    *room = wanted;
    return WF_OK;
}

/* --- values --- */

/* As a kernel's name has it: true is 1, -1 is n1, a list is joined, a word is its
 * capital letters. */
static void as_in_names(const char *value, bool joined, char *out, size_t bytes)
{
    size_t n = 0;
    const char *text = strcmp(value, "true") == 0    ? "1"
                       : strcmp(value, "false") == 0 ? "0"
                                                     : value;
    const bool word = isalpha((unsigned char)text[0]) != 0;
    for (; *text != '\0' && n + 1 < bytes; text++) {
        const bool kept = isdigit((unsigned char)*text) != 0 || *text == '.' ||
                          (word && isupper((unsigned char)*text) != 0);
        const char c = kept                      ? *text
                       : *text == '-'            ? 'n'
                       : *text == ',' && !joined ? '_'
                                                 : '\0';
        if (c != '\0') {
            out[n++] = c;
        }
    }
    out[n] = '\0';
}

/* The numbers of "[1, 2, 3]"; how many there are, -1: it is none. */
static int numbers_of(const char *text, double *ret, int most)
{
    int n = 0;
    if (text[0] != '[') {
        return -1;
    }
    for (const char *at = text + 1; *at != ']';) {
        char number[40];
        at += strspn(at, " ");
        const size_t length = strcspn(at, ",]");
        if (at[length] == '\0' || length == 0 || length >= sizeof(number) ||
            n == most) {
            return n == most ? n : -1;
        }
        memcpy(number, at, length);
        number[length] = '\0';
        if (wf_parse_f64(number, "a number", -1e18, 1e18, &ret[n++], NULL) != WF_OK) {
            return -1;
        }
        at += length + (at[length] == ',');
    }
    return n;
}

/* --- solutions --- */

static struct wf_isa_solution *current(const struct reader *r)
{
    return &r->l->solution[r->l->solution_count - 1];
}

static enum wf_status begin_solution(struct reader *r)
{
    void *list = r->l->solution;
    enum wf_status st = grow(r, &list, r->l->solution_count, &r->solution_room,
                             sizeof(*r->l->solution));
    r->l->solution = list;
    if (st == WF_OK) {
        r->l->solution[r->l->solution_count++] =
            (struct wf_isa_solution){ .index = -1, .name = NULL };
    }
    return st;
}

static enum wf_status take_name(struct reader *r, const char *value)
{
    struct wf_isa_solution *s = current(r);
    if (*value == '\0' || strcmp(value, "''") == 0 || s->name != NULL) {
        return WF_OK;
    }
    s->name = wf_strdup(value);
    return s->name != NULL ? WF_OK
                           : wf_errorf(r->err, WF_ENOMEM, "no memory for a name");
}

static enum wf_status take_instruction(struct reader *r, const char *value)
{
    char text[48];
    double v[4];
    if (numbers_of(value, v, 4) != 4) {
        return WF_OK; /* [] where there is no matrix instruction */
    }
    (void)snprintf(text, sizeof(text), "%.0fx%.0fx%.0f", v[0], v[1], v[3]);
    enum wf_status st = wf_isa_knobs_add(&current(r)->knobs, "MI", text,
                                         "matrix instruction: M x N x blocks", r->err);
    (void)snprintf(text, sizeof(text), "%.0f", v[2]);
    return st == WF_OK ? wf_isa_knobs_add(&current(r)->knobs, "MIK", text,
                                          "K of the matrix instruction", r->err)
                       : st;
}

static enum wf_status take_knob(struct reader *r, const char *name, const char *value)
{
    char text[64];
    const char *meaning = "size of a workgroup's tile, column-major";
    const char *key = strcmp(name, "MacroTile0") == 0 ? "MT0"
                      : strcmp(name, "MacroTile1") == 0
                          ? "MT1"
                          : wf_isa_tensile_key(name, &meaning);
    if (key == NULL) {
        return WF_OK; /* derived values: thousands, none a knob */
    }
    as_in_names(value, strcmp(key, "ISA") == 0, text, sizeof(text));
    return wf_isa_knobs_add(&current(r)->knobs, key, text, meaning, r->err);
}

static enum wf_status take_parameter(struct reader *r, char *text)
{
    char *colon = strstr(text, ":");
    if (colon == NULL) {
        return wrong(r, "a solution's parameter is wanted", text);
    }
    *colon = '\0';
    const char *value = colon + 1 + strspn(colon + 1, " ");
    if (strcmp(text, "SolutionIndex") == 0) {
        return wf_parse_i64(value, "SolutionIndex", 0, INT64_MAX, &current(r)->index,
                            NULL) == WF_OK
                   ? WF_OK
                   : wrong(r, "SolutionIndex is no index", value);
    }
    if (strcmp(text, "CustomKernelName") == 0 || strcmp(text, "SolutionNameMin") == 0) {
        return take_name(r, value);
    }
    return strcmp(text, "MatrixInstruction") == 0 ? take_instruction(r, value)
                                                  : take_knob(r, text, value);
}

/* --- sizes --- */

static enum wf_status take_size(struct reader *r, const struct line *l)
{
    double v[16];
    const int n = numbers_of(l->text, v, 16);
    if (n < 2 || (l->dashes >= 2 && n < 4)) {
        r->l->skipped_sizes++;
        r->has_size = false;
        return WF_OK;
    }
    if (l->dashes >= 2) {
        r->size = (struct wf_isa_selection){
            (int64_t)v[0], (int64_t)v[1], (int64_t)v[2], (int64_t)v[3], -1, 0.0
        };
        r->has_size = true;
        return WF_OK;
    }
    if (!r->has_size) {
        return wrong(r, "a solution without a size", l->text);
    }
    void *list = r->l->selection;
    enum wf_status st = grow(r, &list, r->l->selection_count, &r->selection_room,
                             sizeof(*r->l->selection));
    r->l->selection = list;
    if (st == WF_OK) {
        r->size.solution = (int64_t)v[0];
        r->size.rating = v[1];
        r->l->selection[r->l->selection_count++] = r->size;
    }
    r->has_size = false;
    return st;
}

/* --- the file --- */

static enum section section_of(const struct line *l)
{
    if (l->dashes == 2 && l->column == PARAMETER_COLUMN &&
        strchr(l->text, ':') != NULL) {
        return SOLUTIONS;
    }
    return l->dashes == 3 && l->text[0] == '[' ? SIZES : OTHER;
}

static enum wf_status take_line(struct reader *r, char *text)
{
    struct line l = split(text);
    enum wf_status st = WF_OK;
    if (*l.text == '\0' && l.dashes == 0) {
        return WF_OK;
    }
    if (l.first_dash == 0) {
        r->section = section_of(&l);
    }
    if (r->section == SOLUTIONS && l.column == PARAMETER_COLUMN) {
        if (l.first_dash >= 0) {
            st = begin_solution(r);
        }
        return st == WF_OK ? take_parameter(r, l.text) : st;
    }
    return r->section == SIZES && l.text[0] == '[' ? take_size(r, &l) : WF_OK;
}

static bool has_solution(const struct wf_isa_logic *l, int64_t index)
{
    if (index >= 0 && (size_t)index < l->solution_count &&
        l->solution[index].index == index) {
        return true;
    }
    for (size_t i = 0; i < l->solution_count; i++) {
        if (l->solution[i].index == index) {
            return true;
        }
    }
    return false;
}

/* Types and transposes are in the name only. */
static enum wf_status add_from_name(struct reader *r, struct wf_isa_solution *s)
{
    struct wf_isa_knobs named = { .knob = NULL };
    enum wf_isa_scheme scheme;
    enum wf_status st = wf_isa_knobs_of_name(s->name, &named, &scheme, r->err);
    for (size_t i = 0; st == WF_OK && i < named.count; i++) {
        if (wf_isa_knobs_value(&s->knobs, named.knob[i].key) == NULL) {
            st = wf_isa_knobs_add(&s->knobs, named.knob[i].key, named.knob[i].value,
                                  named.knob[i].meaning, r->err);
        }
    }
    wf_isa_knobs_free(&named);
    return st;
}

static enum wf_status finish(struct reader *r)
{
    enum wf_status st = WF_OK;
    if (r->l->solution_count == 0) {
        return wf_errorf(r->err, WF_EPARSE,
                         "%s: no solutions: a logic file of hipBLASLt or Tensile is "
                         "wanted",
                         r->path);
    }
    for (size_t i = 0; st == WF_OK && i < r->l->solution_count; i++) {
        struct wf_isa_solution *s = &r->l->solution[i];
        if (s->name == NULL && (s->name = wf_strdup("")) == NULL) {
            st = wf_errorf(r->err, WF_ENOMEM, "no memory for a name");
        }
        st = st == WF_OK ? add_from_name(r, s) : st;
    }
    for (size_t i = 0; st == WF_OK && i < r->l->selection_count; i++) {
        const struct wf_isa_selection *s = &r->l->selection[i];
        if (!has_solution(r->l, s->solution)) {
            st = wf_errorf(r->err, WF_EPARSE,
                           "%s: size %lld x %lld x %lld takes solution %lld, which the "
                           "file does not have",
                           r->path, (long long)s->m, (long long)s->n, (long long)s->k,
                           (long long)s->solution);
        }
    }
    return st;
}

static enum wf_status read_lines(struct reader *r, FILE *f)
{
    enum wf_status st = WF_OK;
    char *text = NULL;
    size_t room = 0;
    while (st == WF_OK) {
        const ssize_t n = getline(&text, &room, f);
        if (n < 0) {
            st = ferror(f) ? wf_error_errno(r->err, errno, "%s", r->path) : WF_OK;
            break;
        }
        r->line++;
        st = (size_t)n > MAX_LINE        ? wrong(r, "the line is too long", text)
             : strlen(text) != (size_t)n ? wrong_nul(r, text)
                                         : take_line(r, text);
    }
    free(text);
    return st;
}

enum wf_status wf_isa_logic_read(const char *path,
                                 struct wf_isa_logic *ret,
                                 struct wf_error *err)
{
    struct wf_isa_logic l = { .solution = NULL };
    struct reader r = { .l = &l, .path = path, .err = err };
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return wf_error_errno(err, errno, "%s", path);
    }
    enum wf_status st = read_lines(&r, f);
    (void)fclose(f);
    st = st == WF_OK ? finish(&r) : st;
    if (st == WF_OK) {
        *ret = l;
    } else {
        wf_isa_logic_free(&l);
    }
    return st;
}

void wf_isa_logic_free(struct wf_isa_logic *l)
{
    for (size_t i = 0; i < l->solution_count; i++) {
        free(l->solution[i].name);
        wf_isa_knobs_free(&l->solution[i].knobs);
    }
    free(l->solution);
    free(l->selection);
    *l = (struct wf_isa_logic){ .solution = NULL };
}
