#include "tests/campaign/gemm_cell.h"

#include "core/parse.h"
#include "packs/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes that every kernel takes one of: any tile, and few rows. */
static const struct gemm_shape PROBES[] = { { 4096, 10240, 8192 },
                                            { 16, 10240, 8192 },
                                            { 1, 10240, 8192 } };

static const enum wf_dtype PAIRS[][2] = {
    { WF_F16, WF_F16 },
    { WF_BF16, WF_BF16 },
    { WF_E4M3FNUZ, WF_E4M3FNUZ },
    { WF_E5M2FNUZ, WF_E5M2FNUZ },
    { WF_E4M3FNUZ, WF_E5M2FNUZ },
    { WF_E5M2FNUZ, WF_E4M3FNUZ },
    { WF_E4M3FN, WF_E4M3FN },
    { WF_E5M2, WF_E5M2 },
    { WF_E4M3FN, WF_E5M2 },
    { WF_E5M2, WF_E4M3FN },
    { WF_I8, WF_I8 },
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- the device as expressions see it --- */
static enum wf_status device_find(const void *ctx,
                                  const char *name,
                                  struct wf_value *ret,
                                  struct wf_error *err)
{
    const struct wf_device *d = ctx;
    const struct {
        const char *name;
        int64_t value;
    } number[] = { { "device.cu_count", d->cu_count },
                   { "device.xcc_count", d->xcc_count },
                   { "device.warp_size", d->warp_size },
                   { "device.memory_bytes", (int64_t)d->memory_bytes } };
    for (size_t i = 0; i < COUNT(number); i++) {
        if (strcmp(name, number[i].name) == 0) {
            *ret = (struct wf_value){ .kind = WF_VALUE_INT, .i = number[i].value };
            return WF_OK;
        }
    }
    if (strcmp(name, "device.arch") == 0) {
        *ret = (struct wf_value){ .kind = WF_VALUE_STRING, .s = d->arch };
        return WF_OK;
    }
    return wf_errorf(err, WF_ENOTFOUND, "unknown name '%s'", name);
}

/* --- asking --- */
enum wf_status gemm_cell_takes(const struct gemm_cell *cell,
                               const struct wf_case *c,
                               bool *ret,
                               int64_t *ret_split,
                               struct wf_error *err)
{
    struct wf_plan_tensor tensor[16];
    const size_t n = wf_case_tensor_count(c);
    const struct wf_scope device = { .find = device_find, .ctx = cell->device };
    struct wf_scope scope = wf_case_scope(c);
    struct wf_plan *plan = NULL;
    scope.next = &device;
    for (size_t i = 0; i < n && i < COUNT(tensor); i++) {
        const struct wf_tensor *t = wf_case_tensor(c, i);
        tensor[i] = (struct wf_plan_tensor){ t->name, t->dtype, t->bytes };
    }
    enum wf_status status =
        wf_plan_create(cell->kernel, tensor, n, cell->device->arch, &scope, &plan, err);
    *ret = status == WF_OK;
    *ret_split = status == WF_OK ? plan->split : 1;
    wf_plan_free(plan);
    return status == WF_EUNSUPPORTED ? WF_OK : status;
}

enum wf_status gemm_cell_wants(const struct gemm_cell *cell,
                               const struct gemm_want *w,
                               bool *ret,
                               int64_t *ret_split,
                               struct wf_error *err)
{
    struct wf_case *c = NULL;
    enum wf_status status = gemm_want_case(w, &c, err);
    if (status == WF_OK) {
        status = gemm_cell_takes(cell, c, ret, ret_split, err);
        wf_case_free(c);
    }
    return status;
}

static enum wf_status any_probe(const struct gemm_cell *cell,
                                const struct gemm_mode *mode,
                                bool *ret,
                                struct wf_error *err)
{
    enum wf_status status = WF_OK;
    *ret = false;
    for (size_t i = 0; status == WF_OK && !*ret && i < COUNT(PROBES); i++) {
        struct gemm_want w = gemm_want_plain(PROBES[i]);
        int64_t split = 1;
        w.a = cell->a;
        w.b = cell->b;
        w.d = w.c = w.bias_type = mode->d;
        w.trans_a = cell->trans_a;
        w.trans_b = cell->trans_b;
        w.scale = mode->scale;
        w.activation = mode->activation;
        w.groups = cell->grouped ? 1 : 0;
        w.group[0] = w.size.m;
        status = gemm_cell_wants(cell, &w, ret, &split, err);
    }
    return status;
}

/* --- finding --- */
static enum wf_status find_modes(struct gemm_cell *cell, struct wf_error *err)
{
    static const enum wf_dtype real[] = { WF_F16, WF_BF16, WF_F32 };
    static const enum wf_dtype whole[] = { WF_I32 };
    const bool is_int = cell->a == WF_I8;
    const enum wf_dtype *d = is_int ? whole : real;
    const int d_count = is_int ? 1 : 3;
    const int scales = wf_dtype_is_fp8(cell->a) ? GEMM_SCALE_COUNT : 1;
    const int activations = is_int ? 1 : GEMM_ACT_COUNT;
    enum wf_status status = WF_OK;
    for (int i = 0; status == WF_OK && i < d_count * scales * activations; i++) {
        const struct gemm_mode mode = { d[i % d_count],
                                        (enum gemm_scale)(i / d_count % scales),
                                        (enum gemm_activation)(i / d_count / scales) };
        bool takes = false;
        status = any_probe(cell, &mode, &takes, err);
        if (status == WF_OK && takes) {
            cell->mode[cell->mode_count++] = mode;
        }
    }
    return status;
}

/* Where all a kernel does is gated, half of a tile's columns are D's. */
static void halve_gated(struct gemm_cell *cell, int64_t block_n)
{
    bool all = true;
    for (size_t i = 0; i < cell->mode_count; i++) {
        all = all && cell->mode[i].activation == GEMM_ACT_GATE;
    }
    cell->tiles.n = all && block_n > 1 ? block_n / 2 : block_n;
}

static enum wf_status knob(const struct wf_pack_kernel *kernel,
                           const char *name,
                           int64_t otherwise,
                           int64_t *ret,
                           struct wf_error *err)
{
    static const struct wf_device no_device;
    const struct wf_scope nothing = { .find = device_find, .ctx = &no_device };
    struct wf_knobs *knobs = NULL;
    *ret = otherwise;
    for (size_t i = 0; i < kernel->knob_count; i++) {
        if (strcmp(kernel->knob[i].name, name) == 0) {
            enum wf_status status = wf_knobs_create(kernel, &nothing, &knobs, err);
            if (status == WF_OK) {
                status = wf_expr_eval_i64(kernel->knob[i].value, wf_knobs_scope(knobs),
                                          1, 1 << 20, ret, err);
                wf_knobs_destroy(knobs);
            }
            return status;
        }
    }
    return otherwise > 0 ? WF_OK
                         : wf_errorf(err, WF_EINVAL,
                                     "kernel %s: no knob %s, so its edges are unknown",
                                     kernel->name, name);
}

static enum wf_status keep(struct gemm_cells *cells,
                           const struct gemm_cell *cell,
                           struct wf_error *err)
{
    struct gemm_cell *at = wf_realloc_array(cells->at, cells->count + 1, sizeof(*at));
    if (at == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for cells");
    }
    cells->at = at;
    cells->at[cells->count++] = *cell;
    return WF_OK;
}

static enum wf_status find_of_kernel(struct gemm_cell *cell,
                                     struct gemm_cells *ret,
                                     struct wf_error *err)
{
    const size_t before = ret->count;
    int64_t block_n = 0;
    enum wf_status status = knob(cell->kernel, "BLOCK_M", 0, &cell->tiles.m, err);
    if (status == WF_OK) {
        status = knob(cell->kernel, "BLOCK_N", 0, &block_n, err);
    }
    if (status == WF_OK) {
        status = knob(cell->kernel, "BLOCK_K", 64, &cell->tiles.k, err);
    }
    for (size_t i = 0; status == WF_OK && i < COUNT(PAIRS) * 4; i++) {
        cell->a = PAIRS[i / 4][0];
        cell->b = PAIRS[i / 4][1];
        cell->trans_a = (i & 2) != 0;
        cell->trans_b = (i & 1) != 0;
        cell->mode_count = 0;
        if (cell->grouped && cell->trans_a) {
            continue; /* A is never transposed there */
        }
        status = find_modes(cell, err);
        if (status == WF_OK && cell->mode_count > 0) {
            halve_gated(cell, block_n);
            status = keep(ret, cell, err);
        }
    }
    if (status == WF_OK && ret->count == before) {
        status = wf_errorf(err, WF_EINVAL,
                           "kernel %s: supports none of the types and transposes asked",
                           cell->kernel->name);
    }
    return status;
}

static bool fits_arch(const struct wf_pack_kernel *kernel, const char *arch)
{
    const size_t n = strcspn(arch, ":");
    for (size_t i = 0; i < kernel->arch_count; i++) {
        if (strlen(kernel->arch[i]) == n && strncmp(kernel->arch[i], arch, n) == 0) {
            return true;
        }
    }
    return false;
}

enum wf_status gemm_cells_find(const struct wf_pack *pack,
                               const char *glob,
                               const struct wf_device *device,
                               struct gemm_cells *ret,
                               struct wf_error *err)
{
    enum wf_status status = WF_OK;
    for (size_t i = 0; status == WF_OK && i < wf_pack_kernel_count(pack); i++) {
        struct gemm_cell cell = { .pack = pack,
                                  .kernel = wf_pack_kernel_at(pack, i),
                                  .device = device,
                                  .tiles.split = 1 };
        cell.grouped = strcmp(cell.kernel->op, "grouped_gemm") == 0;
        if ((cell.grouped || strcmp(cell.kernel->op, "gemm") == 0) &&
            fits_arch(cell.kernel, device->arch) &&
            (glob == NULL || wf_glob_match(glob, cell.kernel->name))) {
            status = find_of_kernel(&cell, ret, err);
        }
    }
    return status;
}

void gemm_cells_free(struct gemm_cells *cells)
{
    free(cells->at);
    cells->at = NULL;
    cells->count = 0;
}

void gemm_cell_label(const struct gemm_cell *cell, char *out, size_t n)
{
    snprintf(out, n, "%s x %s %c%c", wf_dtype_name(cell->a), wf_dtype_name(cell->b),
             cell->trans_a ? 'T' : 'N', cell->trans_b ? 'T' : 'N');
}
