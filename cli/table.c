#include "cli/table.h"

#include "core/buf.h"
#include "core/printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wf_table {
    size_t columns, rows;
    char **cell; /* rows * columns, the header is row 0 */
    size_t width[WF_TABLE_COLUMNS];
    bool right[WF_TABLE_COLUMNS];
    bool lost;
};

/* Characters of UTF-8 text: bytes that do not continue one. */
static size_t width_of(const char *s)
{
    size_t n = 0;
    for (; *s != '\0'; s++) {
        n += ((unsigned char)*s & 0xc0) != 0x80;
    }
    return n;
}

struct wf_table *wf_table_create(const char *const *header, size_t columns)
{
    const char *names[WF_TABLE_COLUMNS];
    struct wf_table *t = wf_calloc(1, sizeof(*t));
    if (t == NULL || columns > WF_TABLE_COLUMNS) {
        free(t);
        return NULL;
    }
    t->columns = columns;
    for (size_t i = 0; i < columns; i++) {
        t->right[i] = header[i][0] == '>';
        names[i] = header[i] + (t->right[i] ? 1 : 0);
    }
    wf_table_row(t, names);
    return t;
}

void wf_table_row(struct wf_table *t, const char *const *cell)
{
    char **grown =
        wf_realloc_array(t->cell, (t->rows + 1) * t->columns, sizeof(*grown));
    if (grown == NULL) {
        t->lost = true;
        return;
    }
    t->cell = grown;
    for (size_t i = 0; i < t->columns; i++) {
        char *copy = wf_strdup(cell[i] != NULL ? cell[i] : "");
        t->cell[t->rows * t->columns + i] = copy;
        t->lost = t->lost || copy == NULL;
        if (copy != NULL) {
            wf_make_printable(copy);
        }
        size_t w = copy != NULL ? width_of(copy) : 0;
        t->width[i] = w > t->width[i] ? w : t->width[i];
    }
    t->rows++;
}

bool wf_table_print(const struct wf_table *t)
{
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t i = 0; i < t->columns; i++) {
            const char *s = t->cell[r * t->columns + i];
            bool last = i + 1 == t->columns;
            s = s != NULL ? s : "";
            int pad = (int)(t->width[i] - width_of(s));
            if (t->right[i]) {
                printf("%*s%s%s", pad, "", s, last ? "" : "  ");
            } else {
                printf("%s%*s", s, last ? 0 : pad + 2, "");
            }
        }
        printf("\n");
    }
    return !t->lost;
}

void wf_table_free(struct wf_table *t)
{
    if (t != NULL) {
        for (size_t i = 0; i < t->rows * t->columns; i++) {
            free(t->cell[i]);
        }
        free(t->cell);
        free(t);
    }
}
