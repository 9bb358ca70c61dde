/* Expressions of pack.json: sizes, grids, arguments, conditions.
 *
 * Grammar (lowest first): ?: (right), || , && , == != , < <= > >= , + - , * / % ,
 * unary - and !, call, literal, name, ( ). Integers are 64-bit and checked: overflow,
 * division or modulo by zero are errors, never wrapped. / and % on integers truncate
 * towards zero; a double operand makes the result double (% wants integers). Strings
 * ('f16' or "f16") compare only with == and !=. Conditions are integers (0 is false);
 * && || ?: evaluate only what they need. Functions: ceil_div(a,b) round_up(a,b)
 * min(...) max(...) abs(a) log2_ceil(a) int(x) double(x), and over dataset arrays
 * max(kv_len) min(kv_len) sum(kv_len) count(kv_len).
 * Errors carry the column (1-based) and the expression; an unknown name also the
 * nearest known one, where a scope tells its names. */
#ifndef WF_PACKS_EXPR_H
#define WF_PACKS_EXPR_H

#include "core/error.h"
#include "core/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_expr; /* opaque, immutable after parsing */

#define WF_EXPR_MAX_CHARS 4096
#define WF_EXPR_MAX_DEPTH 64  /* parentheses, calls, ?: and unary signs */
#define WF_EXPR_MAX_CHAIN 256 /* operators in a row without parentheses */

/* At most 4096 characters and 64 levels deep. `where` prefixes errors
 * ("pack.json: kernel gemm_f16: grid[0]"). */
enum wf_status wf_expr_parse(const char *text,
                             const char *where,
                             struct wf_expr **ret,
                             struct wf_error *err);
void wf_expr_free(struct wf_expr *e);
const char *wf_expr_text(const struct wf_expr *e);

/* Names that it uses, in the order of the text and repeated as there; NULL past the
 * end. */
const char *wf_expr_name(const struct wf_expr *e, size_t i);
/* Every name is one that the scope finds, also where evaluation would not need it. The
 * values do not matter. */
enum wf_status wf_expr_check_names(const struct wf_expr *e,
                                   const struct wf_scope *scope,
                                   struct wf_error *err);

enum wf_status wf_expr_eval(const struct wf_expr *e,
                            const struct wf_scope *scope,
                            struct wf_value *ret,
                            struct wf_error *err);
/* The result must be an integer (or an integral double) in [min, max]. */
enum wf_status wf_expr_eval_i64(const struct wf_expr *e,
                                const struct wf_scope *scope,
                                int64_t min,
                                int64_t max,
                                int64_t *ret,
                                struct wf_error *err);
enum wf_status wf_expr_eval_bool(const struct wf_expr *e,
                                 const struct wf_scope *scope,
                                 bool *ret,
                                 struct wf_error *err);

#endif
