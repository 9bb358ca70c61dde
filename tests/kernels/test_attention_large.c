/* Sizes past 2^31 elements and 2^32 bytes. Pools are sparse: only the pages in use are
 * ever touched, so a test of a 10 GB pool costs a few pages of memory. */
#include "attention_fixture.h"

#include "core/buf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static unsigned char *sparse(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    cr_assert_neq(p, MAP_FAILED);
    return p;
}

/* Opens a paged case; every key of sequence b has V = b + 1. */
static void open_sparse(struct fx *f, const char *json, const struct fx_table *t)
{
    struct wf_error err = { 0 };

    cr_assert_eq(fx_parse(f, json, t, &err), WF_OK, "%s", err.text);
    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        const struct wf_tensor *x = &f->a->tensor[i];

        if (x->bytes == 0) {
            continue;
        }
        f->data[i] = sparse((size_t)x->bytes);
        if (i != ATTENTION_K_CACHE && i != ATTENTION_V_CACHE &&
            x->role != WF_ROLE_OUTPUT) {
            cr_assert_eq(wf_case_fill(f->c, i, 0, 0, x->elements, f->data[i], NULL),
                         WF_OK);
        }
    }
    for (int64_t b = 0; b < f->a->batch; b++) {
        for (int64_t j = 0; j < f->a->kv_len[b]; j++) {
            for (int64_t h = 0; h < f->a->kv_heads; h++) {
                fx_set_key(f, true, b, j, h, (double)(b + 1));
            }
        }
    }
    fx_poison_outputs(f);
}

static void close_sparse(struct fx *f)
{
    for (size_t i = 0; i < ATTENTION_TENSOR_COUNT; i++) {
        if (f->data[i]) {
            (void)munmap(f->data[i], (size_t)f->a->tensor[i].bytes);
            f->data[i] = NULL;
        }
    }
    fx_close(f);
}

static void expect_own_values(struct fx *f)
{
    struct attention_reference *ref = fx_reference(f, 0);
    struct wf_check_report r;

    for (int64_t b = 0; b < f->a->batch; b++) {
        int64_t line = ref->plan.slot_of[b * f->a->kv_heads] * f->a->group;

        cr_expect(fabs(ref->o[line * f->a->head_dim_v] - (double)(b + 1)) < 1e-12,
                  "reference: sequence %lld", (long long)b);
    }
    cr_assert_eq(fx_host(f, 2), 0);
    fx_check(f, &r);
    cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s", r.diagnosis);
    attention_reference_free(ref);
}

Test(attention_large, pools_past_two_to_the_31_elements_A04)
{
    /* 16 slots of 8 heads of 128: 16384 elements a page, 2^31 of them in 131072 pages.
     */
    const struct fx_table t = { .kv_indptr = FX_LIST(0, 1, 2, 3, 4, 5, 6),
                                .kv_indices = FX_LIST(65534, 65535, 65536, 131071,
                                                      131072, 262144),
                                .kv_last_page_len = FX_LIST(16, 3, 16, 2, 1, 5),
                                .num_pages = "262146",
                                .page_size = "16" };
    struct fx f;

    open_sparse(&f, "{\"layout\":\"paged\",\"q_heads\":8,\"head_dim\":128}", &t);
    cr_expect_eq(f.a->tensor[ATTENTION_K_CACHE].elements, UINT64_C(262146) * 16384);
    expect_own_values(&f);
    close_sparse(&f);
}

/* Page size 480, latent 576: 276480 elements a page; 2^31 lies inside page 7767. */
Test(attention_large, page_stride_times_page_id_A05)
{
    const struct fx_table t = { .kv_indptr = FX_LIST(0, 1, 2, 3),
                                .kv_indices = FX_LIST(7766, 7767, 7768),
                                .kv_last_page_len = FX_LIST(480, 480, 480),
                                .num_pages = "7769",
                                .page_size = "480" };
    struct fx f;

    open_sparse(&f,
                "{\"layout\":\"paged\",\"q_heads\":2,\"kv_heads\":1,\"head_dim\":576,"
                "\"head_dim_v\":512}",
                &t);
    expect_own_values(&f);
    close_sparse(&f);
}

/* About a megabyte a page, past 2 GiB and past 4 GiB of byte offset. */
Test(attention_large, byte_offsets_past_two_and_four_gibibytes_A06)
{
    const struct fx_table t = { .kv_indptr = FX_LIST(0, 1, 2, 3),
                                .kv_indices = FX_LIST(2142, 2143, 4564),
                                .kv_last_page_len = FX_LIST(489, 7, 300),
                                .num_pages = "4565",
                                .page_size = "489" };
    struct fx f;

    open_sparse(
        &f, "{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":4,\"head_dim\":256}", &t);
    cr_expect_gt(f.a->tensor[ATTENTION_K_CACHE].bytes, UINT64_C(1) << 32);
    expect_own_values(&f);
    close_sparse(&f);
}

/* The reference draws inputs at 64-bit positions: a page far out has its own values,
 * and they are those of the pool's fill. */
Test(attention_large, inputs_far_out_in_the_pool_differ_A04)
{
    const struct fx_table t = { .kv_indptr = FX_LIST(0, 1, 2),
                                .kv_indices = FX_LIST(0, 131072),
                                .kv_last_page_len = FX_LIST(16, 16),
                                .num_pages = "131073",
                                .page_size = "16" };
    unsigned char near[256], far[256];
    struct wf_error err = { 0 };
    struct fx f;

    cr_assert_eq(
        fx_parse(&f, "{\"layout\":\"paged\",\"q_heads\":8,\"head_dim\":128}", &t, &err),
        WF_OK, "%s", err.text);
    cr_assert_eq(wf_case_fill(f.c, ATTENTION_K_CACHE, 0, 0, 128, near, &err), WF_OK);
    cr_assert_eq(
        wf_case_fill(f.c, ATTENTION_K_CACHE, 0, UINT64_C(1) << 31, 128, far, &err),
        WF_OK);
    cr_expect_neq(memcmp(near, far, 256), 0);
    cr_expect(!wf_is_poison(WF_F16, far));
    fx_close(&f);
}

/* 32 heads of 256, 512 tokens a request: batch 512 has a last flat index of 2^31 - 1.
 */
Test(attention_large, query_offsets_past_two_to_the_31_A20)
{
    for (int batch = 511; batch <= 513; batch++) {
        struct wf_error err = { 0 };
        uint64_t n = (uint64_t)batch * 512 * 32 * 256;
        char json[160];
        struct fx f;
        uint16_t last;

        (void)snprintf(json, sizeof(json),
                       "{\"batch\":%d,\"q_heads\":32,\"head_dim\":256,\"q_len\":512,"
                       "\"kv_len\":512,\"causal\":true}",
                       batch);
        cr_assert_eq(fx_parse(&f, json, NULL, &err), WF_OK, "%s", err.text);
        cr_expect_eq(f.a->tensor[ATTENTION_Q].elements, n);
        cr_expect_eq(f.a->tensor[ATTENTION_O].stride[0], 32 * 256);
        cr_expect_eq(wf_case_fill(f.c, ATTENTION_Q, 0, n - 1, 1, &last, &err), WF_OK);
        cr_expect_eq(wf_case_fill(f.c, ATTENTION_Q, 0, n, 1, &last, &err), WF_ERANGE);
        fx_close(&f);
    }
}
