/* Speed of the emulator's vector arithmetic: wave instructions a second, in millions,
 * of one thread, with the dispatch and without decoding. */
#include "emulator/check/shadow.h"
#include "tests/bench/bench.h"
#include "tests/emulator/valu_case.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    OPS = 32, /* instructions in the loop, as of an unrolled kernel */
    REPEATS = 9,
    LOOPS = 50000
};

/* The median, in millions of wave instructions a second. */
static double measure(struct em_wave *w, const struct em_op ops[OPS])
{
    double rates[REPEATS];
    for (unsigned r = 0; r < REPEATS; r++) {
        double start = bench_cpu_s();
        for (unsigned n = 0; n < LOOPS; n++) {
            for (unsigned i = 0; i < OPS; i++) {
                if (ops[i].run(w, &ops[i]) != EM_GO) {
                    abort();
                }
            }
        }
        rates[r] = 1e-6 * (double)(LOOPS * OPS) / (bench_cpu_s() - start);
    }
    return bench_median(rates, REPEATS);
}

static bool carries(enum em_opcode op)
{
    return op == EM_v_mad_u64_u32 || op == EM_v_add_co_u32;
}

static void bench(struct em_wave *w,
                  const char *what,
                  enum em_opcode op,
                  unsigned sources,
                  unsigned dpp_ctrl,
                  uint16_t first)
{
    struct em_op ops[OPS];
    for (unsigned i = 0; i < OPS; i++) {
        struct em_inst in = case_inst(op, EM_VOP3);
        case_dst(&in, vgpr(10 + i));
        case_src(&in, 0, first == EM_NONE ? vgpr(50 + i) : first);
        for (unsigned s = 1; s < sources; s++) {
            case_src(&in, s, vgpr(50 + i + s));
        }
        if (in.dst.type == EM_MASK || carries(op)) {
            case_sdst(&in, EM_VCC);
        }
        if (in.dst.type == EM_MASK) {
            in.dst = in.sdst;
            in.sdst.code = EM_NONE;
        }
        in.extra = dpp_ctrl ? EM_DPP : EM_PLAIN;
        in.dpp_ctrl = (uint16_t)dpp_ctrl;
        in.bound_ctrl = true;
        memset(&ops[i], 0, sizeof(ops[i]));
        ops[i].in = in;
        if (!em_bind_valu(&ops[i])) {
            abort();
        }
    }
    struct em_shadow *shadow = em_shadow_create();
    if (!shadow) {
        abort();
    }
    double plain = measure(w, ops);
    w->shadow = shadow;
    double checked = measure(w, ops);
    w->shadow = NULL;
    em_shadow_destroy(shadow);
    printf("%-34s %8.1f %8.1f\n", what, plain, checked);
}

int main(void)
{
    struct em_wave *w = em_wave_create();
    if (!w) {
        return 1;
    }
    w->mode = 0xf0; /* denormals kept, as compilers ask for */
    printf("%-34s %8s %8s\n", "M wave instructions/s", "plain", "shadow");
    bench(w, "v_add_u32 v, v, v", EM_v_add_u32, 2, 0, EM_NONE);
    bench(w, "v_add_u32 v, s, v", EM_v_add_u32, 2, 0, EM_SGPR0);
    bench(w, "v_add_u32 v, 1, v", EM_v_add_u32, 2, 0, EM_INT_0 + 1);
    bench(w, "v_mov_b32 v, v", EM_v_mov_b32, 1, 0, EM_NONE);
    bench(w, "v_mad_u32_u24 v, v, v, v", EM_v_mad_u32_u24, 3, 0, EM_NONE);
    bench(w, "v_lshl_add_u64 v, v, v, v", EM_v_lshl_add_u64, 3, 0, EM_NONE);
    bench(w, "v_perm_b32 v, v, v, v", EM_v_perm_b32, 3, 0, EM_NONE);
    bench(w, "v_mad_u64_u32 v, v, v, v", EM_v_mad_u64_u32, 3, 0, EM_NONE);
    bench(w, "v_add_co_u32 v, vcc, v, v", EM_v_add_co_u32, 2, 0, EM_NONE);
    bench(w, "v_cndmask_b32 v, v, v, vcc", EM_v_cndmask_b32, 2, 0, EM_NONE);
    bench(w, "v_cmp_lt_u32 vcc, v, v", EM_v_cmp_lt_u32, 2, 0, EM_NONE);
    bench(w, "v_cmp_lt_u64 vcc, v, v", EM_v_cmp_lt_u64, 2, 0, EM_NONE);
    bench(w, "v_mul_f32 v, v, v", EM_v_mul_f32, 2, 0, EM_NONE);
    bench(w, "v_mul_f32_dpp row_newbcast:3", EM_v_mul_f32, 2, 0x153, EM_NONE);
    bench(w, "v_add_u32_dpp quad_perm", EM_v_add_u32, 2, 0xb1, EM_NONE);
    bench(w, "v_add_u32_dpp row_shr:1", EM_v_add_u32, 2, 0x111, EM_NONE);
    em_set_s64(w, EM_EXEC, UINT64_C(0x0123456789abcdef));
    bench(w, "v_add_u32 v, v, v, partial EXEC", EM_v_add_u32, 2, 0, EM_NONE);
    em_wave_destroy(w);
    return 0;
}
