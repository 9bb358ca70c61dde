/* Paths: joining, the places a program uses, and which names are safe to accept from
 * outside. The rest of core/file.h is in file.c. */
#include "core/file.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_MAX_BYTES = 255,
    PASSWD_BYTES = 16 * 1024
};

char *wf_path_join(const char *a, const char *b)
{
    size_t len = strlen(a);

    if (len == 0) {
        return wf_strdup(b);
    }
    return wf_asprintf("%s%s%s", a, a[len - 1] == '/' ? "" : "/", b);
}

/* The home folder from the environment, else from the user data base. NULL: neither
 * has one. */
static char *home_dir(void)
{
    const char *home = getenv("HOME");
    struct passwd pw;
    struct passwd *found = NULL;
    char *space;
    char *copy = NULL;

    if (home != NULL && home[0] == '/') {
        return wf_strdup(home);
    }
    space = wf_calloc(1, PASSWD_BYTES);
    if (space == NULL) {
        return NULL;
    }
    if (getpwuid_r(getuid(), &pw, space, PASSWD_BYTES, &found) == 0 && found != NULL) {
        copy = wf_strdup(pw.pw_dir);
    }
    free(space);
    return copy;
}

/* NULL: no place is known. */
static char *cache_path(void)
{
    const char *own = getenv("WAVEFARM_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME");
    char *home;
    char *path;

    if (own != NULL && own[0] != '\0') {
        return wf_strdup(own);
    }
    if (xdg != NULL &&
        xdg[0] == '/') { /* a relative one is to be ignored by its rules */
        return wf_path_join(xdg, "wavefarm");
    }
    home = home_dir();
    if (home == NULL) {
        return NULL;
    }
    path = wf_path_join(home, ".cache/wavefarm");
    free(home);
    return path;
}

enum wf_status wf_cache_dir(char **ret, struct wf_error *err)
{
    enum wf_status status;
    char *path = cache_path();

    if (path == NULL) {
        return wf_errorf(err, WF_ENOTFOUND,
                         "no place for the cache: set WAVEFARM_CACHE to a folder");
    }
    status = wf_mkdir_parents(path, err);
    if (status != WF_OK) {
        (void)wf_error_prefix(err, "cache folder (WAVEFARM_CACHE sets another)");
        free(path);
        return status;
    }
    *ret = path;
    return WF_OK;
}

enum wf_status wf_executable_dir(char **ret, struct wf_error *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *folder;
    char *slash;

    if (n < 0) {
        return wf_error_errno(err, errno, "cannot read /proc/self/exe");
    }
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL) {
        return wf_errorf(err, WF_EINTERNAL, "executable \"%s\" has no folder", path);
    }
    *(slash == path ? slash + 1 : slash) = '\0';
    folder = wf_strdup(path);
    if (folder == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    *ret = folder;
    return WF_OK;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '_' || c == '-';
}

static bool component_is_safe(const char *name, size_t len)
{
    if (len == 0 || len > NAME_MAX_BYTES || name[0] == '.') {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!is_name_char(name[i])) {
            return false;
        }
    }
    return true;
}

bool wf_name_is_safe(const char *name)
{
    return name != NULL && component_is_safe(name, strlen(name));
}

bool wf_relative_path_is_safe(const char *path)
{
    size_t len;

    if (path == NULL || strlen(path) >= PATH_MAX) {
        return false;
    }
    for (;;) {
        len = strcspn(path, "/");
        if (!component_is_safe(path, len)) {
            return false;
        }
        if (path[len] == '\0') {
            return true;
        }
        path += len + 1;
    }
}
