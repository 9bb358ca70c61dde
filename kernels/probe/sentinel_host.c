/* The sentinels on the host: one thread each. The work of the slower form beyond that
 * of the plain one meets `keep`, which is 0 and which no compiler knows. Stands on
 * packs/library_abi.h alone. */
#include "packs/library_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT        __attribute__((visibility("default")))
#define GROUP_WORDS   1024u
#define M             0x915f77f5u
#define K             0x6a09e667u
#define STRIDE        0x9e3779b9u
#define TABLE         256u
#define LANES         32u /* of the alu sentinel that go through all steps together */
#define EXTRA_PERCENT 3

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);

struct state {
    const uint32_t *x;
    uint32_t *y;
    uint64_t words, parts, lanes;
    uint32_t steps;
};

static volatile uint32_t keep; /* 0 */

static int supports(const struct wf_lib_problem *problem,
                    const char *work,
                    char *message,
                    size_t message_bytes)
{
    const char *got = problem->get_string(problem->ctx, "work");
    if (got != NULL && strcmp(got, work) == 0) {
        return WF_LIB_OK;
    }
    (void)snprintf(message, message_bytes, "work is %s; this kernel does %s",
                   got != NULL ? got : "not said", work);
    return WF_LIB_UNSUPPORTED;
}

#define SUPPORTS(work)                                                            \
    static int supports_##work(const struct wf_lib_problem *problem,              \
                               const struct wf_lib_device *device, char *message, \
                               size_t message_bytes)                              \
    {                                                                             \
        (void)device;                                                             \
        return supports(problem, #work, message, message_bytes);                  \
    }
SUPPORTS(alu)
SUPPORTS(hbm)
SUPPORTS(lds)

static void *tensor(const struct wf_lib_problem *problem, const char *name)
{
    for (size_t i = 0; i < problem->tensor_count; i++) {
        if (strcmp(problem->tensors[i].name, name) == 0) {
            return problem->tensors[i].data;
        }
    }
    return NULL;
}

static int prepare(const struct wf_lib_problem *problem,
                   const struct wf_lib_device *device,
                   void *workspace,
                   void **ret_state,
                   char *message,
                   size_t message_bytes)
{
    int64_t bytes = 0, parts = 0, lanes = 0, steps = 0;
    struct state *s = calloc(1, sizeof *s); /* IGNORE-BANNED: it links nothing */
    (void)device;
    (void)workspace;
    if (s == NULL) {
        (void)snprintf(message, message_bytes, "no memory");
        return WF_LIB_NO_MEMORY;
    }
    if (problem->get_int(problem->ctx, "bytes", &bytes) != 0 ||
        problem->get_int(problem->ctx, "parts", &parts) != 0 ||
        problem->get_int(problem->ctx, "lanes", &lanes) != 0 ||
        problem->get_int(problem->ctx, "steps", &steps) != 0) {
        (void)snprintf(message, message_bytes, "the problem does not say its sizes");
        free(s);
        return WF_LIB_FAILED;
    }
    *s = (struct state){ .x = tensor(problem, "X"),
                         .y = tensor(problem, "Y"),
                         .words = (uint64_t)bytes / 4,
                         .parts = (uint64_t)parts,
                         .lanes = (uint64_t)lanes,
                         .steps = (uint32_t)steps };
    *ret_state = s;
    return WF_LIB_OK;
}

static uint32_t more_of(uint32_t n, uint32_t percent)
{
    return (uint32_t)(((uint64_t)n * percent + 99) / 100);
}

/* --- alu --- */

static void walk(uint32_t v[LANES], uint32_t m, uint32_t k, uint32_t steps)
{
    for (uint32_t s = 0; s < 4 * steps; s++) {
        for (uint32_t i = 0; i < LANES; i++) {
            v[i] = v[i] * m + k;
        }
    }
}

/* Four chains of LANES / 4 lanes. */
static void do_alu(const struct state *s, uint32_t extra)
{
    const uint32_t mask = keep, m = M + mask, k = K + mask;
    for (uint64_t at = 0; at < s->lanes; at += LANES / 4) {
        uint32_t v[LANES], more[LANES];
        for (uint32_t i = 0; i < LANES; i++) {
            v[i] = s->x[at + i / 4] + (i % 4) * STRIDE;
        }
        walk(v, m, k, s->steps);
        memcpy(more, v, sizeof more);
        walk(more, m, k, extra);
        for (uint32_t i = 0; i < LANES; i += 4) {
            s->y[at + i / 4] =
                v[i] ^ v[i + 1] ^ v[i + 2] ^ v[i + 3] ^
                ((more[i] ^ more[i + 1] ^ more[i + 2] ^ more[i + 3]) & mask);
        }
    }
}

/* --- hbm --- */

static uint32_t sum_of(const uint32_t *x)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < GROUP_WORDS; i++) {
        sum += x[i];
    }
    return sum;
}

static void do_hbm(const struct state *s, uint32_t extra_groups)
{
    const uint32_t mask = keep;
    const uint64_t groups = s->words / GROUP_WORDS;
    memset(s->y, 0, s->parts * sizeof *s->y);
    for (uint64_t g = 0; g < groups + extra_groups; g++) {
        const uint32_t sum = sum_of(s->x + g * GROUP_WORDS);
        s->y[g % s->parts] += g < groups ? sum : sum & mask;
    }
}

/* --- lds --- */

/* Of every lane of a group at once: the table is read from cache, the sums stay there.
 */
static void sum_steps(const uint32_t *table, uint32_t from, uint32_t to, uint32_t *sum)
{
    for (uint32_t s = from; s < to; s++) {
        for (uint32_t j = 0; j < 4; j++) {
            for (uint32_t i = 0; i < TABLE; i++) {
                const uint32_t *w = table + (size_t)4 * ((i + 17 * s + 64 * j) % TABLE);
                sum[i] += w[0] + w[1] + w[2] + w[3];
            }
        }
    }
}

static void do_lds(const struct state *s, uint32_t extra)
{
    const uint32_t mask = keep;
    for (uint64_t at = 0; at < s->lanes; at += TABLE) {
        uint32_t sum[TABLE] = { 0 }, more[TABLE] = { 0 };
        sum_steps(s->x, 0, s->steps, sum);
        sum_steps(s->x, s->steps, s->steps + extra, more);
        for (uint32_t i = 0; i < TABLE; i++) {
            s->y[at + i] = (uint32_t)(at + i) * STRIDE + sum[i] + (more[i] & mask);
        }
    }
}

/* The amount of which the slower form does more: groups, or steps. */
static uint32_t groups_of(const struct state *s)
{
    return (uint32_t)(s->words / GROUP_WORDS);
}

static uint32_t steps_of(const struct state *s)
{
    return s->steps;
}

#define LAUNCH(name, work, amount, percent)                                  \
    static int launch_##name(void *arg, char *message, size_t message_bytes) \
    {                                                                        \
        const struct state *s = arg;                                         \
        (void)message;                                                       \
        (void)message_bytes;                                                 \
        do_##work(s, more_of(amount(s), percent));                           \
        return WF_LIB_OK;                                                    \
    }
LAUNCH(alu, alu, steps_of, 0)
LAUNCH(alu_103, alu, steps_of, EXTRA_PERCENT)
LAUNCH(hbm, hbm, groups_of, 0)
LAUNCH(hbm_103, hbm, groups_of, EXTRA_PERCENT)
LAUNCH(lds, lds, steps_of, 0)
LAUNCH(lds_103, lds, steps_of, EXTRA_PERCENT)

#define KERNEL(kernel, work)                                                     \
    {                                                                            \
        .name = "sentinel_" #kernel, .op = "probe", .supports = supports_##work, \
        .prepare = prepare, .launch = launch_##kernel, .destroy = free           \
    }

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    static const struct wf_lib_kernel KERNELS[] = {
        KERNEL(alu, alu),     KERNEL(alu_103, alu), KERNEL(hbm, hbm),
        KERNEL(hbm_103, hbm), KERNEL(lds, lds),     KERNEL(lds_103, lds),
    };
    static const struct wf_library_v1 library = {
        .abi_version = WF_LIBRARY_ABI_VERSION,
        .kernel_size = sizeof(struct wf_lib_kernel),
        .name = "wf-host-sentinel",
        .version = "1",
        .kernels = KERNELS,
        .kernel_count = sizeof KERNELS / sizeof *KERNELS,
    };
    return &library;
}
