/* What the devices of a farm's runners are, so that a run asks for kernels that
 * somebody can run. */
#ifndef WF_CLI_FARM_ARCHS_H
#define WF_CLI_FARM_ARCHS_H

#include "cli/api.h"
#include "packs/pack.h"

#include <stdbool.h>

struct wf_farm_archs;

/* Of runners that are alive; only of `runtime` and `model` where they are not NULL. */
enum wf_status wf_farm_archs_fetch(struct wf_api *api,
                                   const char *runtime,
                                   const char *model,
                                   struct wf_farm_archs **ret,
                                   struct wf_error *err);
void wf_farm_archs_free(struct wf_farm_archs *a);
bool wf_farm_archs_empty(const struct wf_farm_archs *a);
/* True when a device has an arch of the kernel, or no device is known at all. */
bool wf_farm_archs_fit(const struct wf_farm_archs *a, const struct wf_pack_kernel *k);

#endif
