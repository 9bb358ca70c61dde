/* Names in packs.
 *
 * The distance is Levenshtein's over at most WF_NAME_MAX characters, so that its two
 * rows are arrays on the stack; longer names are never near anything. */
#include "packs/names.h"

#include <string.h>

static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool wf_name_is_identifier(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > WF_NAME_MAX || !is_alpha(name[0])) {
        return false;
    }
    for (size_t i = 1; i < n; i++) {
        if (!is_alpha(name[i]) && !(name[i] >= '0' && name[i] <= '9')) {
            return false;
        }
    }
    return true;
}

static size_t least(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Both at most WF_NAME_MAX long. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t na = strlen(a), nb = strlen(b);
    size_t row[WF_NAME_MAX + 1];
    for (size_t j = 0; j <= nb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t above = row[j];
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = least(above + 1, row[j - 1] + 1, replaced);
            diagonal = above;
        }
    }
    return row[nb];
}

struct wf_nearest wf_nearest_start(const char *wanted)
{
    return (struct wf_nearest){ .wanted = wanted, .best = NULL, .distance = 0 };
}

void wf_nearest_offer(struct wf_nearest *n, const char *known)
{
    size_t len = strlen(n->wanted);
    if (len > WF_NAME_MAX || strlen(known) > WF_NAME_MAX) {
        return;
    }
    size_t d = edit_distance(n->wanted, known);
    size_t limit = len < 6 ? 1 : len / 3;
    if (d <= limit && (n->best == NULL || d < n->distance)) {
        n->best = known;
        n->distance = d;
    }
}
