#include "cli/pack_names.h"

#include "core/buf.h"
#include "kernels/op.h"
#include "packs/plan.h"

#include <string.h>

struct known {
    const struct wf_pack_kernel *kernel;
    const struct wf_op *op;
};

static const char *const shared_names[] = {
#define X(name) name,
    WF_DEVICE_NAMES(X)
#undef X
        "op",
    "inputs"
};

#define SHARED_NAMES (sizeof(shared_names) / sizeof(shared_names[0]))

/* Knobs, then what cases and devices all have, then the op's own. */
static const char *name_at(const void *ctx, size_t i)
{
    const struct known *k = ctx;
    if (i < k->kernel->knob_count) {
        return k->kernel->knob[i].name;
    }
    i -= k->kernel->knob_count;
    if (i < SHARED_NAMES) {
        return shared_names[i];
    }
    i -= SHARED_NAMES;
    for (size_t n = 0; n < i; n++) {
        if (k->op->params[n] == NULL) {
            return NULL;
        }
    }
    return k->op->params[i];
}

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    const char *known;
    (void)err;
    for (size_t i = 0; (known = name_at(ctx, i)) != NULL; i++) {
        if (strcmp(known, name) == 0) {
            *ret = (struct wf_value){ .kind = WF_VALUE_INT };
            return WF_OK;
        }
    }
    return WF_ENOTFOUND;
}

static enum wf_status unknown_op(const struct wf_pack_kernel *k, struct wf_error *err)
{
    struct wf_buf list = WF_BUF_INIT;
    for (size_t i = 0; i < wf_op_count(); i++) {
        (void)wf_buf_printf(&list, NULL, "%s%s", i > 0 ? ", " : "", wf_op_at(i)->name);
    }
    enum wf_status status =
        wf_errorf(err, WF_EINVAL, "kernel %s: unknown op \"%.64s\"; the ops are: %s",
                  k->name, k->op, wf_buf_cstr(&list));
    wf_buf_free(&list);
    return status;
}

static enum wf_status check_kernel(const struct wf_pack *pack,
                                   const struct wf_pack_kernel *kernel,
                                   struct wf_error *err)
{
    const struct known known = { kernel, wf_op_find(kernel->op) };
    if (known.op == NULL) {
        return unknown_op(kernel, err);
    }
    const struct wf_scope scope = { .find = find, .ctx = &known, .name_at = name_at };
    const struct wf_expr *e;
    enum wf_status status = WF_OK;
    for (size_t i = 0;
         status == WF_OK && (e = wf_pack_kernel_expr(pack, kernel, i)) != NULL; i++) {
        status = wf_expr_check_names(e, &scope, err);
    }
    return status;
}

enum wf_status wf_pack_check_names(const struct wf_pack *pack, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < wf_pack_kernel_count(pack); i++) {
        status = check_kernel(pack, wf_pack_kernel_at(pack, i), err);
    }
    return status;
}
