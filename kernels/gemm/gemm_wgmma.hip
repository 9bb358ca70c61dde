/* sm_90a GEMM: one warp copies tiles of both operands into shared memory through tensor
 * maps, CONSUMERS warpgroups multiply them with wgmma, which reads both from there.
 *
 * A stage is BLOCK_M lines of A and BLOCK_N lines of B of 128 bytes each (64 k of 16
 * bits, 128 k of 8), swizzled by the copy engine as wgmma wants it. An operand whose
 * rows are contiguous (16-bit types) comes in columns of 64 rows, a line for each k.
 * Outside the operands the engine writes zeros, so that every size runs the same loop.
 * A barrier a stage says that it has arrived (`full`), another that all consumers are
 * done with it
 * (`empty`). Workgroups are as many as multiprocessors and go from tile to tile; while
 * the consumers finish one, the copies of the next go on.
 *
 * fp8: the matrix unit keeps about 14 bits of a sum. What it adds up over PROMOTE_STEPS
 * steps of 32 k is added to f32 sums in registers, so that the loss does not grow with
 * K.
 *
 * Knobs: A_TYPE, B_TYPE, BLOCK_M, BLOCK_N, STAGES, CONSUMERS, A_K_CONTIGUOUS,
 * B_K_CONTIGUOUS, PROMOTE_STEPS (fp8: 1, 2 or 4), GATE (1: op(B) has 2N columns, half
 * of a tile's are the up half's),
 * SPLIT_K (1: partial sums go to the workspace). Dynamic shared memory: 1024 + STAGES *
 * (BLOCK_M + BLOCK_N) * 128 + CONSUMERS * 16384 + 16 * STAGES bytes. */
#include "kernels/gemm/problem_device.h"

#define WF_WGMMA_N BLOCK_N
#if A_TYPE == GEMM_F16
#define WF_WGMMA_TYPES "k16.f32.f16.f16"
#elif A_TYPE == GEMM_BF16
#define WF_WGMMA_TYPES "k16.f32.bf16.bf16"
#elif A_TYPE == GEMM_I8
#define WF_WGMMA_TYPES "k32.s32.s8.s8"
#elif A_TYPE == GEMM_E4M3FN && B_TYPE == GEMM_E4M3FN
#define WF_WGMMA_TYPES "k32.f32.e4m3.e4m3"
#elif A_TYPE == GEMM_E4M3FN
#define WF_WGMMA_TYPES "k32.f32.e4m3.e5m2"
#elif B_TYPE == GEMM_E4M3FN
#define WF_WGMMA_TYPES "k32.f32.e5m2.e4m3"
#else
#define WF_WGMMA_TYPES "k32.f32.e5m2.e5m2"
#endif
#if A_TYPE == GEMM_I8
#define WF_WGMMA_SUM         int
#define WF_WGMMA_REGISTER(x) "r"(x)
#define WF_WGMMA_TAIL        ""
#elif A_TYPE == GEMM_F16 || A_TYPE == GEMM_BF16
#define WF_WGMMA_SUM         float
#define WF_WGMMA_REGISTER(x) "f"(x)
#if A_K_CONTIGUOUS && B_K_CONTIGUOUS
#define WF_WGMMA_TAIL ", 1, 1, 0, 0"
#elif A_K_CONTIGUOUS
#define WF_WGMMA_TAIL ", 1, 1, 0, 1"
#elif B_K_CONTIGUOUS
#define WF_WGMMA_TAIL ", 1, 1, 1, 0"
#else
#define WF_WGMMA_TAIL ", 1, 1, 1, 1"
#endif
#define BYTES 2
#else
#define WF_WGMMA_SUM         float
#define WF_WGMMA_REGISTER(x) "f"(x)
#define WF_WGMMA_TAIL        ", 1, 1"
#define PROMOTE              1
#endif
#ifndef BYTES
#define BYTES 1
#endif
#ifndef PROMOTE
#define PROMOTE 0
#endif
#include "kernels/device/wf_device_hopper.h"
#include "kernels/gemm/mma_finish_device.h"

#define LINE        128
#define BLOCK_K     (LINE / BYTES)
#define THREADS     (128 + 128 * CONSUMERS)
#define WM          (BLOCK_M / 64 / CONSUMERS) /* 64-row blocks of a warpgroup */
#define A_BYTES     (BLOCK_M * LINE)
#define STAGE_BYTES ((BLOCK_M + BLOCK_N) * LINE)
#define COLUMN      64 /* rows of an operand in a line, where they are contiguous */

static_assert(WM * 64 * CONSUMERS == BLOCK_M, "consumers have whole 64-row blocks");
static_assert(BYTES == 2 || (A_K_CONTIGUOUS && B_K_CONTIGUOUS), "8 bits: k contiguous");
static_assert(!GATE || (B_K_CONTIGUOUS && BLOCK_N % 64 == 0),
              "halves are whole blocks");

/* Registers of a thread: what 64 K leave when the producers give theirs. */
#if CONSUMERS == 1
#define PRODUCER_REGISTERS 40
#define CONSUMER_REGISTERS 232
#elif CONSUMERS == 2
#define PRODUCER_REGISTERS 40
#define CONSUMER_REGISTERS 232
#else
#define PRODUCER_REGISTERS 32
#define CONSUMER_REGISTERS 160
#endif

/* Where a workgroup is in the ring of stages. */
struct ring {
    wf_shared_address tiles, full, empty;
    int stage, parity;

    WF_DEVICE_MEMBER wf_shared_address tile() const
    {
        return tiles + stage * STAGE_BYTES;
    }

    WF_DEVICE_MEMBER void advance()
    {
        stage++;
        if (stage == STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/* The workgroup's tiles: id, id + workgroups, ... */
WF_DEVICE gemm_share share_of(const gemm_problem &p, int id, int tiles_m, int tiles_n)
{
    gemm_share s;
    int row, column;
    gemm_place_of_tile(id, tiles_m, tiles_n, &row, &column);
    s.m0 = row * BLOCK_M;
    s.n0 = column * (GATE ? BLOCK_N / 2 : BLOCK_N);
    s.part = wf_block_y();
    s.batch = wf_block_z();
    s.k_begin = wf_min(s.part * p.k_per_split, p.k);
    s.k_end = wf_min(s.k_begin + p.k_per_split, p.k);
    return s;
}

/* One operand's tile from `row`; `lines` of them. */
template <int lines, bool k_contiguous>
WF_DEVICE void copy_operand(wf_shared_address to,
                            const wf_tensor_map *map,
                            int row,
                            int k,
                            int batch,
                            wf_shared_address full)
{
    if constexpr (k_contiguous) {
        wf_tensor_load(to, map, k, row, batch, full);
    } else {
        WF_UNROLL
        for (int i = 0; i < lines; i += COLUMN) {
            wf_tensor_load(to + i * LINE, map, row + i, k, batch, full);
        }
    }
}

WF_DEVICE void copy_tiles(const gemm_problem &p,
                          const gemm_share &s,
                          const wf_tensor_map *a,
                          const wf_tensor_map *b,
                          ring &r)
{
    WF_NO_UNROLL
    for (int k = s.k_begin; k < s.k_end; k += BLOCK_K) {
        const wf_shared_address full = r.full + 8 * r.stage;
        const wf_shared_address to = r.tile();
        wf_mbarrier_wait(r.empty + 8 * r.stage, r.parity ^ 1);
        wf_mbarrier_expect(full, STAGE_BYTES);
        copy_operand<BLOCK_M, A_K_CONTIGUOUS>(to, a, s.m0, k, s.batch, full);
        if (GATE) {
            copy_operand<BLOCK_N / 2, true>(to + A_BYTES, b, s.n0, k, s.batch, full);
            copy_operand<BLOCK_N / 2, true>(to + A_BYTES + BLOCK_N / 2 * LINE, b,
                                            p.n + s.n0, k, s.batch, full);
        } else {
            copy_operand<BLOCK_N, B_K_CONTIGUOUS>(to + A_BYTES, b, s.n0, k, s.batch,
                                                  full);
        }
        r.advance();
    }
}

/* The `step`th 32 bytes of k (16 lines where rows are contiguous) of 64 rows of A, of
 * B. */
WF_DEVICE wf_u64 a_tile(wf_shared_address stage, int block, int step)
{
    const unsigned at = stage + block * 64 * LINE;
    return wf_wgmma_tile(at + step * (A_K_CONTIGUOUS ? 32 : 16 * LINE), BLOCK_K * LINE);
}

WF_DEVICE wf_u64 b_tile(wf_shared_address stage, int step)
{
    const unsigned at = stage + A_BYTES;
    return wf_wgmma_tile(at + step * (B_K_CONTIGUOUS ? 32 : 16 * LINE), BLOCK_K * LINE);
}

/* `steps` of 32 bytes of k from `first`. */
template <int first, int steps>
WF_DEVICE void multiply(WF_WGMMA_SUM (&sum)[BLOCK_N / 2],
                        wf_shared_address stage,
                        int block,
                        int add)
{
    WF_UNROLL
    for (int i = first; i < first + steps; i++) {
        wf_wgmma(sum, a_tile(stage, block, i), b_tile(stage, i), i > first ? 1 : add);
    }
}

/* One thread of each consumer says that the stage may be filled again. */
WF_DEVICE void release(const ring &r, int stage)
{
    if ((wf_thread() & 127) == 0) {
        wf_mbarrier_arrive(r.empty + 8 * stage);
    }
}

#if PROMOTE
/* The sum of a few steps, in registers of its own, is added to acc. */
template <int first>
WF_DEVICE void add_steps(float (&acc)[BLOCK_N / 2], wf_shared_address stage, int block)
{
    float part[BLOCK_N / 2];
    WF_UNROLL
    for (int e = 0; e < BLOCK_N / 2; e++) {
        part[e] = 0.0f;
    }
    wf_hold(part);
    wf_wgmma_begin();
    multiply<first, PROMOTE_STEPS>(part, stage, block, 0);
    wf_wgmma_commit();
    wf_wgmma_wait<0>();
    wf_hold(part);
    WF_UNROLL
    for (int e = 0; e < BLOCK_N / 2; e++) {
        acc[e] += part[e];
    }
}

template <int first>
WF_DEVICE void add_stage(float (&acc)[BLOCK_N / 2], wf_shared_address stage, int block)
{
    if constexpr (first < LINE / 32) {
        add_steps<first>(acc, stage, block);
        add_stage<first + PROMOTE_STEPS>(acc, stage, block);
    }
}

WF_DEVICE void sum_tiles(int steps,
                         int first_block,
                         ring &r,
                         float (&acc)[WM][BLOCK_N / 2])
{
    WF_NO_UNROLL
    for (int t = 0; t < steps; t++) {
        wf_mbarrier_wait(r.full + 8 * r.stage, r.parity);
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            add_stage<0>(acc[i], r.tile(), first_block + i);
        }
        release(r, r.stage);
        r.advance();
    }
}
#else
WF_DEVICE void sum_tiles(int steps,
                         int first_block,
                         ring &r,
                         WF_WGMMA_SUM (&acc)[WM][BLOCK_N / 2])
{
    int before = 0;
    WF_NO_UNROLL
    for (int t = 0; t < steps; t++) {
        wf_mbarrier_wait(r.full + 8 * r.stage, r.parity);
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            wf_hold(acc[i]);
        }
        wf_wgmma_begin();
        WF_UNROLL
        for (int i = 0; i < WM; i++) {
            multiply<0, LINE / 32>(acc[i], r.tile(), first_block + i, 1);
        }
        wf_wgmma_commit();
        /* The stage before this one is read to its end. */
        wf_wgmma_wait<1>();
        if (t > 0) {
            release(r, before);
        }
        before = r.stage;
        r.advance();
    }
    wf_wgmma_wait<0>();
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        wf_hold(acc[i]);
    }
    if (steps > 0) {
        release(r, before);
    }
}
#endif

WF_DEVICE void consume(const gemm_problem &p,
                       const gemm_share &s,
                       int consumer,
                       ring &r,
                       unsigned char *stage)
{
    WF_WGMMA_SUM acc[WM][BLOCK_N / 2];
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int e = 0; e < BLOCK_N / 2; e++) {
            acc[i][e] = 0;
        }
    }
    sum_tiles(wf_ceil_div(s.k_end - s.k_begin, BLOCK_K), consumer * WM, r, acc);
    const int warp = wf_thread() >> 5 & 3;
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        const int row0 = s.m0 + (consumer * WM + i) * 64 + warp * 16;
        if (SPLIT_K) {
            gemm_finish_partial<BLOCK_N / 8, GATE>(p, s, row0, s.n0, acc[i]);
        } else {
            gemm_finish_rows<BLOCK_N / 8, GATE>(p, s.batch, row0, s.n0, acc[i],
                                                stage + (consumer * 4 + warp) *
                                                            GEMM_WARP_STAGE_BYTES);
        }
    }
}

WF_DEVICE void make_barriers(const ring &r)
{
    if (wf_thread() == 0) {
        for (int i = 0; i < STAGES; i++) {
            wf_mbarrier_init(r.full + 8 * i, 1);
            wf_mbarrier_init(r.empty + 8 * i, CONSUMERS);
        }
        wf_mbarrier_init_fence();
    }
    wf_barrier();
}

WF_KERNEL(THREADS, 1)
wf_gemm_wgmma(const wf_tensor_map, const wf_tensor_map, GEMM_PARAMETERS(GEMM_SCALAR))
{
    const wf_tensor_map *map_a, *map_b;
    WF_PARAMETER_ADDRESS(wf_gemm_wgmma, 0, map_a);
    WF_PARAMETER_ADDRESS(wf_gemm_wgmma, 1, map_b);
    const gemm_problem p = GEMM_PROBLEM;
    const int over = (int)(wf_dynamic_shared() & 1023);
    const int skip = over == 0 ? 0 : 1024 - over;
    unsigned char *stage =
        (unsigned char *)wf_dynamic_memory() + skip + STAGES * STAGE_BYTES;
    ring r;
    r.tiles = wf_dynamic_shared() + skip;
    r.full = r.tiles + STAGES * STAGE_BYTES + CONSUMERS * 4 * GEMM_WARP_STAGE_BYTES;
    r.empty = r.full + 8 * STAGES;
    r.stage = 0;
    r.parity = 0;
    const int tiles_m = wf_quotient_up(p.m, BLOCK_M);
    const int tiles_n = wf_quotient_up(p.n, GATE ? BLOCK_N / 2 : BLOCK_N);
    const int group = wf_thread() >> 7;
    make_barriers(r);
    if (group == 0) {
        wf_registers_give<PRODUCER_REGISTERS>();
        if (wf_thread() == 0) {
            WF_NO_UNROLL
            for (int id = wf_block_x(); id < tiles_m * tiles_n; id += wf_blocks_x()) {
                copy_tiles(p, share_of(p, id, tiles_m, tiles_n), map_a, map_b, r);
            }
        }
    } else {
        wf_registers_take<CONSUMER_REGISTERS>();
        WF_NO_UNROLL
        for (int id = wf_block_x(); id < tiles_m * tiles_n; id += wf_blocks_x()) {
            consume(p, share_of(p, id, tiles_m, tiles_n), group - 1, r, stage);
        }
    }
}

#if SPLIT_K
WF_KERNEL(256, 4) wf_gemm_wgmma_sum(GEMM_PARAMETERS(GEMM_SCALAR))
{
    const gemm_problem p = GEMM_PROBLEM;
    gemm_sum_partials(p);
}
#endif
