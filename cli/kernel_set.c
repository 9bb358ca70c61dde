#include "cli/kernel_set.h"

#include "cli/paths.h"
#include "core/buf.h"
#include "core/file.h"
#include "core/parse.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum wf_status add_pack(struct wf_kernel_set *set,
                               const char *folder,
                               struct wf_error *err)
{
    struct wf_pack *pack = NULL;
    struct wf_pack **grown =
        wf_realloc_array(set->pack, set->pack_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for packs");
    }
    set->pack = grown;
    enum wf_status status = wf_pack_open(folder, &pack, err);
    if (status == WF_OK) {
        set->pack[set->pack_count++] = pack;
    }
    return status;
}

static int is_pack(const char *parent, const struct dirent *e)
{
    int yes = 0;
    char *manifest = wf_asprintf("%s/%s/pack.json", parent, e->d_name);
    if (manifest != NULL && e->d_name[0] != '.') {
        yes = wf_file_exists(manifest);
    }
    free(manifest);
    return yes;
}

static enum wf_status add_folder_of_packs(struct wf_kernel_set *set,
                                          struct wf_error *err)
{
    struct dirent **entry = NULL;
    char *parent = NULL;
    enum wf_status status = wf_packs_folder(&parent, err);
    if (status != WF_OK) {
        return status;
    }
    int n = scandir(parent, &entry, NULL, alphasort);
    if (n < 0) {
        status = wf_error_errno(err, errno,
                                "packs folder %s (set WAVEFARM_PACKS or "
                                "name packs with --pack)",
                                parent);
    }
    for (int i = 0; i < n; i++) {
        if (status == WF_OK && is_pack(parent, entry[i])) {
            char *folder = wf_path_join(parent, entry[i]->d_name);
            status = folder == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                                    : add_pack(set, folder, err);
            free(folder);
        }
        free(entry[i]);
    }
    free(entry);
    free(parent);
    return status;
}

/* The probes measure the measuring: `selftest timing` and the proof of cold take them
 * from their packs. Among the kernels of users they would only be in the way. */
static bool is_probe(const struct wf_pack_kernel *k)
{
    return strcmp(k->op, "probe") == 0;
}

static bool matches(const char *glob,
                    const struct wf_pack *p,
                    const struct wf_pack_kernel *k)
{
    char full[256];
    snprintf(full, sizeof(full), "%s/%s", wf_pack_name(p), k->name);
    return glob == NULL || wf_glob_match(glob, k->name) || wf_glob_match(glob, full);
}

static size_t kernel_total(const struct wf_kernel_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < set->pack_count; i++) {
        n += wf_pack_kernel_count(set->pack[i]);
    }
    return n;
}

static enum wf_status choose(struct wf_kernel_set *set,
                             const char *glob,
                             bool probes,
                             struct wf_error *err)
{
    struct wf_buf known = WF_BUF_INIT;
    size_t total = kernel_total(set);
    set->choice = wf_calloc(total + 1, sizeof(*set->choice));
    if (set->choice == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for kernels");
    }
    for (size_t i = 0; i < set->pack_count; i++) {
        const struct wf_pack *p = set->pack[i];
        for (size_t k = 0; k < wf_pack_kernel_count(p); k++) {
            const struct wf_pack_kernel *kernel = wf_pack_kernel_at(p, k);
            if (!probes && is_probe(kernel)) {
                continue;
            }
            if (matches(glob, p, kernel)) {
                set->choice[set->count++] = (struct wf_kernel_choice){ p, kernel };
            }
            (void)wf_buf_printf(&known, NULL, " %s", kernel->name);
        }
    }
    enum wf_status status = WF_OK;
    if (total == 0) {
        status =
            wf_errorf(err, WF_ENOTFOUND,
                      "there are no packs: set WAVEFARM_PACKS to their folder or name "
                      "packs with --pack");
    } else if (set->count == 0) {
        status =
            wf_errorf(err, WF_ENOTFOUND, "no kernel matches '%s'; there are:%.500s",
                      glob != NULL ? glob : "*", wf_buf_cstr(&known));
    }
    wf_buf_free(&known);
    return status;
}

enum wf_status wf_kernel_set_open(const char *const *folders,
                                  size_t folder_count,
                                  const char *glob,
                                  struct wf_kernel_set *ret,
                                  struct wf_error *err)
{
    struct wf_kernel_set set = { 0 };
    enum wf_status status = WF_OK;
    for (size_t i = 0; i < folder_count && status == WF_OK; i++) {
        status = add_pack(&set, folders[i], err);
    }
    if (folder_count == 0) {
        status = add_folder_of_packs(&set, err);
    }
    if (status == WF_OK) {
        status = choose(&set, glob, folder_count > 0, err);
    }
    if (status != WF_OK) {
        wf_kernel_set_close(&set);
        return status;
    }
    *ret = set;
    return WF_OK;
}

void wf_kernel_set_close(struct wf_kernel_set *set)
{
    for (size_t i = 0; i < set->pack_count; i++) {
        wf_pack_free(set->pack[i]);
    }
    free(set->pack);
    free(set->choice);
    memset(set, 0, sizeof(*set));
}

bool wf_kernel_fits_arch(const struct wf_pack_kernel *k, const char *arch)
{
    size_t len = strcspn(arch, ":");
    for (size_t i = 0; i < k->arch_count; i++) {
        if (strlen(k->arch[i]) == len && strncmp(k->arch[i], arch, len) == 0) {
            return true;
        }
    }
    return false;
}

enum wf_status wf_pack_provenance_path(const struct wf_pack *pack,
                                       char **ret,
                                       struct wf_error *err)
{
    char *path = wf_asprintf("%s/provenance.json", wf_pack_folder(pack));
    *ret = NULL;
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    if (!wf_file_exists(path)) {
        free(path);
        path = NULL;
    }
    *ret = path;
    return WF_OK;
}
