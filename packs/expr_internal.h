/* What expr_lex.c, expr_parse.c and expr_eval.c share. */
#ifndef WF_PACKS_EXPR_INTERNAL_H
#define WF_PACKS_EXPR_INTERNAL_H

#include "packs/expr.h"

#include <stddef.h>
#include <stdint.h>

enum expr_token_kind {
    TOKEN_END,
    TOKEN_INT,
    TOKEN_DOUBLE,
    TOKEN_STRING,
    TOKEN_NAME,
    TOKEN_OP /* operator or punctuation */
};

/* Binary operators with their precedence, then the rest. X(name, text, precedence) */
#define EXPR_OP_LIST(X) \
    X(OR, "||", 1)      \
    X(AND, "&&", 2)     \
    X(EQ, "==", 3)      \
    X(NE, "!=", 3)      \
    X(LE, "<=", 4)      \
    X(GE, ">=", 4)      \
    X(LT, "<", 4)       \
    X(GT, ">", 4)       \
    X(ADD, "+", 5)      \
    X(SUB, "-", 5)      \
    X(MUL, "*", 6)      \
    X(DIV, "/", 6)      \
    X(MOD, "%", 6)      \
    X(NOT, "!", 0)      \
    X(QUESTION, "?", 0) \
    X(COLON, ":", 0)    \
    X(COMMA, ",", 0)    \
    X(OPEN, "(", 0)     \
    X(CLOSE, ")", 0)

enum expr_op {
#define X(name, text, precedence) EXPR_##name,
    EXPR_OP_LIST(X)
#undef X
    EXPR_OP_COUNT
};

/* X(name, fewest arguments, most arguments) */
#define EXPR_FUNCTION_LIST(X) \
    X(ceil_div, 2, 2)         \
    X(round_up, 2, 2)         \
    X(min, 1, 16)             \
    X(max, 1, 16)             \
    X(sum, 1, 1)              \
    X(count, 1, 1)            \
    X(abs, 1, 1)              \
    X(log2_ceil, 1, 1)        \
    X(int, 1, 1)              \
    X(double, 1, 1)

enum expr_function {
#define X(name, least, most) FUNCTION_##name,
    EXPR_FUNCTION_LIST(X)
#undef X
    FUNCTION_COUNT
};

#define EXPR_MAX_ARGS 16

struct expr_token {
    enum expr_token_kind kind;
    enum expr_op op;
    size_t at;  /* in the text, where its first character is */
    size_t len; /* of a string without its quotes */
    uint64_t u; /* TOKEN_INT: magnitude */
    double d;
};

enum expr_node_kind {
    NODE_INT,
    NODE_DOUBLE,
    NODE_STRING,
    NODE_NAME,
    NODE_UNARY,
    NODE_BINARY,
    NODE_TERNARY,
    NODE_CALL
};

/* Nodes lie in one array; links are indices, -1 is none. */
struct expr_node {
    enum expr_node_kind kind;
    int which; /* enum expr_op or enum expr_function */
    size_t at; /* in the text, for the column */
    int64_t i;
    double d;
    char *s;   /* NAME, STRING; owned */
    int child; /* first operand */
    int next;  /* next operand of the same parent */
    int height;
};

struct wf_expr {
    char *text;
    char *where;
    struct expr_node *node;
    int count, cap;
    int root;
};

/* The token at or after *pos; moves *pos past it. */
enum wf_status expr_next_token(const struct wf_expr *e,
                               size_t *pos,
                               struct expr_token *ret,
                               struct wf_error *err);
const char *expr_op_text(enum expr_op op);

/* "where: column 7 of "text": " and the message. */
enum wf_status expr_fail(const struct wf_expr *e,
                         size_t at,
                         struct wf_error *err,
                         const char *fmt,
                         ...) __attribute__((format(printf, 4, 5)));

#endif
