/* Downloads go to a private temporary name, are checked against their hash, and only
 * then get their final name: the cache never holds a file that is not what it says. */
#include "runner/agent_fetch.h"

#include "core/buf.h"
#include "core/file.h"
#include "core/sha256.h"
#include "packs/pack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Downloads blob `sha256` to a new file under <cache>/tmp; caller frees and unlinks. */
static enum wf_status fetch_checked(struct wf_farm_client *client,
                                    const char *cache,
                                    const char *sha256,
                                    char **ret_file,
                                    struct wf_error *err)
{
    char id[37];
    char found[WF_SHA256_HEX];
    char *folder = wf_path_join(cache, "tmp");
    char *file = NULL;
    enum wf_status status = wf_uuid(id, err);
    if (status == WF_OK) {
        file = wf_asprintf("%s/tmp/%s", cache, id);
        status = folder == NULL || file == NULL
                     ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                     : wf_mkdir_parents(folder, err);
    }
    if (status == WF_OK) {
        status = wf_farm_blob(client, sha256, file, err);
    }
    if (status == WF_OK) {
        status = wf_sha256_file(file, found, err);
    }
    if (status == WF_OK && strcmp(found, sha256) != 0) {
        status = wf_errorf(err, WF_EIO,
                           "blob %s arrived with hash %s: storage or transfer is "
                           "damaged",
                           sha256, found);
    }
    free(folder);
    if (status != WF_OK) {
        if (file != NULL) {
            (void)unlink(file);
        }
        free(file);
        return status;
    }
    *ret_file = file;
    return WF_OK;
}

static enum wf_status unpack(struct wf_farm_client *client,
                             const char *cache,
                             const char *pack_id,
                             const char *archive,
                             const char *folder,
                             struct wf_error *err)
{
    char *file = NULL;
    char *parent = wf_path_join(cache, "packs");
    enum wf_status status = parent == NULL
                                ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                                : wf_mkdir_parents(parent, err);
    free(parent);
    if (status == WF_OK) {
        status = fetch_checked(client, cache, archive, &file, err);
    }
    if (status != WF_OK) {
        return status;
    }
    status = wf_pack_unarchive(file, folder, pack_id, err);
    (void)unlink(file);
    free(file);
    return status;
}

enum wf_status wf_fetch_pack(struct wf_farm_client *client,
                             const char *cache,
                             const char *pack_id,
                             const char *archive,
                             char **ret_folder,
                             struct wf_error *err)
{
    enum wf_status status = WF_OK;
    char *folder = wf_asprintf("%s/packs/%s", cache, pack_id);
    char *manifest = wf_asprintf("%s/packs/%s/pack.json", cache, pack_id);
    if (folder == NULL || manifest == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for a path");
    } else if (!wf_file_exists(manifest)) {
        status = unpack(client, cache, pack_id, archive, folder, err);
        if (status != WF_OK && wf_file_exists(manifest)) {
            status = WF_OK; /* another agent was faster */
        }
    }
    free(manifest);
    if (status != WF_OK) {
        free(folder);
        return wf_error_prefix(err, "pack %.12s", pack_id);
    }
    *ret_folder = folder;
    return WF_OK;
}

enum wf_status wf_fetch_dataset(struct wf_farm_client *client,
                                const char *cache,
                                const char *sha256,
                                struct wf_error *err)
{
    char *file = NULL;
    enum wf_status status = WF_OK;
    char *folder = wf_path_join(cache, "datasets");
    char *final = wf_asprintf("%s/datasets/%s.safetensors", cache, sha256);
    if (folder == NULL || final == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for a path");
    } else {
        status = wf_mkdir_parents(folder, err);
    }
    if (status == WF_OK && !wf_file_exists(final)) {
        status = fetch_checked(client, cache, sha256, &file, err);
        if (status == WF_OK && rename(file, final) != 0) {
            status = wf_error_errno(err, errno, "cannot rename to %s", final);
            (void)unlink(file);
        }
    }
    free(file);
    free(final);
    free(folder);
    return status == WF_OK ? WF_OK : wf_error_prefix(err, "dataset %.12s", sha256);
}
