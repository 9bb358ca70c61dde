/* The body of POST /v1/runs, read and checked. No database. */
#ifndef WF_COORDINATOR_RUN_REQUEST_H
#define WF_COORDINATOR_RUN_REQUEST_H

#include "coordinator/api.h"
#include "datasets/dataset.h"
#include "packs/pack.h"

struct wf_run_case {
    char *name, *canonical, *label, *op;
    char *measure; /* JSON, the run's options with the case's own; NULL: the run's */
    int64_t budget_ms; /* of those */
    char id[WF_SHA256_HEX];
    char dataset[WF_SHA256_HEX]; /* "" none */
    const char *math_type;
    double flops, bytes;
    uint64_t memory_bytes; /* of its tensors */
};

struct wf_run_pack {
    struct wf_pack *pack;
    char *manifest, *provenance; /* JSON; provenance NULL: none */
    const char *archive;
};

struct wf_run_kernel {
    size_t pack; /* index */
    const struct wf_pack_kernel *kernel;
};

struct wf_run_request {
    struct wf_json *root; /* without its cases; strings below are borrowed from it */
    char digest[WF_SHA256_HEX]; /* of the canonical body */
    const char *request_id, *name, *suite;
    int priority; /* lower is sooner */
    struct wf_run_case *cases;
    size_t case_count;
    struct wf_run_pack *packs;
    size_t pack_count;
    struct wf_run_kernel *kernels;
    size_t kernel_count;
    const char *runtime, *arch, *model; /* NULL: any */
    char arch_base[64];                 /* arch without feature suffixes */
    struct wf_buf labels;               /* array literal */
    char selector[256];                 /* the same for people: "host", "amd/MI300X" */
    int64_t repetitions, seed_offset;
    char *measure; /* JSON */
    bool measured;
    size_t task_count;
};

#define WF_RUN_MAX_TASKS 250000

/* EPARSE or EINVAL; the text names case, kernel or member. */
enum wf_status wf_run_request_read(struct wf_request *req,
                                   const struct wf_dataset_resolver *datasets,
                                   struct wf_run_request **ret,
                                   struct wf_error *err);
/* The same from a tree of those members (taken over, also on error), without digest and
 * tasks: what a gate is made of (gate_request.h). */
enum wf_status wf_run_request_parse(struct wf_json *root,
                                    const struct wf_dataset_resolver *datasets,
                                    struct wf_run_request **ret,
                                    struct wf_error *err);
void wf_run_request_free(struct wf_run_request *r);

/* "gfx942:sramecc+:xnack-" -> "gfx942". False when it does not fit. */
bool wf_arch_base(const char *arch, char *ret, size_t n);

#endif
