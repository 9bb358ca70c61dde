/* Seconds that the gemm check costs for the five sizes, with both methods, and what
 * each promises to catch. The output under test comes from the host library kernel.
 *
 *   bench_gemm_check [threads]        (default 2) */
#include "kernels/case.h"
#include "kernels/op.h"

#include "core/clock.h"
#include "tests/kernels/library_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct wf_library_v1 *wf_library_kernels_v1(void);

static const int64_t SIZES[][3] = {
    { 2048, 10240, 1280 }, { 2048, 1280, 1280 }, { 2048, 1280, 5120 },
    { 128, 1280, 2048 },   { 8192, 5120, 640 },
};

struct output {
    const char *data;
};

static enum wf_status read_output(void *ctx,
                                  size_t tensor,
                                  uint64_t offset_bytes,
                                  uint64_t n_bytes,
                                  void *dst,
                                  struct wf_error *err)
{
    const struct output *o = ctx;
    (void)tensor;
    (void)err;
    memcpy(dst, o->data + offset_bytes, n_bytes);
    return WF_OK;
}

static double seconds_since(int64_t start_ns)
{
    return (double)(wf_monotonic_ns() - start_ns) * 1e-9;
}

static struct wf_case *make_case(const int64_t size[3])
{
    char text[128];
    struct wf_json *json = NULL;
    struct wf_case *c = NULL;
    const int n = snprintf(text, sizeof text,
                           "{\"op\":\"gemm\",\"M\":%lld,\"N\":%lld,\"K\":%lld,"
                           "\"trans_b\":\"T\"}",
                           (long long)size[0], (long long)size[1], (long long)size[2]);
    if (wf_json_parse(text, (size_t)n, "bench", &json, NULL) == WF_OK) {
        (void)wf_case_parse(json, NULL, NULL, &c, NULL);
    }
    wf_json_free(json);
    return c;
}

/* A right output, by the host kernel; its own time in *ret_s. */
static char *make_output(const struct wf_case *c, int threads, double *ret_s)
{
    void *data[4] = { NULL };
    char message[256];
    bool good = true;
    for (size_t i = 0; i < 4; i++) {
        const struct wf_tensor *t = wf_case_tensor(c, i);
        data[i] = malloc(t->bytes + 1);
        good = good && data[i] != NULL &&
               (t->role == WF_ROLE_OUTPUT ||
                wf_case_fill(c, i, 0, 0, t->elements, data[i], NULL) == WF_OK);
    }
    const struct wf_lib_kernel *k =
        library_find(wf_library_kernels_v1(), "gemm_openblas");
    const int64_t start = wf_monotonic_ns();
    good =
        good && library_run(k, c, data, threads, message, sizeof message) == WF_LIB_OK;
    *ret_s = seconds_since(start);
    for (size_t i = 0; i < 3; i++) {
        free(data[i]);
    }
    if (!good) {
        free(data[3]);
        return NULL;
    }
    return data[3];
}

static bool bench_method(const struct wf_case *c, char *d, int threads, double budget)
{
    const struct wf_reference_options o = {
        .threads = threads, .budget_macs = budget, .split = 1, .accumulate_type = WF_F32
    };
    struct output out = { d };
    const struct wf_output_source source = { read_output, &out };
    struct wf_reference *ref = NULL;
    struct wf_check_report r;
    int64_t start = wf_monotonic_ns();
    if (wf_reference_create(c, &o, &ref, NULL) != WF_OK) {
        return false;
    }
    const double inputs_s = seconds_since(start);
    start = wf_monotonic_ns();
    const enum wf_status st = wf_reference_check(c, ref, &source, &r, NULL);
    const double check_s = seconds_since(start);
    wf_reference_destroy(c, ref);
    if (st != WF_OK) {
        return false;
    }
    printf("    %-18s inputs %6.3f s  check %6.3f s  %s  worst %.3f  catches %.4g\n",
           r.check[0].name, inputs_s, check_s, wf_answer_name(r.answer),
           r.check[0].worst_ratio, r.check[0].smallest_caught);
    return r.answer == WF_ANSWER_PASS;
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 2;
    bool good = true;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        double kernel_s = 0;
        struct wf_case *c = make_case(SIZES[i]);
        char *d = c != NULL ? make_output(c, threads, &kernel_s) : NULL;
        if (d == NULL) {
            (void)fprintf(stderr, "cannot make case %zu\n", i);
            wf_case_free(c);
            return EXIT_FAILURE;
        }
        printf("%s  (host kernel %.3f s)\n", wf_case_label(c), kernel_s);
        good = bench_method(c, d, threads, 0) && good;
        good = bench_method(c, d, threads, 1) && good;
        free(d);
        wf_case_free(c);
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
