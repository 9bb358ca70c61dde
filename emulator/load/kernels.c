/* The kernels of an image: the 64 bytes of each descriptor ("name.kd"), and what the
 * metadata says about its arguments.
 *
 * The descriptor is read from the image's memory, where it has been relocated. What the
 * metadata repeats (LDS, scratch) is taken from the descriptor, as hardware does. */
#include "emulator/load/image_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

#define DESCRIPTOR_BYTES 64
#define MAX_KERNARG      (1u << 20)
#define MAX_AGPRS        256u

struct descriptor {
    uint32_t lds_bytes, private_bytes, kernarg_bytes;
    int64_t entry;
    uint32_t rsrc1, rsrc2, rsrc3;
    uint16_t properties, kernarg_preload;
};

static struct descriptor read_descriptor(const uint8_t *p)
{
    struct descriptor d;
    memcpy(&d.lds_bytes, p, 4);
    memcpy(&d.private_bytes, p + 4, 4);
    memcpy(&d.kernarg_bytes, p + 8, 4);
    memcpy(&d.entry, p + 16, 8);
    memcpy(&d.rsrc3, p + 44, 4);
    memcpy(&d.rsrc1, p + 48, 4);
    memcpy(&d.rsrc2, p + 52, 4);
    memcpy(&d.properties, p + 56, 2);
    memcpy(&d.kernarg_preload, p + 58, 2);
    return d;
}

/* Registers are given out in blocks of 8 VGPRs and of 16 SGPRs; the accumulation VGPRs
 * are those of a wave's share behind accum_offset. */
static void read_registers(struct em_kernel *k, const struct descriptor *d)
{
    unsigned all = ((d->rsrc1 & 63) + 1) * 8;
    k->accum_offset = ((d->rsrc3 & 63) + 1) * 4;
    k->vgprs = all < k->accum_offset ? all : k->accum_offset;
    k->agprs = all - k->vgprs;
    if (k->agprs > MAX_AGPRS) {
        k->agprs = MAX_AGPRS; /* a share for one wave: more than can be named */
    }
    k->sgprs = ((d->rsrc1 >> 6 & 15) / 2 + 1) * 16;
}

/* --- arguments --- */

static enum em_hidden hidden_kind(const char *name)
{
    static const char *const names[] = {
#define X(kind) #kind,
        EM_HIDDEN_ARGS(X)
#undef X
    };
    for (unsigned i = 0; i < EM_HIDDEN_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            return (enum em_hidden)i;
        }
    }
    return EM_HIDDEN_none; /* one that needs nothing, or that nobody here knows: 0 */
}

static bool fits(const struct em_kernel *k, const struct em_kernel_arg *a)
{
    return a->bytes <= k->kernarg_bytes && a->offset <= k->kernarg_bytes - a->bytes;
}

static enum wf_status read_arguments(struct em_kernel *k,
                                     const struct wf_code_kernel *from,
                                     const char *source,
                                     struct wf_error *err)
{
    k->arg = wf_calloc(from->arg_count + from->hidden_count + 1, sizeof(*k->arg));
    if (k->arg == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for arguments", source);
    }
    for (size_t i = 0; i < from->arg_count; i++) {
        k->arg[k->arg_count++] =
            (struct em_kernel_arg){ from->arg[i].offset, from->arg[i].bytes,
                                    EM_NOT_HIDDEN };
    }
    for (size_t i = 0; i < from->hidden_count; i++) {
        const struct wf_code_hidden *h = &from->hidden[i];
        k->arg[k->arg_count++] =
            (struct em_kernel_arg){ h->offset, h->bytes, hidden_kind(h->kind) };
    }
    for (size_t i = 0; i < k->arg_count; i++) {
        if (!fits(k, &k->arg[i])) {
            return wf_errorf(err, WF_EPARSE,
                             "%s: argument %zu of kernel %.200s is outside of its %u "
                             "bytes of arguments",
                             source, i, k->name, k->kernarg_bytes);
        }
    }
    return WF_OK;
}

/* --- one kernel --- */

struct reading {
    struct em_image *image;
    const char *source;
};

static enum wf_status fill(const struct reading *ctx,
                           struct em_kernel *k,
                           const struct descriptor *d,
                           uint64_t entry,
                           struct wf_error *err)
{
    const struct em_image *image = ctx->image;
    if (entry < image->code_begin || entry >= image->code_end || entry % 4 != 0) {
        return wf_errorf(err, WF_EPARSE, "%s: kernel %.200s starts outside of the code",
                         ctx->source, k->name);
    }
    k->entry = (uint32_t)((entry - image->code_begin) / 4);
    k->lds_bytes = d->lds_bytes;
    k->private_bytes = d->private_bytes;
    k->kernarg_bytes = d->kernarg_bytes;
    k->rsrc1 = d->rsrc1;
    k->rsrc2 = d->rsrc2;
    k->rsrc3 = d->rsrc3;
    k->properties = d->properties;
    k->kernarg_preload = d->kernarg_preload;
    read_registers(k, d);
    const struct wf_code_kernel *m = wf_code_object_find(image->metadata, k->name);
    if (m == NULL || !m->has_layout) {
        return WF_OK;
    }
    if (k->kernarg_bytes < m->kernarg_bytes) { /* hand-written descriptors leave it 0 */
        k->kernarg_bytes = m->kernarg_bytes;
    }
    if (k->kernarg_bytes > MAX_KERNARG) {
        return wf_errorf(err, WF_EPARSE, "%s: kernel %.200s with %u bytes of arguments",
                         ctx->source, k->name, k->kernarg_bytes);
    }
    k->max_workgroup = m->max_workgroup;
    k->dynamic_stack = m->dynamic_stack;
    memcpy(k->required_workgroup, m->required_workgroup, sizeof(k->required_workgroup));
    return read_arguments(k, m, ctx->source, err);
}

static struct em_kernel *find(const struct em_image *image, const char *name)
{
    for (size_t i = 0; i < image->kernel_count; i++) {
        if (strcmp(image->kernel[i].name, name) == 0) {
            return &image->kernel[i];
        }
    }
    return NULL;
}

/* Symbols named "x.kd" are those that the metadata's reader took its kernels from:
 * there are wf_code_object_count of them, with names of their own memory. */
static enum wf_status visit(void *pointer,
                            const struct elf_symbol *s,
                            struct wf_error *err)
{
    const struct reading *ctx = pointer;
    struct em_image *image = ctx->image;
    char name[4096 + 1];
    size_t n = strlen(s->name);
    if (s->section == 0 || s->type != 1 || n < 4 || n > sizeof(name) ||
        strcmp(s->name + n - 3, ".kd") != 0) {
        return WF_OK;
    }
    memcpy(name, s->name, n - 3);
    name[n - 3] = '\0';
    const struct wf_code_kernel *known = wf_code_object_find(image->metadata, name);
    if (known == NULL || find(image, name) != NULL ||
        image->kernel_count == wf_code_object_count(image->metadata)) {
        return WF_OK;
    }
    const uint8_t *at = em_image_at(image, s->value, DESCRIPTOR_BYTES);
    if (at == NULL) {
        return wf_errorf(err, WF_EPARSE,
                         "%s: the descriptor of %.200s is outside of the image",
                         ctx->source, name);
    }
    struct descriptor d = read_descriptor(at);
    struct em_kernel *k = &image->kernel[image->kernel_count++];
    k->name = known->name;
    return fill(ctx, k, &d, s->value + (uint64_t)d.entry, err);
}

enum wf_status em_image_read_kernels(struct em_image *image,
                                     const struct elf *elf,
                                     struct wf_error *err)
{
    struct reading ctx = { image, elf->source };
    image->kernel =
        wf_calloc(wf_code_object_count(image->metadata) + 1, sizeof(*image->kernel));
    if (image->kernel == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for kernels", elf->source);
    }
    return elf_symbols(elf, visit, &ctx, err);
}

const struct em_kernel *em_image_find(const struct em_image *image, const char *name)
{
    return find(image, name);
}
