/* The identity of PTX text: its words, without what only debuggers read.
 *
 * Left out: comments, white space, `.file`, `.loc`, sections named .debug... or
 * .nv_debug..., and the labels that LLVM sets around line entries, unless something
 * that stays refers to one. `.loc` and `.file` are read by their grammar: an
 * instruction on the same line stays. */
#include "packs/identity_internal.h"
#include "packs/ptx_words.h"

#include <string.h>

static const char *const MARKS[] = { "$L__tmp", "$L__func_begin", "$L__func_end" };

static bool is_mark(struct ptx_word w)
{
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
        if (ptx_starts_with(w, MARKS[i])) {
            return true;
        }
    }
    return false;
}

static bool is_number(struct ptx_word w)
{
    return w.n > 0 && w.s[0] >= '0' && w.s[0] <= '9';
}

/* The next word, which is left to be read again. */
static struct ptx_word peek(struct ptx_words s)
{
    return ptx_next(&s);
}

static bool take(struct ptx_words *s, const char *text)
{
    if (!ptx_is(peek(*s), text)) {
        return false;
    }
    (void)ptx_next(s);
    return true;
}

static void take_numbers(struct ptx_words *s, int most)
{
    for (int i = 0; i < most && is_number(peek(*s)); i++) {
        (void)ptx_next(s);
    }
}

/* file line column [, function_name label [+ number], inlined_at file line column] */
static void skip_loc(struct ptx_words *s)
{
    take_numbers(s, 3);
    struct ptx_words at = *s;
    if (!take(&at, ",") || !take(&at, "function_name")) {
        return;
    }
    (void)ptx_next(&at);
    if (take(&at, "+")) {
        take_numbers(&at, 1);
    }
    *s = at;
    if (take(&at, ",") && take(&at, "inlined_at")) {
        take_numbers(&at, 3);
        *s = at;
    }
}

/* number "path" [, time, size] */
static void skip_file(struct ptx_words *s)
{
    take_numbers(s, 1);
    if (peek(*s).n > 0 && peek(*s).s[0] == '"') {
        (void)ptx_next(s);
    }
    for (int i = 0; i < 2; i++) {
        struct ptx_words at = *s;
        if (take(&at, ",") && is_number(peek(at))) {
            (void)ptx_next(&at);
            *s = at;
        }
    }
}

static bool skip_section(struct ptx_words *s)
{
    struct ptx_words at = *s;
    struct ptx_word name = ptx_next(&at);
    if ((!ptx_starts_with(name, ".debug") && !ptx_starts_with(name, ".nv_debug")) ||
        !take(&at, "{")) {
        return false;
    }
    for (struct ptx_word w = ptx_next(&at); w.n > 0 && !ptx_is(w, "}");) {
        w = ptx_next(&at);
    }
    *s = at;
    return true;
}

/* The next word that is not of a debugger's directive. */
static struct ptx_word next_kept(struct ptx_words *s)
{
    for (;;) {
        struct ptx_word w = ptx_next(s);
        if (ptx_is(w, ".loc")) {
            skip_loc(s);
        } else if (ptx_is(w, ".file")) {
            skip_file(s);
        } else if (!ptx_is(w, ".section") || !skip_section(s)) {
            return w;
        }
    }
}

static bool is_definition(struct ptx_word w, struct ptx_words s)
{
    return is_mark(w) && ptx_is(peek(s), ":");
}

static bool marks_are_used(struct ptx_words s)
{
    for (struct ptx_word w = next_kept(&s); w.n > 0; w = next_kept(&s)) {
        if (is_mark(w) && !is_definition(w, s)) {
            return true;
        }
    }
    return false;
}

void identity_ptx(struct wf_sha256 *h, const void *data, size_t bytes)
{
    struct ptx_words s = { .p = data, .end = (const char *)data + bytes };
    const bool keep_marks = marks_are_used(s);
    identity_text(h, "ptx");
    for (struct ptx_word w = next_kept(&s); w.n > 0; w = next_kept(&s)) {
        if (!keep_marks && is_definition(w, s)) {
            (void)ptx_next(&s);
        } else {
            identity_bytes(h, w.s, w.n);
        }
    }
}
