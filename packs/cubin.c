/* Parameters of the kernels of a cubin, from their ".nv.info.<kernel>" sections.
 *
 * Such a section is a list of attributes: format, attribute, then two bytes of value,
 * or (format 4) a 16-bit length and that many bytes. Attribute 0x17 describes one
 * parameter: index, ordinal (16 bits), offset (16 bits), and its size in the upper 14
 * bits of a word. NVIDIA documents none of this: a section that reads oddly is left
 * out, not refused. */
#include "packs/code_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT_SIZED        4
#define ATTRIBUTE_PARAMETER 0x17
#define PARAMETER_BYTES     12
#define MAX_PARAMETERS      1024

struct attributes {
    const uint8_t *p, *end;
};

struct attribute {
    uint8_t kind;
    const uint8_t *data;
    size_t bytes;
};

static uint32_t little(const uint8_t *p, size_t n)
{
    uint32_t v = 0;
    for (size_t i = 0; i < n; i++) {
        v |= (uint32_t)p[i] << (8 * i);
    }
    return v;
}

/* False at the end and at an attribute that is cut off. */
static bool next_attribute(struct attributes *a, struct attribute *ret)
{
    if (a->end - a->p < 4) {
        return false;
    }
    bool sized = a->p[0] == FORMAT_SIZED;
    size_t bytes = sized ? little(a->p + 2, 2) : 0;
    *ret = (struct attribute){ .kind = a->p[1], .data = a->p + 4, .bytes = bytes };
    if ((size_t)(a->end - a->p) - 4 < bytes) {
        return false;
    }
    a->p += 4 + bytes;
    return true;
}

static bool is_parameter(const struct attribute *a)
{
    return a->kind == ATTRIBUTE_PARAMETER && a->bytes == PARAMETER_BYTES;
}

/* Ordinals are dense from 0; `seen` catches a hole or one that is there twice. */
static bool fill(struct attributes a, size_t count, struct wf_code_arg *arg, bool *seen)
{
    struct attribute x;
    while (next_attribute(&a, &x)) {
        if (!is_parameter(&x)) {
            continue;
        }
        uint32_t ordinal = little(x.data + 4, 2);
        if (ordinal >= count || seen[ordinal]) {
            return false;
        }
        seen[ordinal] = true;
        arg[ordinal] = (struct wf_code_arg){ .offset = little(x.data + 6, 2),
                                             .bytes = little(x.data + 8, 4) >> 18 };
    }
    return true;
}

static enum wf_status read_parameters(struct wf_code_object *c,
                                      struct wf_code_kernel *k,
                                      struct attributes a,
                                      struct wf_error *err)
{
    bool seen[MAX_PARAMETERS] = { false };
    struct attributes all = a;
    struct attribute x;
    size_t count = 0;
    while (next_attribute(&a, &x)) {
        count += is_parameter(&x);
    }
    if (count > MAX_PARAMETERS || a.p != a.end) {
        return WF_OK;
    }
    struct wf_code_arg *arg = arena_calloc(&c->arena, count, sizeof *arg);
    if (arg == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for its parameters", c->source);
    }
    k->has_layout = fill(all, count, arg, seen);
    if (k->has_layout) {
        k->arg = arg;
        k->arg_count = count;
    }
    return WF_OK;
}

enum wf_status code_read_cubin_parameters(struct wf_code_object *c,
                                          const struct elf *e,
                                          struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < c->count; i++) {
        const uint8_t *data = NULL;
        size_t bytes = 0;
        char *name = wf_asprintf(".nv.info.%s", c->kernel[i].name);
        if (name == NULL) {
            return wf_errorf(err, WF_ENOMEM, "%s: no memory", c->source);
        }
        enum wf_status found = elf_section(e, name, &data, &bytes, NULL);
        free(name);
        if (found == WF_OK) {
            struct attributes a = { .p = data, .end = data + bytes };
            st = read_parameters(c, &c->kernel[i], a, err);
        }
    }
    return st;
}
