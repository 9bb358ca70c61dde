/* Gets what a task needs into the cache: its pack and its dataset, by hash. */
#ifndef WF_RUNNER_AGENT_FETCH_H
#define WF_RUNNER_AGENT_FETCH_H

#include "core/error.h"
#include "runner/farm_client.h"

/* The folder <cache>/packs/<id>, fetched and checked when it is not there; caller
 * frees. Agents that share a cache may race: the first rename wins. */
enum wf_status wf_fetch_pack(struct wf_farm_client *client,
                             const char *cache_folder,
                             const char *pack_id,
                             const char *archive_sha256,
                             char **ret_folder,
                             struct wf_error *err);
/* <cache>/datasets/<sha256>.safetensors; *ret_folder is the datasets folder. */
enum wf_status wf_fetch_dataset(struct wf_farm_client *client,
                                const char *cache_folder,
                                const char *sha256,
                                struct wf_error *err);

#endif
