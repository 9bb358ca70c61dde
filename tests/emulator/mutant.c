/* Takes instructions out of code objects. */
#include "mutant.h"

#include "core/buf.h"
#include "emulator/exec/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOP UINT32_C(0xbf800000)

static void give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    abort();
}

struct mutants mutants_open(const char *path)
{
    struct mutants m = { .path = path, .whole = program_open(path) };
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0) {
        give_up(path, "cannot be read");
        exit(1);
    }
    m.bytes = (size_t)ftell(f);
    rewind(f);
    m.file = wf_calloc(m.bytes, 1);
    if (!m.file || fread(m.file, 1, m.bytes, f) != m.bytes) {
        give_up(path, "cannot be read");
    }
    (void)fclose(f);
    const struct em_code *code = em_image_code(m.whole.image);
    const void *words = program_host(em_code_address(code, 0));
    const uint8_t *text = memmem(m.file, m.bytes, words, em_code_count(code) * 4);
    if (!text) {
        give_up(path, "its code is not in the file as it is in memory");
    }
    m.text = (size_t)(text - m.file);
    return m;
}

void mutants_close(struct mutants *m)
{
    program_close(&m->whole);
    free(m->file);
}

bool mutants_find(const struct mutants *m,
                  const char *kernel,
                  enum em_opcode op,
                  unsigned n,
                  uint32_t *ret_index)
{
    const struct em_code *code = em_image_code(m->whole.image);
    const struct em_kernel *k = em_image_find(m->whole.image, kernel);
    for (uint32_t i = k ? k->entry : UINT32_MAX; i < em_code_count(code);
         i = em_code_at(code, i)->next) {
        uint32_t offset;
        const char *symbol = em_image_symbol(m->whole.image, i, &offset);
        if (!symbol || strcmp(symbol, kernel) != 0) {
            return false;
        }
        if (em_code_at(code, i)->in.op == op && n-- == 0) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

struct program mutants_without(const struct mutants *m, uint32_t index)
{
    struct program p = { 0 };
    struct wf_error err = { .text = "" };
    uint32_t nop = NOP;
    uint8_t *copy = wf_calloc(m->bytes, 1);
    if (!copy) {
        give_up(m->path, "no memory");
        exit(1);
    }
    memcpy(copy, m->file, m->bytes);
    memcpy(copy + m->text + (size_t)index * 4, &nop, sizeof(nop));
    if (em_space_create(&p.space, &err) != WF_OK ||
        em_image_load(p.space, 0, copy, m->bytes, m->path, &p.image, &err) != WF_OK) {
        give_up(m->path, err.text);
    }
    free(copy);
    return p;
}
