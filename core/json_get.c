/* Members by key with errors that a person can act on: the key, the object it is in,
 * what is wanted and what was found. Results are written on success only. */
#include "core/json.h"

#include "core/parse.h"

#include <inttypes.h>
#include <string.h>

enum {
    KEY_COMPARED_BYTES = 64,
    NEAR_EDITS = 2
};

const char *wf_json_type_name(enum wf_json_type t)
{
    switch (t) {
    case WF_JSON_NULL:
        return "null";
    case WF_JSON_BOOL:
        return "a boolean";
    case WF_JSON_INT:
        return "an integer";
    case WF_JSON_DOUBLE:
        return "a number";
    case WF_JSON_STRING:
        return "a string";
    case WF_JSON_ARRAY:
        return "an array";
    case WF_JSON_OBJECT:
        return "an object";
    default:
        return "an unknown type";
    }
}

/* ` of "shape"` where the object is itself a member, else "". */
struct owner_text {
    char text[96];
};

static struct owner_text owner_of(const struct wf_json *obj)
{
    struct owner_text owner = { "" };
    struct wf_error line;

    if (wf_json_key(obj) == NULL) {
        return owner;
    }
    (void)wf_errorf(&line, WF_OK, " of \"%.64s\"", wf_json_key(obj));
    (void)memcpy(owner.text, line.text, strlen(line.text) + 1);
    return owner;
}

/* Finds a required member. */
static enum wf_status require(const struct wf_json *obj,
                              const char *key,
                              const char *wanted,
                              const struct wf_json **ret,
                              struct wf_error *err)
{
    struct owner_text owner = owner_of(obj);
    const struct wf_json *v;

    if (wf_json_type(obj) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL,
                         "an object with member \"%s\" is required, found %s", key,
                         wf_json_type_name(wf_json_type(obj)));
    }
    v = wf_json_find(obj, key);
    if (v == NULL) {
        return wf_errorf(err, WF_EINVAL, "member \"%s\"%s is missing, %s is required",
                         key, owner.text, wanted);
    }
    *ret = v;
    return WF_OK;
}

static enum wf_status wrong_type(const struct wf_json *obj,
                                 const char *key,
                                 const char *wanted,
                                 struct wf_error *err)
{
    struct owner_text owner = owner_of(obj);

    return wf_errorf(err, WF_EINVAL, "member \"%s\"%s must be %s, found %s", key,
                     owner.text, wanted,
                     wf_json_type_name(wf_json_type(wf_json_find(obj, key))));
}

/* --- required --- */

enum wf_status wf_json_get_string(const struct wf_json *obj,
                                  const char *key,
                                  const char **ret,
                                  struct wf_error *err)
{
    const struct wf_json *v = NULL;
    enum wf_status status = require(obj, key, "a string", &v, err);

    if (status != WF_OK) {
        return status;
    }
    if (wf_json_type(v) != WF_JSON_STRING) {
        return wrong_type(obj, key, "a string", err);
    }
    *ret = wf_json_string(v);
    return WF_OK;
}

/* The value as its text, for a range error. */
static enum wf_status range_error(const struct wf_json *obj,
                                  const char *key,
                                  const char *range,
                                  struct wf_error *err)
{
    struct owner_text owner = owner_of(obj);
    struct wf_buf found = WF_BUF_INIT;
    enum wf_status status;

    (void)wf_json_write(wf_json_find(obj, key), &found, NULL);
    status = wf_errorf(err, WF_ERANGE, "member \"%s\"%s is %s, must be %s", key,
                       owner.text, wf_buf_cstr(&found), range);
    wf_buf_free(&found);
    return status;
}

enum wf_status wf_json_get_i64(const struct wf_json *obj,
                               const char *key,
                               int64_t min,
                               int64_t max,
                               int64_t *ret,
                               struct wf_error *err)
{
    const struct wf_json *m = NULL;
    enum wf_status status = require(obj, key, "an integer", &m, err);
    struct wf_error range;
    int64_t v;

    if (status != WF_OK) {
        return status;
    }
    if (wf_json_type(m) != WF_JSON_INT) {
        return wrong_type(obj, key, "an integer", err);
    }
    if (!wf_json_as_i64(m, &v) || v < min || v > max) {
        (void)wf_errorf(&range, WF_ERANGE, "from %" PRId64 " to %" PRId64, min, max);
        return range_error(obj, key, range.text, err);
    }
    *ret = v;
    return WF_OK;
}

enum wf_status wf_json_get_u64(const struct wf_json *obj,
                               const char *key,
                               uint64_t min,
                               uint64_t max,
                               uint64_t *ret,
                               struct wf_error *err)
{
    const struct wf_json *m = NULL;
    enum wf_status status = require(obj, key, "an integer", &m, err);
    struct wf_error range;
    uint64_t v;

    if (status != WF_OK) {
        return status;
    }
    if (wf_json_type(m) != WF_JSON_INT) {
        return wrong_type(obj, key, "an integer", err);
    }
    if (!wf_json_as_u64(m, &v) || v < min || v > max) {
        (void)wf_errorf(&range, WF_ERANGE, "from %" PRIu64 " to %" PRIu64, min, max);
        return range_error(obj, key, range.text, err);
    }
    *ret = v;
    return WF_OK;
}

enum wf_status wf_json_get_f64(const struct wf_json *obj,
                               const char *key,
                               double *ret,
                               struct wf_error *err)
{
    const struct wf_json *v = NULL;
    enum wf_status status = require(obj, key, "a number", &v, err);

    if (status != WF_OK) {
        return status;
    }
    if (!wf_json_as_f64(v, ret)) {
        return wrong_type(obj, key, "a number (or \"nan\", \"inf\", \"-inf\")", err);
    }
    return WF_OK;
}

enum wf_status wf_json_get_bool(const struct wf_json *obj,
                                const char *key,
                                bool *ret,
                                struct wf_error *err)
{
    const struct wf_json *v = NULL;
    enum wf_status status = require(obj, key, "a boolean", &v, err);

    if (status != WF_OK) {
        return status;
    }
    if (!wf_json_as_bool(v, ret)) {
        return wrong_type(obj, key, "a boolean", err);
    }
    return WF_OK;
}

static enum wf_status get_container(const struct wf_json *obj,
                                    const char *key,
                                    enum wf_json_type type,
                                    const struct wf_json **ret,
                                    struct wf_error *err)
{
    const struct wf_json *v = NULL;
    enum wf_status status = require(obj, key, wf_json_type_name(type), &v, err);

    if (status != WF_OK) {
        return status;
    }
    if (wf_json_type(v) != type) {
        return wrong_type(obj, key, wf_json_type_name(type), err);
    }
    *ret = v;
    return WF_OK;
}

enum wf_status wf_json_get_object(const struct wf_json *obj,
                                  const char *key,
                                  const struct wf_json **ret,
                                  struct wf_error *err)
{
    return get_container(obj, key, WF_JSON_OBJECT, ret, err);
}

enum wf_status wf_json_get_array(const struct wf_json *obj,
                                 const char *key,
                                 const struct wf_json **ret,
                                 struct wf_error *err)
{
    return get_container(obj, key, WF_JSON_ARRAY, ret, err);
}

/* --- optional --- */

/* An object without the key; what is not an object is an error of the required form. */
static bool is_absent(const struct wf_json *obj, const char *key)
{
    return wf_json_type(obj) == WF_JSON_OBJECT && wf_json_find(obj, key) == NULL;
}

enum wf_status wf_json_opt_string(const struct wf_json *obj,
                                  const char *key,
                                  const char **ret,
                                  struct wf_error *err)
{
    return is_absent(obj, key) ? WF_OK : wf_json_get_string(obj, key, ret, err);
}

enum wf_status wf_json_opt_i64(const struct wf_json *obj,
                               const char *key,
                               int64_t min,
                               int64_t max,
                               int64_t *ret,
                               struct wf_error *err)
{
    return is_absent(obj, key) ? WF_OK : wf_json_get_i64(obj, key, min, max, ret, err);
}

enum wf_status wf_json_opt_f64(const struct wf_json *obj,
                               const char *key,
                               double *ret,
                               struct wf_error *err)
{
    return is_absent(obj, key) ? WF_OK : wf_json_get_f64(obj, key, ret, err);
}

enum wf_status wf_json_opt_bool(const struct wf_json *obj,
                                const char *key,
                                bool *ret,
                                struct wf_error *err)
{
    return is_absent(obj, key) ? WF_OK : wf_json_get_bool(obj, key, ret, err);
}

/* --- unknown keys --- */

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t m = a < b ? a : b;

    return m < c ? m : c;
}

/* Levenshtein distance over at most KEY_COMPARED_BYTES of each. */
static size_t edits_between(const char *a, const char *b)
{
    size_t row[KEY_COMPARED_BYTES + 1];
    size_t la = strnlen(a, KEY_COMPARED_BYTES);
    size_t lb = strnlen(b, KEY_COMPARED_BYTES);
    size_t diagonal;
    size_t above;

    for (size_t j = 0; j <= lb; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= la; i++) {
        diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1,
                              diagonal + (a[i - 1] == b[j - 1] ? 0 : 1));
            diagonal = above;
        }
    }
    return row[lb];
}

/* The known key that a mistyped one may mean, or NULL. Half of a short key changed is
 * no likeness. */
static const char *nearest_key(const char *key, const char *const *keys)
{
    const char *best = NULL;
    size_t best_edits = NEAR_EDITS + 1;

    for (size_t i = 0; keys[i] != NULL; i++) {
        size_t edits = edits_between(key, keys[i]);

        if (edits < best_edits && 2 * edits < strlen(key) + 1) {
            best = keys[i];
            best_edits = edits;
        }
    }
    return best;
}

static bool is_known(const char *key, const char *const *keys)
{
    for (size_t i = 0; keys[i] != NULL; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

enum wf_status wf_json_only_keys(const struct wf_json *obj,
                                 const char *const *keys,
                                 struct wf_error *err)
{
    struct owner_text owner = owner_of(obj);
    const char *near;

    if (wf_json_type(obj) != WF_JSON_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "an object is required, found %s",
                         wf_json_type_name(wf_json_type(obj)));
    }
    for (const struct wf_json *c = wf_json_first(obj); c != NULL; c = wf_json_next(c)) {
        if (is_known(wf_json_key(c), keys)) {
            continue;
        }
        near = nearest_key(wf_json_key(c), keys);
        if (near == NULL) {
            return wf_errorf(err, WF_EINVAL, "unknown member \"%.128s\"%s",
                             wf_json_key(c), owner.text);
        }
        return wf_errorf(err, WF_EINVAL,
                         "unknown member \"%.128s\"%s, did you mean \"%s\"?",
                         wf_json_key(c), owner.text, near);
    }
    return WF_OK;
}
