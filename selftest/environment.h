/* What all stages of the selftest share: devices, opened packs, a folder of datasets,
 * texts that live until the end. */
#ifndef WF_SELFTEST_ENVIRONMENT_H
#define WF_SELFTEST_ENVIRONMENT_H

#include "core/error.h"
#include "core/json.h"
#include "datasets/dataset.h"
#include "packs/pack.h"
#include "runner/device.h"
#include "selftest/tables.h"

#include <stddef.h>

#define WF_SELFTEST_MAX_PACKS 4096

struct wf_selftest_env {
    struct wf_device host, emulator;
    char *folder;   /* temporary, removed at the end */
    char *datasets; /* in it */
    struct wf_dataset_store *store;
    struct wf_pack **pack;
    size_t pack_count;
    char **text;
    size_t text_count;
};

enum wf_status wf_selftest_env_open(struct wf_selftest_env *ret, struct wf_error *err);
void wf_selftest_env_close(struct wf_selftest_env *env);
/* Opens each folder once. */
enum wf_status wf_selftest_pack(struct wf_selftest_env *env,
                                const char *folder,
                                const struct wf_pack **ret,
                                struct wf_error *err);
/* The emulator for gfx942, the host for the rest. */
const struct wf_device *wf_selftest_device(const struct wf_selftest_env *env,
                                           const struct wf_pack_kernel *kernel);
/* Takes a text of wf_calloc over; NULL (no memory) is ENOMEM. */
enum wf_status wf_selftest_keep(struct wf_selftest_env *env,
                                char *text,
                                const char **ret,
                                struct wf_error *err);
/* A manifest's case: its "@table" made and replaced by the hash. */
enum wf_status wf_selftest_case(struct wf_selftest_env *env,
                                const struct wf_json *c,
                                const struct wf_json *tables,
                                const char **ret,
                                struct wf_error *err);

#endif
