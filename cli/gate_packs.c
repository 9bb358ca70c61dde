#include "cli/gate_packs.h"

#include "cli/kernel_set.h"
#include "core/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder of our own in the cache: a pack's files may be large, and programs in it
 * must be allowed to run, which /tmp often forbids. */
static enum wf_status own_folder(char **ret, struct wf_error *err)
{
    char *cache = NULL;
    enum wf_status status = wf_cache_dir(&cache, err);
    if (status != WF_OK) {
        return status;
    }
    char *path = wf_asprintf("%s/gate-pack-XXXXXX", cache);
    if (path == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for a path");
    } else if (mkdtemp(path) == NULL) {
        status = wf_error_errno(err, errno, "cannot make a folder in %s", cache);
        free(path);
    } else {
        *ret = path;
    }
    free(cache);
    return status;
}

static enum wf_status unpack(const char *archive,
                             struct gate_pack *ret,
                             char **ret_folder,
                             struct wf_error *err)
{
    enum wf_status status = own_folder(&ret->unpacked, err);
    if (status != WF_OK) {
        return status;
    }
    *ret_folder = wf_path_join(ret->unpacked, "pack");
    if (*ret_folder == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    return wf_pack_unarchive(archive, *ret_folder, NULL, err);
}

static enum wf_status read_provenance(struct gate_pack *p, struct wf_error *err)
{
    enum wf_status status = wf_pack_provenance_path(p->pack, &p->provenance_file, err);
    if (status == WF_OK && p->provenance_file != NULL) {
        status = wf_provenance_read(p->provenance_file, wf_pack_id(p->pack),
                                    &p->provenance, err);
    }
    return status;
}

enum wf_status gate_pack_open(const char *path,
                              const char *what,
                              struct gate_pack *ret,
                              struct wf_error *err)
{
    struct stat st;
    char *folder = NULL;
    enum wf_status status = WF_OK;
    memset(ret, 0, sizeof(*ret));
    if (stat(path, &st) != 0) {
        return wf_error_errno(err, errno, "%s %s", what, path);
    }
    if (S_ISREG(st.st_mode)) {
        status = unpack(path, ret, &folder, err);
    }
    if (status == WF_OK) {
        status = wf_pack_open(folder != NULL ? folder : path, &ret->pack, err);
    }
    if (status == WF_OK) {
        status = read_provenance(ret, err);
    }
    free(folder);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "%s", what);
}

void gate_pack_close(struct gate_pack *p)
{
    wf_pack_free(p->pack);
    wf_json_free(p->provenance);
    free(p->provenance_file);
    if (p->unpacked != NULL) {
        (void)wf_remove_tree(p->unpacked, NULL);
        free(p->unpacked);
    }
    memset(p, 0, sizeof(*p));
}
