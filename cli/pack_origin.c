/* The provenance record for `pack publish --commit`: git says the commit, the record
 * that a build left in the folder says compilers and flags. What the two say must
 * agree: a pack that was built at another commit is not one of this commit. */
#include "cli/pack_origin.h"

#include "cli/kernel_set.h"
#include "packs/provenance.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum wf_status wf_repository_check(const char *url, struct wf_error *err)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme == NULL ? NULL : scheme + 3;
    size_t n = strlen(url);
    if (n == 0 || n >= sizeof((struct wf_git_info){ 0 }).repository) {
        return wf_errorf(err, WF_EINVAL, "--repository takes 1 to %zu characters",
                         sizeof((struct wf_git_info){ 0 }).repository - 1);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isgraph((unsigned char)url[i])) {
            return wf_errorf(err, WF_EINVAL,
                             "--repository has a character that no URL has, at %zu",
                             i + 1);
        }
    }
    if (host != NULL && memchr(host, '@', strcspn(host, "/")) != NULL) {
        return wf_errorf(err, WF_EINVAL,
                         "--repository holds a user or password, and everybody on the "
                         "farm reads it: give the URL without");
    }
    return WF_OK;
}

/* *ret stays NULL where the folder has no record. */
static enum wf_status read_built(const struct wf_pack *pack,
                                 struct wf_json **ret,
                                 struct wf_error *err)
{
    char *path = NULL;
    enum wf_status status = wf_pack_provenance_path(pack, &path, err);
    if (status == WF_OK && path != NULL) {
        status = wf_provenance_read(path, wf_pack_id(pack), ret, err);
    }
    free(path);
    return status;
}

static enum wf_status same_commit(const struct wf_json *built,
                                  const struct wf_git_info *git,
                                  struct wf_error *err)
{
    const char *commit = wf_json_string(wf_json_find(built, "commit"));
    if (commit == NULL || strcmp(commit, git->commit) == 0) {
        return WF_OK;
    }
    return wf_errorf(err, WF_EINVAL,
                     "--commit: provenance.json says that the pack was built at commit "
                     "%.64s, the work tree is at %s: build again, or publish without "
                     "--commit",
                     commit, git->commit);
}

/* Compilers, flags and time of the build; changes that the build saw stay told. */
static enum wf_status add_built(const struct wf_json *built,
                                struct wf_json *record,
                                struct wf_error *err)
{
    bool dirty = false;
    (void)wf_json_as_bool(wf_json_find(built, "dirty"), &dirty);
    enum wf_status status =
        wf_json_set_copy(record, "kernels", wf_json_find(built, "kernels"), err);
    if (status == WF_OK) {
        status =
            wf_json_set_copy(record, "built_at", wf_json_find(built, "built_at"), err);
    }
    if (status == WF_OK && dirty) {
        status = wf_json_set_bool(record, "dirty", true, err);
    }
    return status;
}

static enum wf_status make(const struct wf_pack *pack,
                           const struct wf_git_info *git,
                           const struct wf_json *built,
                           struct wf_json **ret,
                           struct wf_error *err)
{
    struct wf_provenance p = { .git = git };
    struct wf_json *record = NULL;
    enum wf_status status = wf_provenance_make(wf_pack_id(pack), &p, &record, err);
    if (status == WF_OK && built != NULL) {
        status = add_built(built, record, err);
    }
    if (status != WF_OK) {
        wf_json_free(record);
        return status;
    }
    *ret = record;
    return WF_OK;
}

enum wf_status wf_pack_origin(const struct wf_pack *pack,
                              const char *repository,
                              struct wf_json **ret,
                              struct wf_error *err)
{
    struct wf_git_info git = { .repository = "" };
    struct wf_json *built = NULL;
    enum wf_status status = wf_git_read(wf_pack_folder(pack), &git, err);
    if (status != WF_OK) {
        return wf_error_prefix(err, "--commit");
    }
    if (repository != NULL) {
        snprintf(git.repository, sizeof git.repository, "%s", repository);
    }
    status = read_built(pack, &built, err);
    if (status == WF_OK && built != NULL) {
        status = same_commit(built, &git, err);
    }
    if (status == WF_OK) {
        status = make(pack, &git, built, ret, err);
    }
    wf_json_free(built);
    return status;
}
