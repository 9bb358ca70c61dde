/* The worker pool and inputs made by several threads, for ThreadSanitizer. */
#include "kernels/parallel.h"

#include "kernels/inputs.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 1000
#define PIECE  512

static uint16_t whole[PIECES * PIECE], parts[PIECES * PIECE];
static atomic_uint done[PIECES];

static const struct wf_input_stream STREAM = { WF_INPUTS_NORMAL, WF_F16, 3, 4 };

static enum wf_status fill(void *ctx, uint64_t piece, struct wf_error *err)
{
    (void)ctx;
    (void)err;
    atomic_fetch_add(&done[piece], 1);
    wf_inputs_fill(&STREAM, piece * PIECE, PIECE, parts + piece * PIECE);
    return WF_OK;
}

static enum wf_status fail_late(void *ctx, uint64_t piece, struct wf_error *err)
{
    (void)ctx;
    return piece < 100 ? WF_OK : wf_errorf(err, WF_EIO, "piece %d", (int)piece);
}

#define REQUIRE(condition)                                                         \
    do {                                                                           \
        if (!(condition)) {                                                        \
            (void)fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
            return EXIT_FAILURE;                                                   \
        }                                                                          \
    } while (0)

int main(void)
{
    struct wf_error err = { .status = WF_OK };
    wf_inputs_fill(&STREAM, 0, PIECES * PIECE, whole);
    for (int threads = 0; threads < 6; threads++) {
        memset(parts, 0, sizeof parts);
        for (int i = 0; i < PIECES; i++) {
            atomic_store(&done[i], 0);
        }
        REQUIRE(wf_parallel(threads, PIECES, fill, NULL, &err) == WF_OK);
        REQUIRE(memcmp(whole, parts, sizeof whole) == 0);
        for (int i = 0; i < PIECES; i++) {
            REQUIRE(atomic_load(&done[i]) == 1);
        }
    }
    REQUIRE(wf_parallel(4, PIECES, fail_late, NULL, &err) == WF_EIO);
    REQUIRE(strncmp(err.text, "piece ", 6) == 0);
    REQUIRE(wf_parallel(4, 0, fail_late, NULL, &err) == WF_OK);
    REQUIRE(wf_thread_count(0) >= 1 && wf_thread_count(-3) >= 1);
    REQUIRE(wf_thread_count(3) == 3);
    return EXIT_SUCCESS;
}
