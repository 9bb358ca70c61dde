#include "cli/error_view.h"

#include "cli/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CELLS  16 /* each way, as the schema says */
#define SCALE_STEP  4  /* cells between two numbers of the scale across */
#define CELL_WIDTH  2  /* characters: text cells are about twice as high as wide */
#define LABEL_WIDTH 12

static const char *text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

static double number(const struct wf_json *obj, const char *key)
{
    double d = (double)NAN;
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    if (v == NULL || !wf_json_as_f64(v, &d)) {
        return (double)NAN;
    }
    return d;
}

static int64_t count(const struct wf_json *v)
{
    int64_t n = 0;
    return v != NULL && wf_json_as_i64(v, &n) ? n : 0;
}

static int64_t count_of(const struct wf_json *obj, const char *key)
{
    return count(wf_json_find(obj, key));
}

static const struct wf_json *object(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    return v != NULL && wf_json_type(v) == WF_JSON_OBJECT ? v : NULL;
}

bool wf_has_error_view(const struct wf_json *result)
{
    return object(object(result, "errors"), "first") != NULL;
}

/* "D[0, 17]" */
static void format_place(const struct wf_json *element, char *ret, size_t n)
{
    const struct wf_json *index = wf_json_find(element, "index");
    size_t used = 0;
    int len = snprintf(ret, n, "%.40s[", text(element, "tensor"));
    for (size_t i = 0; index != NULL && i < wf_json_count(index); i++) {
        used += len > 0 ? (size_t)len : 0;
        if (used >= n) {
            return;
        }
        len = snprintf(ret + used, n - used, "%s%" PRId64, i > 0 ? ", " : "",
                       count(wf_json_at(index, i)));
    }
    used += len > 0 ? (size_t)len : 0;
    if (used < n) {
        (void)snprintf(ret + used, n - used, "]");
    }
}

/* got and want beside each other, with their ratio where it says something. */
static void print_element(const struct wf_json *element, const char *name)
{
    char place[96];
    char more[96] = "";
    const double got = number(element, "got");
    const double want = number(element, "want");
    const double tolerance = number(element, "tolerance");
    format_place(element, place, sizeof place);
    if (isfinite(got) && isfinite(want) && tolerance > 0) {
        (void)snprintf(more, sizeof more,
                       ": off by %.4g, %.3g times the tolerance %.3g", fabs(got - want),
                       fabs(got - want) / tolerance, tolerance);
    } else if (isfinite(got) && isfinite(want) && fabs(want) > 0) {
        (void)snprintf(more, sizeof more, ": got / want = %.6g", got / want);
    }
    wf_say("  %-6s %s  got %.9g, want %.9g%s", name, place, got, want, more);
}

static void print_counts(const struct wf_json *errors)
{
    wf_say("  wrong  %" PRId64 " differ, %" PRId64 " not finite, %" PRId64
           " never written; largest error %.4g, relative %.4g",
           count_of(errors, "mismatches"), count_of(errors, "nonfinite"),
           count_of(errors, "unwritten"), number(errors, "max_abs"),
           number(errors, "max_rel"));
}

/* --- the map --- */

static const struct wf_json *cell(const struct wf_json *map,
                                  const char *key,
                                  size_t row,
                                  size_t col)
{
    const struct wf_json *rows = wf_json_find(map, key);
    const struct wf_json *line = rows != NULL ? wf_json_at(rows, row) : NULL;
    return line != NULL ? wf_json_at(line, col) : NULL;
}

static char cell_sign(int64_t wrong, int64_t checked)
{
    if (wrong == 0) {
        return checked > 0 ? '.' : ' ';
    }
    if (wrong >= checked) {
        return '#';
    }
    const int64_t tenths = (int64_t)(10.0 * (double)wrong / (double)checked);
    return (char)('0' + (tenths < 1 ? 1 : tenths));
}

static size_t width_of(const struct wf_json *map)
{
    const struct wf_json *rows = wf_json_find(map, "wrong");
    const struct wf_json *first = rows != NULL ? wf_json_at(rows, 0) : NULL;
    const size_t n = first != NULL ? wf_json_count(first) : 0;
    return n < MOST_CELLS ? n : MOST_CELLS;
}

static size_t height_of(const struct wf_json *map)
{
    const struct wf_json *rows = wf_json_find(map, "wrong");
    const size_t n = rows != NULL ? wf_json_count(rows) : 0;
    return n < MOST_CELLS ? n : MOST_CELLS;
}

/* First columns of every fourth cell, left-aligned over it. */
static void print_scale(const struct wf_json *map, size_t width)
{
    char line[MOST_CELLS * CELL_WIDTH + 32];
    size_t used = 0;
    const int64_t step = count_of(map, "cell_cols");
    for (size_t j = 0; j < width; j += SCALE_STEP) {
        const int len = snprintf(line + used, sizeof line - used, "%-*" PRId64,
                                 SCALE_STEP * CELL_WIDTH, (int64_t)j * step);
        used += len > 0 ? (size_t)len : 0;
        if (used + 24 >= sizeof line) {
            break;
        }
    }
    while (used > 0 && line[used - 1] == ' ') {
        used--;
    }
    wf_say("  %*s  %.*s", LABEL_WIDTH, "", (int)used, line);
}

static void print_border(size_t width)
{
    char line[MOST_CELLS * CELL_WIDTH + 1];
    memset(line, '-', sizeof line - 1);
    line[width * CELL_WIDTH] = '\0';
    wf_say("  %*s +%s+", LABEL_WIDTH, "", line);
}

static void print_map(const struct wf_json *map)
{
    const size_t width = width_of(map);
    const size_t height = height_of(map);
    const int64_t step = count_of(map, "cell_rows");
    wf_say("  where  %.40s as %" PRId64 " rows x %" PRId64
           " columns, a cell is %" PRId64 " x %" PRId64,
           text(map, "tensor"), count_of(map, "rows"), count_of(map, "cols"), step,
           count_of(map, "cell_cols"));
    print_scale(map, width);
    print_border(width);
    for (size_t i = 0; i < height; i++) {
        char line[MOST_CELLS * CELL_WIDTH + 1];
        memset(line, ' ', sizeof line);
        for (size_t j = 0; j < width; j++) {
            const char sign = cell_sign(count(cell(map, "wrong", i, j)),
                                        count(cell(map, "checked", i, j)));
            memset(line + j * CELL_WIDTH, sign, CELL_WIDTH);
        }
        line[width * CELL_WIDTH] = '\0';
        wf_say("  %*" PRId64 " |%s|", LABEL_WIDTH, (int64_t)i * step, line);
    }
    print_border(width);
    wf_say("  %*s  . right   1-9 tenths wrong   # all wrong   blank: not looked at",
           LABEL_WIDTH, "");
}

void wf_print_error_view(const struct wf_json *result, bool map)
{
    const struct wf_json *errors = object(result, "errors");
    const struct wf_json *first = object(errors, "first");
    const struct wf_json *worst = object(errors, "worst");
    const char *likely = text(result, "diagnosis");
    if (first == NULL) {
        return;
    }
    print_counts(errors);
    print_element(first, "first");
    if (worst != NULL) {
        print_element(worst, "worst");
    }
    wf_say("  likely %s", likely[0] != '\0' ? likely : "nothing known fits");
    if (map && object(errors, "map") != NULL) {
        print_map(object(errors, "map"));
    }
}
