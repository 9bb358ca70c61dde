/* What the files of load/ share. */
#ifndef WF_EMULATOR_LOAD_IMAGE_INTERNAL_H
#define WF_EMULATOR_LOAD_IMAGE_INTERNAL_H

#include "emulator/load/image.h"

#include "emulator/load/lines.h"
#include "packs/code_object.h"
#include "packs/elf.h"

/* A function or a variable; `start` is an address of the file. */
struct em_symbol {
    const char *name; /* in em_image.elf */
    uint64_t start, bytes;
};

struct em_symbols {
    struct em_symbol *item;
    size_t count, cap;
};

struct em_image {
    struct em_space *space;
    uint64_t base;  /* of the file's address 0; what space gave */
    uint64_t bytes; /* of memory from there on */
    bool allocated;
    uint8_t *elf; /* a copy of the file: names of symbols, lines */
    size_t elf_bytes;
    uint64_t code_begin, code_end; /* addresses of the file */
    struct em_code *code;
    struct wf_code_object *metadata;
    struct em_kernel *kernel;
    size_t kernel_count;
    struct em_symbols functions; /* by start */
    struct em_symbols variables; /* by name */
    struct em_lines *lines;
};

/* Where the image's memory is on the host: `n` bytes at an address of the file, or
 * NULL. */
uint8_t *em_image_at(const struct em_image *image, uint64_t address, uint64_t n);

/* The steps of em_image_load, in this order. `source` names the file in errors. */
enum wf_status em_image_map(struct em_image *image,
                            int device,
                            const struct elf *elf,
                            struct wf_error *err);
enum wf_status em_image_relocate(struct em_image *image,
                                 const struct elf *elf,
                                 struct wf_error *err);
enum wf_status em_image_read_symbols(struct em_image *image,
                                     const struct elf *elf,
                                     struct wf_error *err);
enum wf_status em_image_read_kernels(struct em_image *image,
                                     const struct elf *elf,
                                     struct wf_error *err);

#endif
