/* What an object depends on, from the preprocessed text with its macros (-E -dD).
 *
 * The text holds the contents of every file that was read, and with -dD the macros too:
 * without them a macro that only a pragma names ("#pragma unroll N", which -E leaves as
 * it is) would be missing. Line markers stay in, since __LINE__ in a builtin and debug
 * information come from them; they are relative, so one key serves many folders. */
#include "packs/build_internal.h"

#include "core/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KEY_VERSION "wavefarm.kernel-key/1"

/* --- the key --- */

static void add_bytes(struct wf_sha256 *h, const void *data, size_t n)
{
    uint64_t length = n; /* so that no two lists of parts give one text */
    wf_sha256_update(h, &length, sizeof length);
    wf_sha256_update(h, data, n);
}

static void add_text(struct wf_sha256 *h, const char *text)
{
    add_bytes(h, text, strlen(text));
}

/* A flag that names a file (a profile, a plugin, a list) stands for its content. */
static enum wf_status add_named_file(const struct build *b,
                                     struct wf_sha256 *h,
                                     const char *flag,
                                     struct wf_error *err)
{
    const char *equals = strrchr(flag, '=');
    const char *name = equals != NULL ? equals + 1 : flag;
    struct stat st;
    if (name[0] == '\0' || name[0] == '-') {
        return WF_OK;
    }
    char sha256[WF_SHA256_HEX];
    char *path = name[0] == '/' ? wf_strdup(name) : wf_path_join(b->o->root, name);
    enum wf_status status =
        path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path") : WF_OK;
    if (status == WF_OK && stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        status = wf_sha256_file(path, sha256, err);
        if (status == WF_OK) {
            add_text(h, sha256);
        }
    }
    free(path);
    return status;
}

static enum wf_status add_parts(const struct build *b,
                                const struct build_unit *u,
                                const struct wf_buf *text,
                                struct wf_sha256 *h,
                                struct wf_error *err)
{
    enum wf_status st = WF_OK;
    add_text(h, KEY_VERSION);
    add_text(h, u->compiler->identity);
    add_text(h, b->o->arch);
    add_text(h, b->o->format);
    add_text(h, u->source);
    for (size_t i = 0; st == WF_OK && i < u->flags.count; i++) {
        add_text(h, u->flags.word[i]);
        st = add_named_file(b, h, u->flags.word[i], err);
    }
    add_bytes(h, wf_buf_cstr(text), text->len);
    return st;
}

enum wf_status build_key(const struct build *b,
                         const struct build_unit *u,
                         const struct wf_buf *text,
                         char ret[WF_SHA256_HEX],
                         struct wf_error *err)
{
    uint8_t hash[WF_SHA256_BYTES];
    if (memmem(wf_buf_cstr(text), text->len, ".incbin", 7) != NULL ||
        memmem(wf_buf_cstr(text), text->len, "#embed", 6) != NULL) {
        return wf_errorf(err, WF_EUNSUPPORTED, "%s includes bytes of other files",
                         u->source);
    }
    struct wf_sha256 *h = wf_sha256_create();
    if (h == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a hash");
    }
    enum wf_status st = add_parts(b, u, text, h, err);
    if (st != WF_OK) {
        wf_sha256_destroy(h);
        return st;
    }
    wf_sha256_finish(h, hash);
    wf_hex(hash, WF_SHA256_BYTES, ret);
    return WF_OK;
}

/* --- the files --- */

/* The name in a line marker, '# 12 "a\"b.h" 1 3', without its escapes. False: the line
 * is none, or names no file of ours (a <built-in>, or a system header: flag 3). */
static bool marked_file(const char *line, size_t n, struct wf_buf *name)
{
    const char *end = line + n;
    const char *p = memchr(line, '"', n);
    if (n < 4 || line[0] != '#' || line[1] != ' ' || line[2] < '0' || line[2] > '9' ||
        p == NULL) {
        return false;
    }
    wf_buf_clear(name);
    for (p++; p < end && *p != '"'; p++) {
        p += *p == '\\' && p + 1 < end;
        (void)wf_buf_add(name, p, 1, NULL);
    }
    return name->len > 0 && name->data[0] != '<' && p < end &&
           memchr(p, '3', (size_t)(end - p)) == NULL;
}

static bool has_line(const struct wf_buf *list, const char *line)
{
    size_t n = strlen(line);
    const char *p = wf_buf_cstr(list);
    while ((p = strstr(p, line)) != NULL) {
        if ((p == list->data || p[-1] == '\n') && p[n] == '\n') {
            return true;
        }
        p++;
    }
    return false;
}

static enum wf_status add_dep(const char *root,
                              const char *name,
                              struct wf_buf *deps,
                              struct wf_error *err)
{
    const char *plain = strncmp(name, "./", 2) == 0 ? name + 2 : name;
    char *path = name[0] == '/' ? wf_strdup(name) : wf_path_join(root, plain);
    enum wf_status st =
        path == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for a path") : WF_OK;
    /* The compiler's own working folder is marked too ("/root//"). */
    if (st == WF_OK && path[strlen(path) - 1] != '/' && !has_line(deps, path)) {
        st = wf_buf_printf(deps, err, "%s\n", path);
    }
    free(path);
    return st;
}

enum wf_status build_deps_of(const struct wf_buf *text,
                             const char *root,
                             struct wf_buf *deps,
                             struct wf_error *err)
{
    struct wf_buf name = WF_BUF_INIT, last = WF_BUF_INIT;
    const char *p = wf_buf_cstr(text);
    const char *end = p + text->len;
    enum wf_status st = WF_OK;
    while (st == WF_OK && p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = newline == NULL ? (size_t)(end - p) : (size_t)(newline - p);
        if (marked_file(p, n, &name) && strcmp(wf_buf_cstr(&last), name.data) != 0) {
            wf_buf_clear(&last);
            st = wf_buf_puts(&last, name.data, err);
            st = st != WF_OK ? st : add_dep(root, name.data, deps, err);
        }
        p += n + 1;
    }
    wf_buf_free(&last);
    wf_buf_free(&name);
    return st;
}
