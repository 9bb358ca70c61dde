/* Fuzzes pack expressions: what parses is also evaluated, over a few names. */
#include "packs/expr.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t lengths[] = { 1, 100, 0, 7 };

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    (void)ctx;
    (void)err;
    switch (name[0]) {
    case 'M':
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = 1000 };
        return WF_OK;
    case 'z':
        *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = INT64_MIN };
        return WF_OK;
    case 'd':
        *ret = (struct wf_value){ .kind = WF_VALUE_DOUBLE, .d = 0.5 };
        return WF_OK;
    case 't':
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = "f16" };
        return WF_OK;
    case 'k':
        *ret = (struct wf_value){ .kind = WF_VALUE_INTS, .ints = lengths, .n = 4 };
        return WF_OK;
    default:
        return WF_ENOTFOUND;
    }
}

static const char *name_at(const void *ctx, size_t i)
{
    static const char *const names[] = { "M", "z", "d", "t", "k" };
    (void)ctx;
    return i < 5 ? names[i] : NULL;
}

/* A result has a known kind; an error names the place. */
static void check(enum wf_status st,
                  const struct wf_value *v,
                  const struct wf_error *err)
{
    if (st == WF_OK ? v->kind > WF_VALUE_INTS
                    : strstr(err->text, "fuzz: ") != err->text) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct wf_scope scope = { .find = find, .name_at = name_at };
    struct wf_expr *e = NULL;
    struct wf_error err = { .text = "" };
    struct wf_value v = { .kind = WF_VALUE_INT };
    char *text = malloc(size + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    enum wf_status st = wf_expr_parse(text, "fuzz", &e, &err);
    free(text);
    if (st == WF_OK) {
        int64_t i;
        bool b;
        st = wf_expr_eval(e, &scope, &v, &err);
        (void)wf_expr_eval_i64(e, &scope, -100, 100, &i, NULL);
        (void)wf_expr_eval_bool(e, &scope, &b, NULL);
    }
    check(st, &v, &err);
    wf_expr_free(e);
    return 0;
}
