/* Fuzzes the loader of code objects: bundles, ELF, descriptors, metadata, relocations,
 * symbols and lines. An input that starts with 'A' gets the header of a gfx942 object.
 */
#include "emulator/load/bundle.h"
#include "emulator/load/image.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_header(uint8_t *p, size_t size)
{
    if (size < 64 || p[0] != 'A') {
        return;
    }
    memcpy(p, "\177ELF\2\1\1\100\3", 9);
    p[16] = 3;
    p[17] = 0;
    p[18] = 224;
    p[19] = 0;
    p[48] = 0x4c;
    p[49] = 5;
    p[54] = 56;
    p[55] = 0;
    p[58] = 64;
    p[59] = 0;
}

static void use(const struct em_image *image)
{
    char text[64];
    uint32_t within = 0;
    const struct em_code *code = em_image_code(image);
    for (size_t i = 0; i < em_image_kernel_count(image); i++) {
        const struct em_kernel *k = em_image_kernel(image, i);
        if (em_image_find(image, k->name) == NULL || k->entry >= em_code_count(code)) {
            abort();
        }
        for (size_t a = 0; a < k->arg_count; a++) {
            if ((uint64_t)k->arg[a].offset + k->arg[a].bytes > k->kernarg_bytes) {
                abort();
            }
        }
    }
    for (uint32_t i = 0; i < MAX_LINES && i < em_code_count(code); i++) {
        (void)em_image_symbol(image, i, &within);
        (void)em_image_line(image, i, text, sizeof(text));
    }
}

static void load(struct em_space *space, const uint8_t *data, size_t size)
{
    struct em_image *image = NULL;
    struct em_chosen chosen = { 0 };
    struct wf_error err = { .text = "" };
    size_t bytes = 0;
    enum wf_status st = em_bundle_measure(data, size, "fuzz", &bytes, &err);
    if (st == WF_OK) {
        bytes = bytes < size ? bytes : size;
        st = em_bundle_choose(data, bytes, "fuzz", &chosen, &err);
    }
    if (st == WF_OK) {
        st = em_image_load(space, 0, chosen.data, chosen.bytes, "fuzz", &image, &err);
    }
    if (st == WF_OK) {
        use(image);
        em_image_destroy(image);
    } else if (st != WF_ENOMEM && strstr(err.text, "fuzz: ") != err.text) {
        abort();
    }
    em_chosen_fini(&chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct em_space *space = NULL;
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL || em_space_create(&space, NULL) != WF_OK) {
        free(copy);
        return 0;
    }
    memcpy(copy, data, size);
    add_header(copy, size);
    load(space, copy, size);
    if (em_space_used(space, 0) != 0) {
        abort();
    }
    em_space_destroy(space);
    free(copy);
    return 0;
}
