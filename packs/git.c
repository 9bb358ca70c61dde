/* What git says about a work tree.
 *
 * git is asked through its plumbing commands and without optional locks, so that a
 * build never disturbs somebody who is committing. A URL's user and password are cut
 * off. */
#include "packs/provenance.h"

#include "packs/command.h"

#include <stdio.h>
#include <string.h>

/* Output of one git command without the trailing newline; EREFUSED when git says no. */
static enum wf_status ask(const char *folder,
                          const char *const *words,
                          struct wf_buf *out,
                          struct wf_error *err)
{
    const char *argv[16] = { "git", "--no-optional-locks", "-C", folder };
    size_t n = 4;
    int code = 0;
    for (; *words != NULL && n + 1 < sizeof argv / sizeof argv[0]; words++) {
        argv[n++] = *words;
    }
    argv[n] = NULL;
    wf_buf_clear(out);
    enum wf_status st = command_run(argv, NULL, false, out, &code, err);
    if (st != WF_OK) {
        return st;
    }
    if (code != 0) {
        return wf_errorf(err, WF_EREFUSED, "git %s ended with %d in %s", argv[4], code,
                         folder);
    }
    while (out->len > 0 && out->data[out->len - 1] == '\n') {
        out->data[--out->len] = '\0';
    }
    return WF_OK;
}

static bool is_hash(const char *s, size_t n)
{
    return (n == 40 || n == 64) && strspn(s, "0123456789abcdef") >= n;
}

/* "commit parent parent ...". */
static enum wf_status parse_commits(const char *line,
                                    struct wf_git_info *ret,
                                    struct wf_error *err)
{
    size_t index = 0;
    while (*line != '\0') {
        size_t n = strcspn(line, " ");
        if (!is_hash(line, n)) {
            return wf_errorf(err, WF_EPARSE, "git names a commit '%.80s'", line);
        }
        char *to = index == 0                    ? ret->commit
                   : index <= WF_GIT_MAX_PARENTS ? ret->parent[index - 1]
                                                 : NULL;
        if (to != NULL) {
            memcpy(to, line, n);
            to[n] = '\0';
        }
        index++;
        line += n;
        line += strspn(line, " ");
    }
    if (index == 0) {
        return wf_errorf(err, WF_EPARSE, "git names no commit");
    }
    ret->parent_count = index - 1 < WF_GIT_MAX_PARENTS ? index - 1 : WF_GIT_MAX_PARENTS;
    return WF_OK;
}

/* "https://user:secret@host/x" becomes "https://host/x". */
static void copy_url(const char *url, char *ret, size_t size)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme == NULL ? url : scheme + 3;
    const char *at = scheme == NULL ? NULL : memchr(host, '@', strcspn(host, "/"));
    int prefix = (int)(host - url);
    int n = snprintf(ret, size, "%.*s%s", prefix, url, at == NULL ? host : at + 1);
    if (n < 0 || (size_t)n >= size) {
        ret[0] = '\0';
    }
}

enum wf_status wf_git_read(const char *folder,
                           struct wf_git_info *ret,
                           struct wf_error *err)
{
    static const char *const commits[] = { "rev-list", "--parents", "-n",
                                           "1",        "HEAD",      NULL };
    static const char *const changes[] = { "status", "--porcelain",
                                           "--untracked-files=no", NULL };
    static const char *const remote[] = { "config", "--get", "remote.origin.url",
                                          NULL };
    struct wf_buf out = WF_BUF_INIT;
    struct wf_git_info info = { .repository = "" };
    enum wf_status st = ask(folder, commits, &out, err);
    if (st == WF_EREFUSED) {
        st = wf_errorf(err, WF_ENOTFOUND, "%s is not in a git work tree with a commit",
                       folder);
    }
    st = st != WF_OK ? st : parse_commits(wf_buf_cstr(&out), &info, err);
    st = st != WF_OK ? st : ask(folder, changes, &out, err);
    if (st == WF_OK) {
        info.dirty = out.len > 0;
        enum wf_status url = ask(folder, remote, &out, NULL);
        if (url == WF_OK) { /* without a remote it stays "" */
            copy_url(wf_buf_cstr(&out), info.repository, sizeof info.repository);
        }
        *ret = info;
    }
    wf_buf_free(&out);
    return st;
}
