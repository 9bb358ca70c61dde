/* Makes the body of POST /v1/runs from the command line and sends it. */
#ifndef WF_CLI_SUBMISSION_H
#define WF_CLI_SUBMISSION_H

#include "cli/api.h"
#include "packs/pack.h"

/* *ret is the coordinator's answer ({"run","tasks"}). Packs and datasets are uploaded
 * before. */
enum wf_status wf_submit(struct wf_api *api,
                         const struct wf_args *args,
                         struct wf_json **ret,
                         struct wf_error *err);
/* Archives a pack and uploads it; the entry of "packs" for the body. */
enum wf_status wf_submit_pack(struct wf_api *api,
                              const struct wf_pack *pack,
                              struct wf_json **ret_entry,
                              struct wf_error *err);

#endif
