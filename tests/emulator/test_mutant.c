/* Our own kernels: no report as they are; with a barrier or a wait taken out, the fault
 * that this makes. */
#include "emulator/exec/code.h"
#include "kernel_arguments.h"
#include "mutant.h"

#include <criterion/criterion.h>
#include <string.h>

struct gemm_case {
    const char *path;
    bool b_k_contiguous;
    int tile, m, n, k, split;
    float beta;
};

static void fill(uint64_t address, size_t values, uint32_t seed)
{
    uint16_t *p = program_host(address);
    for (size_t i = 0; i < values; i++) {
        seed = seed * 1664525 + 1013904223;
        p[i] = (uint16_t)(0x3400 | (seed >> 16 & 0x8bff)); /* +- 0.25 to 0.5 */
    }
}

static struct gemm_arguments gemm_arguments(struct program *p,
                                            const struct gemm_case *c)
{
    struct gemm_arguments g = { .m = c->m, .n = c->n, .k = c->k, .split = c->split };
    g.k_per_split = (c->k + c->split - 1) / c->split;
    g.xcc_count = 8;
    g.lda = c->k;
    g.ldb = c->b_k_contiguous ? c->k : c->n;
    g.ldc = c->n;
    g.ldd = c->n;
    g.alpha = 1;
    g.beta = c->beta;
    size_t a = (size_t)c->m * (size_t)c->k;
    size_t b = (size_t)c->n * (size_t)c->k;
    size_t d = (size_t)c->m * (size_t)c->n;
    g.a = program_buffer(p, a * 2);
    g.b = program_buffer(p, b * 2);
    g.c = program_buffer(p, d * 2);
    g.d = program_buffer(p, d * 2);
    g.partial = program_buffer(p, d * 4 * (size_t)c->split);
    fill(g.a, a, 1);
    fill(g.b, b, 2);
    fill(g.c, d, 3);
    return g;
}

static struct em_report run_gemm(struct program *p,
                                 const char *kernel,
                                 const struct gemm_case *c,
                                 bool count)
{
    struct gemm_arguments g = gemm_arguments(p, c);
    uint32_t tiles =
        (uint32_t)(((c->m + c->tile - 1) / c->tile) * ((c->n + c->tile - 1) / c->tile));
    struct program_launch launch = {
        .grid = tiles, .block = 256, .grid_yz = { (uint32_t)c->split }, .count = count
    };
    struct em_report r = program_run(p, kernel, &launch, &g, sizeof(g));
    if (!r.faulted && c->split > 1) {
        uint32_t sums = (uint32_t)(c->m * c->n + 1023) / 1024;
        struct program_launch sum = { .grid = sums, .block = 256 };
        em_report_fini(&r);
        r = program_run(p, "wf_gemm_f16_sum", &sum, &g, sizeof(g));
    }
    return r;
}

static void expect_clean(const char *kernel, const struct gemm_case *c)
{
    struct program p = program_open(c->path);
    struct em_report r = run_gemm(&p, kernel, c, false);
    cr_assert(!r.faulted, "%s: %s", kernel, r.fault.text);
    em_report_fini(&r);
    program_close(&p);
}

Test(mutant, gemm_as_it_is_has_no_fault)
{
    const struct gemm_case cases[] = {
        { GEMM_NT, true, 128, 128, 128, 104, 1, 0 },
        { GEMM_NT, true, 128, 200, 136, 136, 1, 0.5F },
        { GEMM_NN, false, 128, 136, 200, 104, 1, 0.5F },
        { GEMM_SPLIT, true, 64, 136, 72, 256, 4, 0.5F },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect_clean("wf_gemm_f16", &cases[i]);
        expect_clean("wf_gemm_f16_any", &cases[i]);
    }
}

/* One workgroup, whole tiles of K and a partial one, C read: all of the kernel's paths
 * but those at the edges. */
static const struct gemm_case small = { GEMM_NT, true, 128, 128, 128, 104, 1, 0.5F };

/* What each instruction of the kernel was executed. */
static struct em_report counted(struct mutants *m)
{
    struct em_report r = run_gemm(&m->whole, "wf_gemm_f16", &small, true);
    cr_assert(!r.faulted && r.counted, "%s", r.fault.text);
    return r;
}

static struct em_fault fault_without(const struct mutants *m, uint32_t index)
{
    struct program p = mutants_without(m, index);
    struct em_report r = run_gemm(&p, "wf_gemm_f16", &small, false);
    struct em_fault fault = r.fault;
    em_report_fini(&r);
    program_close(&p);
    return fault;
}

Test(mutant, a_barrier_taken_out_of_gemm_is_a_race)
{
    struct mutants m = mutants_open(small.path);
    struct em_report executed = counted(&m);
    uint32_t index;
    unsigned n = 0;
    for (; mutants_find(&m, "wf_gemm_f16", EM_s_barrier, n, &index); n++) {
        cr_assert_gt(executed.counts.executed[index], 0);
        struct em_fault fault = fault_without(&m, index);
        cr_assert_str_eq(em_fault_answer(fault.kind), "RACE",
                         "barrier at dword %u: %s %s", index, em_fault_name(fault.kind),
                         fault.text);
        cr_assert_lt(fault.other_wave, 4);
        cr_assert_neq(fault.other_pc, UINT32_MAX);
    }
    cr_assert_geq(n, 4, "the kernel has %u barriers", n);
    em_report_fini(&executed);
    mutants_close(&m);
}

/* A wait for a count other than 0 is there for one load. Those for 0 may be repeated,
 * as acquires behind barriers are. */
static bool is_for_one(const struct em_code *code, uint32_t index)
{
    unsigned simm = em_code_at(code, index)->in.simm16;
    unsigned vm = (simm & 15) | (simm >> 10 & 0x30);
    unsigned lgkm = simm >> 8 & 15;
    return (vm != 0 && vm != 63) || (lgkm != 0 && lgkm != 15);
}

Test(mutant, a_wait_taken_out_of_gemm_is_missed, .timeout = 50)
{
    struct mutants m = mutants_open(small.path);
    struct em_report executed = counted(&m);
    const struct em_code *code = em_image_code(m.whole.image);
    uint32_t index;
    unsigned seen = 0;
    unsigned tried = 0;
    unsigned barriers = 0;
    while (mutants_find(&m, "wf_gemm_f16", EM_s_barrier, barriers, &index)) {
        barriers++;
    }
    for (unsigned n = 0; mutants_find(&m, "wf_gemm_f16", EM_s_waitcnt, n, &index);
         n++) {
        if (executed.counts.executed[index] == 0) {
            continue;
        }
        struct em_fault fault = fault_without(&m, index);
        bool found = strcmp(em_fault_answer(fault.kind), "RACE") == 0;
        cr_assert(found || !is_for_one(code, index), "wait at dword %u: %s %s", index,
                  em_fault_name(fault.kind), fault.text);
        tried++;
        seen += found;
    }
    cr_assert_geq(tried, 20);
    cr_assert_leq(tried - seen, 2 * barriers, "%u of %u seen", seen, tried);
    em_report_fini(&executed);
    mutants_close(&m);
}

enum {
    HEAD_DIM = 64,
    PAGE = 16,
    PAGES = 12,
    HEADS = 4,
    BATCH = 2,
    KEYS = 2 * 256
};

static void set_ints(uint64_t address, const int32_t *values, size_t n)
{
    memcpy(program_host(address), values, n * sizeof(*values));
}

static struct decode_arguments decode_arguments(struct program *p)
{
    static const int32_t indptr[] = { 0, 7, 12 };
    static const int32_t indices[] = { 3, 1, 4, 0, 5, 9, 2, 6, 11, 7, 10, 8 };
    static const int32_t last[] = { 5, 16 };
    struct decode_arguments d = { .q_heads = HEADS,
                                  .kv_heads = 1,
                                  .page_size = PAGE,
                                  .parts = 1,
                                  .part_keys = KEYS,
                                  .window_left = -1,
                                  .page_stride = (int64_t)PAGE * HEAD_DIM,
                                  .slot_stride = HEAD_DIM,
                                  .head_stride = (int64_t)PAGE * HEAD_DIM,
                                  .scale_log2 = 0.18F,
                                  .v_scale = 1 };
    d.q = program_buffer(p, BATCH * HEADS * HEAD_DIM * 2);
    d.k = program_buffer(p, PAGES * PAGE * HEAD_DIM * 2);
    d.v = program_buffer(p, PAGES * PAGE * HEAD_DIM * 2);
    d.kv_indptr = program_buffer(p, sizeof(indptr));
    d.kv_indices = program_buffer(p, sizeof(indices));
    d.kv_last_page_len = program_buffer(p, sizeof(last));
    d.o = program_buffer(p, BATCH * HEADS * HEAD_DIM * 2);
    d.lse = program_buffer(p, BATCH * HEADS * 4);
    fill(d.q, BATCH * HEADS * HEAD_DIM, 4);
    fill(d.k, PAGES * PAGE * HEAD_DIM, 5);
    fill(d.v, PAGES * PAGE * HEAD_DIM, 6);
    set_ints(d.kv_indptr, indptr, 3);
    set_ints(d.kv_indices, indices, PAGES);
    set_ints(d.kv_last_page_len, last, 2);
    return d;
}

static struct em_fault decode_fault(struct program *p)
{
    struct decode_arguments d = decode_arguments(p);
    struct program_launch launch = { .grid = 1,
                                     .block = 256,
                                     .grid_yz = { BATCH, 1 },
                                     .dynamic_lds_bytes =
                                         4 * HEADS * (HEAD_DIM + 2) * 4 };
    struct em_report r = program_run(p, "wf_paged_decode_f16", &launch, &d, sizeof(d));
    struct em_fault fault = r.fault;
    em_report_fini(&r);
    return fault;
}

Test(mutant, attention_with_and_without_its_barriers)
{
    struct mutants m = mutants_open(DECODE);
    struct em_fault fault = decode_fault(&m.whole);
    cr_assert_eq(fault.kind, EM_FAULT_NONE, "%s", fault.text);
    uint32_t index;
    unsigned n = 0;
    for (; mutants_find(&m, "wf_paged_decode_f16", EM_s_barrier, n, &index); n++) {
        struct program p = mutants_without(&m, index);
        fault = decode_fault(&p);
        cr_assert_str_eq(em_fault_answer(fault.kind), "RACE",
                         "barrier at dword %u: %s %s", index, em_fault_name(fault.kind),
                         fault.text);
        program_close(&p);
    }
    cr_assert_geq(n, 2);
    mutants_close(&m);
}
