/* The memory of an image: its segments copied into one allocation of the space, so that
 * distances between them stay what the linker made of them, and relocations applied.
 *
 * Every address comes from the file and is checked against the allocation before it is
 * used; the size of the allocation is limited before it is asked for. */
#include "emulator/load/image_internal.h"

#include <string.h>

#define MAX_ADDRESS (UINT64_C(1) << 36) /* 64 GiB of variables */

enum { /* relocations of AMDGPU */
    R_NONE = 0,
    R_ABS32_LO = 1,
    R_ABS32_HI = 2,
    R_ABS64 = 3,
    R_REL32 = 4,
    R_REL64 = 5,
    R_ABS32 = 6,
    R_REL32_LO = 10,
    R_REL32_HI = 11,
    R_RELATIVE64 = 13
};

uint8_t *em_image_at(const struct em_image *image, uint64_t address, uint64_t n)
{
    if (n > image->bytes || address > image->bytes - n) {
        return NULL;
    }
    return (uint8_t *)(uintptr_t)(image->base +
                                  address); /* the space's are the host's */
}

/* --- segments --- */

static enum wf_status bad(const struct elf *elf, const char *why, struct wf_error *err)
{
    return wf_errorf(err, WF_EPARSE, "%s: not a valid code object: %s", elf->source,
                     why);
}

static enum wf_status measure_code(struct em_image *image,
                                   const struct elf *elf,
                                   const struct elf_segment *s,
                                   struct wf_error *err)
{
    if (s->memory_bytes != s->file_bytes || s->address % 4 != 0) {
        return bad(elf, "executable segment that is not all in the file", err);
    }
    if (image->code_end != 0) {
        return wf_errorf(err, WF_EUNSUPPORTED, "%s: more than one executable segment",
                         elf->source);
    }
    image->code_begin = s->address;
    image->code_end = s->address + s->file_bytes / 4 * 4;
    return WF_OK;
}

static enum wf_status measure(struct em_image *image,
                              const struct elf *elf,
                              struct wf_error *err)
{
    for (uint16_t i = 0; i < elf->segment_count; i++) {
        struct elf_segment s;
        enum wf_status st = elf_segment_at(elf, i, &s, err);
        if (st != WF_OK) {
            return st;
        }
        if (s.type != ELF_SEGMENT_LOAD || s.memory_bytes == 0) {
            continue;
        }
        if (s.address > MAX_ADDRESS || s.memory_bytes > MAX_ADDRESS ||
            s.file_bytes > s.memory_bytes) {
            return bad(elf, "segment of impossible size or place", err);
        }
        if ((s.flags & ELF_SEGMENT_EXECUTE) != 0) {
            st = measure_code(image, elf, &s, err);
        }
        if (st != WF_OK) {
            return st;
        }
        uint64_t end = s.address + s.memory_bytes;
        image->bytes = end > image->bytes ? end : image->bytes;
    }
    return image->bytes > 0 ? WF_OK : bad(elf, "it has nothing to load", err);
}

enum wf_status em_image_map(struct em_image *image,
                            int device,
                            const struct elf *elf,
                            struct wf_error *err)
{
    enum wf_status st = measure(image, elf, err);
    if (st == WF_OK) {
        st = em_space_alloc(image->space, device, EM_MEMORY_CODE, image->bytes,
                            &image->base, err);
        image->allocated = st == WF_OK;
    }
    for (uint16_t i = 0; st == WF_OK && i < elf->segment_count; i++) {
        struct elf_segment s;
        st = elf_segment_at(elf, i, &s, err);
        if (st == WF_OK && s.type == ELF_SEGMENT_LOAD && s.file_bytes > 0) {
            uint8_t *to = em_image_at(image, s.address, s.file_bytes);
            if (to == NULL) {
                return bad(elf, "segment outside of the image", err);
            }
            memcpy(to, elf->data + s.offset, (size_t)s.file_bytes);
        }
    }
    return st;
}

/* --- relocations --- */

struct relocating {
    struct em_image *image;
    const struct elf *elf;
};

/* The value of a relocation, before its place is subtracted. */
static enum wf_status symbol_value(const struct relocating *ctx,
                                   const struct elf_relocation *r,
                                   uint64_t *ret,
                                   struct wf_error *err)
{
    const struct elf_symbol *s = &r->symbol;
    bool weak = s->binding == 2;
    if (s->section == 0 && s->name[0] != '\0' && !weak) {
        return wf_errorf(err, WF_EUNSUPPORTED, "%s: symbol %.200s is defined nowhere",
                         ctx->elf->source, s->name);
    }
    uint64_t start = s->section == 0 ? 0 : ctx->image->base + s->value;
    *ret = start + (uint64_t)r->addend;
    return WF_OK;
}

/* What is stored, and of how many bytes; 0 bytes: nothing; false: unknown. */
static bool resolve(const struct relocating *ctx,
                    uint32_t type,
                    uint64_t place,
                    uint64_t *value,
                    unsigned *ret_bytes)
{
    *ret_bytes = 4;
    switch (type) {
    case R_NONE:
        *ret_bytes = 0;
        return true;
    case R_ABS64:
    case R_RELATIVE64:
        *ret_bytes = 8;
        return true;
    case R_REL64:
        *value -= ctx->image->base + place;
        *ret_bytes = 8;
        return true;
    case R_ABS32:
    case R_ABS32_LO:
        return true;
    case R_ABS32_HI:
        *value >>= 32;
        return true;
    case R_REL32:
    case R_REL32_LO:
        *value -= ctx->image->base + place;
        return true;
    case R_REL32_HI:
        *value = (*value - (ctx->image->base + place)) >> 32;
        return true;
    default:
        return false;
    }
}

static enum wf_status apply(void *pointer,
                            const struct elf_relocation *r,
                            struct wf_error *err)
{
    const struct relocating *ctx = pointer;
    uint64_t value = ctx->image->base + (uint64_t)r->addend;
    unsigned bytes = 0;
    enum wf_status st = WF_OK;
    if (r->type != R_RELATIVE64 && r->type != R_NONE) {
        st = symbol_value(ctx, r, &value, err);
    }
    if (st != WF_OK) {
        return st;
    }
    if (!resolve(ctx, r->type, r->address, &value, &bytes)) {
        return wf_errorf(err, WF_EUNSUPPORTED, "%s: relocation of unknown type %u",
                         ctx->elf->source, r->type);
    }
    uint8_t *to = em_image_at(ctx->image, r->address, bytes);
    if (to == NULL) {
        return bad(ctx->elf, "relocation outside of the image", err);
    }
    memcpy(to, &value, bytes);
    return WF_OK;
}

enum wf_status em_image_relocate(struct em_image *image,
                                 const struct elf *elf,
                                 struct wf_error *err)
{
    struct relocating ctx = { image, elf };
    return elf_relocations(elf, apply, &ctx, err);
}
