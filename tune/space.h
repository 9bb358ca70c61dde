/* Knob spaces: which versions of a kernel family a search may look at.
 * docs/tuning.md describes the file, docs/schemas/knob-space.schema.json is its schema.
 *
 * A space names a kernel entry (docs/pack.md), which of its variants a case starts from
 * (`bases`), knobs with their values, and conditions, so that a point that cannot work
 * is never compiled. The values that the base itself has are the incumbent: they must
 * be in the space, so a search never compares without what is there already.
 *
 * Pure but for reading the two files. */
#ifndef WF_TUNE_SPACE_H
#define WF_TUNE_SPACE_H

#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_SPACE_SCHEMA     "wavefarm.knob-space/1"
#define WF_SPACE_KNOBS      24
#define WF_SPACE_VALUES     32 /* of one knob */
#define WF_SPACE_BASES      64
#define WF_SPACE_MAX_POINTS 1000000 /* all combinations */

struct wf_space; /* opaque */

struct wf_space_knob {
    const char *name;
    const int64_t *value; /* the first one is the simplest */
    size_t count;
};

/* What a figure of the static report may be (docs/isa.md); either may be NAN: no bound.
 */
struct wf_space_limit {
    const char *figure;
    double least, most;
    const char *why;
};

/* `path` is the space's file. The entry is looked for from `root`; NULL: from the
 * folders above the file, the first that has it. EINVAL, EPARSE: what is wrong with
 * which member. */
enum wf_status wf_space_read(const char *path,
                             const char *root,
                             struct wf_space **ret,
                             struct wf_error *err);
/* The same of JSON; `entry` is the kernel entry's. Neither is kept. */
enum wf_status wf_space_parse(const struct wf_json *json,
                              const struct wf_json *entry,
                              struct wf_space **ret,
                              struct wf_error *err);
void wf_space_free(struct wf_space *s);

const char *wf_space_op(const struct wf_space *s);
const char *wf_space_entry(const struct wf_space *s);  /* relative to the root */
const char *wf_space_root(const struct wf_space *s);   /* "" after wf_space_parse */
const char *wf_space_sha256(const struct wf_space *s); /* of its canonical JSON */
size_t wf_space_knob_count(const struct wf_space *s);
struct wf_space_knob wf_space_knob_at(const struct wf_space *s, size_t i);
size_t wf_space_limit_count(const struct wf_space *s);
struct wf_space_limit wf_space_limit_at(const struct wf_space *s, size_t i);
/* Figures by which one point may make another one needless (tune/prune.h). */
size_t wf_space_dominance_count(const struct wf_space *s);
const char *wf_space_dominance_at(const struct wf_space *s, size_t i);
/* Knobs that the points of one class of dominance have in common. */
size_t wf_space_class_count(const struct wf_space *s);
size_t wf_space_class_knob(const struct wf_space *s, size_t i);
size_t wf_space_base_count(const struct wf_space *s);
const char *wf_space_base(const struct wf_space *s, size_t base); /* variant's name */

/* The first base whose `when` holds for the case (`scope`: case, then device). False:
 * the space has nothing for it. */
enum wf_status wf_space_base_of(const struct wf_space *s,
                                const struct wf_scope *scope,
                                bool *ret_found,
                                size_t *ret,
                                struct wf_error *err);

/* Points are numbered from 0; the last knob runs fastest. */
uint64_t wf_space_count(const struct wf_space *s);
void wf_space_values(const struct wf_space *s, uint64_t point, int64_t *ret);
/* The point of the base's own values. */
uint64_t wf_space_incumbent(const struct wf_space *s, size_t base);
/* How far from simple: the sum of the places of its values. */
unsigned wf_space_rank(const struct wf_space *s, uint64_t point);
/* Whether all conditions hold; else *ret_why is the first broken one's reason, borrowed
 * from the space. Names in conditions: knobs, the space's `values`, the base's other
 * numeric knobs, the case, the device. */
enum wf_status wf_space_allows(const struct wf_space *s,
                               size_t base,
                               uint64_t point,
                               const struct wf_scope *scope,
                               bool *ret,
                               const char **ret_why,
                               struct wf_error *err);
/* The point nearest to recorded facts (a suite's known_best): members with the names of
 * knobs count by |log2| of the ratio, the others of the base stay. False: no member has
 * a knob's name. */
bool wf_space_nearest(const struct wf_space *s,
                      size_t base,
                      const struct wf_json *facts,
                      uint64_t *ret);
/* {"BLOCK_M": 128, ...}, to be freed. */
enum wf_status wf_space_point_json(const struct wf_space *s,
                                   uint64_t point,
                                   struct wf_json **ret,
                                   struct wf_error *err);
/* 12 hex digits and NUL: of entry, base and values. */
void wf_space_point_id(const struct wf_space *s,
                       size_t base,
                       uint64_t point,
                       char ret[13]);

#endif
