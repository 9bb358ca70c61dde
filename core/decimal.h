/* Decimal text to double without the locale. Private to core (parse.c, json_read.c). */
#ifndef WF_CORE_DECIMAL_H
#define WF_CORE_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

#define WF_DECIMAL_MAX_CHARS 1024

/* Length of the longest prefix of text[0..n) that is a JSON number, 0 if there is none.
 * *ret_is_integer: no point and no exponent. */
size_t wf_decimal_scan(const char *text, size_t n, bool *ret_is_integer);

/* Converts text that wf_decimal_scan has accepted whole. False when the value is beyond
 * the range of double; n is at most WF_DECIMAL_MAX_CHARS. Underflow rounds to zero. */
bool wf_decimal_to_f64(const char *text, size_t n, double *ret);

#endif
