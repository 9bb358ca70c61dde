/* Text to JSON tree: a strict reader of RFC 8259 with the further limits of
 * core/json.h.
 *
 * One pass, recursive, at most WF_JSON_MAX_DEPTH deep. Decoded strings live on a stack
 * of bytes (scratch), keys of the open objects on a stack of their own, so neither is
 * allocated one by one. Duplicate keys are found when an object closes, by sorting: no
 * hash table, so no input can make it quadratic. Errors carry the source, line and
 * column of the first byte that is wrong; lines are counted only then. */
#include "core/json_node.h"

#include "core/decimal.h"
#include "core/file.h"
#include "core/utf8.h"

#include <stdlib.h>
#include <string.h>

struct key_place {
    const char *key; /* borrowed from the tree */
    size_t pos;
};

struct reader {
    const char *text;
    size_t len;
    size_t pos;
    int depth;
    const char *source;
    struct wf_buf scratch;
    struct key_place *keys;
    size_t key_count;
    size_t key_cap;
    struct wf_error *err;
};

static enum wf_status read_value(struct reader *r, struct wf_json **ret);

/* --- errors --- */

static enum wf_status fail_at(const struct reader *r,
                              size_t pos,
                              enum wf_status status,
                              const char *what)
{
    size_t line = 1;
    size_t column = 1;

    for (size_t i = 0; i < pos; i++) {
        if (r->text[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)r->text[i] & 0xC0) != 0x80) {
            column++; /* characters, not bytes */
        }
    }
    return wf_errorf(r->err, status, "%s:%zu:%zu: %s", r->source, line, column, what);
}

static enum wf_status fail(const struct reader *r, const char *what)
{
    return fail_at(r, r->pos, WF_EPARSE, what);
}

static enum wf_status no_memory(const struct reader *r)
{
    return fail_at(r, r->pos, WF_ENOMEM, "no memory for the JSON value");
}

/* "X is expected, found Y". */
static enum wf_status fail_expected(const struct reader *r, const char *expected)
{
    struct wf_error found;
    unsigned char c;

    if (r->pos >= r->len) {
        (void)wf_errorf(&found, WF_EPARSE, "%s expected, found the end of the text",
                        expected);
    } else {
        c = (unsigned char)r->text[r->pos];
        if (c > 0x20 && c < 0x7f) {
            (void)wf_errorf(&found, WF_EPARSE, "%s expected, found '%c'", expected, c);
        } else {
            (void)wf_errorf(&found, WF_EPARSE, "%s expected, found byte 0x%02x",
                            expected, c);
        }
    }
    return fail(r, found.text);
}

/* --- strings --- */

static bool read_hex4(struct reader *r, uint32_t *ret)
{
    uint32_t v = 0;

    if (r->len - r->pos < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        char c = r->text[r->pos + (size_t)i];

        if (c >= '0' && c <= '9') {
            v = v * 16 + (uint32_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            v = v * 16 + (uint32_t)(c - 'a' + 10);
        } else if (c >= 'A' && c <= 'F') {
            v = v * 16 + (uint32_t)(c - 'A' + 10);
        } else {
            return false;
        }
    }
    r->pos += 4;
    *ret = v;
    return true;
}

/* After "\u". */
static enum wf_status read_unicode_escape(struct reader *r, size_t start)
{
    uint32_t high;
    uint32_t low;
    char bytes[4];

    if (!read_hex4(r, &high)) {
        return fail_at(r, start, WF_EPARSE, "\\u needs four hexadecimal digits");
    }
    if (high == 0) {
        return fail_at(r, start, WF_EPARSE, "the character \\u0000 is not allowed");
    }
    if (high >= 0xDC00 && high <= 0xDFFF) {
        return fail_at(r, start, WF_EPARSE, "lone low surrogate");
    }
    if (high >= 0xD800 && high <= 0xDBFF) {
        if (r->len - r->pos < 2 || memcmp(r->text + r->pos, "\\u", 2) != 0) {
            return fail_at(r, start, WF_EPARSE, "lone high surrogate");
        }
        r->pos += 2;
        if (!read_hex4(r, &low) || low < 0xDC00 || low > 0xDFFF) {
            return fail_at(r, start, WF_EPARSE, "lone high surrogate");
        }
        high = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    }
    return wf_buf_add(&r->scratch, bytes, wf_utf8_encode(high, bytes), r->err);
}

static enum wf_status read_escape(struct reader *r)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    size_t start = r->pos++; /* the backslash */
    const char *found;

    if (r->pos >= r->len) {
        return fail(r, "the string does not end");
    }
    if (r->text[r->pos] == 'u') {
        r->pos++;
        return read_unicode_escape(r, start);
    }
    found = r->text[r->pos] == '\0' ? NULL : strchr(names, r->text[r->pos]);
    if (found == NULL) {
        return fail_at(r, start, WF_EPARSE, "unknown escape in a string");
    }
    r->pos++;
    return wf_buf_add(&r->scratch, &values[found - names], 1, r->err);
}

/* Moves over bytes that stand for themselves. */
static enum wf_status read_plain(struct reader *r)
{
    size_t start = r->pos;
    size_t sequence;

    while (r->pos < r->len) {
        unsigned char c = (unsigned char)r->text[r->pos];

        if (c == '"' || c == '\\') {
            break;
        }
        if (c < 0x20) {
            return fail(r, "control character in a string; write it as an escape");
        }
        if (c < 0x80) {
            r->pos++;
            continue;
        }
        sequence = wf_utf8_sequence(r->text + r->pos, r->len - r->pos);
        if (sequence == 0) {
            return fail(r, "invalid UTF-8 in a string");
        }
        r->pos += sequence;
    }
    return wf_buf_add(&r->scratch, r->text + start, r->pos - start, r->err);
}

/* Decodes the string at pos onto the scratch stack, with a NUL that is counted. */
static enum wf_status read_string(struct reader *r)
{
    size_t start = r->pos++;
    enum wf_status status;

    for (;;) {
        status = read_plain(r);
        if (status != WF_OK) {
            return status;
        }
        if (r->pos >= r->len) {
            return fail_at(r, start, WF_EPARSE, "the string does not end");
        }
        if (r->text[r->pos] == '"') {
            break;
        }
        status = read_escape(r);
        if (status != WF_OK) {
            return status;
        }
    }
    r->pos++;
    return wf_buf_add(&r->scratch, "", 1, r->err);
}

static enum wf_status read_string_value(struct reader *r, struct wf_json **ret)
{
    size_t mark = r->scratch.len;
    enum wf_status status = read_string(r);

    if (status != WF_OK) {
        return status;
    }
    *ret = wf_json_node_string(r->scratch.data + mark);
    r->scratch.len = mark;
    return *ret == NULL ? no_memory(r) : WF_OK;
}

/* --- numbers and names --- */

static enum wf_status read_integer(struct reader *r,
                                   const char *literal,
                                   size_t n,
                                   struct wf_json **ret)
{
    bool negative = literal[0] == '-';
    uint64_t v = 0;

    for (size_t i = negative; i < n; i++) {
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(literal[i] - '0'), &v)) {
            return fail_at(r, r->pos, WF_ERANGE, "the integer does not fit 64 bits");
        }
    }
    if (negative && v > (uint64_t)INT64_MAX + 1) {
        return fail_at(r, r->pos, WF_ERANGE, "the integer does not fit 64 bits");
    }
    *ret = wf_json_node_int(negative, v);
    return *ret == NULL ? no_memory(r) : WF_OK;
}

static bool continues_a_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '.' || c == '+' || c == '-' || c == '_';
}

static enum wf_status read_number(struct reader *r, struct wf_json **ret)
{
    const char *literal = r->text + r->pos;
    enum wf_status status = WF_OK;
    bool integer;
    size_t n = wf_decimal_scan(literal, r->len - r->pos, &integer);
    double v;

    if (n == 0 || (n < r->len - r->pos && continues_a_word(literal[n]))) {
        return fail(r, "this is not a JSON number");
    }
    if (n > WF_DECIMAL_MAX_CHARS) {
        return fail_at(r, r->pos, WF_ERANGE, "the number has too many digits");
    }
    if (integer) {
        status = read_integer(r, literal, n, ret);
    } else {
        if (!wf_decimal_to_f64(literal, n, &v)) {
            return fail_at(r, r->pos, WF_ERANGE, "the number does not fit a double");
        }
        *ret = wf_json_node_f64(v);
        if (*ret == NULL) {
            status = no_memory(r);
        }
    }
    if (status == WF_OK) {
        r->pos += n;
    }
    return status;
}

static bool takes_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);

    if (r->len - r->pos < n || memcmp(r->text + r->pos, word, n) != 0 ||
        (r->pos + n < r->len && continues_a_word(r->text[r->pos + n]))) {
        return false;
    }
    r->pos += n;
    return true;
}

static enum wf_status read_word(struct reader *r, struct wf_json **ret)
{
    if (takes_word(r, "true")) {
        *ret = wf_json_node_bool(true);
    } else if (takes_word(r, "false")) {
        *ret = wf_json_node_bool(false);
    } else if (takes_word(r, "null")) {
        *ret = wf_json_node_null();
    } else if (takes_word(r, "NaN") || takes_word(r, "Infinity") ||
               takes_word(r, "nan") || takes_word(r, "inf")) {
        return fail(r, "NaN and Infinity are not JSON; write the string \"nan\", "
                       "\"inf\" or \"-inf\"");
    } else {
        return fail_expected(r, "a value is");
    }
    return *ret == NULL ? no_memory(r) : WF_OK;
}

/* --- arrays and objects --- */

static void skip_blanks(struct reader *r)
{
    while (r->pos < r->len && (r->text[r->pos] == ' ' || r->text[r->pos] == '\n' ||
                               r->text[r->pos] == '\t' || r->text[r->pos] == '\r')) {
        r->pos++;
    }
}

static bool takes(struct reader *r, char c)
{
    skip_blanks(r);
    if (r->pos >= r->len || r->text[r->pos] != c) {
        return false;
    }
    r->pos++;
    return true;
}

static enum wf_status read_items(struct reader *r, struct wf_json *array)
{
    struct wf_json *item = NULL;
    enum wf_status status;

    if (takes(r, ']')) {
        return WF_OK;
    }
    for (;;) {
        skip_blanks(r);
        status = read_value(r, &item);
        if (status != WF_OK) {
            return status;
        }
        if (!wf_json_node_append(array, NULL, item)) {
            wf_json_free(item);
            return no_memory(r);
        }
        if (takes(r, ']')) {
            return WF_OK;
        }
        if (!takes(r, ',')) {
            return fail_expected(r, "',' or ']' is");
        }
    }
}

static enum wf_status remember_key(struct reader *r, const char *key, size_t pos)
{
    size_t cap = r->key_cap == 0 ? 64 : r->key_cap * 2;
    struct key_place *grown;

    if (r->key_count == r->key_cap) {
        grown = wf_realloc_array(r->keys, cap, sizeof *grown);
        if (grown == NULL) {
            return no_memory(r);
        }
        r->keys = grown;
        r->key_cap = cap;
    }
    r->keys[r->key_count++] = (struct key_place){ key, pos };
    return WF_OK;
}

static int compare_key_places(const void *a, const void *b)
{
    const struct key_place *x = a;
    const struct key_place *y = b;
    int order = strcmp(x->key, y->key);

    return order != 0 ? order : (x->pos > y->pos) - (x->pos < y->pos);
}

/* Looks at the keys from `first` on and forgets them. */
static enum wf_status check_unique(struct reader *r, size_t first)
{
    struct key_place *keys = r->keys + first;
    size_t n = r->key_count - first;
    const struct key_place *twice = NULL;
    struct wf_error text;

    r->key_count = first;
    if (n < 2) {
        return WF_OK;
    }
    qsort(keys, n, sizeof *keys, compare_key_places);
    for (size_t i = 1; i < n; i++) {
        if (strcmp(keys[i - 1].key, keys[i].key) == 0 &&
            (twice == NULL || keys[i].pos < twice->pos)) {
            twice = &keys[i];
        }
    }
    if (twice == NULL) {
        return WF_OK;
    }
    (void)wf_errorf(&text, WF_EPARSE, "duplicate key \"%.128s\"", twice->key);
    return fail_at(r, twice->pos, WF_EPARSE, text.text);
}

static enum wf_status read_member(struct reader *r, struct wf_json *object)
{
    size_t mark = r->scratch.len;
    struct wf_json *child = NULL;
    enum wf_status status;
    size_t key_pos;

    skip_blanks(r);
    key_pos = r->pos;
    if (r->pos >= r->len || r->text[r->pos] != '"') {
        return fail_expected(r, "a member's name in double quotes is");
    }
    status = read_string(r);
    if (status != WF_OK) {
        return status;
    }
    if (!takes(r, ':')) {
        return fail_expected(r, "':' is");
    }
    skip_blanks(r);
    status = read_value(r, &child);
    if (status != WF_OK) {
        return status;
    }
    if (!wf_json_node_append(object, r->scratch.data + mark, child)) {
        wf_json_free(child);
        return no_memory(r);
    }
    r->scratch.len = mark;
    return remember_key(r, wf_json_key(child), key_pos);
}

static enum wf_status read_members(struct reader *r, struct wf_json *object)
{
    size_t first = r->key_count;
    enum wf_status status;

    if (takes(r, '}')) {
        return WF_OK;
    }
    for (;;) {
        status = read_member(r, object);
        if (status != WF_OK) {
            return status;
        }
        if (takes(r, '}')) {
            return check_unique(r, first);
        }
        if (!takes(r, ',')) {
            return fail_expected(r, "',' or '}' is");
        }
    }
}

static enum wf_status read_container(struct reader *r, struct wf_json **ret)
{
    bool is_array = r->text[r->pos] == '[';
    struct wf_json *made;
    enum wf_status status;

    if (r->depth == WF_JSON_MAX_DEPTH) {
        return fail(r, "arrays and objects are nested more than 64 deep");
    }
    made = is_array ? wf_json_array() : wf_json_object();
    if (made == NULL) {
        return no_memory(r);
    }
    r->depth++;
    r->pos++;
    status = is_array ? read_items(r, made) : read_members(r, made);
    r->depth--;
    if (status != WF_OK) {
        wf_json_free(made);
        return status;
    }
    *ret = made;
    return WF_OK;
}

static enum wf_status read_value(struct reader *r, struct wf_json **ret)
{
    char c;

    if (r->pos >= r->len) {
        return fail_expected(r, "a value is");
    }
    c = r->text[r->pos];
    if (c == '{' || c == '[') {
        return read_container(r, ret);
    }
    if (c == '"') {
        return read_string_value(r, ret);
    }
    if (c == '-' || (c >= '0' && c <= '9')) {
        return read_number(r, ret);
    }
    return read_word(r, ret);
}

/* --- whole texts --- */

static enum wf_status read_whole(struct reader *r, struct wf_json **ret)
{
    struct wf_json *root = NULL;
    enum wf_status status;

    if (r->len >= 3 && memcmp(r->text, "\xEF\xBB\xBF", 3) == 0) {
        return fail(r, "the text starts with a byte order mark; save it as UTF-8 "
                       "without one");
    }
    skip_blanks(r);
    if (r->pos == r->len) {
        return fail(r, "the text is empty, a JSON value is expected");
    }
    status = read_value(r, &root);
    if (status != WF_OK) {
        return status;
    }
    skip_blanks(r);
    if (r->pos < r->len) {
        wf_json_free(root);
        return fail(r, "there is text after the JSON value");
    }
    *ret = root;
    return WF_OK;
}

enum wf_status wf_json_parse(const char *text,
                             size_t len,
                             const char *source,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    struct reader r = { .text = text, .len = len, .source = source, .err = err };
    enum wf_status status;

    if (len > WF_JSON_MAX_BYTES) {
        return wf_errorf(err, WF_EINVAL, "%s has %zu bytes, JSON may have at most %zu",
                         source, len, WF_JSON_MAX_BYTES);
    }
    status = read_whole(&r, ret);
    wf_buf_free(&r.scratch);
    free(r.keys);
    return status;
}

enum wf_status wf_json_parse_file(const char *path,
                                  struct wf_json **ret,
                                  struct wf_error *err)
{
    struct wf_buf text = WF_BUF_INIT;
    enum wf_status status = wf_file_read(path, WF_JSON_MAX_BYTES, &text, err);

    if (status == WF_OK) {
        status = wf_json_parse(wf_buf_cstr(&text), text.len, path, ret, err);
    }
    wf_buf_free(&text);
    return status;
}
