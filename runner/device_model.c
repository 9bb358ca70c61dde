/* The table of models. Pure.
 *
 * AMD devices are told by PCI id; where the id is one of the family but another model
 * has the same (virtual machines), compute units and memory decide between them. NVIDIA
 * devices are told by name. Peaks scale with the compute units that the device shows,
 * so that a partition has its share. */
#include "runner/device_model.h"

#include "core/dtype.h"

#include <stdio.h>
#include <string.h>

struct model {
    const char *name;
    const char *arch;
    int cu_count;
    double clock_mhz;
    double memory_gb_per_s;
    double f64, f32, f16, f8;
};

static const struct model models[] = {
#define MODEL(name, arch, cus, mhz, gbs, f64, f32, f16, f8) \
    { name, arch, cus, mhz, gbs, f64, f32, f16, f8 },
#define PCI_ID(id, model)
#include "runner/models.def"
#undef MODEL
#undef PCI_ID
};

#define MODEL_COUNT (sizeof(models) / sizeof(models[0]))

static const char *by_pci_id(unsigned id)
{
    switch (id) {
#define MODEL(name, arch, cus, mhz, gbs, f64, f32, f16, f8)
#define PCI_ID(value, model) \
    case value:              \
        return model;
#include "runner/models.def"
#undef MODEL
#undef PCI_ID
    default:
        return NULL;
    }
}

static const struct model *find_model(const char *name)
{
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        if (strcmp(models[i].name, name) == 0) {
            return &models[i];
        }
    }
    return NULL;
}

static bool arch_is(const char *arch, const char *base)
{
    size_t n = strlen(base);
    return strncmp(arch, base, n) == 0 && (arch[n] == '\0' || arch[n] == ':');
}

/* Whether all words of `model` stand in the device's name ("NVIDIA H100 PCIe"). */
static bool name_has(const char *name, const char *model)
{
    char word[32];
    for (const char *at = model; *at;) {
        size_t n = strcspn(at, " ");
        (void)snprintf(word, sizeof(word), "%.*s", (int)n, at);
        if (!strstr(name, word)) {
            return false;
        }
        at += n + strspn(at + n, " ");
    }
    return true;
}

static const struct model *by_name(const struct wf_device *device)
{
    for (size_t i = 0; i < MODEL_COUNT; i++) {
        if (arch_is(device->arch, models[i].arch) &&
            name_has(device->name, models[i].name)) {
            return &models[i];
        }
    }
    return NULL;
}

/* MI300X and MI325X differ in memory only, and a virtual function may carry either id.
 */
static const struct model *correct(const struct wf_device *device,
                                   const struct model *m)
{
    bool whole =
        device->partition[0] == '\0' || strncmp(device->partition, "SPX", 3) == 0;
    uint64_t gib = device->memory_bytes >> 30;
    if (whole && m && m->cu_count == 304 && gib > 0) {
        return find_model(gib > 224 ? "MI325X" : "MI300X");
    }
    return m;
}

void device_model_fill(struct wf_device *device, unsigned pci_device_id)
{
    const char *listed = by_pci_id(pci_device_id);
    const struct model *m = listed ? find_model(listed) : by_name(device);
    if (arch_is(device->arch, "gfx942")) {
        m = correct(device, m);
    }
    (void)snprintf(device->model, sizeof(device->model), "%.63s",
                   m ? m->name : device->name);
    device->peak_bytes_per_s = 0;
    if (m) {
        double share = device->cu_count > 0 && device->cu_count < m->cu_count
                           ? (double)device->cu_count / m->cu_count
                           : 1.0;
        device->peak_bytes_per_s = m->memory_gb_per_s * 1e9 * share;
    }
}

static double rate(const struct model *m, enum wf_dtype t)
{
    switch (t) {
    case WF_F64:
        return m->f64;
    case WF_F32:
        return m->f32;
    case WF_F16:
    case WF_BF16:
        return m->f16;
    case WF_E4M3FNUZ:
    case WF_E5M2FNUZ:
    case WF_E4M3FN:
    case WF_E5M2:
    case WF_I8:
    case WF_U8:
        return m->f8;
    case WF_I32:
    case WF_I64:
    case WF_DTYPE_COUNT:
        break;
    }
    return 0;
}

double wf_device_peak_flops(const struct wf_device *device, const char *dtype)
{
    enum wf_dtype t;
    const struct model *m = find_model(device->model);
    if (!m || !wf_dtype_parse(dtype, &t) || device->cu_count <= 0) {
        return 0;
    }
    return rate(m, t) * device->cu_count * m->clock_mhz * 1e6;
}
