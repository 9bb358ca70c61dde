#include "cli/farm_archs.h"

#include "cli/kernel_set.h"

#include <stdlib.h>
#include <string.h>

struct wf_farm_archs {
    struct wf_json *answer; /* the devices below live in it */
    const char **arch;
    size_t count;
};

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(wf_json_find(obj, key));
    return s != NULL ? s : "";
}

static bool is_or_any(const struct wf_json *obj, const char *key, const char *wanted)
{
    return wanted == NULL || strcmp(text(obj, key), wanted) == 0;
}

static enum wf_status add(struct wf_farm_archs *a,
                          const char *arch,
                          struct wf_error *err)
{
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->arch[i], arch) == 0) {
            return WF_OK;
        }
    }
    const char **grown = wf_realloc_array(a->arch, a->count + 1, sizeof(*grown));
    if (grown == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the farm's devices");
    }
    a->arch = grown;
    a->arch[a->count++] = arch;
    return WF_OK;
}

enum wf_status wf_farm_archs_fetch(struct wf_api *api,
                                   const char *runtime,
                                   const char *model,
                                   struct wf_farm_archs **ret,
                                   struct wf_error *err)
{
    struct wf_farm_archs *a = wf_calloc(1, sizeof(*a));
    enum wf_status status = a == NULL
                                ? wf_errorf(err, WF_ENOMEM, "no memory")
                                : wf_api_get(api, "/v1/runners", 0, &a->answer, err);
    const struct wf_json *r = NULL;
    if (status == WF_OK) {
        r = wf_json_first(wf_json_find(a->answer, "runners"));
    }
    for (; r != NULL; r = wf_json_next(r)) {
        const struct wf_json *d = wf_json_first(wf_json_find(r, "devices"));
        for (; d != NULL && status == WF_OK; d = wf_json_next(d)) {
            bool wanted =
                is_or_any(d, "runtime", runtime) && is_or_any(d, "model", model);
            if (wanted && strcmp(text(r, "state"), "alive") == 0) {
                status = add(a, text(d, "arch"), err);
            }
        }
    }
    if (status != WF_OK) {
        wf_farm_archs_free(a);
        return status;
    }
    *ret = a;
    return WF_OK;
}

void wf_farm_archs_free(struct wf_farm_archs *a)
{
    if (a != NULL) {
        wf_json_free(a->answer);
        free(a->arch);
        free(a);
    }
}

bool wf_farm_archs_empty(const struct wf_farm_archs *a)
{
    return a->count == 0;
}

bool wf_farm_archs_fit(const struct wf_farm_archs *a, const struct wf_pack_kernel *k)
{
    for (size_t i = 0; i < a->count; i++) {
        if (wf_kernel_fits_arch(k, a->arch[i])) {
            return true;
        }
    }
    return a->count == 0;
}
