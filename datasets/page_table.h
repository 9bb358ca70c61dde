/* Page tables of a paged KV cache, as a serving engine would have them in one step.
 *
 * A generator replays requests (of a trace, or synthetic) through a continuous-batching
 * engine (replay.h) and takes the tables of one step. Equal parameters and an equal
 * trace give equal bytes. Layout (FlashInfer's, all int32):
 *   kv_indptr         [batch + 1]  page list of sequence s: kv_indices[indptr[s] ...]
 *   kv_indices        [pages]      page ids, 1 ... num_pages - 1 (0 is never used)
 *   kv_last_page_len  [batch]      tokens in the last page, 1 ... page_size
 *   qo_indptr         [batch + 1]  modes extend and prefill only: new tokens
 * docs/datasets.md describes recipe members and metadata. */
#ifndef WF_DATASETS_PAGE_TABLE_H
#define WF_DATASETS_PAGE_TABLE_H

#include "core/buf.h"
#include "core/error.h"
#include "core/json.h"
#include "datasets/page_pool.h"
#include "datasets/trace.h"

#include <stdint.h>

#define WF_PAGE_TABLE_FORMAT    "wavefarm.page-table/1"
#define WF_PAGE_TABLE_MAX_BATCH 65536
#define WF_PAGE_TABLE_LARGEST   (-1) /* step: the one with the largest batch */

enum wf_page_table_mode {
    WF_PAGE_TABLE_DECODE,  /* the sequences that decode, one query each */
    WF_PAGE_TABLE_EXTEND,  /* all: those that decode and those that prefill */
    WF_PAGE_TABLE_PREFILL, /* the sequences admitted in the step */
    WF_PAGE_TABLE_MODE_COUNT
};

/* Members have the names of the recipe's members and of the command's options. */
struct wf_page_table_spec {
    const char *trace;    /* a file; NULL: synthetic requests */
    const char *base_dir; /* a relative trace path starts here; NULL: working folder */
    const char *trace_sha256; /* what the trace must be, or NULL */
    int64_t requests;         /* first rows of the trace or synthetic; 0: 16 x batch */
    double mean_prompt, mean_output; /* synthetic: tokens */
    double spread;                   /* synthetic: of the lengths' logarithm */
    double rate_per_s;               /* synthetic: mean arrivals */
    double prefix_share;   /* share of the requests with a common prefix; not with
                              a trace that has its own */
    int64_t prefix_tokens; /* length of a common prefix */
    int64_t prefix_groups; /* how many different ones */
    int64_t batch;         /* most sequences at once */
    int64_t page_size;     /* tokens a page */
    int64_t num_pages;     /* of the pool; 0: an eighth more than the mean need */
    int64_t seed;
    int64_t step; /* or WF_PAGE_TABLE_LARGEST: of all steps with the largest batch, the
                     middle one */
    enum wf_page_table_mode mode;
    enum wf_free_order free_order;
    double step_ms;    /* time of one step */
    double time_scale; /* the trace's time passes this much faster; 0: so that 1.25 x
                          batch sequences would run if there were room */
    const volatile int *cancel; /* making ends with ECANCELLED when set; may be NULL */
};

struct wf_page_table_stats {
    int64_t step;      /* the one taken */
    int64_t batch;     /* sequences in the table */
    int64_t num_pages; /* pool size */
    int64_t page_size;
    int64_t kv_tokens; /* sum of the lengths */
    int64_t qo_tokens;
    int64_t min_kv, max_kv;
    int64_t indices;        /* entries of kv_indices */
    int64_t distinct_pages; /* different ids among them */
    int64_t shared_pages;   /* ids that more than one sequence lists */
    int64_t partial_last_pages;
    int64_t ascending_pairs; /* neighbours in a list whose ids differ by +1 */
    int64_t free_pages;
    int64_t requests, admitted, finished, preempted, refused; /* until then */
    double time_scale;
};

void wf_page_table_spec_default(struct wf_page_table_spec *ret);
/* Reads a recipe: { "kind": "page-table", "trace": FILE | "synthetic": true, ... }.
 * Strings are borrowed from `json`. EINVAL names the member, its value and its limit.
 */
enum wf_status wf_page_table_spec_parse(const struct wf_json *json,
                                        const char *base_dir,
                                        struct wf_page_table_spec *ret,
                                        struct wf_error *err);
/* The checks of the parser, for a spec that was filled by hand. */
enum wf_status wf_page_table_spec_check(const struct wf_page_table_spec *spec,
                                        struct wf_error *err);
/* The recipe of a spec, without the trace's path: what the metadata records. */
enum wf_status wf_page_table_spec_json(const struct wf_page_table_spec *spec,
                                       struct wf_json **ret,
                                       struct wf_error *err);

/* Appends the safetensors image to `out`; *ret_stats may be NULL. */
enum wf_status wf_page_table_make(const struct wf_page_table_spec *spec,
                                  struct wf_buf *out,
                                  struct wf_page_table_stats *ret_stats,
                                  struct wf_error *err);

#endif
