/* Names about the device for a pack's expressions: device.cu_count, device.xcc_count,
 * device.arch, device.memory_bytes, device.warp_size, occupancy.
 *
 * `occupancy` is that of the kernel's first launch. It needs the code on the device, so
 * it is asked only when an expression uses it; that launch's block and dynamic memory
 * must not depend on it. */
#include "runner/judge.h"

#include "runner/subject_wire.h"

#include <stdio.h>
#include <string.h>

#define ASK_NS (60 * SECOND_NS)

static enum wf_status eval_block(const struct wf_pack_launch *launch,
                                 const struct wf_scope *scope,
                                 uint32_t *ret_threads,
                                 uint32_t *ret_shared,
                                 struct wf_error *err)
{
    int64_t threads = 1;
    int64_t shared = 0;
    enum wf_status st = WF_OK;
    for (int i = 0; st == WF_OK && i < 3; i++) {
        int64_t n = 1;
        if (launch->block[i]) {
            st = wf_expr_eval_i64(launch->block[i], scope, 1, 1024, &n, err);
        }
        threads *= n;
    }
    if (st == WF_OK && launch->shared_bytes) {
        st = wf_expr_eval_i64(launch->shared_bytes, scope, 0, UINT32_MAX, &shared, err);
    }
    *ret_threads = (uint32_t)threads;
    *ret_shared = (uint32_t)shared;
    return st;
}

static uint32_t code_index(const struct wf_pack_kernel *kernel, const char *label)
{
    for (size_t i = 0; i < kernel->code_count; i++) {
        if (label && strcmp(kernel->code[i].label, label) == 0) {
            return (uint32_t)i;
        }
    }
    return 0;
}

static enum wf_status ask_occupancy(struct judge *j, int64_t *ret, struct wf_error *err)
{
    struct wf_knobs *knobs = NULL;
    struct wf_buf payload = WF_BUF_INIT;
    struct wf_sp_occupancy want = { 0 };
    uint32_t blocks = 0;
    if (j->kernel->launch_count == 0) {
        return wf_errorf(err, WF_EINVAL, "occupancy of a kernel without launches");
    }
    const struct wf_pack_launch *launch = &j->kernel->launch[0];
    enum wf_status st = judge_load_code(j, err);
    if (st == WF_OK) {
        st = wf_knobs_create(j->kernel, &j->case_scope, &knobs, err);
    }
    if (st == WF_OK) {
        st = eval_block(launch, wf_knobs_scope(knobs), &want.block_threads,
                        &want.shared_bytes, err);
    }
    if (st == WF_OK) {
        want.code = j->base.code + code_index(j->kernel, launch->code);
        st = wf_buf_add(&payload, &want, sizeof(want), err);
    }
    if (st == WF_OK) {
        st = wire_add_text(&payload, launch->symbol, err);
    }
    if (st == WF_OK) {
        st = judge_get(j, WF_SP_OCCUPANCY, payload.data, payload.len, ASK_NS, &blocks,
                       sizeof(blocks), err);
    }
    wf_buf_free(&payload);
    wf_knobs_destroy(knobs);
    *ret = blocks;
    return st;
}

static enum wf_status find_occupancy(struct judge_device_scope *d,
                                     struct wf_value *ret,
                                     struct wf_error *err)
{
    if (d->asking_occupancy) {
        return wf_errorf(
            err, WF_EINVAL,
            "occupancy depends on block or shared_bytes of the first launch, "
            "which must not use it");
    }
    if (!d->has_occupancy) {
        d->asking_occupancy = true;
        enum wf_status st = ask_occupancy(d->judge, &d->occupancy, err);
        d->asking_occupancy = false;
        if (st != WF_OK) {
            return st;
        }
        d->has_occupancy = true;
    }
    *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = d->occupancy };
    return WF_OK;
}

static enum wf_status find_device_name(const void *ctx,
                                       const char *name,
                                       struct wf_value *ret,
                                       struct wf_error *err)
{
    struct judge_device_scope *d;
    memcpy(&d, &ctx, sizeof(d)); /* the scope's view is const, what it caches is not */
    const struct wf_device *device = d->judge->request->device;
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        { "device.cu_count", device->cu_count },
        { "device.xcc_count", device->xcc_count },
        { "device.warp_size", device->warp_size },
        { "device.memory_bytes", (int64_t)(device->memory_bytes & INT64_MAX) },
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = numbers[i].value };
            return WF_OK;
        }
    }
    if (strcmp(name, "device.arch") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = d->arch };
        return WF_OK;
    }
    return strcmp(name, "occupancy") == 0 ? find_occupancy(d, ret, err) : WF_ENOTFOUND;
}

static const char *device_name_at(const void *ctx, size_t i)
{
    static const char *const names[] = {
#define X(name) name,
        WF_DEVICE_NAMES(X)
#undef X
    };
    (void)ctx;
    return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

void judge_scope_init(struct judge *j)
{
    const char *arch = j->request->device->arch;
    j->device.judge = j;
    (void)snprintf(j->device.arch, sizeof(j->device.arch), "%.*s",
                   (int)strcspn(arch, ":"), arch);
    j->device_scope = (struct wf_scope){ .find = find_device_name,
                                         .ctx = &j->device,
                                         .name_at = device_name_at };
    j->case_scope = wf_case_scope(j->c);
    j->case_scope.next = &j->device_scope;
}
