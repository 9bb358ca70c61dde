/* The host library kernel against the reference, over the forms that a problem can
 * take: two pieces of code that share no line must agree within the error model. */
#include "attention_fixture.h"
#include "attention_model.h"

#include "core/rng.h"

#include "packs/library_abi.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct wf_library_v1 *wf_library_kernels_v1(void);

static void expect_pass(struct fx *f, const char *what)
{
    struct wf_check_report r;

    cr_assert_eq(fx_host(f, 2), 0, "%s", what);
    fx_check(f, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS,
                 "%s: %s, worst %s[%lld][%lld][%lld] got %g want %g +- %g: %s", what,
                 wf_answer_name(r.answer), r.worst_tensor, (long long)r.worst_index[0],
                 (long long)r.worst_index[1], (long long)r.worst_index[2], r.worst_got,
                 r.worst_want, r.worst_tolerance, r.diagnosis);
    for (size_t i = 0; i < r.check_count; i++) {
        cr_expect_leq(r.check[i].worst_ratio, 0.7, "%s: %s at %g of its limit", what,
                      r.check[i].name, r.check[i].worst_ratio);
    }
}

/* The host kernel, and the model of a device kernel that rounds P and splits the keys.
 */
static void run_dense(const char *json)
{
    struct wf_check_report r;
    struct fx f;

    fx_open(&f, json, NULL);
    expect_pass(&f, json);
    for (int64_t split = 1; split <= 3; split += 2) {
        model_run(&f, MODEL_HONEST, split);
        fx_check(&f, &r);
        cr_expect_eq(r.answer, WF_ANSWER_PASS, "model: %s", json);
        cr_expect_leq(r.check[0].worst_ratio, 0.7, "model: %s: %g", json,
                      r.check[0].worst_ratio);
    }
    fx_close(&f);
}

Test(attention_host, dense_forms_agree_with_the_reference)
{
    static const char *const CASES[] = {
        "{\"q_heads\":2,\"head_dim\":64,\"q_len\":33,\"kv_len\":33,\"lse\":true}",
        "{\"q_heads\":4,\"kv_heads\":2,\"head_dim\":128,\"q_len\":70,\"kv_len\":130,"
        "\"causal\":true,\"lse\":true,\"batch\":2}",
        "{\"q_heads\":3,\"kv_heads\":1,\"head_dim\":40,\"head_dim_v\":24,\"q_len\":9,"
        "\"kv_len\":200,\"causal\":true,\"window_left\":17,\"lse\":true}",
        "{\"q_heads\":2,\"head_dim\":32,\"q_len\":50,\"kv_len\":20,\"causal\":true,"
        "\"lse\":true}",
        "{\"q_heads\":2,\"head_dim\":32,\"q_len\":40,\"kv_len\":90,\"window_left\":5,"
        "\"window_right\":3,\"lse\":true}",
        "{\"q_heads\":2,\"head_dim\":64,\"q_len\":8,\"kv_len\":300,\"soft_cap\":0.5,"
        "\"scale\":0.7,\"lse\":true}",
        "{\"q_heads\":1,\"head_dim\":1,\"kv_len\":1,\"lse\":true}",
        "{\"q_heads\":2,\"head_dim\":16,\"kv_len\":0,\"q_len\":3,\"lse\":true}",
        "{\"q_heads\":2,\"head_dim\":80,\"q_len\":3,\"kv_len\":500,\"inputs\":\"uniform\"}",
        "{\"q_heads\":2,\"head_dim\":64,\"q_len\":3,\"kv_len\":500,\"inputs\":\"integers\"}",
        "{\"q_heads\":2,\"head_dim\":64,\"q_len\":3,\"kv_len\":500,\"inputs\":\"ones\"}",
        "{\"q_heads\":2,\"head_dim\":64,\"q_len\":3,\"kv_len\":500,\"inputs\":\"powers\"}",
    };

    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        run_dense(CASES[i]);
    }
}

Test(attention_host, every_type_agrees_with_the_reference)
{
    static const char *const TYPES[] = {
        "\"q_type\":\"f32\"",
        "\"q_type\":\"bf16\"",
        "\"q_type\":\"f16\",\"o_type\":\"f32\"",
        "\"q_type\":\"f16\",\"kv_type\":\"e4m3fnuz\",\"k_scale\":0.3,\"v_scale\":1.7",
        "\"q_type\":\"bf16\",\"kv_type\":\"e4m3fn\",\"k_scale\":0.5,\"v_scale\":2",
        "\"q_type\":\"f16\",\"kv_type\":\"e5m2\"",
        "\"q_type\":\"e4m3fnuz\",\"q_scale\":0.25,\"o_type\":\"bf16\"",
        "\"q_type\":\"e5m2fnuz\",\"kv_type\":\"e4m3fnuz\"",
    };
    char json[256];

    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        (void)snprintf(json, sizeof(json),
                       "{%s,\"q_heads\":4,\"kv_heads\":2,\"head_dim\":64,\"q_len\":5,"
                       "\"kv_len\":150,\"causal\":true,\"lse\":true}",
                       TYPES[i]);
        run_dense(json);
    }
}

/* A10: head sizes; A17: V's head size differs from Q's. */
Test(attention_host, every_head_size_agrees_with_the_reference)
{
    static const int D[] = { 64, 80, 96, 120, 128, 256 };
    static const int DV[] = { 8, 24, 72, 80, 96, 104, 120, 64, 128 };
    char json[160];

    for (size_t i = 0; i < sizeof(D) / sizeof(D[0]); i++) {
        (void)snprintf(json, sizeof(json),
                       "{\"q_heads\":8,\"kv_heads\":1,\"head_dim\":%d,\"kv_len\":17}",
                       D[i]);
        run_dense(json);
    }
    for (size_t i = 0; i < sizeof(DV) / sizeof(DV[0]); i++) {
        (void)snprintf(json, sizeof(json),
                       "{\"q_heads\":2,\"head_dim\":128,\"head_dim_v\":%d,\"q_len\":4,"
                       "\"kv_len\":4}",
                       DV[i]);
        run_dense(json);
    }
}

Test(attention_host, paged_forms_agree_with_the_reference)
{
    static const int64_t LENS[] = { 1, 16, 17, 0, 200, 33 };
    static const int64_t QS[] = { 1, 3, 17, 2, 0, 40 };
    static const char *const FORMS[] = {
        "\"lse\":true",
        "\"lse\":true,\"kv_layout\":\"HND\"",
        "\"causal\":true,\"window_left\":20,\"lse\":true",
        "\"kv_type\":\"e4m3fnuz\",\"k_scale\":0.5,\"v_scale\":0.25",
    };
    char json[200];

    for (size_t i = 0; i < sizeof(FORMS) / sizeof(FORMS[0]); i++) {
        for (int extend = 0; extend < 2; extend++) {
            struct fx f;

            (void)snprintf(json, sizeof(json),
                           "{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":2,"
                           "\"head_dim\":48,%s}",
                           FORMS[i]);
            fx_open_paged(&f, json, 16, LENS, extend ? QS : NULL, 6);
            expect_pass(&f, json);
            fx_close(&f);
        }
    }
}

Test(attention_host, ragged_forms_agree_with_the_reference)
{
    const struct fx_table TABLE = { .kv_indptr = FX_LIST(0, 5, 5, 90, 190),
                                    .qo_indptr = FX_LIST(0, 5, 6, 6, 40) };
    struct fx f;

    fx_open(&f,
            "{\"layout\":\"ragged\",\"q_heads\":6,\"kv_heads\":3,\"head_dim\":64,"
            "\"causal\":true,\"lse\":true}",
            &TABLE);
    expect_pass(&f, "ragged");
    fx_close(&f);
}

/* What else it holds (core's number formats) stays inside. */
Test(attention_host, the_library_exports_its_entry_only)
{
    wf_library_kernels_v1_fn entry = wf_library_kernels_v1;
    void *lib = NULL, *at = NULL;
    Dl_info info;

    memcpy(&at, &entry, sizeof(at));
    cr_assert_neq(dladdr(at, &info), 0);
    cr_assert(strstr(info.dli_fname, "libwf_host_attention.so") != NULL, "%s",
              info.dli_fname);
    lib = dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(lib);
    cr_expect_not_null(dlsym(lib, WF_LIBRARY_ENTRY));
    cr_expect_null(dlsym(lib, "wf_to_f32"));
    cr_expect_null(dlsym(lib, "host_compute"));
    (void)dlclose(lib);
}

/* A08: nine pages and a guard page straight after the table. */
Test(attention_host, does_not_read_past_the_end_of_the_page_table)
{
    long page = sysconf(_SC_PAGESIZE);

    for (int64_t kv = 129; kv <= 143; kv += 7) {
        struct fx f;
        unsigned char *map, *kept;
        size_t bytes;

        fx_open_paged(
            &f, "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":1,\"head_dim\":64}",
            16, &kv, NULL, 1);
        bytes = (size_t)f.a->tensor[ATTENTION_KV_INDICES].bytes;
        cr_assert_eq(bytes, 9 * sizeof(int32_t));
        map = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(map, MAP_FAILED);
        cr_assert_eq(mprotect(map + page, (size_t)page, PROT_NONE), 0);
        kept = f.data[ATTENTION_KV_INDICES];
        f.data[ATTENTION_KV_INDICES] = map + page - bytes;
        memcpy(f.data[ATTENTION_KV_INDICES], kept, bytes);
        expect_pass(&f, "guarded table");
        f.data[ATTENTION_KV_INDICES] = kept;
        (void)munmap(map, (size_t)page * 2);
        fx_close(&f);
    }
}

Test(attention_host, gives_the_same_bits_for_every_number_of_threads)
{
    static const int64_t LENS[] = { 100, 7, 300 };
    unsigned char *first;
    struct fx f;
    size_t bytes;

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64}",
                  16, LENS, NULL, 3);
    bytes = (size_t)f.a->tensor[ATTENTION_O].bytes;
    cr_assert_eq(fx_host(&f, 1), 0);
    first = malloc(bytes);
    cr_assert_not_null(first);
    memcpy(first, f.data[ATTENTION_O], bytes);
    for (int threads = 2; threads <= 5; threads++) {
        fx_poison_outputs(&f);
        cr_assert_eq(fx_host(&f, threads), 0);
        cr_expect_eq(memcmp(first, f.data[ATTENTION_O], bytes), 0, "%d threads",
                     threads);
    }
    free(first);
    fx_close(&f);
}

/* Random problems: the honest f16 model with rounded P and the host kernel both pass.
 */
Test(attention_host, random_problems_agree_with_the_reference)
{
    struct wf_rng rng = { 11, 0, 0 };
    static const char *const TYPES[] = { "f16", "bf16", "f32" };

    for (int n = 0; n < 60; n++) {
        int64_t kv_heads = 1 + (int64_t)wf_rng_next_below(&rng, 3);
        int64_t group = 1 + (int64_t)wf_rng_next_below(&rng, 4);
        char json[400];

        (void)snprintf(
            json, sizeof(json),
            "{\"q_heads\":%lld,\"kv_heads\":%lld,\"head_dim\":%d,\"q_len\":%d,"
            "\"kv_len\":%d,\"q_type\":\"%s\",\"seed\":%d,\"causal\":%s,\"window_left\":%d,"
            "\"soft_cap\":%d,\"lse\":true}",
            (long long)(kv_heads * group), (long long)kv_heads,
            1 + (int)wf_rng_next_below(&rng, 100), 1 + (int)wf_rng_next_below(&rng, 30),
            1 + (int)wf_rng_next_below(&rng, 300), TYPES[wf_rng_next_below(&rng, 3)], n,
            wf_rng_next_below(&rng, 2) ? "true" : "false",
            (int)wf_rng_next_below(&rng, 60) - 30 < 0 ? -1 : 25,
            wf_rng_next_below(&rng, 3) ? 0 : 2);
        run_dense(json);
    }
}
