/* The words of PTX text. Comments are skipped; a word is [A-Za-z0-9_.$%]+, a string
 * with its quotes, or one other character. */
#ifndef WF_PACKS_PTX_WORDS_H
#define WF_PACKS_PTX_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct ptx_words {
    const char *p, *end;
};

struct ptx_word {
    const char *s; /* in the text, not terminated */
    size_t n;      /* 0: the end */
};

struct ptx_word ptx_next(struct ptx_words *s);
bool ptx_is(struct ptx_word w, const char *text);
bool ptx_starts_with(struct ptx_word w, const char *text);
bool ptx_is_name(struct ptx_word w); /* neither a string nor a single sign */

#endif
