/* Loads and runs code objects for tests. */
#include "program.h"

#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

static uint8_t *read_file(const char *path, size_t *ret_bytes)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        give_up(path, "cannot be read");
        exit(1);
    }
    long n = ftell(f);
    rewind(f);
    uint8_t *data = wf_calloc(n > 0 ? (size_t)n : 1, 1);
    if (!data || n <= 0 || fread(data, 1, (size_t)n, f) != (size_t)n) {
        give_up(path, "cannot be read");
    }
    (void)fclose(f);
    *ret_bytes = (size_t)n;
    return data;
}

struct program program_open(const char *path)
{
    struct program p = { 0 };
    struct wf_error err = { .text = "" };
    if (em_space_create(&p.space, &err) != WF_OK) {
        give_up(path, err.text);
    }
    size_t bytes;
    uint8_t *data = read_file(path, &bytes);
    if (em_image_load(p.space, 0, data, bytes, path, &p.image, &err) != WF_OK) {
        give_up(path, err.text);
    }
    free(data);
    return p;
}

void program_close(struct program *p)
{
    em_image_destroy(p->image);
    em_space_destroy(p->space);
}

uint64_t program_buffer(struct program *p, uint64_t bytes)
{
    uint64_t address = 0;
    struct wf_error err = { .text = "" };
    if (em_space_alloc(p->space, 0, EM_MEMORY_DEVICE, bytes, &address, &err) != WF_OK) {
        give_up("buffer", err.text);
    }
    return address;
}

void *program_host(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static uint32_t or_one(uint32_t n)
{
    return n ? n : 1;
}

enum wf_status program_try(struct program *p,
                           const char *name,
                           const struct program_launch *launch,
                           const void *arguments,
                           size_t argument_bytes,
                           struct em_report *ret,
                           struct wf_error *err)
{
    const struct program_launch *l = launch;
    struct em_launch full = {
        .space = p->space,
        .image = p->image,
        .kernel = em_image_find(p->image, name),
        .grid = { l->grid, or_one(l->grid_yz[0]), or_one(l->grid_yz[1]) },
        .block = { l->block, or_one(l->block_yz[0]), or_one(l->block_yz[1]) },
        .dynamic_lds_bytes = l->dynamic_lds_bytes,
        .cooperative = l->cooperative,
        .arguments = arguments,
        .argument_bytes = argument_bytes,
        .options = { .check = !l->unchecked,
                     .count = l->count,
                     .exact = l->exact,
                     .threads = l->threads,
                     .budget = l->budget },
    };
    if (!full.kernel) {
        give_up(name, "no such kernel");
    }
    return em_launch_run(&full, ret, err);
}

struct em_report program_run(struct program *p,
                             const char *name,
                             const struct program_launch *launch,
                             const void *arguments,
                             size_t argument_bytes)
{
    struct em_report r = { 0 };
    struct wf_error err = { .text = "" };
    if (program_try(p, name, launch, arguments, argument_bytes, &r, &err) != WF_OK) {
        give_up(name, err.text);
    }
    return r;
}

/* "LDS_RACE at kernel+0x40 (file:12), wave 1, lane 3: ..." */
static void print_fault(const struct program *p, const struct em_fault *f)
{
    uint32_t offset = 0;
    char line[256] = "no line";
    const char *symbol = em_image_symbol(p->image, f->pc, &offset);
    (void)em_image_line(p->image, f->pc, line, sizeof(line));
    (void)fprintf(stderr, "%s at %s+0x%x (%s), workgroup %llu, wave %u, lane %d: %s\n",
                  em_fault_name(f->kind), symbol ? symbol : "?", offset, line,
                  (unsigned long long)f->workgroup_index, f->wave, f->lane, f->text);
}

void program_good(struct program *p,
                  const char *name,
                  const struct program_launch *launch,
                  const void *arguments,
                  size_t argument_bytes)
{
    struct em_report r = program_run(p, name, launch, arguments, argument_bytes);
    if (r.faulted) {
        print_fault(p, &r.fault);
        give_up(name, "the kernel committed a fault");
    }
    em_report_fini(&r);
}

enum em_fault_kind program_fault(struct program *p,
                                 const char *name,
                                 const struct program_launch *launch,
                                 const void *arguments,
                                 size_t argument_bytes)
{
    struct em_report r = program_run(p, name, launch, arguments, argument_bytes);
    enum em_fault_kind kind = r.faulted ? r.fault.kind : EM_FAULT_NONE;
    if (r.faulted) {
        print_fault(p, &r.fault);
    }
    em_report_fini(&r);
    return kind;
}
