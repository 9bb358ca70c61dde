/* What the files of a selection share. */
#ifndef WF_TUNE_SELECTION_INTERNAL_H
#define WF_TUNE_SELECTION_INTERNAL_H

#include "tune/selection.h"

struct selection_kernel {
    const char *name; /* borrowed from json */
    struct wf_tune_model *model;
    size_t model_count;
};

struct selection_row {
    const char *name;
    const struct wf_json *problem; /* the case without seed and inputs */
    const char *kernel;
};

struct wf_selection {
    struct wf_json *json;
    const char *op, *arch, *basis;
    struct selection_kernel *kernel;
    size_t kernel_count;
    struct selection_row *row;
    size_t row_count;
};

/* Members of a case that are no part of what a kernel is chosen by. */
bool selection_is_apart(const char *key); /* seed, inputs */
bool selection_is_size(const char *key);  /* M N K batch and the layout */
/* Whether the cases are the same in every member but those. */
bool selection_same_case(const struct wf_json *a, const struct wf_json *b);
bool selection_same_class(const struct wf_json *a, const struct wf_json *b);

#endif
