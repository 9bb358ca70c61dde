/* What the files of a knob space share. */
#ifndef WF_TUNE_SPACE_INTERNAL_H
#define WF_TUNE_SPACE_INTERNAL_H

#include "packs/expr.h"
#include "tune/space.h"

#define SPACE_CONDITIONS 48
#define SPACE_FACTS      64 /* numeric knobs of a base */

struct space_named { /* value or condition */
    char *name;      /* of a condition: why */
    struct wf_expr *expr;
};

struct space_fact {
    char *name;
    int64_t value;
};

struct space_base {
    char *variant;
    struct wf_expr *when; /* NULL: always */
    struct space_fact fact[SPACE_FACTS];
    size_t fact_count;
    uint64_t incumbent;
};

struct space_knob {
    char *name;
    int64_t value[WF_SPACE_VALUES];
    size_t count;
};

struct space_limit {
    char *figure, *why;
    double least, most;
};

struct wf_space {
    char *op, *entry, *root;
    char sha256[WF_SHA256_HEX];
    struct space_knob knob[WF_SPACE_KNOBS];
    size_t knob_count;
    struct space_named value[WF_SPACE_KNOBS];
    size_t value_count;
    struct space_named condition[SPACE_CONDITIONS];
    size_t condition_count;
    struct space_limit limit[WF_SPACE_KNOBS];
    size_t limit_count;
    char *dominance[WF_SPACE_KNOBS];
    size_t dominance_count;
    size_t class_knob[WF_SPACE_KNOBS];
    size_t class_count;
    struct space_base base[WF_SPACE_BASES];
    size_t base_count;
    uint64_t points;
};

/* Index of the knob, or WF_SPACE_KNOBS. */
size_t space_find_knob(const struct wf_space *s, const char *name);
/* The bases, with the entry's numbers. */
enum wf_status space_read_bases(struct wf_space *s,
                                const struct wf_json *list,
                                const struct wf_json *entry,
                                struct wf_error *err);

#endif
