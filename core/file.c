/* Files: whole reads with a limit, durable writes, folders and trees.
 *
 * Invariants: a failed read leaves the caller's buffer as it was; a failed write leaves
 * neither a partial file nor a temporary one; a tree is removed through folder
 * descriptors without following symbolic links, so nothing outside it is touched. */
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_CHUNK_BYTES = 64 * 1024,
    TREE_MAX_DEPTH = 256,
    TEMPORARY_TRIES = 100
};

/* --- reading --- */

static enum wf_status read_to_end(int fd,
                                  const char *path,
                                  size_t max_bytes,
                                  struct wf_buf *out,
                                  struct wf_error *err)
{
    size_t start = out->len;
    enum wf_status status;
    ssize_t n;

    for (;;) {
        status = wf_buf_reserve(out, READ_CHUNK_BYTES, err);
        if (status != WF_OK) {
            return status;
        }
        n = read(fd, out->data + out->len, READ_CHUNK_BYTES);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return wf_error_errno(err, errno, "cannot read %s", path);
        }
        if (n == 0) {
            return WF_OK;
        }
        out->len += (size_t)n;
        if (out->len - start > max_bytes) {
            return wf_errorf(err, WF_EINVAL, "%s is larger than %zu bytes", path,
                             max_bytes);
        }
    }
}

enum wf_status wf_file_read(const char *path,
                            size_t max_bytes,
                            struct wf_buf *out,
                            struct wf_error *err)
{
    size_t start = out->len;
    enum wf_status status;
    struct stat st;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return wf_error_errno(err, errno, "cannot open %s", path);
    }
    if (fstat(fd, &st) != 0) {
        status = wf_error_errno(err, errno, "cannot look at %s", path);
        goto out;
    }
    if (S_ISDIR(st.st_mode)) {
        status = wf_errorf(err, WF_EINVAL, "%s is a folder, a file is required", path);
        goto out;
    }
    if (S_ISREG(st.st_mode) && st.st_size > 0 && (uint64_t)st.st_size <= max_bytes) {
        status = wf_buf_reserve(out, (size_t)st.st_size + READ_CHUNK_BYTES, err);
        if (status != WF_OK) {
            goto out;
        }
    }
    status = read_to_end(fd, path, max_bytes, out, err);
out:
    (void)close(fd);
    if (status != WF_OK) {
        out->len = start;
    }
    if (out->data != NULL) {
        out->data[out->len] = '\0';
    }
    return status;
}

enum wf_status wf_file_size(const char *path, uint64_t *ret_bytes, struct wf_error *err)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        return wf_error_errno(err, errno, "cannot look at %s", path);
    }
    if (!S_ISREG(st.st_mode)) {
        return wf_errorf(err, WF_EINVAL, "%s is not a regular file", path);
    }
    *ret_bytes = (uint64_t)st.st_size;
    return WF_OK;
}

bool wf_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* --- writing --- */

enum wf_status wf_write_all(int fd,
                            const void *data,
                            size_t n,
                            const char *what,
                            struct wf_error *err)
{
    const char *p = data;
    ssize_t done;

    while (n > 0) {
        done = write(fd, p, n);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return wf_error_errno(err, errno, "cannot write %s", what);
        }
        p += done;
        n -= (size_t)done;
    }
    return WF_OK;
}

/* The folder part of a path, "." where there is none. NULL: no memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL) {
        return wf_strdup(".");
    }
    return slash == path ? wf_strdup("/") : wf_strndup(path, (size_t)(slash - path));
}

static enum wf_status sync_folder_of(const char *path, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    char *folder = folder_of(path);
    int fd;

    if (folder == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory to write %s", path);
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems refuse fsync on folders (EINVAL); there is no more to do then.
     */
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL)) {
        status = wf_error_errno(err, errno, "cannot sync folder %s", folder);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    free(folder);
    return status;
}

/* Creates a file of its own beside `path`. mkstemp would make it 0600; this respects
 * the umask as a plain create does. */
static enum wf_status open_temporary(const char *path,
                                     char **ret_name,
                                     int *ret_fd,
                                     struct wf_error *err)
{
    static atomic_uint counter;
    enum wf_status status;
    char *name = NULL;
    int fd = -1;

    for (int i = 0; i < TEMPORARY_TRIES && fd < 0; i++) {
        free(name);
        name = wf_asprintf("%s.tmp-%ld-%u", path, (long)getpid(),
                           atomic_fetch_add(&counter, 1));
        if (name == NULL) {
            return wf_errorf(err, WF_ENOMEM, "no memory to write %s", path);
        }
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST) {
            break;
        }
    }
    if (fd < 0) {
        status = wf_error_errno(err, errno, "cannot create %s", name);
        free(name);
        return status;
    }
    *ret_name = name;
    *ret_fd = fd;
    return WF_OK;
}

/* A device or a pipe: renaming a file over it would take it away from everybody. */
static bool is_no_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

static enum wf_status write_through(const char *path,
                                    const void *data,
                                    size_t n,
                                    struct wf_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    enum wf_status status;

    if (fd < 0) {
        return wf_error_errno(err, errno, "cannot write %s", path);
    }
    status = wf_write_all(fd, data, n, path, err);
    if (close(fd) != 0 && status == WF_OK) {
        status = wf_error_errno(err, errno, "cannot close %s", path);
    }
    return status;
}

enum wf_status wf_file_write_atomic(const char *path,
                                    const void *data,
                                    size_t n,
                                    struct wf_error *err)
{
    char *name = NULL;
    enum wf_status status;
    int fd = -1;

    if (is_no_file(path)) {
        return write_through(path, data, n, err);
    }
    status = open_temporary(path, &name, &fd, err);
    if (name == NULL) {
        return status;
    }
    status = wf_write_all(fd, data, n, name, err);
    if (status == WF_OK && fsync(fd) != 0) {
        status = wf_error_errno(err, errno, "cannot sync %s", name);
    }
    if (close(fd) != 0 && status == WF_OK) {
        status = wf_error_errno(err, errno, "cannot close %s", name);
    }
    if (status == WF_OK && rename(name, path) != 0) {
        status = wf_error_errno(err, errno, "cannot rename %s to %s", name, path);
    }
    if (status != WF_OK) {
        (void)unlink(name);
    } else {
        status = sync_folder_of(path, err);
    }
    free(name);
    return status;
}

/* --- folders --- */

static enum wf_status make_folder(const char *path, struct wf_error *err)
{
    struct stat st;
    int errnum;

    if (mkdir(path, 0777) == 0) {
        return WF_OK;
    }
    errnum = errno;
    /* A folder that is there may also answer EROFS or EACCES. */
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode)) {
            return WF_OK;
        }
        return wf_errorf(err, WF_EEXIST, "cannot make folder %s: a file has that name",
                         path);
    }
    return wf_error_errno(err, errnum, "cannot make folder %s", path);
}

enum wf_status wf_mkdir_parents(const char *path, struct wf_error *err)
{
    enum wf_status status = WF_OK;
    char *copy;

    if (path[0] == '\0') {
        return wf_errorf(err, WF_EINVAL, "a folder needs a name");
    }
    copy = wf_strdup(path);
    if (copy == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory to make folder %s", path);
    }
    for (char *p = copy + 1; status == WF_OK && *p != '\0'; p++) {
        if (*p != '/' || p[-1] == '/') {
            continue;
        }
        *p = '\0';
        status = make_folder(copy, err);
        *p = '/';
    }
    if (status == WF_OK) {
        status = make_folder(copy, err);
    }
    free(copy);
    return status;
}

static enum wf_status remove_entry(int parent,
                                   const char *name,
                                   int depth,
                                   struct wf_error *err);

/* Empties the folder behind fd, which is closed in any case. */
static enum wf_status empty_folder(int fd,
                                   const char *name,
                                   int depth,
                                   struct wf_error *err)
{
    enum wf_status status = WF_OK;
    struct dirent *entry;
    DIR *dir;

    if (depth > TREE_MAX_DEPTH) {
        (void)close(fd);
        return wf_errorf(err, WF_EINVAL, "folder %s is nested more than %d deep", name,
                         TREE_MAX_DEPTH);
    }
    dir = fdopendir(fd);
    if (dir == NULL) {
        status = wf_error_errno(err, errno, "cannot list %s", name);
        (void)close(fd);
        return status;
    }
    while (status == WF_OK) {
        errno = 0;
        entry = readdir(dir);
        if (entry == NULL) {
            if (errno != 0) {
                status = wf_error_errno(err, errno, "cannot list %s", name);
            }
            break;
        }
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            status = remove_entry(dirfd(dir), entry->d_name, depth + 1, err);
        }
    }
    (void)closedir(dir);
    return status;
}

static enum wf_status remove_entry(int parent,
                                   const char *name,
                                   int depth,
                                   struct wf_error *err)
{
    enum wf_status status;
    int fd;

    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) {
        return WF_OK;
    }
    if (errno != EISDIR && errno != EPERM) {
        return wf_error_errno(err, errno, "cannot remove %s", name);
    }
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return wf_error_errno(err, errno, "cannot open folder %s", name);
    }
    status = empty_folder(fd, name, depth, err);
    if (status != WF_OK) {
        return status;
    }
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
        return wf_error_errno(err, errno, "cannot remove folder %s", name);
    }
    return WF_OK;
}

enum wf_status wf_remove_tree(const char *path, struct wf_error *err)
{
    struct wf_error inner;
    enum wf_status status;

    status = remove_entry(AT_FDCWD, path, 0, &inner);
    if (status != WF_OK) {
        (void)wf_error_prefix(&inner, "cannot remove tree %s", path);
        if (err != NULL) {
            *err = inner;
        }
    }
    return status;
}
