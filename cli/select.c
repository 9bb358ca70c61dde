#include "cli/select.h"

#include "cli/case_plan.h"
#include "cli/paths.h"
#include "core/buf.h"
#include "core/file.h"

#include <stdlib.h>
#include <string.h>

static enum wf_status built_in(const char *op,
                               const char *arch,
                               char **ret,
                               struct wf_error *err)
{
    char *folder = NULL;
    enum wf_status st = wf_selections_folder(&folder, err);
    *ret = st == WF_OK ? wf_asprintf("%s/%s-%.*s.json", folder, op,
                                     (int)strcspn(arch, ":"), arch)
                       : NULL;
    free(folder);
    if (st == WF_OK && *ret == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    if (st == WF_OK && !wf_file_exists(*ret)) {
        st = wf_errorf(err, WF_ENOTFOUND,
                       "there is no built-in selection of %s for %s (%s): name a file, "
                       "'wavefarm tune' and 'wavefarm tune select' make one",
                       op, arch, *ret);
        free(*ret);
        *ret = NULL;
    }
    return st;
}

static enum wf_status check(const struct wf_selection *s,
                            const char *op,
                            const char *arch,
                            struct wf_error *err)
{
    const size_t n = strcspn(arch, ":");
    if (strcmp(wf_selection_op(s), op) != 0) {
        return wf_errorf(err, WF_EINVAL, "the selection is of %s, the suite has %s",
                         wf_selection_op(s), op);
    }
    if (strlen(wf_selection_arch(s)) != n ||
        strncmp(wf_selection_arch(s), arch, n) != 0) {
        return wf_errorf(err, WF_EINVAL, "the selection is for %s, the device is %s",
                         wf_selection_arch(s), arch);
    }
    return WF_OK;
}

enum wf_status wf_select_open(const char *what,
                              const char *op,
                              const struct wf_device *device,
                              struct wf_selection **ret,
                              struct wf_error *err)
{
    char *path = NULL;
    struct wf_selection *s = NULL;
    enum wf_status st = WF_OK;
    if (strcmp(what, "auto") == 0) {
        st = built_in(op, device->arch, &path, err);
    } else {
        path = wf_strdup(what);
        st = path != NULL ? WF_OK : wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    st = st == WF_OK ? wf_selection_read(path, &s, err) : st;
    if (st == WF_OK && check(s, op, device->arch, err) != WF_OK) {
        st = wf_error_prefix(err, "%s", path);
    }
    free(path);
    if (st != WF_OK) {
        wf_selection_free(s);
        return st;
    }
    *ret = s;
    return WF_OK;
}

static double length_of(const struct wf_json *problem)
{
    double k = 0;
    const struct wf_json *v = wf_json_find(problem, "K");
    return v != NULL && wf_json_as_f64(v, &k) ? k : 0;
}

static enum wf_status choose(const struct wf_selection *s,
                             const struct case_plan *plan,
                             const struct wf_json *problem,
                             const struct wf_kernel_set *set,
                             struct wf_selection_choice *ret,
                             struct wf_error *err)
{
    const struct wf_pack_kernel **offered = wf_calloc(set->count + 1, sizeof(*offered));
    size_t *at = wf_calloc(set->count + 1, sizeof(*at));
    size_t n = 0;
    if (offered == NULL || at == NULL) {
        free(offered);
        free(at);
        return wf_errorf(err, WF_ENOMEM, "no memory for kernels");
    }
    for (size_t i = 0; i < set->count; i++) { /* names are unique in one of these */
        if (strcmp(set->choice[i].kernel->op, wf_case_op_name(plan->c)) == 0 &&
            wf_kernel_fits_arch(set->choice[i].kernel, plan->device->arch)) {
            at[n] = i;
            offered[n++] = set->choice[i].kernel;
        }
    }
    const struct wf_selection_case c = { .json = problem,
                                         .tensor = plan->tensor,
                                         .tensor_count = plan->tensor_count,
                                         .scope = &plan->scope,
                                         .arch = plan->device->arch,
                                         .length = length_of(problem),
                                         .bytes = wf_case_bytes(plan->c),
                                         .cu_count = plan->device->cu_count };
    const enum wf_status st = wf_selection_choose(s, &c, offered, n, ret, err);
    if (st == WF_OK) {
        ret->kernel = ret->kernel < n ? at[ret->kernel] : set->count;
    }
    free(offered);
    free(at);
    return st;
}

enum wf_status wf_select_kernel(const struct wf_selection *s,
                                const struct wf_case *c,
                                const struct wf_device *device,
                                const struct wf_kernel_set *set,
                                struct wf_selection_choice *ret,
                                struct wf_error *err)
{
    struct case_plan plan;
    struct wf_json *problem = NULL;
    const char *text = wf_case_canonical(c);
    enum wf_status st = case_plan_init(&plan, c, device, err);
    st = st == WF_OK ? wf_json_parse(text, strlen(text), "case", &problem, err) : st;
    st = st == WF_OK ? choose(s, &plan, problem, set, ret, err) : st;
    wf_json_free(problem);
    case_plan_fini(&plan);
    return st;
}
