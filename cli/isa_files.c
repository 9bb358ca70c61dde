#include "cli/isa_files.h"

#include "core/buf.h"
#include "core/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum wf_status add(struct wf_isa_files *f, char *path, struct wf_error *err)
{
    for (size_t i = 0; path != NULL && i < f->count; i++) {
        if (strcmp(f->path[i], path) == 0) {
            free(path);
            return WF_OK;
        }
    }
    char **grown =
        path != NULL ? wf_realloc_array(f->path, f->count + 1, sizeof(*f->path)) : NULL;
    if (grown == NULL) {
        free(path);
        return wf_errorf(err, WF_ENOMEM, "no memory for the names of files");
    }
    f->path = grown;
    f->path[f->count++] = path;
    return WF_OK;
}

bool wf_isa_is_gfx942(const struct wf_pack_kernel *k)
{
    if (k->kind != WF_KERNEL_CODE_OBJECT) {
        return false;
    }
    for (size_t i = 0; i < k->arch_count; i++) {
        size_t n = strcspn(k->arch[i], ":");
        if (n == strlen("gfx942") && strncmp(k->arch[i], "gfx942", n) == 0) {
            return true;
        }
    }
    return false;
}

static enum wf_status add_pack(const char *folder,
                               struct wf_isa_files *f,
                               struct wf_error *err)
{
    struct wf_pack *pack = NULL;
    enum wf_status st = wf_pack_open(folder, &pack, err);
    for (size_t i = 0; st == WF_OK && i < wf_pack_kernel_count(pack); i++) {
        const struct wf_pack_kernel *k = wf_pack_kernel_at(pack, i);
        for (size_t c = 0; wf_isa_is_gfx942(k) && st == WF_OK && c < k->code_count;
             c++) {
            st = add(f, wf_path_join(folder, k->code[c].file), err);
        }
    }
    wf_pack_free(pack);
    if (st == WF_OK && f->count == 0) {
        st = wf_errorf(err, WF_ENOTFOUND, "%s: the pack has no gfx942 code", folder);
    }
    return st;
}

enum wf_status wf_isa_files_of(const char *what,
                               struct wf_isa_files *ret,
                               struct wf_error *err)
{
    struct stat s;
    struct wf_isa_files f = { .path = NULL };
    bool folder = stat(what, &s) == 0 && S_ISDIR(s.st_mode);
    enum wf_status st =
        folder ? add_pack(what, &f, err) : add(&f, wf_strdup(what), err);
    if (st == WF_OK) {
        *ret = f;
    } else {
        wf_isa_files_free(&f);
    }
    return st;
}

void wf_isa_files_free(struct wf_isa_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->path[i]);
    }
    free(f->path);
    *f = (struct wf_isa_files){ .path = NULL };
}
