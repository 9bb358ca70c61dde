/* Parser of pack expressions: precedence climbing over the tokens of expr_lex.c.
 *
 * Every recursion passes enter(), which holds WF_EXPR_MAX_DEPTH, so the text cannot
 * exhaust the stack here; the height of a node is at most WF_EXPR_MAX_CHAIN, so that it
 * cannot exhaust it in the evaluation either. */
#include "packs/expr_internal.h"

#include "core/buf.h"
#include "packs/names.h"

#include <stdlib.h>
#include <string.h>

#define NONE (-1)

struct parser {
    struct wf_expr *e;
    size_t pos;
    struct expr_token token; /* the one that is looked at */
    int depth;
    struct wf_error *err;
};

struct function_row {
    const char *name;
    int least, most;
};

static const struct function_row functions[FUNCTION_COUNT] = {
#define X(name, least, most) [FUNCTION_##name] = { #name, least, most },
    EXPR_FUNCTION_LIST(X)
#undef X
};

static const int precedences[EXPR_OP_COUNT] = {
#define X(name, text, precedence) [EXPR_##name] = (precedence),
    EXPR_OP_LIST(X)
#undef X
};

static enum wf_status parse_choice(struct parser *p, int *ret);

static enum wf_status advance(struct parser *p)
{
    return expr_next_token(p->e, &p->pos, &p->token, p->err);
}

static bool at_op(const struct parser *p, enum expr_op op)
{
    return p->token.kind == TOKEN_OP && p->token.op == op;
}

static enum wf_status fail(struct parser *p, const char *wanted)
{
    if (p->token.kind == TOKEN_END) {
        return expr_fail(p->e, p->token.at, p->err,
                         "expression ends where %s is expected", wanted);
    }
    int shown = p->token.len > 40 ? 40 : (int)p->token.len;
    return expr_fail(p->e, p->token.at, p->err, "'%.*s' where %s is expected", shown,
                     p->e->text + p->token.at, wanted);
}

static enum wf_status enter(struct parser *p)
{
    if (++p->depth > WF_EXPR_MAX_DEPTH) {
        return expr_fail(p->e, p->token.at, p->err, "more than %d levels deep",
                         WF_EXPR_MAX_DEPTH);
    }
    return WF_OK;
}

static enum wf_status no_memory(struct parser *p)
{
    return wf_errorf(p->err, WF_ENOMEM, "%s: no memory for an expression", p->e->where);
}

static enum wf_status add_node(struct parser *p,
                               enum expr_node_kind kind,
                               size_t at,
                               int *ret)
{
    struct wf_expr *e = p->e;
    if (e->count == e->cap) {
        int cap = e->cap == 0 ? 8 : 2 * e->cap;
        struct expr_node *grown = wf_realloc_array(e->node, (size_t)cap, sizeof *grown);
        if (grown == NULL) {
            return no_memory(p);
        }
        e->node = grown;
        e->cap = cap;
    }
    e->node[e->count] = (struct expr_node){
        .kind = kind, .at = at, .child = NONE, .next = NONE, .height = 1
    };
    *ret = e->count++;
    return WF_OK;
}

/* Makes `child` the last operand of `parent`, whose operands so far end in *last. */
static enum wf_status append(struct parser *p, int parent, int *last, int child)
{
    struct expr_node *node = p->e->node;
    if (*last == NONE) {
        node[parent].child = child;
    } else {
        node[*last].next = child;
    }
    *last = child;
    if (node[child].height >= node[parent].height) {
        node[parent].height = node[child].height + 1;
    }
    if (node[parent].height > WF_EXPR_MAX_CHAIN) {
        return expr_fail(p->e, node[parent].at, p->err,
                         "more than %d operators in a row; group them with ( )",
                         WF_EXPR_MAX_CHAIN);
    }
    return WF_OK;
}

static enum wf_status add_text_node(struct parser *p,
                                    enum expr_node_kind kind,
                                    int *ret)
{
    enum wf_status st = add_node(p, kind, p->token.at, ret);
    if (st != WF_OK) {
        return st;
    }
    size_t quote = p->token.kind == TOKEN_STRING;
    char *s = wf_strndup(p->e->text + p->token.at + quote, p->token.len);
    p->e->node[*ret].s = s;
    return s == NULL ? no_memory(p) : WF_OK;
}

static enum wf_status add_int_node(struct parser *p, bool negative, int *ret)
{
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (p->token.u > limit) {
        return expr_fail(p->e, p->token.at, p->err, "integer does not fit 64 bits");
    }
    enum wf_status st = add_node(p, NODE_INT, p->token.at, ret);
    if (st == WF_OK) {
        uint64_t bits = negative ? 0 - p->token.u : p->token.u;
        memcpy(&p->e->node[*ret].i, &bits, sizeof bits);
        st = advance(p);
    }
    return st;
}

static int find_function(const char *name)
{
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        if (strcmp(functions[f].name, name) == 0) {
            return f;
        }
    }
    return NONE;
}

static enum wf_status unknown_function(struct parser *p, const struct expr_node *name)
{
    struct wf_nearest near = wf_nearest_start(name->s);
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        wf_nearest_offer(&near, functions[f].name);
    }
    return expr_fail(p->e, name->at, p->err, "no function '%.64s'%s%s%s", name->s,
                     near.best != NULL ? "; did you mean " : "",
                     near.best != NULL ? near.best : "", near.best != NULL ? "?" : "");
}

static enum wf_status parse_args(struct parser *p, int call, int *ret_count)
{
    int last = NONE;
    *ret_count = 0;
    if (at_op(p, EXPR_CLOSE)) {
        return advance(p);
    }
    for (;;) {
        int arg = NONE;
        enum wf_status st = parse_choice(p, &arg);
        st = st != WF_OK ? st : append(p, call, &last, arg);
        if (st != WF_OK) {
            return st;
        }
        if (++*ret_count > EXPR_MAX_ARGS) {
            return expr_fail(p->e, p->e->node[arg].at, p->err, "more than %d arguments",
                             EXPR_MAX_ARGS);
        }
        if (at_op(p, EXPR_CLOSE)) {
            return advance(p);
        }
        if (!at_op(p, EXPR_COMMA)) {
            return fail(p, "',' or ')'");
        }
        st = advance(p);
        if (st != WF_OK) {
            return st;
        }
    }
}

/* The name node becomes the call. */
static enum wf_status parse_call(struct parser *p, int call)
{
    struct expr_node *name = &p->e->node[call];
    int f = find_function(name->s);
    if (f == NONE) {
        return unknown_function(p, name);
    }
    name->kind = NODE_CALL;
    name->which = f;
    enum wf_status st = advance(p);
    int count = 0;
    st = st != WF_OK ? st : parse_args(p, call, &count);
    if (st != WF_OK) {
        return st;
    }
    const struct function_row *row = &functions[f];
    if (count < row->least || count > row->most) {
        return expr_fail(p->e, p->e->node[call].at, p->err,
                         "%s() takes %d%s argument%s, not %d", row->name, row->least,
                         row->most > row->least ? " or more" : "",
                         row->most > 1 ? "s" : "", count);
    }
    return WF_OK;
}

static enum wf_status parse_group(struct parser *p, int *ret)
{
    enum wf_status st = advance(p);
    st = st != WF_OK ? st : parse_choice(p, ret);
    if (st != WF_OK) {
        return st;
    }
    return at_op(p, EXPR_CLOSE) ? advance(p) : fail(p, "')'");
}

static enum wf_status parse_primary(struct parser *p, int *ret)
{
    enum wf_status st;
    switch (p->token.kind) {
    case TOKEN_INT:
        return add_int_node(p, false, ret);
    case TOKEN_DOUBLE:
        st = add_node(p, NODE_DOUBLE, p->token.at, ret);
        if (st == WF_OK) {
            p->e->node[*ret].d = p->token.d;
            st = advance(p);
        }
        return st;
    case TOKEN_STRING:
        st = add_text_node(p, NODE_STRING, ret);
        return st == WF_OK ? advance(p) : st;
    case TOKEN_NAME:
        st = add_text_node(p, NODE_NAME, ret);
        st = st == WF_OK ? advance(p) : st;
        return st == WF_OK && at_op(p, EXPR_OPEN) ? parse_call(p, *ret) : st;
    case TOKEN_OP:
        return at_op(p, EXPR_OPEN) ? parse_group(p, ret) : fail(p, "a value");
    case TOKEN_END:
        break;
    }
    return fail(p, "a value");
}

static enum wf_status parse_unary(struct parser *p, int *ret)
{
    if (!at_op(p, EXPR_SUB) && !at_op(p, EXPR_NOT)) {
        return parse_primary(p, ret);
    }
    enum wf_status st = enter(p);
    enum expr_op op = p->token.op;
    size_t at = p->token.at;
    st = st != WF_OK ? st : advance(p);
    if (st != WF_OK) {
        return st;
    }
    if (op == EXPR_SUB && p->token.kind == TOKEN_INT) {
        p->depth--;
        return add_int_node(p, true, ret); /* the only spelling of the least integer */
    }
    int operand = NONE, last = NONE;
    st = parse_unary(p, &operand);
    p->depth--;
    st = st != WF_OK ? st : add_node(p, NODE_UNARY, at, ret);
    if (st == WF_OK) {
        p->e->node[*ret].which = (int)op;
        st = append(p, *ret, &last, operand);
    }
    return st;
}

static enum wf_status join(struct parser *p,
                           enum expr_op op,
                           size_t at,
                           int *left,
                           int right)
{
    int node = NONE, last = NONE;
    enum wf_status st = add_node(p, NODE_BINARY, at, &node);
    if (st == WF_OK) {
        p->e->node[node].which = (int)op;
        st = append(p, node, &last, *left);
    }
    st = st != WF_OK ? st : append(p, node, &last, right);
    *left = node;
    return st;
}

static enum wf_status parse_binary(struct parser *p, int lowest, int *ret)
{
    enum wf_status st = parse_unary(p, ret);
    while (st == WF_OK && p->token.kind == TOKEN_OP &&
           precedences[p->token.op] >= lowest) {
        enum expr_op op = p->token.op;
        size_t at = p->token.at;
        int right = NONE;
        st = advance(p);
        /* One level a precedence, at most six: no enter() needed. */
        st = st != WF_OK ? st : parse_binary(p, precedences[op] + 1, &right);
        st = st != WF_OK ? st : join(p, op, at, ret, right);
    }
    return st;
}

static enum wf_status parse_branches(struct parser *p, int *ret)
{
    int node = NONE, last = NONE, branch = NONE;
    enum wf_status st = add_node(p, NODE_TERNARY, p->token.at, &node);
    st = st != WF_OK ? st : append(p, node, &last, *ret);
    st = st != WF_OK ? st : advance(p);
    st = st != WF_OK ? st : parse_choice(p, &branch);
    st = st != WF_OK ? st : append(p, node, &last, branch);
    if (st == WF_OK && !at_op(p, EXPR_COLON)) {
        st = fail(p, "':'");
    }
    st = st != WF_OK ? st : advance(p);
    st = st != WF_OK ? st : parse_choice(p, &branch);
    st = st != WF_OK ? st : append(p, node, &last, branch);
    *ret = node;
    return st;
}

static enum wf_status parse_choice(struct parser *p, int *ret)
{
    enum wf_status st = enter(p);
    st = st != WF_OK ? st : parse_binary(p, 1, ret);
    if (st == WF_OK && at_op(p, EXPR_QUESTION)) {
        st = parse_branches(p, ret);
    }
    p->depth--;
    return st;
}

static enum wf_status parse_whole(struct parser *p)
{
    enum wf_status st = advance(p);
    if (st == WF_OK && p->token.kind == TOKEN_END) {
        return expr_fail(p->e, 0, p->err, "expression is empty");
    }
    st = st != WF_OK ? st : parse_choice(p, &p->e->root);
    if (st == WF_OK && p->token.kind != TOKEN_END) {
        st = fail(p, "an operator or the end");
    }
    return st;
}

enum wf_status wf_expr_parse(const char *text,
                             const char *where,
                             struct wf_expr **ret,
                             struct wf_error *err)
{
    size_t len = strlen(text);
    if (len > WF_EXPR_MAX_CHARS) {
        return wf_errorf(err, WF_EINVAL, "%s: expression of %zu characters, at most %d",
                         where, len, WF_EXPR_MAX_CHARS);
    }
    struct wf_expr *e = wf_calloc(1, sizeof *e);
    if (e == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for an expression", where);
    }
    e->text = wf_strdup(text);
    e->where = wf_strdup(where);
    enum wf_status st = WF_OK;
    if (e->text == NULL || e->where == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "%s: no memory for an expression", where);
    } else {
        struct parser p = { .e = e, .err = err };
        st = parse_whole(&p);
    }
    if (st != WF_OK) {
        wf_expr_free(e);
        return st;
    }
    *ret = e;
    return WF_OK;
}

void wf_expr_free(struct wf_expr *e)
{
    if (e == NULL) {
        return;
    }
    for (int i = 0; i < e->count; i++) {
        free(e->node[i].s);
    }
    free(e->node);
    free(e->text);
    free(e->where);
    free(e);
}

const char *wf_expr_text(const struct wf_expr *e)
{
    return e->text;
}
