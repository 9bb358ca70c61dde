/* Looks a function up in an ELF symbol table. */
#include "packs/code_size.h"

#include "core/file.h"
#include "packs/code_object.h"
#include "packs/elf.h"

#include <string.h>

#define TYPE_FUNCTION 2

struct search {
    const char *function;
    uint64_t bytes;
};

static enum wf_status visit(void *ctx, const struct elf_symbol *s, struct wf_error *err)
{
    struct search *f = ctx;
    (void)err;
    if (s->type == TYPE_FUNCTION && s->bytes > 0 && strcmp(s->name, f->function) == 0) {
        f->bytes = s->bytes;
    }
    return WF_OK;
}

enum wf_status wf_code_function_bytes(const char *path,
                                      const char *function,
                                      uint64_t *ret,
                                      struct wf_error *err)
{
    struct wf_buf image = WF_BUF_INIT;
    struct search f = { function, 0 };
    struct elf e;
    enum wf_status st = wf_file_read(path, WF_CODE_MAX_BYTES, &image, err);
    if (st == WF_OK && !elf_is_elf(image.data, image.len)) {
        st = wf_errorf(err, WF_EUNSUPPORTED,
                       "%s is not machine code: its size is the driver's", path);
    }
    st = st == WF_OK ? elf_open(image.data, image.len, path, &e, err) : st;
    st = st == WF_OK ? elf_symbols(&e, visit, &f, err) : st;
    if (st == WF_OK && f.bytes == 0) {
        st = wf_errorf(err, WF_ENOTFOUND, "%s does not say the size of %.128s", path,
                       function);
    }
    wf_buf_free(&image);
    if (st == WF_OK) {
        *ret = f.bytes;
    }
    return st;
}
