/* Packs as .tar.zst files; the only file that includes archive.h.
 *
 * Writing is a function of the pack alone: pack.json in its canonical form first, then
 * the files in their order, times and owners 0, modes from what pack.json says. Reading
 * takes plain files and folders with safe relative paths into a fresh folder of its
 * own, and that folder becomes visible only after the pack in it was opened and
 * checked. */
#include "packs/archive.h"

#include "core/file.h"
#include "packs/pack_read.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_BYTES ((size_t)4 << 30)
#define BLOCK_BYTES    65536

static enum wf_status archive_failed(struct archive *a,
                                     const char *path,
                                     struct wf_error *err)
{
    const char *why = archive_error_string(a);
    enum wf_status st = archive_errno(a) == ENOSPC ? WF_ENOSPC : WF_EPARSE;
    return wf_errorf(err, st, "%s: %.300s", path, why == NULL ? "archive error" : why);
}

/* --- writing --- */

static enum wf_status write_entry(struct archive *a,
                                  const char *name,
                                  const void *data,
                                  size_t n,
                                  bool executable,
                                  struct wf_error *err)
{
    struct archive_entry *e = archive_entry_new();
    if (e == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", name);
    }
    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, executable ? 0755 : 0644);
    archive_entry_set_size(e, (la_int64_t)n);
    archive_entry_set_mtime(e, 0, 0);
    bool good = archive_write_header(a, e) == ARCHIVE_OK &&
                archive_write_data(a, data, n) == (la_ssize_t)n;
    archive_entry_free(e);
    return good ? WF_OK : archive_failed(a, name, err);
}

/* What is started or loaded: libraries, and programs that a command begins with. */
static bool is_executable(const struct wf_pack *pack, const char *file)
{
    for (size_t i = 0; i < pack->kernel_count; i++) {
        const struct wf_pack_kernel *k = &pack->kernel[i];
        if (k->library != NULL && strcmp(k->library, file) == 0) {
            return true;
        }
        if (k->command_count > 0 && strncmp(k->command[0], "{pack}/", 7) == 0 &&
            strcmp(k->command[0] + 7, file) == 0) {
            return true;
        }
    }
    return false;
}

static enum wf_status write_file(struct archive *a,
                                 const struct wf_pack *pack,
                                 const struct pack_file *f,
                                 struct wf_error *err)
{
    char hash[WF_SHA256_HEX];
    struct wf_buf b = WF_BUF_INIT;
    char *path = wf_path_join(pack->folder, f->path);
    enum wf_status st = path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                                     : wf_file_read(path, MAX_FILE_BYTES, &b, err);
    if (st == WF_OK) {
        wf_sha256_hex(wf_buf_cstr(&b), b.len, hash);
        st = strcmp(hash, f->sha256) == 0
                 ? write_entry(a, f->path, wf_buf_cstr(&b), b.len,
                               is_executable(pack, f->path), err)
                 : wf_errorf(err, WF_EINVAL, "%s changed while it was archived", path);
    }
    free(path);
    wf_buf_free(&b);
    return st;
}

static enum wf_status write_all(struct archive *a,
                                const struct wf_pack *pack,
                                int fd,
                                const char *path,
                                struct wf_error *err)
{
    if (archive_write_add_filter_zstd(a) != ARCHIVE_OK ||
        archive_write_set_filter_option(a, "zstd", "compression-level", "9") !=
            ARCHIVE_OK ||
        archive_write_set_format_pax_restricted(a) != ARCHIVE_OK ||
        archive_write_open_fd(a, fd) != ARCHIVE_OK) {
        return archive_failed(a, path, err);
    }
    enum wf_status st = write_entry(a, "pack.json", pack->canonical.data,
                                    pack->canonical.len, false, err);
    for (size_t i = 0; st == WF_OK && i < pack->file_count; i++) {
        st = write_file(a, pack, &pack->file[i], err);
    }
    if (st == WF_OK && archive_write_close(a) != ARCHIVE_OK) {
        st = archive_failed(a, path, err);
    }
    return st;
}

static enum wf_status write_temporary(const struct wf_pack *pack,
                                      int fd,
                                      const char *path,
                                      struct wf_error *err)
{
    struct archive *a = archive_write_new();
    if (a == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", path);
    }
    enum wf_status st = write_all(a, pack, fd, path, err);
    (void)archive_write_free(a);
    if (st == WF_OK && (fchmod(fd, 0644) != 0 || fsync(fd) != 0)) {
        st = wf_error_errno(err, errno, "cannot write %s", path);
    }
    return st;
}

enum wf_status wf_pack_archive(const struct wf_pack *pack,
                               const char *to_file,
                               struct wf_error *err)
{
    if (pack->folder[0] == '\0') {
        return wf_errorf(err, WF_EINVAL, "pack %s was not opened from a folder",
                         pack->name);
    }
    char *temporary = wf_asprintf("%s.XXXXXX", to_file);
    if (temporary == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", to_file);
    }
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        enum wf_status st = wf_error_errno(err, errno, "cannot write %s", to_file);
        free(temporary);
        return st;
    }
    enum wf_status st = write_temporary(pack, fd, to_file, err);
    if (close(fd) != 0 && st == WF_OK) {
        st = wf_error_errno(err, errno, "cannot write %s", to_file);
    }
    if (st == WF_OK && rename(temporary, to_file) != 0) {
        st = wf_error_errno(err, errno, "cannot rename to %s", to_file);
    }
    if (st != WF_OK) {
        (void)unlink(temporary);
    }
    free(temporary);
    return st;
}

/* --- reading --- */

struct extraction {
    struct archive *a;
    const char *from;
    char *folder; /* the temporary one */
    const struct pack_archive_limits *limits;
    size_t files;
    uint64_t bytes;
    struct wf_error *err;
};

static enum wf_status refuse(struct extraction *x, const char *name, const char *why)
{
    return wf_errorf(x->err, WF_EREFUSED, "%s: '%.200s' %s", x->from,
                     name == NULL ? "?" : name, why);
}

/* Copies the data of the present entry; counts what comes out, whatever the header
 * said. */
static enum wf_status copy_data(struct extraction *x, const char *name, int fd)
{
    char block[BLOCK_BYTES];
    for (;;) {
        la_ssize_t n = archive_read_data(x->a, block, sizeof block);
        if (n < 0) {
            return archive_failed(x->a, x->from, x->err);
        }
        if (n == 0) {
            return WF_OK;
        }
        x->bytes += (uint64_t)n;
        if (x->bytes > x->limits->bytes) {
            return refuse(x, name, "makes the archive larger than a pack may be");
        }
        enum wf_status st = wf_write_all(fd, block, (size_t)n, name, x->err);
        if (st != WF_OK) {
            return st;
        }
    }
}

static enum wf_status make_parents(struct extraction *x, const char *path)
{
    char *folder = wf_strndup(path, (size_t)(strrchr(path, '/') - path));
    enum wf_status st = folder == NULL ? wf_errorf(x->err, WF_ENOMEM, "no memory")
                                       : wf_mkdir_parents(folder, x->err);
    free(folder);
    return st;
}

static enum wf_status write_new_file(struct extraction *x,
                                     const char *name,
                                     const char *path,
                                     mode_t mode)
{
    enum wf_status st = make_parents(x, path);
    if (st != WF_OK) {
        return st;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0 && errno == EEXIST) {
        return refuse(x, name, "is there twice");
    }
    if (fd < 0) {
        return wf_error_errno(x->err, errno, "cannot write %s", path);
    }
    st = copy_data(x, name, fd);
    if (close(fd) != 0 && st == WF_OK) {
        st = wf_error_errno(x->err, errno, "cannot write %s", path);
    }
    return st;
}

static enum wf_status extract_file(struct extraction *x,
                                   struct archive_entry *e,
                                   const char *name)
{
    if (++x->files > x->limits->files + 1) { /* and pack.json */
        return refuse(x, name, "is one file more than a pack may have");
    }
    char *path = wf_path_join(x->folder, name);
    if (path == NULL) {
        return wf_errorf(x->err, WF_ENOMEM, "no memory");
    }
    bool executable = (archive_entry_perm(e) & 0111) != 0;
    enum wf_status st = write_new_file(x, name, path, executable ? 0755 : 0644);
    free(path);
    return st;
}

static enum wf_status extract_entry(struct extraction *x, struct archive_entry *e)
{
    const char *name = archive_entry_pathname(e);
    if (name == NULL) {
        return refuse(x, name, "has no name");
    }
    if (archive_entry_hardlink(e) != NULL || archive_entry_symlink(e) != NULL) {
        return refuse(x, name, "is a link");
    }
    mode_t type = archive_entry_filetype(e);
    while (strncmp(name, "./", 2) == 0) {
        name += 2;
    }
    if (type == AE_IFDIR) { /* made when a file needs it */
        return name[0] == '/' || strstr(name, "..") != NULL
                   ? refuse(x, name, "is not a safe relative path")
                   : WF_OK;
    }
    if (type != AE_IFREG) {
        return refuse(x, name, "is neither a file nor a folder");
    }
    if (!wf_relative_path_is_safe(name)) {
        return refuse(x, name, "is not a safe relative path");
    }
    return extract_file(x, e, name);
}

static enum wf_status extract_all(struct extraction *x)
{
    struct archive_entry *e;
    if (archive_read_support_filter_zstd(x->a) != ARCHIVE_OK ||
        archive_read_support_format_tar(x->a) != ARCHIVE_OK ||
        archive_read_open_filename(x->a, x->from, BLOCK_BYTES) != ARCHIVE_OK) {
        return archive_failed(x->a, x->from, x->err);
    }
    for (;;) {
        int r = archive_read_next_header(x->a, &e);
        if (r == ARCHIVE_EOF) {
            return WF_OK;
        }
        if (r != ARCHIVE_OK) {
            return archive_failed(x->a, x->from, x->err);
        }
        enum wf_status st = extract_entry(x, e);
        if (st != WF_OK) {
            return st;
        }
    }
}

static enum wf_status check_pack(struct extraction *x, const char *expected_id)
{
    struct wf_pack *pack = NULL;
    enum wf_status st = wf_pack_open(x->folder, &pack, x->err);
    if (st != WF_OK) {
        return wf_error_prefix(x->err, "%s", x->from);
    }
    if (expected_id != NULL && strcmp(expected_id, pack->id) != 0) {
        st = wf_errorf(x->err, WF_EINVAL, "%s holds pack %s, not %s", x->from, pack->id,
                       expected_id);
    } else if (x->files != pack->file_count + 1) {
        st = wf_errorf(
            x->err, WF_EREFUSED,
            "%s holds %zu files; pack.json and the files that it names are %zu",
            x->from, x->files, pack->file_count + 1);
    }
    wf_pack_free(pack);
    return st;
}

static bool holds_same_pack(const char *folder, const char *extracted)
{
    struct wf_pack *a = NULL, *b = NULL;
    bool same = wf_pack_open(folder, &a, NULL) == WF_OK &&
                wf_pack_open(extracted, &b, NULL) == WF_OK && strcmp(a->id, b->id) == 0;
    wf_pack_free(a);
    wf_pack_free(b);
    return same;
}

/* Somebody else may have put the same pack there meanwhile. */
static enum wf_status put_in_place(struct extraction *x, const char *folder)
{
    if (chmod(x->folder, 0755) == 0 && rename(x->folder, folder) == 0) {
        return WF_OK;
    }
    int e = errno;
    if (e == EEXIST || e == ENOTEMPTY) {
        return holds_same_pack(folder, x->folder)
                   ? wf_remove_tree(x->folder, x->err)
                   : wf_errorf(x->err, WF_EEXIST,
                               "%s is there already and holds "
                               "something else",
                               folder);
    }
    return wf_error_errno(x->err, e, "cannot make %s", folder);
}

static enum wf_status run_extraction(struct extraction *x,
                                     const char *folder,
                                     const char *expected_id)
{
    x->a = archive_read_new();
    enum wf_status st =
        x->a == NULL ? wf_errorf(x->err, WF_ENOMEM, "no memory") : extract_all(x);
    if (x->a != NULL) {
        (void)archive_read_free(x->a);
    }
    st = st != WF_OK ? st : check_pack(x, expected_id);
    return st != WF_OK ? st : put_in_place(x, folder);
}

enum wf_status pack_unarchive(const char *from_file,
                              const char *folder,
                              const char *expected_id,
                              const struct pack_archive_limits *limits,
                              struct wf_error *err)
{
    struct extraction x = { .from = from_file, .limits = limits, .err = err };
    x.folder = wf_asprintf("%s.XXXXXX", folder);
    if (x.folder == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory", from_file);
    }
    enum wf_status st;
    if (mkdtemp(x.folder) == NULL) {
        st = wf_error_errno(err, errno, "cannot make a folder beside %s", folder);
    } else {
        st = run_extraction(&x, folder, expected_id);
        if (st != WF_OK) {
            (void)wf_remove_tree(x.folder, NULL);
        }
    }
    free(x.folder);
    return st;
}

enum wf_status wf_pack_unarchive(const char *from_file,
                                 const char *folder,
                                 const char *expected_id,
                                 struct wf_error *err)
{
    const struct pack_archive_limits limits = { .files = PACK_MAX_FILES,
                                                .bytes = (uint64_t)4 << 30 };
    return pack_unarchive(from_file, folder, expected_id, &limits, err);
}
