/* The kernels of the pack: the library's first choice (`<prefix>_gemm`) and the fastest
 * of its candidates (`<prefix>_gemm_best`). */
#include "kernels/blaslt/blaslt.h"

#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_BYTES 320

/* What the `best` kernel chose last: the copies of a case's tensors are prepared one
 * after another and get one algorithm. */
static struct {
    char *key;
    int result;
    char note[NOTE_BYTES];
} last;

struct state {
    struct blaslt_plan *plan; /* NULL: nothing to do */
    struct blaslt_pointers at;
};

static int make_plan(const struct wf_lib_problem *problem,
                     const struct wf_lib_device *device,
                     int requested,
                     struct blaslt_plan **ret,
                     const struct blaslt_says *says)
{
    const struct blaslt_library *lib;
    struct blaslt_problem p;
    *ret = NULL;
    int rc = blaslt_load(&lib, says);
    if (rc == WF_LIB_OK) {
        rc = blaslt_read_problem(problem, device, &p, says);
    }
    if (rc != WF_LIB_OK || blaslt_has_nothing_to_do(&p)) {
        return rc;
    }
    rc = lib->vendor->supports(lib, &p, device, says);
    if (rc == WF_LIB_OK) {
        rc = blaslt_open(device, &lib, says);
    }
    return rc == WF_LIB_OK ? blaslt_plan_create(lib, &p, requested, ret, says) : rc;
}

static int supports(const struct wf_lib_problem *problem,
                    const struct wf_lib_device *device,
                    int requested,
                    const struct blaslt_says *says)
{
    struct blaslt_plan *plan;
    const int rc = make_plan(problem, device, requested, &plan, says);
    blaslt_plan_destroy(plan);
    return rc;
}

static int supports_first(const struct wf_lib_problem *problem,
                          const struct wf_lib_device *device,
                          char *message,
                          size_t message_bytes)
{
    return supports(problem, device, 1,
                    &(struct blaslt_says){ message, message_bytes });
}

static int supports_best(const struct wf_lib_problem *problem,
                         const struct wf_lib_device *device,
                         char *message,
                         size_t message_bytes)
{
    return supports(problem, device, BLASLT_RESULTS,
                    &(struct blaslt_says){ message, message_bytes });
}

/* The most that one of the candidates wants. */
static uint64_t workspace(const struct wf_lib_problem *problem,
                          const struct wf_lib_device *device,
                          int requested)
{
    char unused[64];
    const struct blaslt_says says = { unused, sizeof unused };
    struct blaslt_plan *plan;
    uint64_t most = 0;
    if (make_plan(problem, device, requested, &plan, &says) != WF_LIB_OK || !plan) {
        return 0; /* prepare says why */
    }
    for (int i = 0; i < plan->result_count; i++) {
        const uint64_t bytes = blaslt_plan_workspace(plan, i);
        most = bytes > most ? bytes : most;
    }
    blaslt_plan_destroy(plan);
    return most;
}

static uint64_t workspace_of_first(const struct wf_lib_problem *problem,
                                   const struct wf_lib_device *device)
{
    return workspace(problem, device, 1);
}

static uint64_t workspace_of_best(const struct wf_lib_problem *problem,
                                  const struct wf_lib_device *device)
{
    return workspace(problem, device, BLASLT_RESULTS);
}

/* One line for the result: library, algorithm, workspace. */
static int describe(const struct blaslt_plan *plan,
                    int result,
                    char *text,
                    size_t bytes)
{
    char algorithm[200] = "";
    plan->lib->vendor->describe(blaslt_plan_algo(plan, result), algorithm,
                                sizeof algorithm);
    return snprintf(text, bytes, "%s %s: %s, workspace %llu bytes",
                    plan->lib->vendor->name, plan->lib->version_text, algorithm,
                    (unsigned long long)blaslt_plan_workspace(plan, result));
}

static void remember(const char *key,
                     const struct blaslt_plan *plan,
                     const struct blaslt_choice *c)
{
    free(last.key);
    last.key = wf_strdup(key);
    last.result = c->result;
    int n = describe(plan, c->result, last.note, sizeof last.note);
    if (n < 0 || (size_t)n >= sizeof last.note) {
        return;
    }
    (void)snprintf(last.note + n, sizeof last.note - (size_t)n,
                   "; candidate %d of %d, %.2f us (the first: %.2f us)", c->result + 1,
                   c->timed, c->best_us, c->first_us);
    if (c->failed > 0) {
        n = (int)strlen(last.note);
        (void)snprintf(last.note + n, sizeof last.note - (size_t)n,
                       ", %d could not be launched", c->failed);
    }
}

static int choose(struct state *s,
                  const struct wf_lib_problem *problem,
                  const struct wf_lib_device *device,
                  int requested,
                  const struct blaslt_says *says)
{
    if (requested == 1) {
        (void)describe(s->plan, 0, says->text, says->bytes);
        return WF_LIB_OK;
    }
    char *key = wf_asprintf("%d %s", (int)device->ordinal, problem->case_json);
    if (!key) {
        return blaslt_say(says, WF_LIB_NO_MEMORY, "no memory for a case's name");
    }
    int rc = WF_LIB_OK;
    if (!last.key || strcmp(last.key, key) != 0) {
        struct blaslt_choice c;
        rc = blaslt_best(s->plan, s->at.workspace, s->at.stream, &c, says);
        if (rc == WF_LIB_OK) {
            remember(key, s->plan, &c);
        }
    }
    free(key);
    if (rc == WF_LIB_OK) {
        s->plan->chosen = last.result < s->plan->result_count ? last.result : 0;
        (void)blaslt_say(says, 0, "%s", last.note);
    }
    return rc;
}

static void destroy(void *state)
{
    struct state *s = state;
    if (s) {
        blaslt_plan_destroy(s->plan);
        free(s);
    }
}

static void point(struct state *s, void *scratch, const struct wf_lib_device *device)
{
    for (int i = 0; s->plan && i < BLASLT_MATRICES; i++) {
        s->at.matrix[i] = s->plan->p.matrix[i].data;
    }
    s->at.workspace = scratch;
    s->at.stream = device->stream;
}

static int prepare(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void *scratch,
                   int requested,
                   void **ret_state,
                   const struct blaslt_says *says)
{
    struct state *s = wf_calloc(1, sizeof *s);
    if (!s) {
        return blaslt_say(says, WF_LIB_NO_MEMORY, "no memory for a state");
    }
    int rc = make_plan(problem, device, requested, &s->plan, says);
    if (rc == WF_LIB_OK) {
        point(s, scratch, device);
    }
    if (rc == WF_LIB_OK && s->plan) {
        rc = choose(s, problem, device, requested, says);
    }
    if (rc != WF_LIB_OK) {
        destroy(s);
        return rc;
    }
    *ret_state = s;
    return WF_LIB_OK;
}

static int prepare_first(const struct wf_lib_problem *problem,
                         const struct wf_lib_device *device,
                         void *scratch,
                         void **ret_state,
                         char *message,
                         size_t message_bytes)
{
    return prepare(problem, device, scratch, 1, ret_state,
                   &(struct blaslt_says){ message, message_bytes });
}

static int prepare_best(const struct wf_lib_problem *problem,
                        const struct wf_lib_device *device,
                        void *scratch,
                        void **ret_state,
                        char *message,
                        size_t message_bytes)
{
    return prepare(problem, device, scratch, BLASLT_RESULTS, ret_state,
                   &(struct blaslt_says){ message, message_bytes });
}

static int launch(void *state, char *message, size_t message_bytes)
{
    const struct state *s = state;
    const struct blaslt_says says = { message, message_bytes };
    return s->plan ? blaslt_status(s->plan->lib, "Matmul",
                                   blaslt_plan_run(s->plan, s->plan->chosen, &s->at),
                                   false, &says)
                   : WF_LIB_OK;
}

static const struct wf_lib_kernel kernels[] = {
    { BLASLT_KERNEL, "gemm", supports_first, workspace_of_first, prepare_first, launch,
      destroy },
    { BLASLT_KERNEL "_best", "gemm", supports_best, workspace_of_best, prepare_best,
      launch, destroy },
};

__attribute__((visibility("default"))) const struct wf_library_v1 *
wf_library_kernels_v1(void);

__attribute__((visibility("default"))) const struct wf_library_v1 *
wf_library_kernels_v1(void)
{
    static char version[64];
    static struct wf_library_v1 table = {
        .abi_version = WF_LIBRARY_ABI_VERSION,
        .kernel_size = sizeof(struct wf_lib_kernel),
        .version = version,
        .kernels = kernels,
        .kernel_count = sizeof kernels / sizeof *kernels,
    };
    char unused[256];
    const struct blaslt_says says = { unused, sizeof unused };
    const struct blaslt_library *lib;
    const bool there = blaslt_load(&lib, &says) == WF_LIB_OK;
    table.name = blaslt_vendor.name;
    (void)snprintf(version, sizeof version, "%s",
                   there ? lib->version_text : "(not loaded)");
    return &table;
}
