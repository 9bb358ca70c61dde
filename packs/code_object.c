/* What a code object says about itself.
 *
 * The kind is told from the first bytes. Kernels of AMDGPU are the "<name>.kd" objects
 * of the symbol table, of a cubin the functions that carry the entry mark, of PTX the
 * `.entry` directives. The metadata note of AMDGPU is amdgpu_metadata.c. */
#include "packs/code_object.h"

#include "core/buf.h"
#include "core/file.h"
#include "packs/code_internal.h"
#include "packs/elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_ENTRY 0x10 /* of a symbol's `other` */
#define MAX_NAME   4096

static const struct {
    uint32_t value;
    const char *name;
} amdgpu_machs[] = {
#define AMDGPU_MACH(value, name) { value, name },
#include "packs/amdgpu_mach.def"
#undef AMDGPU_MACH
};

static enum wf_status no_memory(const char *source, struct wf_error *err)
{
    return wf_errorf(err, WF_ENOMEM, "%s: no memory for its symbols", source);
}

enum wf_status code_add_kernel(struct wf_code_object *c,
                               const char *name,
                               size_t len,
                               struct wf_error *err)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strncmp(c->kernel[i].name, name, len) == 0 &&
            c->kernel[i].name[len] == '\0') {
            return WF_OK;
        }
    }
    if (c->count == CODE_MAX_KERNELS || len > MAX_NAME) {
        return wf_errorf(err, WF_EPARSE,
                         "%s: more than %d symbols, or a name of more "
                         "than %d characters",
                         c->source, CODE_MAX_KERNELS, MAX_NAME);
    }
    if (c->count == c->cap) {
        size_t cap = c->cap == 0 ? 16 : 2 * c->cap;
        struct wf_code_kernel *grown = wf_realloc_array(c->kernel, cap, sizeof *grown);
        if (grown == NULL) {
            return no_memory(c->source, err);
        }
        c->kernel = grown;
        c->cap = cap;
    }
    char *copy = arena_calloc(&c->arena, len + 1, 1);
    if (copy == NULL) {
        return no_memory(c->source, err);
    }
    memcpy(copy, name, len);
    c->kernel[c->count++] = (struct wf_code_kernel){ .name = copy };
    return WF_OK;
}

struct wf_code_kernel *code_find(struct wf_code_object *c, const char *name, size_t len)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strncmp(c->kernel[i].name, name, len) == 0 &&
            c->kernel[i].name[len] == '\0') {
            return &c->kernel[i];
        }
    }
    return NULL;
}

static enum wf_status visit_amdgpu(void *ctx,
                                   const struct elf_symbol *s,
                                   struct wf_error *err)
{
    size_t n = strlen(s->name);
    if (s->section == 0 || s->type != 1 || n < 4 ||
        strcmp(s->name + n - 3, ".kd") != 0) {
        return WF_OK;
    }
    return code_add_kernel(ctx, s->name, n - 3, err);
}

static enum wf_status visit_cubin(void *ctx,
                                  const struct elf_symbol *s,
                                  struct wf_error *err)
{
    if (s->section == 0 || s->type != 2 || (s->other & CUDA_ENTRY) == 0) {
        return WF_OK;
    }
    return code_add_kernel(ctx, s->name, strlen(s->name), err);
}

/* Only names that can matter here are kept: libraries export tens of thousands. */
static enum wf_status visit_shared(void *ctx,
                                   const struct elf_symbol *s,
                                   struct wf_error *err)
{
    bool exported = s->section != 0 && (s->binding == 1 || s->binding == 2) &&
                    s->type == 2 && (s->other & 3) != 1 && (s->other & 3) != 2;
    bool ours = strncmp(s->name, "wf_", 3) == 0;
    return exported && ours ? code_add_kernel(ctx, s->name, strlen(s->name), err)
                            : WF_OK;
}

static enum wf_status read_amdgpu(struct wf_code_object *c,
                                  const struct elf *e,
                                  struct wf_error *err)
{
    c->kind = WF_CODE_AMDGPU;
    for (size_t i = 0; i < sizeof amdgpu_machs / sizeof amdgpu_machs[0]; i++) {
        if (amdgpu_machs[i].value == (e->flags & 0xff)) {
            (void)snprintf(c->arch, sizeof c->arch, "%s", amdgpu_machs[i].name);
        }
    }
    if (c->arch[0] == '\0') {
        return wf_errorf(err, WF_EPARSE,
                         "%s: AMDGPU code object for an unknown "
                         "processor (0x%02x)",
                         c->source, e->flags & 0xff);
    }
    enum wf_status st = elf_symbols(e, visit_amdgpu, c, err);
    return st != WF_OK ? st : code_read_amdgpu_metadata(c, e, err);
}

/* ABI version 8 (CUDA 13) keeps the architecture in bits 8 to 15, earlier ones in the
 * lowest byte. */
static enum wf_status read_cubin(struct wf_code_object *c,
                                 const struct elf *e,
                                 struct wf_error *err)
{
    c->kind = WF_CODE_CUBIN;
    unsigned sm = e->abi_version >= 8 ? (e->flags >> 8) & 0xff : e->flags & 0xff;
    (void)snprintf(c->arch, sizeof c->arch, "sm_%u", sm);
    enum wf_status st = elf_symbols(e, visit_cubin, c, err);
    return st != WF_OK ? st : code_read_cubin_parameters(c, e, err);
}

static enum wf_status read_shared(struct wf_code_object *c,
                                  const struct elf *e,
                                  struct wf_error *err)
{
    c->kind = WF_CODE_SHARED;
    if (e->type != ELF_TYPE_DYN) {
        return wf_errorf(err, WF_EPARSE, "%s: not a shared object (ELF type %u)",
                         c->source, e->type);
    }
    const char *arch = e->machine == ELF_X86_64 ? "x86-64" : "aarch64";
    memcpy(c->arch, arch, strlen(arch) + 1);
    return elf_symbols(e, visit_shared, c, err);
}

static enum wf_status read_elf(struct wf_code_object *c,
                               const void *data,
                               size_t bytes,
                               struct wf_error *err)
{
    struct elf e;
    enum wf_status st = elf_open(data, bytes, c->source, &e, err);
    if (st != WF_OK) {
        return st;
    }
    if (e.machine == ELF_AMDGPU) {
        return read_amdgpu(c, &e, err);
    }
    if (e.machine == ELF_CUDA) {
        return read_cubin(c, &e, err);
    }
    if (e.machine == ELF_X86_64 || e.machine == ELF_AARCH64) {
        return read_shared(c, &e, err);
    }
    return wf_errorf(err, WF_EPARSE,
                     "%s: ELF file for machine %u, which is neither "
                     "AMDGPU, CUDA, x86-64 nor aarch64",
                     c->source, e.machine);
}

static bool starts_with(const void *data, size_t bytes, const char *prefix, size_t n)
{
    return bytes >= n && memcmp(data, prefix, n) == 0;
}

static enum wf_status read_any(struct wf_code_object *c,
                               const void *data,
                               size_t bytes,
                               struct wf_error *err)
{
    if (elf_is_elf(data, bytes)) {
        return read_elf(c, data, bytes, err);
    }
    if (starts_with(data, bytes, "__CLANG_OFFLOAD_BUNDLE__", 24) ||
        starts_with(data, bytes, "CCOB", 4)) {
        return wf_errorf(err, WF_EPARSE,
                         "%s: an offload bundle; compile with "
                         "--no-gpu-bundle-output or unbundle it with "
                         "clang-offload-bundler",
                         c->source);
    }
    if (starts_with(data, bytes, "\x50\xed\x55\xba", 4)) {
        return wf_errorf(err, WF_EPARSE,
                         "%s: a CUDA fat binary; extract the cubin with "
                         "cuobjdump --extract-elf",
                         c->source);
    }
    return code_read_ptx(c, data, bytes, err);
}

enum wf_status wf_code_object_parse(const void *data,
                                    size_t bytes,
                                    const char *source,
                                    struct wf_code_object **ret,
                                    struct wf_error *err)
{
    struct wf_code_object *c = wf_calloc(1, sizeof *c);
    if (c == NULL) {
        return no_memory(source, err);
    }
    c->source = source;
    enum wf_status st = read_any(c, data, bytes, err);
    c->source = NULL; /* borrowed for the call only */
    if (st != WF_OK) {
        wf_code_object_free(c);
        return st;
    }
    *ret = c;
    return WF_OK;
}

enum wf_status wf_code_object_read(const char *path,
                                   struct wf_code_object **ret,
                                   struct wf_error *err)
{
    struct wf_buf b = WF_BUF_INIT;
    enum wf_status st = wf_file_read(path, WF_CODE_MAX_BYTES, &b, err);
    st =
        st != WF_OK ? st : wf_code_object_parse(wf_buf_cstr(&b), b.len, path, ret, err);
    wf_buf_free(&b);
    return st;
}

void wf_code_object_free(struct wf_code_object *c)
{
    if (c != NULL) {
        arena_fini(&c->arena);
        free(c->kernel);
        free(c);
    }
}

enum wf_code_kind wf_code_object_kind(const struct wf_code_object *c)
{
    return c->kind;
}

const char *wf_code_object_arch(const struct wf_code_object *c)
{
    return c->arch;
}

size_t wf_code_object_count(const struct wf_code_object *c)
{
    return c->count;
}

const struct wf_code_kernel *wf_code_object_at(const struct wf_code_object *c, size_t i)
{
    return i < c->count ? &c->kernel[i] : NULL;
}

const struct wf_code_kernel *wf_code_object_find(const struct wf_code_object *c,
                                                 const char *name)
{
    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->kernel[i].name, name) == 0) {
            return &c->kernel[i];
        }
    }
    return NULL;
}

/* "sm_90a": 90 and 'a'; false when it is not of that form. */
static bool parse_sm(const char *arch, unsigned *ret_number, char *ret_suffix)
{
    unsigned n = 0;
    if (strncmp(arch, "sm_", 3) != 0) {
        return false;
    }
    const char *p = arch + 3;
    for (; *p >= '0' && *p <= '9' && n < 10000; p++) {
        n = 10 * n + (unsigned)(*p - '0');
    }
    *ret_number = n;
    *ret_suffix = *p;
    return p != arch + 3 && (*p == '\0' || p[1] == '\0');
}

static bool cuda_runs_on(const struct wf_code_object *c, const char *arch)
{
    unsigned code, device;
    char code_suffix, device_suffix;
    if (!parse_sm(c->arch, &code, &code_suffix) ||
        !parse_sm(arch, &device, &device_suffix)) {
        return false;
    }
    if (code_suffix != '\0') { /* architecture-specific features */
        return code == device;
    }
    bool same_major = code / 10 == device / 10;
    return code <= device && (c->kind == WF_CODE_PTX || same_major);
}

bool wf_code_object_runs_on(const struct wf_code_object *c, const char *arch)
{
    if (strcmp(c->arch, arch) == 0) {
        return true;
    }
    if (c->kind == WF_CODE_CUBIN || c->kind == WF_CODE_PTX) {
        return cuda_runs_on(c, arch);
    }
    return strcmp(c->arch, "gfx9-4-generic") == 0 &&
           (strcmp(arch, "gfx942") == 0 || strcmp(arch, "gfx950") == 0);
}
