/* JSON values with exact 64-bit integers. The only file that includes cJSON.h is
 * json.c (cJSON keeps the tree; our reader checks the text first).
 *
 * Reading is strict: one value, UTF-8 without a byte order mark, no duplicate keys, no
 * NaN or Infinity literals, no trailing text, at most 64 levels deep, at most
 * `WF_JSON_MAX_BYTES`. An integer literal (no '.', no exponent) must fit int64_t or
 * uint64_t and is kept exactly. A non-finite double is written as the string "nan",
 * "inf" or "-inf" and read back by wf_json_get_f64, so a file stays valid JSON. The
 * character \u0000 is refused: strings are C strings. Bytes of a built string that are
 * not UTF-8 are written as U+FFFD.
 *
 * Ownership: a value belongs to its parent; the root belongs to the caller and is freed
 * by wf_json_free. `wf_json_set_*` and `wf_json_push_*` with a child ALWAYS take it,
 * also when they fail; setting a key that is there replaces its value in its place. A
 * borrowed pointer lives as long as the root. Several threads may read one tree. */
#ifndef WF_CORE_JSON_H
#define WF_CORE_JSON_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_JSON_MAX_BYTES ((size_t)256 << 20)
#define WF_JSON_MAX_DEPTH 64

struct wf_json; /* opaque */

enum wf_json_type {
    WF_JSON_NULL,
    WF_JSON_BOOL,
    WF_JSON_INT,    /* integer literal, exact */
    WF_JSON_DOUBLE, /* any other number */
    WF_JSON_STRING,
    WF_JSON_ARRAY,
    WF_JSON_OBJECT
};

/* `source` names the text in errors ("pack.json", "request body"); errors carry line
 * and column. */
enum wf_status wf_json_parse(const char *text,
                             size_t len,
                             const char *source,
                             struct wf_json **ret,
                             struct wf_error *err);
enum wf_status wf_json_parse_file(const char *path,
                                  struct wf_json **ret,
                                  struct wf_error *err);
void wf_json_free(struct wf_json *root); /* NULL is good */
enum wf_status wf_json_copy(const struct wf_json *v,
                            struct wf_json **ret,
                            struct wf_error *err);

/* --- reading --- */
enum wf_json_type wf_json_type(const struct wf_json *v);
const char *wf_json_type_name(enum wf_json_type t);
size_t wf_json_count(const struct wf_json *v); /* members or items */
const struct wf_json *wf_json_at(const struct wf_json *v, size_t i); /* O(1) amortised
                         for any order of i; NULL past the end */
/* First child and next sibling, for loops over large arrays and objects. */
const struct wf_json *wf_json_first(const struct wf_json *v);
const struct wf_json *wf_json_next(const struct wf_json *v);
const char *wf_json_key(const struct wf_json *v); /* of an object's member */
const struct wf_json *wf_json_find(const struct wf_json *obj,
                                   const char *key); /* or NULL */
const char *wf_json_string(const struct wf_json *v); /* NULL when not a string */
/* Value accessors without a key; false when the type or range does not fit. */
bool wf_json_as_i64(const struct wf_json *v, int64_t *ret);
bool wf_json_as_u64(const struct wf_json *v, uint64_t *ret);
bool wf_json_as_f64(const struct wf_json *v, double *ret); /* also "nan" "inf" "-inf" */
bool wf_json_as_bool(const struct wf_json *v, bool *ret);

/* Required members: error names the key, the type wanted and the type found. */
enum wf_status wf_json_get_string(const struct wf_json *obj,
                                  const char *key,
                                  const char **ret,
                                  struct wf_error *err);
enum wf_status wf_json_get_i64(const struct wf_json *obj,
                               const char *key,
                               int64_t min,
                               int64_t max,
                               int64_t *ret,
                               struct wf_error *err);
enum wf_status wf_json_get_u64(const struct wf_json *obj,
                               const char *key,
                               uint64_t min,
                               uint64_t max,
                               uint64_t *ret,
                               struct wf_error *err);
enum wf_status wf_json_get_f64(const struct wf_json *obj,
                               const char *key,
                               double *ret,
                               struct wf_error *err);
enum wf_status wf_json_get_bool(const struct wf_json *obj,
                                const char *key,
                                bool *ret,
                                struct wf_error *err);
enum wf_status wf_json_get_object(const struct wf_json *obj,
                                  const char *key,
                                  const struct wf_json **ret,
                                  struct wf_error *err);
enum wf_status wf_json_get_array(const struct wf_json *obj,
                                 const char *key,
                                 const struct wf_json **ret,
                                 struct wf_error *err);
/* Optional members: absent leaves *ret as it was; present with a wrong type or range is
 * an error. */
enum wf_status wf_json_opt_string(const struct wf_json *obj,
                                  const char *key,
                                  const char **ret,
                                  struct wf_error *err);
enum wf_status wf_json_opt_i64(const struct wf_json *obj,
                               const char *key,
                               int64_t min,
                               int64_t max,
                               int64_t *ret,
                               struct wf_error *err);
enum wf_status wf_json_opt_f64(const struct wf_json *obj,
                               const char *key,
                               double *ret,
                               struct wf_error *err);
enum wf_status wf_json_opt_bool(const struct wf_json *obj,
                                const char *key,
                                bool *ret,
                                struct wf_error *err);
/* Fails on a member that is not in `keys` (NULL-terminated); the error names it, and
 * the nearest known key where one is near. */
enum wf_status wf_json_only_keys(const struct wf_json *obj,
                                 const char *const *keys,
                                 struct wf_error *err);

/* --- building --- ENOMEM only. NULL obj is ENOMEM too, so that a chain may be checked
 * once at its end. */
struct wf_json *wf_json_object(void);
struct wf_json *wf_json_array(void);
enum wf_status wf_json_set_string(struct wf_json *obj,
                                  const char *key,
                                  const char *v, /* NULL writes null */
                                  struct wf_error *err);
enum wf_status wf_json_set_i64(struct wf_json *obj,
                               const char *key,
                               int64_t v,
                               struct wf_error *err);
enum wf_status wf_json_set_u64(struct wf_json *obj,
                               const char *key,
                               uint64_t v,
                               struct wf_error *err);
enum wf_status wf_json_set_f64(struct wf_json *obj,
                               const char *key,
                               double v,
                               struct wf_error *err);
enum wf_status wf_json_set_bool(struct wf_json *obj,
                                const char *key,
                                bool v,
                                struct wf_error *err);
enum wf_status wf_json_set_null(struct wf_json *obj,
                                const char *key,
                                struct wf_error *err);
enum wf_status wf_json_set_take(struct wf_json *obj,
                                const char *key,
                                struct wf_json *child,
                                struct wf_error *err);
/* What a JSON text says; "" is null. */
enum wf_status wf_json_set_parsed(struct wf_json *obj,
                                  const char *key,
                                  const char *text,
                                  struct wf_error *err);
enum wf_status wf_json_set_copy(struct wf_json *obj,
                                const char *key,
                                const struct wf_json *v,
                                struct wf_error *err);
enum wf_status wf_json_push_string(struct wf_json *arr,
                                   const char *v,
                                   struct wf_error *err);
enum wf_status wf_json_push_i64(struct wf_json *arr, int64_t v, struct wf_error *err);
enum wf_status wf_json_push_f64(struct wf_json *arr, double v, struct wf_error *err);
enum wf_status wf_json_push_take(struct wf_json *arr,
                                 struct wf_json *child,
                                 struct wf_error *err);
void wf_json_remove(struct wf_json *obj, const char *key); /* absent is good */

/* --- writing --- */
/* One line, members in their order, shortest round-trip numbers. */
enum wf_status wf_json_write(const struct wf_json *v,
                             struct wf_buf *out,
                             struct wf_error *err);
/* The same line as a string of its own, which the caller frees. */
enum wf_status wf_json_text(const struct wf_json *v, char **ret, struct wf_error *err);
/* Two blanks of indent. */
enum wf_status wf_json_write_pretty(const struct wf_json *v,
                                    struct wf_buf *out,
                                    struct wf_error *err);
/* The canonical form that ids are hashed over: one line, keys sorted by bytes at every
 * level, integers in decimal, doubles that are integral below 2^53 written as integers,
 * other doubles shortest round-trip, strings with the shortest escapes. */
enum wf_status wf_json_write_canonical(const struct wf_json *v,
                                       struct wf_buf *out,
                                       struct wf_error *err);

#endif
