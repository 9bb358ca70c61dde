/* Loads the dashboard's folder into memory: requests then cannot reach any other file.
 */
#include "coordinator/static_files.h"

#include "core/buf.h"
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FILES 2000u
#define MAX_TOTAL (64u << 20)
#define MAX_DEPTH 6

struct wf_static {
    struct wf_static_file *file;
    size_t count;
    size_t total;
};

struct type {
    const char *suffix, *type;
};

static const struct type types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".mjs", "text/javascript; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".json", "application/json" },
    { ".map", "application/json" },
    { ".svg", "image/svg+xml" },
    { ".png", "image/png" },
    { ".ico", "image/x-icon" },
    { ".woff2", "font/woff2" },
    { ".txt", "text/plain; charset=utf-8" },
};

static const char *type_of(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t len = strlen(types[i].suffix);
        if (n > len && strcmp(name + n - len, types[i].suffix) == 0) {
            return types[i].type;
        }
    }
    return NULL;
}

static enum wf_status add_file(struct wf_static *s,
                               const char *full,
                               const char *relative,
                               const char *type,
                               struct wf_error *err)
{
    struct wf_buf data = WF_BUF_INIT;
    struct wf_static_file *grown =
        wf_realloc_array(s->file, s->count + 1, sizeof *s->file);
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %s", full);
    }
    s->file = grown;
    enum wf_status status = wf_file_read(full, MAX_TOTAL, &data, err);
    char *path = wf_strdup(relative);
    if (status == WF_OK && !path) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %s", full);
    }
    if (status == WF_OK && (s->total + data.len > MAX_TOTAL || s->count == MAX_FILES)) {
        status = wf_errorf(err, WF_EINVAL,
                           "the dashboard's folder holds too much (at %s)", full);
    }
    if (status != WF_OK) {
        wf_buf_free(&data);
        free(path);
        return status;
    }
    s->total += data.len;
    s->file[s->count++] = (struct wf_static_file){ path, type, data.data, data.len };
    return WF_OK;
}

static enum wf_status walk(struct wf_static *s,
                           const char *folder,
                           const char *prefix,
                           int depth,
                           struct wf_error *err);

static enum wf_status take_entry(struct wf_static *s,
                                 const char *folder,
                                 const char *prefix,
                                 const char *name,
                                 int depth,
                                 struct wf_error *err)
{
    struct stat st;
    char *full = wf_path_join(folder, name);
    char *relative = wf_asprintf("%s%s", prefix, name);
    enum wf_status status =
        full && relative ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for %s", name);
    if (status == WF_OK && lstat(full, &st) == 0) {
        const char *type = type_of(name);
        if (S_ISREG(st.st_mode) && type) {
            status = add_file(s, full, relative, type, err);
        } else if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH) {
            char *deeper = wf_asprintf("%s/", relative);
            status = deeper ? walk(s, full, deeper, depth + 1, err)
                            : wf_errorf(err, WF_ENOMEM, "no memory for %s", name);
            free(deeper);
        }
    }
    free(full);
    free(relative);
    return status;
}

static enum wf_status walk(struct wf_static *s,
                           const char *folder,
                           const char *prefix,
                           int depth,
                           struct wf_error *err)
{
    DIR *dir = opendir(folder);
    enum wf_status status = WF_OK;
    if (!dir) {
        return wf_error_errno(err, errno, "opening the dashboard's folder %s", folder);
    }
    for (struct dirent *e = readdir(dir); e && status == WF_OK; e = readdir(dir)) {
        if (wf_name_is_safe(e->d_name)) {
            status = take_entry(s, folder, prefix, e->d_name, depth, err);
        }
    }
    closedir(dir);
    return status;
}

enum wf_status wf_static_open(const char *folder,
                              struct wf_static **ret,
                              struct wf_error *err)
{
    struct wf_static *s = wf_calloc(1, sizeof *s);
    enum wf_status status = s ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory");
    if (status == WF_OK && folder && *folder) {
        status = walk(s, folder, "", 0, err);
    }
    if (status != WF_OK) {
        wf_static_close(s);
        return status;
    }
    *ret = s;
    return WF_OK;
}

static void free_text(const char *text)
{
    union {
        const char *in;
        char *out;
    } u = { text };
    free(u.out);
}

void wf_static_close(struct wf_static *s)
{
    if (!s) {
        return;
    }
    for (size_t i = 0; i < s->count; i++) {
        free_text(s->file[i].path);
        free_text(s->file[i].data);
    }
    free(s->file);
    free(s);
}

const struct wf_static_file *wf_static_find(const struct wf_static *s, const char *path)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->file[i].path, path) == 0) {
            return &s->file[i];
        }
    }
    return NULL;
}
