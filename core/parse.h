/* Strict text to number. No locale, no leading blanks, no silent overflow: the whole
 * text must be the number. `what` names the field in the error text. */
#ifndef WF_CORE_PARSE_H
#define WF_CORE_PARSE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wf_status wf_parse_i64(const char *text,
                            const char *what,
                            int64_t min,
                            int64_t max,
                            int64_t *ret,
                            struct wf_error *err);
enum wf_status wf_parse_u64(const char *text,
                            const char *what,
                            uint64_t min,
                            uint64_t max,
                            uint64_t *ret,
                            struct wf_error *err);
/* Decimal only ("1", "-2.5", "1e-3"); refuses nan, inf and hexadecimal. */
enum wf_status wf_parse_f64(const char *text,
                            const char *what,
                            double min,
                            double max,
                            double *ret,
                            struct wf_error *err);
/* "250ms", "10s", "2m", "1h", "30us"; a unit is required. */
enum wf_status wf_parse_duration_ns(const char *text,
                                    const char *what,
                                    int64_t *ret_ns,
                                    struct wf_error *err);
/* "512", "64KiB", "16MiB", "2GiB". */
enum wf_status wf_parse_bytes(const char *text,
                              const char *what,
                              uint64_t *ret_bytes,
                              struct wf_error *err);
/* `*` and `?` as in a shell, the whole text must match. */
bool wf_glob_match(const char *pattern, const char *text);

/* Checked 64-bit arithmetic: false on overflow. */
bool wf_mul_i64(int64_t a, int64_t b, int64_t *ret);
bool wf_add_i64(int64_t a, int64_t b, int64_t *ret);

/* Shortest decimal that reads back to the same double, '.' as the point whatever the
 * locale; integral values below 2^53 without an exponent; "nan", "inf" or "-inf" for
 * the others. buf holds at least 32 bytes. */
const char *wf_format_f64(double v, char *buf, size_t n);

#endif
