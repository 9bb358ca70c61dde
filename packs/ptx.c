/* PTX text: its `.target` and its `.entry` directives.
 *
 * A scanner of words, not a parser: comments and strings are skipped, everything else
 * is white space, words of [A-Za-z0-9_.$%], or single characters. */
#include "packs/code_internal.h"

#include <string.h>

struct scanner {
    const char *p, *end;
};

struct word {
    const char *s;
    size_t n; /* 0: the end */
};

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == '$' || c == '%';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_to(struct scanner *s, const char *what)
{
    size_t n = strlen(what);
    while (s->p < s->end) {
        if ((size_t)(s->end - s->p) >= n && memcmp(s->p, what, n) == 0) {
            s->p += n;
            return;
        }
        s->p++;
    }
}

/* True when something was skipped. */
static bool skip_one(struct scanner *s)
{
    size_t left = (size_t)(s->end - s->p);
    if (left > 0 && is_space(*s->p)) {
        s->p++;
        return true;
    }
    if (left > 1 && memcmp(s->p, "//", 2) == 0) {
        skip_to(s, "\n");
        return true;
    }
    if (left > 1 && memcmp(s->p, "/*", 2) == 0) {
        s->p += 2;
        skip_to(s, "*/");
        return true;
    }
    if (left > 0 && *s->p == '"') {
        s->p++;
        skip_to(s, "\"");
        return true;
    }
    return false;
}

static struct word next_word(struct scanner *s)
{
    while (skip_one(s)) {
    }
    struct word w = { .s = s->p, .n = 0 };
    while (s->p < s->end && is_word_char(*s->p)) {
        s->p++;
    }
    if (s->p == w.s && s->p < s->end) {
        s->p++;
    }
    w.n = (size_t)(s->p - w.s);
    return w;
}

static bool is(struct word w, const char *text)
{
    return strlen(text) == w.n && memcmp(w.s, text, w.n) == 0;
}

static enum wf_status not_code(const struct wf_code_object *c, struct wf_error *err)
{
    return wf_errorf(err, WF_EPARSE, "%s: neither an ELF code object nor PTX text",
                     c->source);
}

static enum wf_status take_target(struct wf_code_object *c,
                                  struct scanner *s,
                                  struct wf_error *err)
{
    struct word w = next_word(s);
    if (w.n >= sizeof c->arch || w.n < 4 || memcmp(w.s, "sm_", 3) != 0) {
        return not_code(c, err);
    }
    memcpy(c->arch, w.s, w.n);
    c->arch[w.n] = '\0';
    return WF_OK;
}

enum wf_status code_read_ptx(struct wf_code_object *c,
                             const void *data,
                             size_t bytes,
                             struct wf_error *err)
{
    struct scanner s = { .p = data, .end = (const char *)data + bytes };
    enum wf_status st = WF_OK;
    c->kind = WF_CODE_PTX;
    if (!is(next_word(&s), ".version")) {
        return not_code(c, err);
    }
    for (struct word w = next_word(&s); st == WF_OK && w.n > 0; w = next_word(&s)) {
        if (is(w, ".target")) {
            st = take_target(c, &s, err);
        } else if (is(w, ".entry")) {
            w = next_word(&s);
            st = w.n == 0 || !is_word_char(w.s[0]) ? not_code(c, err)
                                                   : code_add_kernel(c, w.s, w.n, err);
        }
    }
    return st == WF_OK && c->arch[0] == '\0' ? not_code(c, err) : st;
}
