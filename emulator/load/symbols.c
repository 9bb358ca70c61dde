/* Functions and variables of an image, sorted for look-ups: functions by address (the
 * name of a faulting instruction), variables by name (hipModuleGetGlobal).
 *
 * Names point into the image's copy of the file. A symbol in both tables comes twice
 * and is kept twice; look-ups do not mind. */
#include "emulator/load/image_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

enum {
    TYPE_NONE = 0,
    TYPE_OBJECT = 1,
    TYPE_FUNCTION = 2
};

static enum wf_status add(struct em_symbols *to,
                          const struct elf_symbol *s,
                          struct wf_error *err)
{
    if (to->count == to->cap) {
        size_t cap = to->cap == 0 ? 64 : 2 * to->cap;
        struct em_symbol *grown = wf_realloc_array(to->item, cap, sizeof(*grown));
        if (grown == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for symbols");
        }
        to->item = grown;
        to->cap = cap;
    }
    to->item[to->count++] = (struct em_symbol){ s->name, s->value, s->bytes };
    return WF_OK;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum wf_status visit(void *ctx, const struct elf_symbol *s, struct wf_error *err)
{
    struct em_image *image = ctx;
    if (s->section == 0 || s->name[0] == '\0') {
        return WF_OK;
    }
    bool in_code = s->value >= image->code_begin && s->value < image->code_end;
    if (in_code && (s->type == TYPE_FUNCTION || s->type == TYPE_NONE)) {
        return add(&image->functions, s, err);
    }
    if (s->type == TYPE_OBJECT && !ends_with(s->name, ".kd") &&
        em_image_at(image, s->value, s->bytes) != NULL) {
        return add(&image->variables, s, err);
    }
    return WF_OK;
}

/* Of symbols at one address the one that says its size comes last, where it is found.
 */
static int by_start(const void *a, const void *b)
{
    const struct em_symbol *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b)
{
    const struct em_symbol *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void sort(struct em_symbols *s, int (*order)(const void *, const void *))
{
    if (s->count > 1) {
        qsort(s->item, s->count, sizeof(*s->item), order);
    }
}

enum wf_status em_image_read_symbols(struct em_image *image,
                                     const struct elf *elf,
                                     struct wf_error *err)
{
    enum wf_status st = elf_symbols(elf, visit, image, err);
    if (st == WF_OK) {
        sort(&image->functions, by_start);
        sort(&image->variables, by_name);
    }
    return st;
}

bool em_image_variable(const struct em_image *image,
                       const char *name,
                       uint64_t *ret_address,
                       uint64_t *ret_bytes)
{
    struct em_symbol key = { .name = name };
    const struct em_symbol *found = NULL;
    if (image->variables.count > 0) {
        found = bsearch(&key, image->variables.item, image->variables.count,
                        sizeof(key), by_name);
    }
    if (found == NULL) {
        return false;
    }
    *ret_address = image->base + found->start;
    *ret_bytes = found->bytes;
    return true;
}

const char *em_image_symbol(const struct em_image *image,
                            uint32_t index,
                            uint32_t *ret_bytes)
{
    const struct em_symbols *f = &image->functions;
    uint64_t address = image->code_begin + 4 * (uint64_t)index;
    size_t low = 0, high = f->count;
    while (low < high) { /* the first one behind the address */
        size_t middle = low + (high - low) / 2;
        if (f->item[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || address >= image->code_end) {
        return NULL;
    }
    const struct em_symbol *s = &f->item[low - 1];
    if (s->bytes != 0 && address - s->start >= s->bytes) {
        return NULL;
    }
    *ret_bytes = (uint32_t)(address - s->start);
    return s->name;
}
