/* UTF-8 by the table of well-formed byte sequences in the Unicode standard: the first
 * byte fixes the length and the range of the second; the others are continuations. */
#include "core/utf8.h"

static size_t length_by_first_byte(unsigned char c,
                                   unsigned char *ret_low,
                                   unsigned char *ret_high)
{
    *ret_low = 0x80;
    *ret_high = 0xBF;
    if (c < 0x80) {
        return 1;
    }
    if (c >= 0xC2 && c <= 0xDF) {
        return 2;
    }
    if (c >= 0xE0 && c <= 0xEF) {
        if (c == 0xE0) {
            *ret_low = 0xA0; /* overlong below */
        }
        if (c == 0xED) {
            *ret_high = 0x9F; /* surrogates above */
        }
        return 3;
    }
    if (c >= 0xF0 && c <= 0xF4) {
        if (c == 0xF0) {
            *ret_low = 0x90;
        }
        if (c == 0xF4) {
            *ret_high = 0x8F; /* beyond U+10FFFF */
        }
        return 4;
    }
    return 0;
}

size_t wf_utf8_sequence(const char *p, size_t n)
{
    unsigned char low;
    unsigned char high;
    size_t len = length_by_first_byte((unsigned char)p[0], &low, &high);

    if (len > n) {
        return 0;
    }
    for (size_t i = 1; i < len; i++) {
        if ((unsigned char)p[i] < low || (unsigned char)p[i] > high) {
            return 0;
        }
        low = 0x80;
        high = 0xBF;
    }
    return len;
}

size_t wf_utf8_encode(uint32_t scalar, char ret[4])
{
    size_t len = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
    static const unsigned char first[5] = { 0, 0x00, 0xC0, 0xE0, 0xF0 };

    for (size_t i = len - 1; i > 0; i--) {
        ret[i] = (char)(0x80 | (scalar & 0x3F));
        scalar >>= 6;
    }
    ret[0] = (char)(first[len] | scalar);
    return len;
}
