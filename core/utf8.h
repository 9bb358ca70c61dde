/* Which bytes are one UTF-8 sequence. Private to core. */
#ifndef WF_CORE_UTF8_H
#define WF_CORE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length (1 to 4) of the well-formed sequence at p, 0 if the bytes are not one: no
 * overlong forms, no surrogates, nothing above U+10FFFF. n > 0. */
size_t wf_utf8_sequence(const char *p, size_t n);

/* Writes the sequence of a scalar value; returns its length. */
size_t wf_utf8_encode(uint32_t scalar, char ret[4]);

#endif
