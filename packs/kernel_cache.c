/* The kernel cache: opening, and one object at a time. Locks are in
 * kernel_cache_lock.c, the folder as a whole in kernel_cache_folder.c.
 *
 * Invariants: a reader sees a whole entry or none, since entries are only ever renamed
 * into place; what a reader returns has the length and the hash that its header says
 * for this key, so damage of any kind is a miss. */
#include "packs/kernel_cache_internal.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_OBJECT_BYTES ((size_t)1 << 30)
#define HEADER_BYTES     256 /* enough for one header line */

/* --- opening --- */

/* NULL with WF_OK: no cache is wanted. */
static enum wf_status find_folder(const char *folder, char **ret, struct wf_error *err)
{
    const char *env = getenv("WAVEFARM_KERNEL_CACHE");
    const char *asked = folder != NULL                  ? folder
                        : env != NULL && env[0] != '\0' ? env
                                                        : NULL;
    char *base = NULL;
    *ret = NULL;
    if (asked != NULL && strcmp(asked, "none") == 0) {
        return WF_OK;
    }
    enum wf_status st = asked != NULL ? WF_OK : wf_cache_dir(&base, err);
    if (st != WF_OK) {
        return st;
    }
    *ret = asked != NULL ? wf_strdup(asked) : wf_path_join(base, "kernels");
    free(base);
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
}

static enum wf_status make_folders(const char *folder, struct wf_error *err)
{
    static const char *const names[] = { "objects", "locks", "programs" };
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < sizeof names / sizeof names[0]; i++) {
        char *path = wf_path_join(folder, names[i]);
        st = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                          : wf_mkdir_parents(path, err);
        free(path);
    }
    return st;
}

static enum wf_status open_folder(const char *folder, struct wf_error *err)
{
    enum wf_status st = make_folders(folder, err);
    st = st == WF_OK ? kernel_cache_check_owner(folder, err) : st;
    return st == WF_OK ? st
                       : wf_error_prefix(err, "kernel cache (WAVEFARM_KERNEL_CACHE "
                                              "sets another folder, or none)");
}

enum wf_status wf_kernel_cache_open(const char *folder,
                                    int64_t limit_bytes,
                                    struct wf_kernel_cache **ret,
                                    struct wf_error *err)
{
    char *path = NULL;
    enum wf_status st = find_folder(folder, &path, err);
    if (st != WF_OK || path == NULL) {
        *ret = st == WF_OK ? NULL : *ret;
        return st;
    }
    st = open_folder(path, err);
    struct wf_kernel_cache *c = st == WF_OK ? wf_calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        free(path);
        return st != WF_OK ? st : wf_errorf(err, WF_ENOMEM, "no memory for a cache");
    }
    c->folder = path;
    c->limit_bytes = limit_bytes > 0 ? limit_bytes : WF_KERNEL_CACHE_DEFAULT_BYTES;
    c->known_bytes = -1;
    (void)pthread_mutex_init(&c->mutex, NULL); /* cannot fail for the default kind */
    *ret = c;
    return WF_OK;
}

void wf_kernel_cache_close(struct wf_kernel_cache *cache)
{
    if (cache != NULL) {
        (void)pthread_mutex_destroy(&cache->mutex);
        free(cache->folder);
        free(cache);
    }
}

const char *wf_kernel_cache_folder(const struct wf_kernel_cache *cache)
{
    return cache->folder;
}

char *kernel_cache_path(const struct wf_kernel_cache *cache, const char *key)
{
    return wf_asprintf("%s/objects/%.2s/%s", cache->folder, key, key + 2);
}

/* --- writing --- */

static int open_beside(const char *path, char **ret_name)
{
    static atomic_uint counter;
    int fd = -1;
    *ret_name = NULL;
    for (int i = 0; fd < 0 && i < 100; i++) {
        free(*ret_name);
        *ret_name = wf_asprintf("%s.tmp-%ld-%u", path, (long)getpid(),
                                atomic_fetch_add(&counter, 1));
        if (*ret_name == NULL) {
            errno = ENOMEM;
            return -1;
        }
        fd = open(*ret_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) {
            break;
        }
    }
    return fd;
}

enum wf_status kernel_cache_write(const char *path,
                                  const void *const part[2],
                                  const size_t bytes[2],
                                  struct wf_error *err)
{
    char *name = NULL;
    int fd = open_beside(path, &name);
    if (fd < 0) {
        enum wf_status failed =
            wf_error_errno(err, errno, "cannot create a file for %s", path);
        free(name);
        return failed;
    }
    enum wf_status st = wf_write_all(fd, part[0], bytes[0], name, err);
    st = st != WF_OK ? st : wf_write_all(fd, part[1], bytes[1], name, err);
    if (close(fd) != 0 && st == WF_OK) {
        st = wf_error_errno(err, errno, "cannot close %s", name);
    }
    if (st == WF_OK && rename(name, path) != 0) {
        st = wf_error_errno(err, errno, "cannot rename %s", name);
    }
    if (st != WF_OK) {
        (void)unlink(name);
    }
    free(name);
    return st;
}

static int make_header(const char *key,
                       const void *object,
                       size_t n,
                       char ret[HEADER_BYTES])
{
    char sha256[WF_SHA256_HEX];
    wf_sha256_hex(object, n, sha256);
    return snprintf(ret, HEADER_BYTES, KERNEL_CACHE_MAGIC " %s %zu %s\n", key, n,
                    sha256);
}

enum wf_status wf_kernel_cache_put(struct wf_kernel_cache *cache,
                                   const char key[WF_SHA256_HEX],
                                   const void *object,
                                   size_t n,
                                   struct wf_error *err)
{
    char header[HEADER_BYTES];
    int length = make_header(key, object, n, header);
    int64_t total = (int64_t)n + length;
    if (total > cache->limit_bytes) {
        return WF_OK;
    }
    char *path = kernel_cache_path(cache, key);
    char *folder =
        path == NULL ? NULL : wf_strndup(path, (size_t)(strrchr(path, '/') - path));
    enum wf_status st = folder == NULL
                            ? wf_errorf(err, WF_ENOMEM, "no memory for a path")
                            : wf_mkdir_parents(folder, err);
    const void *const part[2] = { header, object };
    const size_t bytes[2] = { (size_t)length, n };
    st = st != WF_OK ? st : kernel_cache_write(path, part, bytes, err);
    free(folder);
    free(path);
    return st != WF_OK ? st : kernel_cache_trim(cache, total, err);
}

/* --- reading --- */

/* Whether the text is exactly the header that the bytes behind it would get. */
static bool matches(const char *key, const char *text, size_t n)
{
    char header[HEADER_BYTES];
    const char *end = memchr(text, '\n', n < HEADER_BYTES ? n : HEADER_BYTES);
    if (end == NULL) {
        return false;
    }
    size_t head = (size_t)(end - text) + 1;
    int length = make_header(key, end + 1, n - head, header);
    return (size_t)length == head && memcmp(header, text, head) == 0;
}

/* Something else than a file in an entry's place (a pipe, on which opening waits, a
 * link to a device) is damage as well. */
static bool is_other_than_file(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

enum wf_status kernel_cache_read(const char *path,
                                 const char *key,
                                 struct wf_buf *out,
                                 bool *ret_good,
                                 struct wf_error *err)
{
    struct wf_buf b = WF_BUF_INIT;
    *ret_good = false;
    if (is_other_than_file(path)) {
        return WF_OK;
    }
    enum wf_status st = wf_file_read(path, MAX_OBJECT_BYTES, &b, err);
    if (st == WF_OK) {
        *ret_good = matches(key, wf_buf_cstr(&b), b.len);
    }
    if (st == WF_OK && *ret_good) {
        size_t head = (size_t)((char *)memchr(b.data, '\n', b.len) - b.data) + 1;
        st = wf_buf_add(out, b.data + head, b.len - head, err);
    }
    wf_buf_free(&b);
    return st;
}

enum wf_status wf_kernel_cache_get(struct wf_kernel_cache *cache,
                                   const char key[WF_SHA256_HEX],
                                   struct wf_buf *out,
                                   bool *ret_found,
                                   struct wf_error *err)
{
    char *path = kernel_cache_path(cache, key);
    *ret_found = false;
    if (path == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    enum wf_status st = kernel_cache_read(path, key, out, ret_found, err);
    if (st == WF_OK && *ret_found) {
        (void)utimensat(AT_FDCWD, path, NULL, 0); /* used now; a hit all the same */
        atomic_fetch_add(&cache->hits, 1);
    } else {
        atomic_fetch_add(&cache->misses, 1);
    }
    if (st == WF_OK && !*ret_found) {
        (void)unlink(path);
        atomic_fetch_add(&cache->rebuilt, 1);
    }
    free(path);
    return st == WF_ENOTFOUND ? WF_OK : st;
}
