/* A scanner of words, not a parser: linear in the text, and what is cut off (a comment,
 * a string) ends at the end. */
#include "packs/ptx_words.h"

#include <string.h>

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '.' || c == '$' || c == '%';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_to(struct ptx_words *s, const char *what)
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
static bool skip_one(struct ptx_words *s)
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
    return false;
}

struct ptx_word ptx_next(struct ptx_words *s)
{
    while (skip_one(s)) {
    }
    struct ptx_word w = { .s = s->p, .n = 0 };
    while (s->p < s->end && is_word_char(*s->p)) {
        s->p++;
    }
    if (s->p == w.s && s->p < s->end) {
        s->p++;
        if (*w.s == '"') {
            skip_to(s, "\"");
        }
    }
    w.n = (size_t)(s->p - w.s);
    return w;
}

bool ptx_is(struct ptx_word w, const char *text)
{
    return strlen(text) == w.n && memcmp(w.s, text, w.n) == 0;
}

bool ptx_starts_with(struct ptx_word w, const char *text)
{
    size_t n = strlen(text);
    return w.n >= n && memcmp(w.s, text, n) == 0;
}

bool ptx_is_name(struct ptx_word w)
{
    return w.n > 0 && is_word_char(w.s[0]);
}
