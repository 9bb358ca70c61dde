/* The folder of the kernel cache as a whole: its size, what is thrown away, clearing
 * and verifying.
 *
 * One process at a time evicts; the others leave it to that one. Files that a killed
 * writer left are removed once they are an hour old. */
#include "packs/kernel_cache_internal.h"

#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEFT_S       3600
#define KEEP_PERCENT 90 /* of the limit, so that not every put evicts */

/* --- whose it is --- */

static enum wf_status check_one(const char *path, struct wf_error *err)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        return wf_error_errno(err, errno, "cannot look at %s", path);
    }
    if (st.st_uid != geteuid()) {
        return wf_errorf(err, WF_EREFUSED,
                         "%s belongs to user %ld, not to user %ld who compiles: what "
                         "it holds would be run; use a folder of your own",
                         path, (long)st.st_uid, (long)geteuid());
    }
    if ((st.st_mode & S_IWOTH) != 0) {
        return wf_errorf(err, WF_EREFUSED,
                         "everybody may write into %s (mode %04o): what it holds would "
                         "be run; chmod -R o-w, and clear it if in doubt",
                         path, (unsigned)(st.st_mode & 07777));
    }
    return WF_OK;
}

enum wf_status kernel_cache_check_owner(const char *folder, struct wf_error *err)
{
    static const char *const names[] = { "objects", "locks", "programs" };
    enum wf_status st = check_one(folder, err);
    for (size_t i = 0; st == WF_OK && i < sizeof names / sizeof names[0]; i++) {
        char *path = wf_path_join(folder, names[i]);
        st = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                          : check_one(path, err);
        free(path);
    }
    return st;
}

/* --- what it holds --- */

struct entry {
    char key[WF_SHA256_HEX];
    int64_t bytes;
    struct timespec used;
};

struct entries {
    struct entry *item;
    size_t count, cap;
    int64_t bytes; /* of them all, and of files that are being written */
};

static enum wf_status append(struct entries *list,
                             const struct entry *e,
                             struct wf_error *err)
{
    if (list->count == list->cap) {
        size_t cap = list->cap == 0 ? 256 : 2 * list->cap;
        struct entry *grown = wf_realloc_array(list->item, cap, sizeof *grown);
        if (grown == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory for a list of objects");
        }
        list->item = grown;
        list->cap = cap;
    }
    list->item[list->count++] = *e;
    return WF_OK;
}

/* One file of objects/ab; what is no entry is somebody's unfinished one, or left. */
static enum wf_status look_at(struct entries *list,
                              int folder,
                              const char *prefix,
                              const char *name,
                              struct wf_error *err)
{
    struct stat st;
    struct entry e = { .key = "" };
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) {
        return WF_OK;
    }
    if (strlen(name) == WF_SHA256_HEX - 3) {
        memcpy(e.key, prefix, 2);
        memcpy(e.key + 2, name, WF_SHA256_HEX - 2);
        e.bytes = st.st_size;
        e.used = st.st_mtim;
        list->bytes += st.st_size;
        return wf_sha256_is_hex(e.key) ? append(list, &e, err) : WF_OK;
    }
    if (strstr(name, ".tmp-") != NULL && time(NULL) - st.st_mtime > LEFT_S) {
        (void)unlinkat(folder, name, 0);
    } else {
        list->bytes += st.st_size;
    }
    return WF_OK;
}

static enum wf_status list_folder(struct entries *list,
                                  const char *objects,
                                  const char *prefix,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    char *path = wf_path_join(objects, prefix);
    DIR *dir = path == NULL ? NULL : opendir(path);
    struct dirent *e = dir == NULL ? NULL : readdir(dir);
    for (; st == WF_OK && e != NULL; e = readdir(dir)) {
        st = look_at(list, dirfd(dir), prefix, e->d_name, err);
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    free(path);
    return st;
}

static enum wf_status list_all(const struct wf_kernel_cache *cache,
                               struct entries *list,
                               struct wf_error *err)
{
    enum wf_status st = WF_OK;
    char *objects = wf_path_join(cache->folder, "objects");
    if (objects == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    DIR *dir = opendir(objects);
    if (dir == NULL) {
        st = wf_error_errno(err, errno, "cannot list %s", objects);
        free(objects);
        return st;
    }
    for (struct dirent *e = readdir(dir); st == WF_OK && e != NULL; e = readdir(dir)) {
        if (strlen(e->d_name) == 2 && e->d_name[0] != '.') {
            st = list_folder(list, objects, e->d_name, err);
        }
    }
    (void)closedir(dir);
    free(objects);
    return st;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const struct entry *)a)->used,
                          *y = &((const struct entry *)b)->used;
    if (x->tv_sec != y->tv_sec) {
        return x->tv_sec < y->tv_sec ? -1 : 1;
    }
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static bool remove_entry(const struct wf_kernel_cache *cache, const struct entry *e)
{
    char *path = kernel_cache_path(cache, e->key);
    bool removed = path != NULL && unlink(path) == 0;
    free(path);
    return removed;
}

static void evict(struct wf_kernel_cache *cache, struct entries *list)
{
    int64_t keep = cache->limit_bytes / 100 * KEEP_PERCENT;
    qsort(list->item, list->count, sizeof *list->item, by_use);
    /* The newest is what was put just now. */
    for (size_t i = 0; i + 1 < list->count && list->bytes > keep; i++) {
        if (remove_entry(cache, &list->item[i])) {
            atomic_fetch_add(&cache->evicted, 1);
        }
        list->bytes -= list->item[i].bytes;
    }
}

/* Looks at the folder, and evicts when nobody else does it at this moment. */
static enum wf_status look_and_evict(struct wf_kernel_cache *cache,
                                     struct wf_error *err)
{
    struct entries list = { .count = 0 };
    char *path = wf_path_join(cache->folder, "locks/evict");
    int fd =
        path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    enum wf_status st = list_all(cache, &list, err);
    if (st == WF_OK && list.bytes > cache->limit_bytes && fd >= 0 &&
        flock(fd, LOCK_EX | LOCK_NB) == 0) {
        evict(cache, &list);
    }
    if (st == WF_OK) {
        cache->known_bytes = list.bytes;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    free(path);
    free(list.item);
    return st;
}

enum wf_status kernel_cache_trim(struct wf_kernel_cache *cache,
                                 int64_t bytes,
                                 struct wf_error *err)
{
    enum wf_status st = WF_OK;
    (void)pthread_mutex_lock(&cache->mutex);
    cache->known_bytes += cache->known_bytes < 0 ? 0 : bytes;
    if (cache->known_bytes < 0 || cache->known_bytes > cache->limit_bytes) {
        st = look_and_evict(cache, err);
    }
    (void)pthread_mutex_unlock(&cache->mutex);
    return st;
}

enum wf_status wf_kernel_cache_stats(struct wf_kernel_cache *cache,
                                     struct wf_kernel_cache_stats *ret,
                                     struct wf_error *err)
{
    struct entries list = { .count = 0 };
    enum wf_status st = list_all(cache, &list, err);
    if (st == WF_OK) {
        *ret = (struct wf_kernel_cache_stats){
            .objects = (int64_t)list.count,
            .bytes = list.bytes,
            .limit_bytes = cache->limit_bytes,
            .hits = atomic_load(&cache->hits),
            .misses = atomic_load(&cache->misses),
            .rebuilt = atomic_load(&cache->rebuilt),
            .evicted = atomic_load(&cache->evicted),
        };
    }
    free(list.item);
    return st;
}

enum wf_status wf_kernel_cache_clear(struct wf_kernel_cache *cache,
                                     int64_t *ret_removed,
                                     struct wf_error *err)
{
    struct entries list = { .count = 0 };
    enum wf_status st = list_all(cache, &list, err);
    *ret_removed = 0;
    for (size_t i = 0; st == WF_OK && i < list.count; i++) {
        char *path = kernel_cache_path(cache, list.item[i].key);
        if (path == NULL || (unlink(path) != 0 && errno != ENOENT)) {
            st = wf_error_errno(err, path == NULL ? ENOMEM : errno, "cannot remove %s",
                                path == NULL ? "an object" : path);
        }
        *ret_removed += st == WF_OK;
        free(path);
    }
    free(list.item);
    return st;
}

enum wf_status wf_kernel_cache_verify(struct wf_kernel_cache *cache,
                                      int64_t *ret_good,
                                      int64_t *ret_damaged,
                                      struct wf_error *err)
{
    struct entries list = { .count = 0 };
    enum wf_status st = list_all(cache, &list, err);
    *ret_good = *ret_damaged = 0;
    for (size_t i = 0; st == WF_OK && i < list.count; i++) {
        struct wf_buf b = WF_BUF_INIT;
        bool good = false;
        char *path = kernel_cache_path(cache, list.item[i].key);
        st = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                          : kernel_cache_read(path, list.item[i].key, &b, &good, err);
        if (st == WF_OK && !good) {
            (void)unlink(path);
        }
        *ret_good += st == WF_OK && good;
        *ret_damaged += st == WF_OK && !good;
        st = st == WF_ENOTFOUND ? WF_OK : st; /* somebody evicted it */
        wf_buf_free(&b);
        free(path);
    }
    free(list.item);
    return st;
}
