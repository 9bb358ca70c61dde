/* Which knobs and values a table has, and medians over equal values. */
#include "cli/isa_knobs_internal.h"
#include "core/buf.h"
#include "core/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *knob_value(const struct wf_knob_row *r, const char *knob)
{
    const char *v = wf_isa_knobs_value(&r->knobs, knob);
    return v == NULL ? "-" : *v == '\0' ? "yes" : v;
}

/* --- the knobs of a table --- */

void knob_names_free(struct knob_names *n)
{
    free(n->name);
    free(n->differs);
}

size_t knob_name_index(const struct knob_names *n, const char *name)
{
    size_t i = 0;
    while (i < n->count && strcmp(n->name[i], name) != 0) {
        i++;
    }
    return i;
}

static enum wf_status add_name(struct knob_names *n,
                               const char *name,
                               struct wf_error *err)
{
    const char **names = wf_realloc_array(n->name, n->count + 1, sizeof(*n->name));
    n->name = names != NULL ? names : n->name;
    bool *differs = wf_realloc_array(n->differs, n->count + 1, sizeof(*n->differs));
    n->differs = differs != NULL ? differs : n->differs;
    if (names == NULL || differs == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the names of knobs");
    }
    n->name[n->count] = name;
    n->differs[n->count++] = false;
    return WF_OK;
}

/* All knobs, in the order in which they are met. */
enum wf_status knob_names_collect(const struct wf_knob_table *t,
                                  struct knob_names *ret,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t r = 0; st == WF_OK && r < t->count; r++) {
        const struct wf_isa_knobs *k = &t->row[r].knobs;
        for (size_t i = 0; st == WF_OK && i < k->count; i++) {
            if (knob_name_index(ret, k->knob[i].key) == ret->count) {
                st = add_name(ret, k->knob[i].key, err);
            }
        }
    }
    for (size_t i = 0; st == WF_OK && i < ret->count; i++) {
        const char *first = knob_value(&t->row[0], ret->name[i]);
        for (size_t r = 1; r < t->count && !ret->differs[i]; r++) {
            ret->differs[i] = strcmp(knob_value(&t->row[r], ret->name[i]), first) != 0;
        }
    }
    return st;
}

size_t knob_figure_index(const char *name)
{
    size_t i = 0;
    while (i < wf_knob_figure_count() && strcmp(wf_knob_figure_name(i), name) != 0) {
        i++;
    }
    return i;
}

/* As many of the names as a message has room for. */
static enum wf_status add_names(struct wf_buf *list,
                                const struct knob_names *n,
                                struct wf_error *err)
{
    const size_t room = 300;
    enum wf_status st = WF_OK;
    size_t i = 0;
    for (; st == WF_OK && i < n->count && list->len < room; i++) {
        st = wf_buf_printf(list, err, "%s%s", i > 0 ? " " : "", n->name[i]);
    }
    return st == WF_OK && i < n->count
               ? wf_buf_printf(list, err, " and %zu more", n->count - i)
               : st;
}

enum wf_status knob_missing(const struct knob_names *n,
                            const char *name,
                            struct wf_error *err)
{
    struct wf_buf list = WF_BUF_INIT;
    if (n->count == 0) {
        return wf_errorf(err, WF_EINVAL,
                         "no knob %s: the names of these kernels hold no knobs; of a "
                         "pack's kernels its entries do: give the pack's folder",
                         name);
    }
    enum wf_status st = add_names(&list, n, err);
    if (st == WF_OK) {
        st = wf_errorf(err, WF_EINVAL,
                       "none of these kernels has a knob %s, nor is it a figure; knobs "
                       "here: %s; figures: as --csv has them",
                       name, wf_buf_cstr(&list));
    }
    wf_buf_free(&list);
    return st;
}

/* --- groups --- */

/* Numbers by their size, before words. */
static int compare_values(const void *a, const void *b)
{
    const char *x, *y;
    double v, w;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    const bool first = wf_parse_f64(x, "", -1e300, 1e300, &v, NULL) == WF_OK;
    const bool second = wf_parse_f64(y, "", -1e300, 1e300, &w, NULL) == WF_OK;
    return first && second   ? (v > w) - (v < w)
           : first != second ? (first ? -1 : 1)
                             : strcmp(x, y);
}

enum wf_status knob_group(const struct wf_knob_table *t,
                          const char *by,
                          struct knob_groups *ret,
                          struct wf_error *err)
{
    ret->value = wf_calloc(t->count + 1, sizeof(*ret->value));
    if (ret->value == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for groups");
    }
    for (size_t r = 0; r < t->count; r++) {
        ret->value[r] = knob_value(&t->row[r], by);
    }
    qsort(ret->value, t->count, sizeof(*ret->value), compare_values);
    for (size_t r = 0; r < t->count; r++) {
        if (ret->count == 0 || strcmp(ret->value[ret->count - 1], ret->value[r]) != 0) {
            ret->value[ret->count++] = ret->value[r];
        }
    }
    return WF_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

/* Median of the values that are known; how many rows are in the group. */
double knob_median(const struct wf_knob_table *t,
                   const char *by,
                   const char *value,
                   size_t figure,
                   double *room,
                   size_t *ret_rows)
{
    size_t n = 0;
    *ret_rows = 0;
    for (size_t r = 0; r < t->count; r++) {
        if (strcmp(knob_value(&t->row[r], by), value) == 0) {
            ++*ret_rows;
            if (isfinite(t->row[r].figure[figure])) {
                room[n++] = t->row[r].figure[figure];
            }
        }
    }
    qsort(room, n, sizeof(*room), compare_doubles);
    return n == 0       ? (double)NAN
           : n % 2 == 1 ? room[n / 2]
                        : (room[n / 2 - 1] + room[n / 2]) / 2.0;
}
