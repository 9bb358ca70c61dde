/* Looks for programs and libraries beside the running program. A variable, when set, is
 * the only place that is looked at, so that a test cannot pick up an installed one. */
#include "runner/paths.h"

#include "core/buf.h"
#include "core/file.h"

#include <stdlib.h>
#include <string.h>

static enum wf_status look(const char *folder,
                           const char *below,
                           const char *name,
                           char **ret,
                           struct wf_error *err)
{
    char *path = wf_asprintf("%s%s/%s", folder, below, name);
    if (!path) {
        return wf_errorf(err, WF_ENOMEM, "no memory");
    }
    if (wf_file_exists(path)) {
        *ret = path;
        return WF_OK;
    }
    free(path);
    return WF_ENOTFOUND;
}

static enum wf_status find(const char *variable,
                           const char *const *below,
                           const char *name,
                           char **ret,
                           struct wf_error *err)
{
    char *folder = NULL;
    const char *set = getenv(variable);
    if (set && set[0]) {
        enum wf_status st = look(set, "", name, ret, err);
        return st == WF_ENOTFOUND
                   ? wf_errorf(err, st, "%s is not in %s (%s)", name, set, variable)
                   : st;
    }
    enum wf_status st = wf_executable_dir(&folder, err);
    if (st != WF_OK) {
        return st;
    }
    st = WF_ENOTFOUND;
    for (size_t i = 0; st == WF_ENOTFOUND && below[i]; i++) {
        st = look(folder, below[i], name, ret, err);
    }
    if (st == WF_ENOTFOUND) {
        st = wf_errorf(err, st,
                       "%s is not beside the program (%s; %s may name its folder)",
                       name, folder, variable);
    }
    free(folder);
    return st;
}

enum wf_status runner_program(const char *name, char **ret, struct wf_error *err)
{
    static const char *const below[] = { "", "/../libexec/wavefarm", NULL };
    return find("WAVEFARM_LIBEXEC", below, name, ret, err);
}

enum wf_status runner_reference_pack(const char *name, char **ret, struct wf_error *err)
{
    static const char *const below[] = { "/../reference-packs", NULL };
    static const char *const forms[] = { "", "-ptx" };
    enum wf_status st = WF_ENOTFOUND;
    for (size_t i = 0; i < 2 && st == WF_ENOTFOUND; i++) {
        char *manifest = NULL;
        char *file = wf_asprintf("%s%s/pack.json", name, forms[i]);
        if (!file) {
            return wf_errorf(err, WF_ENOMEM, "no memory");
        }
        st = find("WAVEFARM_REFERENCE_PACKS", below, file, &manifest, err);
        free(file);
        if (st == WF_OK) {
            manifest[strlen(manifest) - strlen("/pack.json")] = '\0';
            *ret = manifest;
        }
    }
    return st;
}

enum wf_status runner_library(const char *name, char **ret, struct wf_error *err)
{
    static const char *const below[] = { "/../lib", "/../lib/wavefarm", "", NULL };
    return find("WAVEFARM_LIBRARIES", below, name, ret, err);
}
