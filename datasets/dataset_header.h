/* The JSON header of a safetensors file, apart from its data: tags, tensor entries and
 * the rule that offsets cover the data exactly once. Used by dataset.c and
 * dataset_write.c only. */
#ifndef WF_DATASETS_DATASET_HEADER_H
#define WF_DATASETS_DATASET_HEADER_H

#include "core/buf.h"
#include "core/json.h"
#include "datasets/dataset.h"

#include <stdbool.h>
#include <stdint.h>

#define WF_DATASET_MAX_HEADER_BYTES 100000000u
#define WF_DATASET_METADATA         "__metadata__"
/* The format has no tag for fnuz types: such a tensor is stored as U8, and the metadata
 * entry "wavefarm.dtype.<tensor>" holds our name of its type. */
#define WF_DATASET_DTYPE_KEY        "wavefarm.dtype."

struct wf_dataset_entry {
    struct wf_dataset_tensor tensor; /* name borrowed from the JSON; data NULL */
    uint64_t begin, end;             /* offsets in the data part */
};

/* "I32" and so on; NULL for a type that the format cannot name (fnuz). */
const char *wf_dataset_tag(enum wf_dtype t);

/* Fills entry from the header member `v` (key: tensor name). `data_bytes` bounds the
 * offsets. */
enum wf_status wf_dataset_entry_parse(const struct wf_json *v,
                                      uint64_t data_bytes,
                                      struct wf_dataset_entry *ret,
                                      struct wf_error *err);
/* No hole, no overlap, nothing left over at the end. */
enum wf_status wf_dataset_entries_cover(const struct wf_dataset_entry *entries,
                                        size_t n,
                                        uint64_t data_bytes,
                                        struct wf_error *err);
/* Product of the dimensions and the element size; false on overflow or a negative
 * dimension. */
bool wf_dataset_tensor_bytes(const struct wf_dataset_tensor *t, uint64_t *ret);
/* Checks that all values are strings and applies the fnuz entries. */
enum wf_status wf_dataset_apply_metadata(const struct wf_json *metadata,
                                         struct wf_dataset_entry *entries,
                                         size_t n,
                                         struct wf_error *err);

#endif
