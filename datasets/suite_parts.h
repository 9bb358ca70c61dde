/* Between the files of the suite module: datasets of a suite file, and the folder of
 * the built-in suites. */
#ifndef WF_DATASETS_SUITE_PARTS_H
#define WF_DATASETS_SUITE_PARTS_H

#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "datasets/dataset.h"

#include <stddef.h>

#define WF_SUITE_SCHEMA "wavefarm.suite/1"

struct suite_dataset {
    const char *name;            /* borrowed from the JSON */
    const struct wf_json *entry; /* as written in the file */
    char sha256[WF_SHA256_HEX];  /* "" until it is in the store */
};

struct suite_datasets {
    struct suite_dataset *at;
    size_t count;
    const char *base_dir; /* borrowed: folder of the suite file, for traces */
    struct wf_dataset_store *store;
};

/* Checks every entry of "datasets" (NULL: none); makes nothing yet. */
enum wf_status suite_datasets_init(struct suite_datasets *set,
                                   const struct wf_json *section,
                                   const char *base_dir,
                                   struct wf_dataset_store *store,
                                   struct wf_error *err);
void suite_datasets_fini(struct suite_datasets *set);
/* Finds or makes the dataset that "@name" refers to; *ret_sha256 is borrowed. */
enum wf_status suite_datasets_resolve(struct suite_datasets *set,
                                      const char *name,
                                      const char **ret_sha256,
                                      struct wf_error *err);

/* Names without ".json", sorted, joined by ", ". */
enum wf_status suite_folder_names(const char *folder,
                                  struct wf_buf *out,
                                  struct wf_error *err);
/* Reads a suite file and checks schema, name and section types. */
enum wf_status suite_read_file(const char *path,
                               struct wf_json **ret,
                               struct wf_error *err);

#endif
