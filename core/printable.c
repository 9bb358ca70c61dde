/* What may reach a terminal.
 *
 * A terminal obeys more than ESC: C1 controls (U+0080 to U+009F) start sequences too, a
 * line feed forges a line, and a direction mark shows a name as another. Invariant:
 * what wf_make_printable leaves is printable by wf_is_printable. */
#include "core/printable.h"

#include "core/utf8.h"

#include <stdint.h>
#include <string.h>

static uint32_t scalar_of(const char *p, size_t len)
{
    static const unsigned char mask[5] = { 0, 0x7F, 0x1F, 0x0F, 0x07 };
    uint32_t scalar = (unsigned char)p[0] & mask[len];

    for (size_t i = 1; i < len; i++) {
        scalar = scalar << 6 | ((unsigned char)p[i] & 0x3F);
    }
    return scalar;
}

static bool is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0);
}

static bool is_layout(uint32_t c)
{
    return c == 0x61C || (c >= 0x200B && c <= 0x200F) || /* marks, zero-width */
           (c >= 0x2028 && c <= 0x202E) ||               /* separators, embeddings */
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF;  /* isolates, BOM */
}

/* The character that stands for the sequence, 0 when it may stay. */
static char replacement(const char *p, size_t len)
{
    uint32_t scalar;

    if (len == 0) {
        return '?';
    }
    scalar = scalar_of(p, len);
    return is_control(scalar) ? ' ' : is_layout(scalar) ? '?' : '\0';
}

bool wf_is_printable(const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        size_t len = wf_utf8_sequence(text, left);
        if (replacement(text, len) != '\0') {
            return false;
        }
        text += len;
        left -= len;
    }
    return true;
}

void wf_make_printable(char *text)
{
    size_t left = strlen(text);
    char *to = text;

    while (left > 0) {
        size_t len = wf_utf8_sequence(text, left);
        char instead = replacement(text, len);
        len = len > 0 ? len : 1;
        if (instead != '\0') {
            *to++ = instead;
        } else {
            memmove(to, text, len);
            to += len;
        }
        text += len;
        left -= len;
    }
    *to = '\0';
}
