/* The host library of GEMMs whose every launch does INJECTED_PERCENT % more work: after
 * a launch of the real library it computes for that share of the time which the launch
 * took. The real library's entry is compiled under the name injected_inner. */
#include "packs/library_abi.h"

#include <stdio.h>
#include <time.h>

#define EXPORT      __attribute__((visibility("default")))
#define MAX_KERNELS 8
#define SECOND_NS   INT64_C(1000000000)

EXPORT const struct wf_library_v1 *wf_library_kernels_v1(void);
const struct wf_library_v1 *injected_inner(void);

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static int launch(size_t kernel, void *state, char *message, size_t message_bytes)
{
    const int64_t start_ns = now_ns();
    const int got =
        injected_inner()->kernels[kernel].launch(state, message, message_bytes);
    const int64_t took_ns = now_ns() - start_ns;
    const int64_t until_ns = start_ns + took_ns + took_ns * INJECTED_PERCENT / 100;
    while (now_ns() < until_ns) {
    }
    return got;
}

#define LAUNCH(i)                                                           \
    static int launch_##i(void *state, char *message, size_t message_bytes) \
    {                                                                       \
        return launch(i, state, message, message_bytes);                    \
    }
LAUNCH(0)
LAUNCH(1)
LAUNCH(2)
LAUNCH(3)
LAUNCH(4)
LAUNCH(5)
LAUNCH(6)
LAUNCH(7)

const struct wf_library_v1 *wf_library_kernels_v1(void)
{
    static int (*const LAUNCHES[MAX_KERNELS])(void *, char *, size_t) = {
        launch_0, launch_1, launch_2, launch_3, launch_4, launch_5, launch_6, launch_7
    };
    static struct wf_lib_kernel kernel[MAX_KERNELS];
    static struct wf_library_v1 library;
    library = *injected_inner();
    if (library.kernel_count > MAX_KERNELS) {
        return NULL; /* the test that loads it says so */
    }
    for (size_t i = 0; i < library.kernel_count; i++) {
        kernel[i] = library.kernels[i];
        kernel[i].launch = LAUNCHES[i];
    }
    library.kernels = kernel;
    return &library;
}
