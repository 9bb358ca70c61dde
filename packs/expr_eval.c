/* Evaluation of pack expressions over a chain of scopes.
 *
 * Pure: the same scopes give the same value. The depth of the recursion is the height
 * of the tree, which the parser holds below WF_EXPR_MAX_CHAIN. */
#include "packs/expr_internal.h"
#include "packs/expr_math.h"
#include "packs/names.h"

#include <math.h>
#include <string.h>

struct evaluation {
    const struct wf_expr *e;
    const struct wf_scope *scope;
    struct wf_error *err;
};

static enum wf_status eval(const struct evaluation *ev, int at, struct wf_value *ret);

static const char *nearest_in_scopes(const struct wf_scope *scope, const char *wanted)
{
    struct wf_nearest near = wf_nearest_start(wanted);
    for (; scope != NULL; scope = scope->next) {
        const char *known;
        for (size_t i = 0;
             scope->name_at != NULL && (known = scope->name_at(scope->ctx, i)) != NULL;
             i++) {
            wf_nearest_offer(&near, known);
        }
    }
    return near.best;
}

static enum wf_status look_up(const struct evaluation *ev,
                              const struct expr_node *n,
                              struct wf_value *ret)
{
    for (const struct wf_scope *s = ev->scope; s != NULL; s = s->next) {
        struct wf_error inner = { .text = "" };
        enum wf_status st = s->find(s->ctx, n->s, ret, &inner);
        if (st == WF_OK) {
            return WF_OK;
        }
        if (st != WF_ENOTFOUND) {
            (void)expr_fail(ev->e, n->at, ev->err, "%.64s: %s", n->s, inner.text);
            return st;
        }
    }
    const char *near = nearest_in_scopes(ev->scope, n->s);
    return expr_fail(ev->e, n->at, ev->err, "unknown name '%.64s'%s%s%s", n->s,
                     near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                     near != NULL ? "?" : "");
}

const char *wf_expr_name(const struct wf_expr *e, size_t i)
{
    for (int n = 0; n < e->count; n++) {
        if (e->node[n].kind == NODE_NAME && i-- == 0) {
            return e->node[n].s;
        }
    }
    return NULL;
}

enum wf_status wf_expr_check_names(const struct wf_expr *e,
                                   const struct wf_scope *scope,
                                   struct wf_error *err)
{
    const struct evaluation ev = { e, scope, err };
    enum wf_status st = WF_OK;
    for (int n = 0; st == WF_OK && n < e->count; n++) {
        struct wf_value ignored;
        if (e->node[n].kind == NODE_NAME) {
            st = look_up(&ev, &e->node[n], &ignored);
        }
    }
    return st;
}

static enum wf_status eval_truth(const struct evaluation *ev, int at, bool *ret)
{
    struct wf_value v;
    enum wf_status st = eval(ev, at, &v);
    if (st != WF_OK) {
        return st;
    }
    const char *why = expr_truth(&v, ret);
    return why == NULL ? WF_OK
                       : expr_fail(ev->e, ev->e->node[at].at, ev->err, "%s", why);
}

static enum wf_status set_truth(enum wf_status st, bool b, struct wf_value *ret)
{
    if (st == WF_OK) {
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = b };
    }
    return st;
}

static enum wf_status eval_logic(const struct evaluation *ev,
                                 const struct expr_node *n,
                                 struct wf_value *ret)
{
    bool b = false;
    enum wf_status st = eval_truth(ev, n->child, &b);
    if (st == WF_OK && b == (n->which == EXPR_AND)) {
        st = eval_truth(ev, ev->e->node[n->child].next, &b);
    }
    return set_truth(st, b, ret);
}

static enum wf_status eval_binary(const struct evaluation *ev,
                                  const struct expr_node *n,
                                  struct wf_value *ret)
{
    if (n->which == EXPR_AND || n->which == EXPR_OR) {
        return eval_logic(ev, n, ret);
    }
    struct wf_value a, b;
    enum wf_status st = eval(ev, n->child, &a);
    st = st != WF_OK ? st : eval(ev, ev->e->node[n->child].next, &b);
    if (st != WF_OK) {
        return st;
    }
    const char *why = expr_binary((enum expr_op)n->which, &a, &b, ret);
    return why == NULL ? WF_OK
                       : expr_fail(ev->e, n->at, ev->err, "%s (at '%s')", why,
                                   expr_op_text((enum expr_op)n->which));
}

static enum wf_status eval_unary(const struct evaluation *ev,
                                 const struct expr_node *n,
                                 struct wf_value *ret)
{
    if (n->which == EXPR_NOT) {
        bool b = false;
        enum wf_status st = eval_truth(ev, n->child, &b);
        return set_truth(st, !b, ret);
    }
    struct wf_value a;
    enum wf_status st = eval(ev, n->child, &a);
    if (st != WF_OK) {
        return st;
    }
    const char *why = expr_negate(&a, ret);
    return why == NULL ? WF_OK : expr_fail(ev->e, n->at, ev->err, "%s", why);
}

static enum wf_status eval_ternary(const struct evaluation *ev,
                                   const struct expr_node *n,
                                   struct wf_value *ret)
{
    bool b = false;
    enum wf_status st = eval_truth(ev, n->child, &b);
    if (st != WF_OK) {
        return st;
    }
    int chosen = ev->e->node[n->child].next;
    return eval(ev, b ? chosen : ev->e->node[chosen].next, ret);
}

static enum wf_status eval_call(const struct evaluation *ev,
                                const struct expr_node *n,
                                struct wf_value *ret)
{
    struct wf_value args[EXPR_MAX_ARGS];
    size_t count = 0;
    for (int a = n->child; a >= 0; a = ev->e->node[a].next) {
        enum wf_status st = eval(ev, a, &args[count]);
        if (st != WF_OK) {
            return st;
        }
        count++;
    }
    const char *why = expr_call((enum expr_function)n->which, args, count, ret);
    return why == NULL ? WF_OK : expr_fail(ev->e, n->at, ev->err, "%s: %s", n->s, why);
}

static enum wf_status eval(const struct evaluation *ev, int at, struct wf_value *ret)
{
    const struct expr_node *n = &ev->e->node[at];
    switch (n->kind) {
    case NODE_INT:
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = n->i };
        return WF_OK;
    case NODE_DOUBLE:
        *ret = (struct wf_value){ .kind = WF_VALUE_DOUBLE, .d = n->d };
        return WF_OK;
    case NODE_STRING:
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = n->s };
        return WF_OK;
    case NODE_NAME:
        return look_up(ev, n, ret);
    case NODE_UNARY:
        return eval_unary(ev, n, ret);
    case NODE_BINARY:
        return eval_binary(ev, n, ret);
    case NODE_TERNARY:
        return eval_ternary(ev, n, ret);
    case NODE_CALL:
        return eval_call(ev, n, ret);
    }
    return wf_errorf(ev->err, WF_EINTERNAL, "%s: unknown node", ev->e->where);
}

enum wf_status wf_expr_eval(const struct wf_expr *e,
                            const struct wf_scope *scope,
                            struct wf_value *ret,
                            struct wf_error *err)
{
    struct evaluation ev = { .e = e, .scope = scope, .err = err };
    struct wf_value v;
    enum wf_status st = eval(&ev, e->root, &v);
    if (st == WF_OK) {
        *ret = v;
    }
    return st;
}

/* Integral doubles are integers here. */
static bool integral(const struct wf_value *v, int64_t *ret)
{
    if (v->kind == WF_VALUE_INT) {
        *ret = v->i;
        return true;
    }
    if (v->kind != WF_VALUE_DOUBLE || v->d < trunc(v->d) || v->d > trunc(v->d) ||
        !(v->d >= -9223372036854775808.0 && v->d < 9223372036854775808.0)) {
        return false;
    }
    *ret = (int64_t)v->d;
    return true;
}

enum wf_status wf_expr_eval_i64(const struct wf_expr *e,
                                const struct wf_scope *scope,
                                int64_t min,
                                int64_t max,
                                int64_t *ret,
                                struct wf_error *err)
{
    struct wf_value v;
    enum wf_status st = wf_expr_eval(e, scope, &v, err);
    if (st != WF_OK) {
        return st;
    }
    int64_t i = 0;
    if (!integral(&v, &i)) {
        return expr_fail(e, 0, err, "result is not an integer");
    }
    if (i < min || i > max) {
        (void)expr_fail(e, 0, err, "result %lld is not in [%lld, %lld]", (long long)i,
                        (long long)min, (long long)max);
        if (err != NULL) {
            err->status = WF_ERANGE;
        }
        return WF_ERANGE;
    }
    *ret = i;
    return WF_OK;
}

enum wf_status wf_expr_eval_bool(const struct wf_expr *e,
                                 const struct wf_scope *scope,
                                 bool *ret,
                                 struct wf_error *err)
{
    struct evaluation ev = { .e = e, .scope = scope, .err = err };
    bool b = false;
    enum wf_status st = eval_truth(&ev, e->root, &b);
    if (st == WF_OK) {
        *ret = b;
    }
    return st;
}
