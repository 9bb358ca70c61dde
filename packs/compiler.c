/* What a compiler is: its program, and everything that decides about its output.
 *
 * The identity is a hash over --version, the program, the shared libraries that it
 * loads (of clang nearly all is in libLLVM and libclang-cpp), the programs that it
 * starts (lld; ptxas and cicc), and the variables of the environment that change what
 * it does. Hashing a hundred megabytes takes longer than compiling a kernel, so the
 * hash of a file is kept with its size, times and inode, and taken again when one of
 * these differs. */
#include "packs/compiler.h"
#include "packs/command.h"
#include "packs/kernel_cache_internal.h"

#include "core/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const environment[] = {
    "CCC_OVERRIDE_OPTIONS", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS",
    "SOURCE_DATE_EPOCH",    "CUDA_HOME",          "CUDA_PATH"
};

struct identity {
    struct wf_sha256 *hash;
    const char *memo;
    struct wf_error *err;
};

static void add_text(struct identity *id, const char *text)
{
    wf_sha256_update(id->hash, text, strlen(text) + 1);
}

/* --- the hash of a file --- */

static char *stamp_of(const struct stat *st)
{
    return wf_asprintf("%llu %llu %lld %lld.%09ld %lld.%09ld ",
                       (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
                       (long long)st->st_size, (long long)st->st_mtim.tv_sec,
                       st->st_mtim.tv_nsec, (long long)st->st_ctim.tv_sec,
                       st->st_ctim.tv_nsec);
}

static char *memo_path(const struct identity *id, const char *path)
{
    char name[WF_SHA256_HEX];
    wf_sha256_hex(path, strlen(path), name);
    return wf_asprintf("%s/%s", id->memo, name);
}

static bool recall(const char *memo, const char *stamp, char ret[WF_SHA256_HEX])
{
    struct wf_buf b = WF_BUF_INIT;
    size_t n = strlen(stamp);
    struct stat st;
    bool good = lstat(memo, &st) == 0 && S_ISREG(st.st_mode) && /* no pipe: it waits */
                wf_file_read(memo, 4096, &b, NULL) == WF_OK &&
                b.len == n + WF_SHA256_HEX - 1 && memcmp(b.data, stamp, n) == 0 &&
                wf_sha256_is_hex(b.data + n);
    if (good) {
        memcpy(ret, b.data + n, WF_SHA256_HEX);
    }
    wf_buf_free(&b);
    return good;
}

static enum wf_status hash_file(struct identity *id,
                                const char *path,
                                char ret[WF_SHA256_HEX])
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
        return wf_errorf(id->err, WF_ENOTFOUND, "%s is not there", path);
    }
    char *stamp = stamp_of(&st), *memo = memo_path(id, path);
    enum wf_status status = WF_OK;
    if (stamp == NULL || memo == NULL) {
        status = wf_errorf(id->err, WF_ENOMEM, "no memory for a path");
    } else if (!recall(memo, stamp, ret)) {
        status = wf_sha256_file(path, ret, id->err);
        if (status == WF_OK) {
            const void *const part[2] = { stamp, ret };
            const size_t bytes[2] = { strlen(stamp), WF_SHA256_HEX - 1 };
            (void)kernel_cache_write(memo, part, bytes, NULL); /* only saves time */
        }
    }
    free(memo);
    free(stamp);
    return status;
}

static enum wf_status add_file(struct identity *id, const char *path)
{
    char sha256[WF_SHA256_HEX];
    enum wf_status st = hash_file(id, path, sha256);
    if (st == WF_OK) {
        add_text(id, sha256);
    }
    return st;
}

/* --- what belongs to it --- */

/* The files that the dynamic linker names: "\tlibx.so => /lib/libx.so (0x...)". A
 * script, or a program without libraries, has none. */
static enum wf_status add_libraries(struct identity *id, const char *path)
{
    const char *const argv[] = { "ldd", path, NULL };
    struct wf_buf out = WF_BUF_INIT;
    int code = 0;
    enum wf_status st = WF_OK;
    if (command_run(argv, NULL, false, &out, &code, NULL) != WF_OK || code != 0) {
        wf_buf_free(&out);
        return WF_OK;
    }
    const char *p = wf_buf_cstr(&out);
    while (st == WF_OK && (p = strstr(p, "=> /")) != NULL) {
        char *file = wf_strndup(p + 3, strcspn(p + 3, " \n"));
        st = file == NULL ? wf_errorf(id->err, WF_ENOMEM, "no memory for a path")
                          : add_file(id, file);
        free(file);
        p += 3;
    }
    wf_buf_free(&out);
    return st;
}

/* clang's linker, which makes AMD code objects. */
static enum wf_status add_linker(struct identity *id, const char *path)
{
    const char *const argv[] = { path, "-print-prog-name=lld", NULL };
    struct wf_buf out = WF_BUF_INIT;
    int code = 0;
    enum wf_status st = WF_OK;
    if (command_run(argv, NULL, false, &out, &code, NULL) == WF_OK && code == 0 &&
        out.len > 1 && out.data[0] == '/') {
        out.data[strcspn(out.data, "\n")] = '\0';
        st = access(out.data, X_OK) == 0 ? add_file(id, out.data) : WF_OK;
    }
    wf_buf_free(&out);
    return st;
}

/* nvcc starts these. */
static enum wf_status add_beside(struct identity *id, const char *path)
{
    static const char *const names[] = { "ptxas", "../nvvm/bin/cicc",
                                         "../nvvm/libdevice/libdevice.10.bc" };
    const char *slash = strrchr(path, '/');
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < sizeof names / sizeof names[0]; i++) {
        char *file = wf_asprintf("%.*s/%s", (int)(slash - path), path, names[i]);
        if (file == NULL) {
            return wf_errorf(id->err, WF_ENOMEM, "no memory for a path");
        }
        st = access(file, F_OK) == 0 ? add_file(id, file) : WF_OK;
        free(file);
    }
    return st;
}

static enum wf_status add_parts(struct identity *id, const char *path)
{
    char *real = realpath(path, NULL);
    if (real == NULL) {
        return wf_errorf(id->err, WF_ENOTFOUND, "%s is not there", path);
    }
    enum wf_status st = add_file(id, real);
    st = st != WF_OK ? st : add_libraries(id, real);
    st = st != WF_OK ? st : add_beside(id, real);
    free(real);
    return st;
}

static enum wf_status identify(struct compiler *c,
                               const char *whole_version,
                               const char *memo,
                               struct wf_error *err)
{
    uint8_t hash[WF_SHA256_BYTES];
    struct identity id = { .hash = wf_sha256_create(), .memo = memo, .err = err };
    if (id.hash == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a hash");
    }
    add_text(&id, whole_version);
    for (size_t i = 0; i < sizeof environment / sizeof environment[0]; i++) {
        const char *value = getenv(environment[i]);
        add_text(&id, environment[i]);
        add_text(&id, value == NULL ? "" : value);
    }
    enum wf_status st = add_parts(&id, c->path);
    if (st == WF_OK && strstr(whole_version, "clang") != NULL) {
        st = add_linker(&id, c->path);
    }
    if (st != WF_OK) {
        wf_sha256_destroy(id.hash);
        return st;
    }
    wf_sha256_finish(id.hash, hash);
    wf_hex(hash, WF_SHA256_BYTES, c->identity);
    return WF_OK;
}

/* --- opening --- */

/* Compilers run in another folder. */
static char *absolute(const char *path)
{
    char *here = path[0] == '/' ? NULL : realpath(".", NULL);
    char *full = here == NULL ? wf_strdup(path) : wf_path_join(here, path);
    free(here);
    return full;
}

static char *find_program(const char *name)
{
    const char *path = getenv("PATH");
    const char *p = path == NULL || path[0] == '\0' ? "/usr/bin:/bin" : path;
    if (strchr(name, '/') != NULL) {
        return access(name, X_OK) == 0 ? absolute(name) : NULL;
    }
    while (*p != '\0') {
        size_t n = strcspn(p, ":");
        char *file =
            wf_asprintf("%.*s/%s", n == 0 ? 1 : (int)n, n == 0 ? "." : p, name);
        struct stat st;
        if (file != NULL && access(file, X_OK) == 0 && stat(file, &st) == 0 &&
            S_ISREG(st.st_mode)) {
            char *full = absolute(file);
            free(file);
            return full;
        }
        free(file);
        p += n + (p[n] == ':');
    }
    return NULL;
}

static enum wf_status read_version(const struct compiler *c,
                                   struct wf_buf *out,
                                   struct wf_error *err)
{
    const char *const argv[] = { c->path, "--version", NULL };
    int code = 0;
    enum wf_status st = command_run(argv, NULL, true, out, &code, err);
    if (st == WF_OK && code != 0) {
        st = wf_errorf(err, WF_EINVAL, "%s --version ended with %d", c->name, code);
    }
    return st;
}

enum wf_status compiler_open(const char *name,
                             const char *memo,
                             struct compiler *ret,
                             struct wf_error *err)
{
    struct compiler c = { .name = wf_strdup(name), .path = find_program(name) };
    struct wf_buf version = WF_BUF_INIT;
    enum wf_status st = WF_OK;
    if (c.name == NULL || c.path == NULL) {
        st = wf_errorf(err, WF_ENOTFOUND, "the compiler %s is not installed", name);
    }
    st = st != WF_OK ? st : read_version(&c, &version, err);
    if (st == WF_OK) {
        const char *text = wf_buf_cstr(&version);
        const char *release = strstr(text, "Cuda compilation tools"); /* of nvcc */
        const char *line = release != NULL ? release : text;
        c.version = wf_strndup(line, strcspn(line, "\n"));
        st = c.version == NULL ? wf_errorf(err, WF_ENOMEM, "no memory") : WF_OK;
    }
    if (st == WF_OK && memo != NULL) {
        st = identify(&c, wf_buf_cstr(&version), memo, err);
    }
    wf_buf_free(&version);
    if (st != WF_OK) {
        compiler_fini(&c);
        return st;
    }
    *ret = c;
    return WF_OK;
}

void compiler_fini(struct compiler *c)
{
    free(c->name);
    free(c->path);
    free(c->version);
    *c = (struct compiler){ .name = NULL };
}
