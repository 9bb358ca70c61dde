/* Selection tables: which kernel of a family a case gets. Made of tuning tables
 * (wf_selection_make), used by `wavefarm run --select`. docs/tuning.md,
 * docs/schemas/selection.schema.json.
 *
 * How a kernel is chosen, in this order; a kernel that the packs do not have, or whose
 * `supports` does not hold for the case, is passed over, whatever a table says:
 *   1. row: a row of the table has this very case (but for seed and inputs)
 *   2. model: the least modelled cycles (tune/model.h) of all kernels of the table that
 *      have a model for what they would launch; within 0.5 % the earlier one
 *   3. nearest: the row of the same class (every member but M, N, K, batch and layout
 * is equal) that is nearest by |log2| of the ratios of M, N, K and batch
 *   4. none: the reasons are told */
#ifndef WF_TUNE_SELECTION_H
#define WF_TUNE_SELECTION_H

#include "packs/plan.h"
#include "tune/model.h"

#define WF_SELECTION_SCHEMA "wavefarm.selection/1"
#define WF_SELECTION_MARGIN 0.005

struct wf_selection; /* opaque */

enum wf_status wf_selection_read(const char *path,
                                 struct wf_selection **ret,
                                 struct wf_error *err);
/* `json` is copied. */
enum wf_status wf_selection_parse(const struct wf_json *json,
                                  struct wf_selection **ret,
                                  struct wf_error *err);
void wf_selection_free(struct wf_selection *s);
const char *wf_selection_op(const struct wf_selection *s);
const char *wf_selection_arch(const struct wf_selection *s);
const char *wf_selection_basis(const struct wf_selection *s);
size_t wf_selection_kernel_count(const struct wf_selection *s);
const char *wf_selection_kernel(const struct wf_selection *s, size_t i);
size_t wf_selection_row_count(const struct wf_selection *s);

/* A case, as the choice needs it. */
struct wf_selection_case {
    const struct wf_json *json; /* canonical */
    const struct wf_plan_tensor *tensor;
    size_t tensor_count;
    const struct wf_scope *scope; /* case, then device */
    const char *arch;
    double length, bytes; /* K; least traffic with main memory */
    double cu_count;
};

/* X(NAME, text) */
#define WF_SELECTION_WAYS(X) \
    X(ROW, "row")            \
    X(MODEL, "model")        \
    X(NEAREST, "nearest")    \
    X(NONE, "none")

enum wf_selection_way {
#define X(name, text) WF_SELECTION_##name,
    WF_SELECTION_WAYS(X)
#undef X
    WF_SELECTION_WAY_COUNT
};
const char *wf_selection_way_name(enum wf_selection_way w);

struct wf_selection_choice {
    size_t kernel; /* index into what was offered; count: none */
    enum wf_selection_way way;
    double cycles; /* MODEL; else NAN */
    char why[512]; /* for people: the way, or why there is none */
    /* The table has a row of this very case, whose kernel was passed over: why; else
     * "". For people. */
    char passed[512];
};

/* `offered`: the kernels that the packs have. */
enum wf_status wf_selection_choose(const struct wf_selection *s,
                                   const struct wf_selection_case *c,
                                   const struct wf_pack_kernel *const *offered,
                                   size_t count,
                                   struct wf_selection_choice *ret,
                                   struct wf_error *err);

/* What wf_tune_cycles needs to know of a plan. */
enum wf_status wf_tune_problem_of(const struct wf_plan *plan,
                                  double k,
                                  double bytes,
                                  double cu_count,
                                  struct wf_tune_problem *ret,
                                  struct wf_error *err);

/* A selection of the winners of tuning tables of one op and architecture. `sha256[i]`:
 * of the table's file. Where two tables have the same case, the measured one wins over
 * the modelled one, else the later one. EINVAL: they do not belong together. */
enum wf_status wf_selection_make(const struct wf_json *const *table,
                                 const char *const *sha256,
                                 size_t count,
                                 const char *description,
                                 struct wf_json **ret,
                                 struct wf_error *err);

#endif
