#include "cli/case_plan.h"

#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wf_status find(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err)
{
    const struct case_plan *p = ctx;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        { "device.cu_count", p->device->cu_count },
        { "device.xcc_count", p->device->xcc_count },
        { "device.warp_size", p->device->warp_size },
        { "device.memory_bytes", (int64_t)(p->device->memory_bytes & INT64_MAX) },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = numbers[i].value };
            return WF_OK;
        }
    }
    if (strcmp(name, "device.arch") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = p->arch };
        return WF_OK;
    }
    if (strcmp(name, "occupancy") == 0) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "it asks for its occupancy, which only a device knows");
    }
    return WF_ENOTFOUND;
}

static const char *name_at(const void *ctx, size_t i)
{
    static const char *const names[] = {
#define X(name) name,
        WF_DEVICE_NAMES(X)
#undef X
    };
    (void)ctx;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

enum wf_status case_plan_init(struct case_plan *p,
                              const struct wf_case *c,
                              const struct wf_device *device,
                              struct wf_error *err)
{
    memset(p, 0, sizeof(*p));
    p->c = c;
    p->device = device;
    (void)snprintf(p->arch, sizeof(p->arch), "%.*s", (int)strcspn(device->arch, ":"),
                   device->arch);
    p->device_scope = (struct wf_scope){ .find = find, .ctx = p, .name_at = name_at };
    p->scope = wf_case_scope(c);
    p->scope.next = &p->device_scope;
    p->tensor_count = wf_case_tensor_count(c);
    p->tensor = wf_calloc(p->tensor_count + 1, sizeof(*p->tensor));
    if (p->tensor == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for tensors");
    }
    for (size_t i = 0; i < p->tensor_count; i++) {
        const struct wf_tensor *t = wf_case_tensor(c, i);
        p->tensor[i] = (struct wf_plan_tensor){ t->name, t->dtype, t->bytes };
    }
    return WF_OK;
}

void case_plan_fini(struct case_plan *p)
{
    free(p->tensor);
    p->tensor = NULL;
}

enum wf_status case_plan_make(const struct case_plan *p,
                              const struct wf_pack_kernel *kernel,
                              struct wf_plan **ret,
                              char *why,
                              size_t n,
                              struct wf_error *err)
{
    struct wf_error own = { 0 };
    *ret = NULL;
    why[0] = '\0';
    const enum wf_status st = wf_plan_create(kernel, p->tensor, p->tensor_count,
                                             p->device->arch, &p->scope, ret, &own);
    if (st == WF_ENOMEM) {
        return wf_errorf(err, st, "%s", own.text);
    }
    if (st != WF_OK) {
        (void)snprintf(why, n, "%s", own.text);
    }
    return WF_OK;
}
