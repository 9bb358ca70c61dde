/* Tokens of pack expressions, and the form of their errors.
 *
 * The text is NUL-terminated and at most WF_EXPR_MAX_CHARS long, so positions fit and
 * the reader may look one character ahead without a bound of its own. */
#include "packs/expr_internal.h"

#include "core/buf.h"
#include "core/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_CHARS 200

static const char *const op_texts[EXPR_OP_COUNT] = {
#define X(name, text, precedence) [EXPR_##name] = (text),
    EXPR_OP_LIST(X)
#undef X
};

const char *expr_op_text(enum expr_op op)
{
    return op_texts[op];
}

enum wf_status expr_fail(const struct wf_expr *e,
                         size_t at,
                         struct wf_error *err,
                         const char *fmt,
                         ...)
{
    char message[320];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    size_t len = strlen(e->text);
    return wf_errorf(err, WF_EINVAL, "%s: column %zu of \"%.*s%s\": %s", e->where,
                     at + 1, SHOWN_CHARS, e->text, len > SHOWN_CHARS ? "..." : "",
                     message);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c)
{
    return is_name_start(c) || is_digit(c);
}

static size_t skip_digits(const char *text, size_t pos)
{
    while (is_digit(text[pos])) {
        pos++;
    }
    return pos;
}

/* Past the number that starts at pos; *ret_integer is false when it has a point or an
 * exponent. */
static size_t number_end(const char *text, size_t pos, bool *ret_integer)
{
    *ret_integer = true;
    pos = skip_digits(text, pos);
    if (text[pos] == '.' && is_digit(text[pos + 1])) {
        *ret_integer = false;
        pos = skip_digits(text, pos + 1);
    }
    if (text[pos] == 'e' || text[pos] == 'E') {
        size_t digits = pos + 1;
        if (text[digits] == '+' || text[digits] == '-') {
            digits++;
        }
        if (is_digit(text[digits])) {
            *ret_integer = false;
            pos = skip_digits(text, digits);
        }
    }
    return pos;
}

static enum wf_status read_integer(const struct wf_expr *e,
                                   struct expr_token *t,
                                   struct wf_error *err)
{
    uint64_t u = 0;
    for (size_t i = 0; i < t->len; i++) {
        uint64_t digit = (uint64_t)(e->text[t->at + i] - '0');
        if (__builtin_mul_overflow(u, 10u, &u) ||
            __builtin_add_overflow(u, digit, &u)) {
            return expr_fail(e, t->at, err, "integer does not fit 64 bits");
        }
    }
    t->u = u;
    return WF_OK;
}

static enum wf_status read_number(const struct wf_expr *e,
                                  size_t *pos,
                                  struct expr_token *t,
                                  struct wf_error *err)
{
    bool integer;
    size_t end = number_end(e->text, *pos, &integer);
    if (is_name_char(e->text[end]) || e->text[end] == '.') {
        return expr_fail(e, end, err, "'%c' cannot follow a number", e->text[end]);
    }
    t->len = end - *pos;
    *pos = end;
    t->kind = integer ? TOKEN_INT : TOKEN_DOUBLE;
    if (integer) {
        return read_integer(e, t, err);
    }
    char *digits = wf_strndup(e->text + t->at, t->len);
    if (digits == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", e->where);
    }
    struct wf_error inner = { .text = "" };
    enum wf_status st = wf_parse_f64(digits, "number", -1.7976931348623157e308,
                                     1.7976931348623157e308, &t->d, &inner);
    free(digits);
    return st == WF_OK ? WF_OK : expr_fail(e, t->at, err, "%s", inner.text);
}

static enum wf_status read_string(const struct wf_expr *e,
                                  size_t *pos,
                                  struct expr_token *t,
                                  struct wf_error *err)
{
    const char *start = e->text + *pos + 1;
    const char *end = strchr(start, e->text[*pos]);
    if (end == NULL) {
        return expr_fail(e, *pos, err, "string has no closing %c", e->text[*pos]);
    }
    t->kind = TOKEN_STRING;
    t->len = (size_t)(end - start);
    *pos += t->len + 2;
    return WF_OK;
}

static void read_name(const struct wf_expr *e, size_t *pos, struct expr_token *t)
{
    size_t end = *pos;
    while (is_name_char(e->text[end]) ||
           (e->text[end] == '.' && is_name_start(e->text[end + 1]))) {
        end++;
    }
    t->kind = TOKEN_NAME;
    t->len = end - *pos;
    *pos = end;
}

static enum wf_status read_op(const struct wf_expr *e,
                              size_t *pos,
                              struct expr_token *t,
                              struct wf_error *err)
{
    for (int op = 0; op < EXPR_OP_COUNT; op++) {
        size_t n = strlen(op_texts[op]);
        if (strncmp(e->text + *pos, op_texts[op], n) == 0) {
            t->kind = TOKEN_OP;
            t->op = (enum expr_op)op;
            t->len = n;
            *pos += n;
            return WF_OK;
        }
    }
    unsigned char c = (unsigned char)e->text[*pos];
    if (c < 0x20 || c >= 0x7f) {
        return expr_fail(e, *pos, err, "byte 0x%02x is not allowed", c);
    }
    return expr_fail(e, *pos, err, "'%c' is not an operator%s", c,
                     c == '=' ? "; equality is ==" : "");
}

enum wf_status expr_next_token(const struct wf_expr *e,
                               size_t *pos,
                               struct expr_token *ret,
                               struct wf_error *err)
{
    while (e->text[*pos] == ' ' || e->text[*pos] == '\t' || e->text[*pos] == '\n') {
        (*pos)++;
    }
    *ret = (struct expr_token){ .kind = TOKEN_END, .at = *pos };
    char c = e->text[*pos];
    if (c == '\0') {
        return WF_OK;
    }
    if (is_digit(c)) {
        return read_number(e, pos, ret, err);
    }
    if (c == '\'' || c == '"') {
        return read_string(e, pos, ret, err);
    }
    if (is_name_start(c)) {
        read_name(e, pos, ret);
        return WF_OK;
    }
    return read_op(e, pos, ret, err);
}
