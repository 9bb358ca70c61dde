/* A folder of "<sha256>.safetensors" files, and what was loaded from it.
 *
 * A dataset is immutable and stays loaded until the store closes, so pointers handed
 * out stay valid. The list is guarded by a mutex: several threads may resolve at once.
 * A file whose content does not match its name is an error, never used. */
#include "datasets/dataset.h"

#include "core/file.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct wf_dataset_store {
    char *folder;
    const volatile int *cancel;
    pthread_mutex_t lock;
    struct wf_dataset **loaded;
    size_t count;
};

enum wf_status wf_dataset_store_open(const char *folder,
                                     struct wf_dataset_store **ret,
                                     struct wf_error *err)
{
    enum wf_status st = wf_mkdir_parents(folder, err);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "dataset store");
        return st;
    }
    struct wf_dataset_store *store = wf_calloc(1, sizeof *store);
    if (!store) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the dataset store");
    }
    store->folder = wf_strdup(folder);
    if (!store->folder) {
        free(store);
        return wf_errorf(err, WF_ENOMEM, "no memory for the dataset store");
    }
    (void)pthread_mutex_init(&store->lock, NULL);
    *ret = store;
    return WF_OK;
}

void wf_dataset_store_close(struct wf_dataset_store *store)
{
    if (!store) {
        return;
    }
    for (size_t i = 0; i < store->count; i++) {
        wf_dataset_free(store->loaded[i]);
    }
    (void)pthread_mutex_destroy(&store->lock);
    free(store->loaded);
    free(store->folder);
    free(store);
}

void wf_dataset_store_set_cancel(struct wf_dataset_store *store,
                                 const volatile int *cancel)
{
    store->cancel = cancel;
}

const volatile int *wf_dataset_store_cancel(const struct wf_dataset_store *store)
{
    return store->cancel;
}

static char *file_path(const struct wf_dataset_store *store, const char *sha256)
{
    return wf_asprintf("%s/%s.safetensors", store->folder, sha256);
}

static const struct wf_dataset *find_loaded(const struct wf_dataset_store *store,
                                            const char *sha256)
{
    for (size_t i = 0; i < store->count; i++) {
        if (strcmp(wf_dataset_sha256(store->loaded[i]), sha256) == 0) {
            return store->loaded[i];
        }
    }
    return NULL;
}

static enum wf_status keep(struct wf_dataset_store *store,
                           struct wf_dataset *ds,
                           struct wf_error *err)
{
    struct wf_dataset **grown =
        wf_realloc_array(store->loaded, store->count + 1, sizeof(struct wf_dataset *));
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the dataset store");
    }
    store->loaded = grown;
    store->loaded[store->count++] = ds;
    return WF_OK;
}

static enum wf_status load_file(const char *path,
                                const char *sha256,
                                struct wf_dataset **ret,
                                struct wf_error *err)
{
    struct wf_dataset *ds = NULL;
    enum wf_status st = wf_dataset_read_file(path, &ds, err);
    if (st == WF_ENOTFOUND) {
        return wf_errorf(err, WF_ENOTFOUND,
                         "dataset %s is not in the store (no %s): make it, or run its "
                         "suite once",
                         sha256, path);
    }
    if (st != WF_OK) {
        return st;
    }
    if (strcmp(wf_dataset_sha256(ds), sha256) != 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "%s: the content has SHA-256 %s, not that of its name: remove "
                       "the file",
                       path, wf_dataset_sha256(ds));
        wf_dataset_free(ds);
        return st;
    }
    *ret = ds;
    return WF_OK;
}

static enum wf_status find_or_load(struct wf_dataset_store *store,
                                   const char *sha256,
                                   const struct wf_dataset **ret,
                                   struct wf_error *err)
{
    struct wf_dataset *ds = NULL;
    const struct wf_dataset *known = find_loaded(store, sha256);
    if (known) {
        *ret = known;
        return WF_OK;
    }
    char *path = file_path(store, sha256);
    enum wf_status st = path ? load_file(path, sha256, &ds, err)
                             : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    free(path);
    if (st == WF_OK) {
        st = keep(store, ds, err);
    }
    if (st != WF_OK) {
        wf_dataset_free(ds);
        return st;
    }
    *ret = ds;
    return WF_OK;
}

static enum wf_status resolve(void *ctx,
                              const char *sha256,
                              const struct wf_dataset **ret,
                              struct wf_error *err)
{
    struct wf_dataset_store *store = ctx;
    if (!wf_sha256_is_hex(sha256)) {
        return wf_errorf(err, WF_EINVAL,
                         "\"%.80s\" is not a SHA-256 (64 lower-case hex digits)",
                         sha256);
    }
    (void)pthread_mutex_lock(&store->lock);
    enum wf_status st = find_or_load(store, sha256, ret, err);
    (void)pthread_mutex_unlock(&store->lock);
    return st;
}

struct wf_dataset_resolver wf_dataset_store_resolver(struct wf_dataset_store *store)
{
    return (struct wf_dataset_resolver){ .find = resolve, .ctx = store };
}

enum wf_status wf_dataset_store_add(struct wf_dataset_store *store,
                                    const void *bytes,
                                    size_t n,
                                    char ret_sha256[WF_SHA256_HEX],
                                    struct wf_error *err)
{
    /* Parsing first keeps what cannot be read out of the store. */
    struct wf_dataset *ds = NULL;
    char *path = NULL;
    enum wf_status st = wf_dataset_parse(bytes, n, "new dataset", &ds, err);
    if (st != WF_OK) {
        goto out;
    }
    path = file_path(store, wf_dataset_sha256(ds));
    if (!path) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for a path");
        goto out;
    }
    st = wf_file_write_atomic(path, bytes, n, err);
    if (st != WF_OK) {
        goto out;
    }
    memcpy(ret_sha256, wf_dataset_sha256(ds), WF_SHA256_HEX);
out:
    free(path);
    wf_dataset_free(ds);
    return st;
}
