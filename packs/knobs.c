/* Knobs of a kernel as a scope.
 *
 * Knobs may use each other in any order (JSON objects have none) and names that are
 * dear to ask for, so that they are evaluated on demand and then kept. There are no
 * circles: the reader of pack.json has refused them. */
#include "packs/pack.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

struct knob_value {
    bool is_known;
    struct wf_value value;
};

struct wf_knobs {
    const struct wf_pack_kernel *kernel;
    struct wf_knobs *self; /* find() gets the struct const and fills in values */
    struct knob_value *value;
    struct wf_scope scope;
};

static enum wf_status evaluate(struct wf_knobs *k, size_t i, struct wf_error *err)
{
    struct knob_value *v = &k->value[i];
    const struct wf_pack_param *knob = &k->kernel->knob[i];
    if (v->is_known) {
        return WF_OK;
    }
    enum wf_status st = wf_expr_eval(knob->value, &k->scope, &v->value, err);
    v->is_known = st == WF_OK;
    return st;
}

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    const struct wf_knobs *k = ctx;
    for (size_t i = 0; i < k->kernel->knob_count; i++) {
        if (strcmp(k->kernel->knob[i].name, name) == 0) {
            enum wf_status st = evaluate(k->self, i, err);
            if (st == WF_OK) {
                *ret = k->value[i].value;
            }
            return st;
        }
    }
    return WF_ENOTFOUND;
}

static const char *name_at(const void *ctx, size_t i)
{
    const struct wf_knobs *k = ctx;
    return i < k->kernel->knob_count ? k->kernel->knob[i].name : NULL;
}

enum wf_status wf_knobs_create(const struct wf_pack_kernel *kernel,
                               const struct wf_scope *next,
                               struct wf_knobs **ret,
                               struct wf_error *err)
{
    struct wf_knobs *k = wf_calloc(1, sizeof *k);
    if (k == NULL) {
        return wf_errorf(err, WF_ENOMEM, "kernel %s: no memory for knobs",
                         kernel->name);
    }
    enum wf_status st = WF_OK;
    k->kernel = kernel;
    k->self = k;
    k->scope =
        (struct wf_scope){ .find = find, .ctx = k, .next = next, .name_at = name_at };
    k->value = wf_calloc(kernel->knob_count + 1, sizeof *k->value);
    if (k->value == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "kernel %s: no memory for knobs", kernel->name);
    }
    if (st != WF_OK) {
        wf_knobs_destroy(k);
        return st;
    }
    *ret = k;
    return WF_OK;
}

enum wf_status wf_knobs_evaluate(struct wf_knobs *knobs, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < knobs->kernel->knob_count; i++) {
        st = evaluate(knobs, i, err);
    }
    return st;
}

void wf_knobs_destroy(struct wf_knobs *knobs)
{
    if (knobs != NULL) {
        free(knobs->value);
        free(knobs);
    }
}

const struct wf_scope *wf_knobs_scope(const struct wf_knobs *knobs)
{
    return &knobs->scope;
}
