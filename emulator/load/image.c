/* Loading a code object: the steps, and what an image offers afterwards.
 *
 * The file may be anybody's. It is copied first, so that names and lines outlive the
 * caller's bytes; each step checks what it reads. */
#include "emulator/load/image.h"

#include "core/buf.h"
#include "emulator/load/image_internal.h"

#include <stdlib.h>
#include <string.h>

#define OSABI_HSA 64

enum { /* e_flags */
    FLAG_XNACK = 0x300,
    FLAG_XNACK_ON = 0x300,
    FLAG_SRAMECC = 0xc00,
    FLAG_SRAMECC_OFF = 0x800
};

enum { /* e_ident[EI_ABIVERSION] of code object v4, v6 */
    ABI_V4 = 2,
    ABI_V6 = 4
};

static enum wf_status check_header(const struct elf *e, struct wf_error *err)
{
    if (e->machine != ELF_AMDGPU) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: an ELF file for machine %u, not for AMDGPU", e->source,
                         e->machine);
    }
    if (e->osabi != OSABI_HSA || e->type != ELF_TYPE_DYN) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: not a linked code object for HSA (OS/ABI %u, type %u)",
                         e->source, e->osabi, e->type);
    }
    if (e->abi_version < ABI_V4 || e->abi_version > ABI_V6) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: code object version %u (there are 4, 5 and 6)", e->source,
                         e->abi_version + 2U);
    }
    if ((e->flags & FLAG_XNACK) == FLAG_XNACK_ON) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: compiled for xnack+, the device is xnack-", e->source);
    }
    if ((e->flags & FLAG_SRAMECC) == FLAG_SRAMECC_OFF) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: compiled for sramecc-, the device is sramecc+",
                         e->source);
    }
    return WF_OK;
}

static enum wf_status read_metadata(struct em_image *image,
                                    const char *source,
                                    struct wf_error *err)
{
    enum wf_status st = wf_code_object_parse(image->elf, image->elf_bytes, source,
                                             &image->metadata, err);
    if (st == WF_OK && !wf_code_object_runs_on(image->metadata, "gfx942")) {
        st =
            wf_errorf(err, WF_EUNSUPPORTED, "%s: compiled for %s, the device is gfx942",
                      source, wf_code_object_arch(image->metadata));
    }
    return st;
}

static enum wf_status make_code(struct em_image *image,
                                const char *source,
                                struct wf_error *err)
{
    uint64_t bytes = image->code_end - image->code_begin;
    const uint8_t *at = em_image_at(image, image->code_begin, bytes);
    if (at == NULL || bytes == 0) {
        return wf_errorf(err, WF_EPARSE, "%s: there is no code in it", source);
    }
    uint32_t *words = wf_calloc((size_t)(bytes / 4), sizeof(*words));
    if (words == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for its code", source);
    }
    memcpy(words, at, (size_t)bytes);
    enum wf_status st = em_code_create(
        words, (size_t)(bytes / 4), image->base + image->code_begin, &image->code, err);
    free(words);
    return st;
}

static enum wf_status load(struct em_image *image,
                           int device,
                           const char *source,
                           struct wf_error *err)
{
    struct elf elf;
    enum wf_status st = elf_open(image->elf, image->elf_bytes, source, &elf, err);
    if (st == WF_OK) {
        st = check_header(&elf, err);
    }
    if (st == WF_OK) {
        st = read_metadata(image, source, err);
    }
    if (st == WF_OK) {
        st = em_image_map(image, device, &elf, err);
    }
    if (st == WF_OK) {
        st = em_image_relocate(image, &elf, err);
    }
    if (st == WF_OK) {
        st = make_code(image, source, err);
    }
    if (st == WF_OK) {
        st = em_image_read_symbols(image, &elf, err);
    }
    return st == WF_OK ? em_image_read_kernels(image, &elf, err) : st;
}

enum wf_status em_image_load(struct em_space *space,
                             int device,
                             const void *data,
                             size_t bytes,
                             const char *source,
                             struct em_image **ret,
                             struct wf_error *err)
{
    if (!elf_is_elf(data, bytes)) {
        return wf_errorf(err, WF_EPARSE, "%s: not an ELF file", source);
    }
    if (bytes > WF_CODE_MAX_BYTES) {
        return wf_errorf(err, WF_EPARSE, "%s: a code object of %zu bytes", source,
                         bytes);
    }
    struct em_image *image = wf_calloc(1, sizeof(*image));
    enum wf_status st = WF_ENOMEM;
    if (image == NULL) {
        goto out;
    }
    image->space = space;
    image->elf = wf_calloc(bytes, 1);
    image->elf_bytes = bytes;
    if (image->elf == NULL) {
        goto out;
    }
    memcpy(image->elf, data, bytes);
    image->lines = em_lines_create(image->elf, bytes);
    if (image->lines == NULL) {
        goto out;
    }
    st = load(image, device, source, err);
    if (st == WF_OK) {
        *ret = image;
        return WF_OK;
    }
    em_image_destroy(image);
    return st;
out:
    em_image_destroy(image);
    return wf_errorf(err, st, "%s: no memory to load it", source);
}

void em_image_destroy(struct em_image *image)
{
    if (image == NULL) {
        return;
    }
    for (size_t i = 0; i < image->kernel_count; i++) {
        free(image->kernel[i].arg);
    }
    free(image->kernel);
    free(image->functions.item);
    free(image->variables.item);
    em_code_destroy(image->code);
    em_lines_destroy(image->lines);
    wf_code_object_free(image->metadata);
    if (image->allocated) {
        (void)em_space_free(image->space, image->base, NULL);
    }
    free(image->elf);
    free(image);
}

const struct em_code *em_image_code(const struct em_image *image)
{
    return image->code;
}

size_t em_image_kernel_count(const struct em_image *image)
{
    return image->kernel_count;
}

const struct em_kernel *em_image_kernel(const struct em_image *image, size_t i)
{
    return i < image->kernel_count ? &image->kernel[i] : NULL;
}

bool em_image_line(const struct em_image *image,
                   uint32_t index,
                   char *text,
                   size_t bytes)
{
    return em_lines_find(image->lines, image->code_begin + 4 * (uint64_t)index, text,
                         bytes);
}
