/* The suites of the tree: each loads, its datasets come out as stated, and it is what
 * its name promises. */
#include "datasets/suite.h"

#include "kernels/op.h"
#include "tests/core/temp_dir.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FLOPS        3e11
#define MAX_BYTES        1e9
/* Suites for devices say so in their description. */
#define MAX_DEVICE_FLOPS 8e12
#define MAX_DEVICE_BYTES 8e9

static char *suites_folder(void)
{
    const char *source = getenv("WF_SOURCE_DIR");
    return wf_asprintf("%s/datasets/suites", source ? source : ".");
}

struct shelf {
    struct temp_dir dir;
    struct wf_dataset_store *store;
    char *folder;
};

static void open_shelf(struct shelf *s)
{
    temp_dir_make(&s->dir);
    s->folder = suites_folder();
    cr_assert_eq(wf_dataset_store_open(s->dir.path, &s->store, NULL), WF_OK);
}

static void close_shelf(struct shelf *s)
{
    wf_dataset_store_close(s->store);
    free(s->folder);
    temp_dir_remove(&s->dir);
}

static struct wf_suite *load(struct shelf *s, const char *name)
{
    struct wf_suite *suite = NULL;
    struct wf_error err;
    cr_assert_eq(wf_suite_load(name, s->folder, s->store, &suite, &err), WF_OK,
                 "%s: %s", name, err.text);
    return suite;
}

static double int_param(const struct wf_case *c, const char *name)
{
    struct wf_value v = { .kind = WF_VALUE_INT };
    const struct wf_scope scope = wf_case_scope(c);
    cr_assert_eq(scope.find(scope.ctx, name, &v, NULL), WF_OK, "%s", name);
    return (double)v.i;
}

Test(suites_shipped, every_suite_loads_and_is_no_larger_than_a_processor_can_do)
{
    struct shelf s;
    struct wf_json *list = NULL;
    struct wf_error err;
    open_shelf(&s);
    cr_assert_eq(wf_suite_list(s.folder, &list, &err), WF_OK, "%s", err.text);
    cr_expect_geq(wf_json_count(list), 4);
    for (const struct wf_json *v = wf_json_first(list); v; v = wf_json_next(v)) {
        struct wf_suite *suite = load(&s, wf_json_string(wf_json_find(v, "name")));
        const char *words = wf_json_string(wf_json_find(v, "description"));
        const bool device = words != NULL && strstr(words, "For devices:") != NULL;
        for (size_t i = 0; i < wf_suite_count(suite); i++) {
            const struct wf_case *c = wf_suite_case(suite, i);
            cr_expect_leq(wf_case_flops(c), device ? MAX_DEVICE_FLOPS : MAX_FLOPS, "%s",
                          wf_suite_case_name(suite, i));
            cr_expect_leq(wf_case_bytes(c), device ? MAX_DEVICE_BYTES : MAX_BYTES, "%s",
                          wf_suite_case_name(suite, i));
        }
        wf_suite_free(suite);
    }
    wf_json_free(list);
    close_shelf(&s);
}

Test(suites_shipped, no_suite_has_one_case_twice)
{
    static const char *const names[] = { "gemm-five",
                                         "gemm-llm",
                                         "gemm-llm-large",
                                         "gemm-grid",
                                         "gemm-fp8",
                                         "gemm-silu",
                                         "gemm-i8",
                                         "gemm-decode",
                                         "attention-decode-paged",
                                         "attention-quickstart",
                                         "sentinels",
                                         "sentinels-small" };
    struct shelf s;
    open_shelf(&s);
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        struct wf_suite *suite = load(&s, names[n]);
        for (size_t i = 0; i < wf_suite_count(suite); i++) {
            for (size_t j = 0; j < i; j++) {
                cr_expect_str_neq(wf_case_id(wf_suite_case(suite, i)),
                                  wf_case_id(wf_suite_case(suite, j)), "%s: %s and %s",
                                  names[n], wf_suite_case_name(suite, i),
                                  wf_suite_case_name(suite, j));
            }
        }
        wf_suite_free(suite);
    }
    close_shelf(&s);
}

Test(suites_shipped, gemm_five_is_the_five_sizes_with_their_best_tiles)
{
    static const double mnk[5][3] = { { 2048, 10240, 1280 },
                                      { 2048, 1280, 1280 },
                                      { 2048, 1280, 5120 },
                                      { 128, 1280, 2048 },
                                      { 8192, 5120, 640 } };
    static const int64_t tile[5][3] = { { 128, 320, 32 },
                                        { 64, 64, 64 },
                                        { 128, 80, 128 },
                                        { 64, 64, 128 },
                                        { 128, 128, 32 } };
    struct shelf s;
    open_shelf(&s);
    struct wf_suite *suite = load(&s, "gemm-five");
    cr_assert_eq(wf_suite_count(suite), 5);
    for (size_t i = 0; i < 5; i++) {
        const struct wf_case *c = wf_suite_case(suite, i);
        const struct wf_json *best = wf_suite_case_known_best(suite, i);
        int64_t m = 0, n = 0, k = 0;
        cr_expect_eq(int_param(c, "M"), mnk[i][0]);
        cr_expect_eq(int_param(c, "N"), mnk[i][1]);
        cr_expect_eq(int_param(c, "K"), mnk[i][2]);
        cr_expect_eq(wf_case_math_type(c), WF_F16);
        cr_expect_not_null(strstr(wf_case_canonical(c), "\"trans_b\":\"T\""));
        cr_assert_not_null(best);
        (void)wf_json_get_i64(best, "BLOCK_M", 1, 1024, &m, NULL);
        (void)wf_json_get_i64(best, "BLOCK_N", 1, 1024, &n, NULL);
        (void)wf_json_get_i64(best, "BLOCK_K", 1, 1024, &k, NULL);
        cr_expect(m == tile[i][0] && n == tile[i][1] && k == tile[i][2], "case %zu", i);
    }
    wf_suite_free(suite);
    close_shelf(&s);
}

Test(suites_shipped, the_quickstart_suite_has_200_sequences_in_every_case)
{
    struct shelf s;
    open_shelf(&s);
    struct wf_suite *suite = load(&s, "attention-quickstart");
    for (size_t i = 0; i < wf_suite_count(suite); i++) {
        cr_expect_geq(int_param(wf_suite_case(suite, i), "batch"), 200);
        cr_expect_leq(wf_case_bytes(wf_suite_case(suite, i)), 3e8);
    }
    wf_suite_free(suite);
    close_shelf(&s);
}

/* A layer of a model: columns and depth of its product, and whether it is gated. */
struct layer {
    double n, k;
    const char *activation;
};

static bool has_layer(const struct wf_suite *suite, const struct layer *l, bool decode)
{
    for (size_t i = 0; i < wf_suite_count(suite); i++) {
        const struct wf_case *c = wf_suite_case(suite, i);
        const bool silu = strstr(wf_case_canonical(c), "silu_gate") != NULL;
        const double m = int_param(c, "M");
        if (int_param(c, "N") == l->n && int_param(c, "K") == l->k &&
            silu == (l->activation != NULL) && (decode ? m <= 16 : m >= 128)) {
            return true;
        }
    }
    return false;
}

Test(suites_shipped, the_llm_suites_have_every_layer_of_the_models_at_tp_1_and_8)
{
    /* hidden size, rows of q, k and v, width of the MLP */
    static const double models[][3] = { { 4096, 6144, 14336 },
                                        { 8192, 10240, 28672 },
                                        { 16384, 18432, 53248 },
                                        { 6144, 8192, 32768 } };
    struct shelf s;
    open_shelf(&s);
    struct wf_suite *small = load(&s, "gemm-llm");
    struct wf_suite *large = load(&s, "gemm-llm-large");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        for (double tp = 1; tp <= 8; tp += 7) {
            const double h = models[i][0], qkv = models[i][1], mlp = models[i][2];
            const struct layer layers[] = { { qkv / tp, h, NULL },
                                            { h, h / tp, NULL },
                                            { mlp / tp, h, "silu_gate" },
                                            { h, mlp / tp, NULL } };
            for (int l = 0; l < 8; l++) {
                const struct layer *x = &layers[l / 2];
                cr_expect(has_layer(small, x, l % 2) || has_layer(large, x, l % 2),
                          "model %zu tp %g: N %g K %g, decode %d", i, tp, x->n, x->k,
                          l % 2);
            }
        }
    }
    wf_suite_free(small);
    wf_suite_free(large);
    close_shelf(&s);
}
