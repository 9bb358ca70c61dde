/* What the stub libraries (blaslt_stub.c) record, and how a test steers them. The test
 * finds `blaslt_stub` by dlsym in the file that it names to the pack. */
#ifndef WF_TESTS_BLASLT_STUB_H
#define WF_TESTS_BLASLT_STUB_H

#include <stddef.h>
#include <stdint.h>

struct stub_layout {
    int type;
    uint64_t rows, cols;
    int64_t ld;
    int32_t batch;
    int64_t stride;
};

struct stub_desc {
    int compute_type, scale_type;
    int32_t trans_a, trans_b;
    uint32_t epilogue;
    const void *bias;
    int32_t bias_type;
    const void *scale_a, *scale_b;
    int32_t mode_a, mode_b;
    int scales_by_vector_pointer; /* attributes 102 and 103 of hipBLASLt 0.10 */
};

struct stub_matmul {
    struct stub_desc desc;
    struct stub_layout a, b, c, d;
    const void *at_a, *at_b, *at_c;
    void *at_d, *workspace, *stream;
    uint64_t workspace_bytes;
    int algorithm; /* place in the heuristics' list */
    double alpha, beta;
};

struct blaslt_stub {
    /* Steering. */
    const char *fail; /* this function answers `status` */
    int status;
    int fail_after;           /* so many calls of it are good first */
    const char *null;         /* this function succeeds without an object */
    int result_count;         /* what the heuristics say they gave; -1: the truth */
    int algorithms;           /* in the heuristics' list */
    uint64_t workspace_bytes; /* of algorithm i: (i + 1) times this */
    double us[32];            /* a launch of algorithm i, by the stub's events */
    int refuse_launch_of;     /* algorithm whose launch fails; -1: none */
    int failed_result;        /* place whose heuristic result has a status; -1: none */
    int version;
    int no_context;
    int compute; /* do the work on the host */
    /* Record. */
    char calls[8192]; /* names of the calls in their order, each with a blank */
    uint64_t asked_workspace;
    uint32_t asked_alignment[4];
    int asked_results;
    int matmul_count;
    struct stub_matmul matmul; /* the last */
    int alive;                 /* handles, descriptors, events, memory not yet freed */
    double clock_us;
};

#endif
