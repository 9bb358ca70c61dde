#include "cli/paths.h"

#include "core/buf.h"
#include "core/file.h"

#include <stdlib.h>

static enum wf_status beside_executable(const char *env,
                                        const char *relative,
                                        char **ret,
                                        struct wf_error *err)
{
    char *exe = NULL;
    const char *given = getenv(env);
    if (given != NULL && given[0] != '\0') {
        *ret = wf_strdup(given);
        return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    enum wf_status status = wf_executable_dir(&exe, err);
    if (status != WF_OK) {
        return status;
    }
    *ret = wf_asprintf("%s/../%s", exe, relative);
    free(exe);
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
}

enum wf_status wf_suites_folder(char **ret, struct wf_error *err)
{
    return beside_executable("WAVEFARM_SUITES", "share/wavefarm/suites", ret, err);
}

enum wf_status wf_packs_folder(char **ret, struct wf_error *err)
{
    return beside_executable("WAVEFARM_PACKS", "packs", ret, err);
}

enum wf_status wf_mutants_folder(char **ret, struct wf_error *err)
{
    return beside_executable("WAVEFARM_MUTANTS", "share/wavefarm/mutants", ret, err);
}

enum wf_status wf_selections_folder(char **ret, struct wf_error *err)
{
    return beside_executable("WAVEFARM_SELECTIONS", "share/wavefarm/selections", ret,
                             err);
}

enum wf_status wf_datasets_folder(char **ret, struct wf_error *err)
{
    char *cache = NULL;
    enum wf_status status = wf_cache_dir(&cache, err);
    if (status != WF_OK) {
        return status;
    }
    *ret = wf_path_join(cache, "datasets");
    free(cache);
    return *ret != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
}
