/* sm_90a: what kernels with `wgmma` and the tensor memory accelerator are made of.
 * Nothing here is in later architectures (an entry says "compile": {"target":
 * "sm_90a"}).
 *
 * Addresses of shared memory are wf_shared_address. A barrier (mbarrier) is 8 bytes of
 * shared memory; its phases have parity 0, 1, 0, ... and a wait for parity 1 of a new
 * barrier ends at once. */
#ifndef WF_KERNELS_DEVICE_WF_DEVICE_HOPPER_H
#define WF_KERNELS_DEVICE_WF_DEVICE_HOPPER_H

#include "kernels/device/wf_device.h"

struct alignas(64) wf_tensor_map {
    unsigned char opaque[128];
};

/* Where the launch put parameter `number` (a literal) of `kernel`: the copy engine
 * reads a map there. By the name that both compilers give it in PTX, because clang-19
 * does not know __grid_constant__ and would hand over the address of a copy. */
#define WF_PARAMETER_ADDRESS(kernel, number, to)                   \
    asm("{\n.reg .u64 at;\nmov.u64 at, " #kernel "_param_" #number \
        ";\ncvta.param.u64 %0, at;\n}"                             \
        : "=l"(to))

/* --- barriers --- */

WF_DEVICE void wf_mbarrier_init(wf_shared_address bar, int arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals)
                 : "memory");
}

/* Barriers that were made are seen by the copy engine and by the cluster. */
WF_DEVICE void wf_mbarrier_init_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

WF_DEVICE void wf_mbarrier_arrive(wf_shared_address bar)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

/* One arrival; the phase also waits for `bytes` of copies. */
WF_DEVICE void wf_mbarrier_expect(wf_shared_address bar, int bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
                 "r"(bytes)
                 : "memory");
}

WF_DEVICE void wf_mbarrier_wait(wf_shared_address bar, int parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "wait:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra end;\n"
                 "bra wait;\n"
                 "end:\n"
                 "}" ::"r"(bar),
                 "r"(parity)
                 : "memory");
}

/* --- copies by tensor map --- */

WF_DEVICE void wf_tensor_map_prefetch(const wf_tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* The box at (x, y, z), fastest first, to `dst`; zeros outside the tensor. */
WF_DEVICE void wf_tensor_load(wf_shared_address dst,
                              const wf_tensor_map *map,
                              int x,
                              int y,
                              int z,
                              wf_shared_address bar)
{
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::"
        "bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(dst),
        "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z)
        : "memory");
}

/* --- registers of a warpgroup --- */

template <int registers> WF_DEVICE void wf_registers_give()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers> WF_DEVICE void wf_registers_take()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

/* --- wgmma --- */

WF_DEVICE void wf_wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

WF_DEVICE void wf_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until all but the newest `n` groups are done. */
template <int n> WF_DEVICE void wf_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}

/* Nothing that reads or writes these registers moves across. */
template <int n> WF_DEVICE void wf_hold(float (&v)[n])
{
    WF_UNROLL
    for (int i = 0; i < n; i++) {
        asm volatile("" : "+f"(v[i])::"memory");
    }
}

template <int n> WF_DEVICE void wf_hold(int (&v)[n])
{
    WF_UNROLL
    for (int i = 0; i < n; i++) {
        asm volatile("" : "+r"(v[i])::"memory");
    }
}

/* A tile of lines of 128 bytes, their 16-byte chunks permuted by the low three bits of
 * the line's number, 1024-byte aligned. `lead`: bytes between 64-value columns of a
 * tile whose lines run along the rows; 8 lines on are 1024 bytes on. */
WF_DEVICE wf_u64 wf_wgmma_tile(wf_shared_address at, unsigned lead)
{
    return (wf_u64)1 << 62 | (wf_u64)(1024 >> 4) << 32 | (wf_u64)(lead >> 4) << 16 |
           (wf_u64)((at & 0x3ffff) >> 4);
}

/* v += A B, or v = A B where `add` is 0, of 64 rows, WF_WGMMA_N columns and 32 bytes of
 * k. A file that wants it defines, before this header: WF_WGMMA_N (a multiple of 32 up
 * to 256), WF_WGMMA_TYPES ("k16.f32.f16.f16"), WF_WGMMA_TAIL (", 1, 1, 0, 0": signs of
 * A and B, whether lines run along the rows; integers have none) and WF_WGMMA_SUM
 * (float, int), WF_WGMMA_REGISTER(x) ("f"(x), "r"(x)).
 *
 * Value 4 j + 2 h + e of a lane: row 16 (warp % 4) + lane / 4 + 8 h, column 8 j +
 * lane % 4 * 2 + e. All values are operands of the one statement. */
#ifdef WF_WGMMA_N
#define WF_R0 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define WF_R1 "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WF_R2 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define WF_R3 "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WF_R4 "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define WF_R5 "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define WF_R6 \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define WF_R7 \
    "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define WF_V4(i)  WF_C(v[i]), WF_C(v[i + 1]), WF_C(v[i + 2]), WF_C(v[i + 3])
#define WF_V16(i) WF_V4(i), WF_V4(i + 4), WF_V4(i + 8), WF_V4(i + 12)
#if WF_WGMMA_N == 32
#define WF_WGMMA_SHAPE     "m64n32"
#define WF_WGMMA_REGISTERS WF_R0
#define WF_WGMMA_VALUES    WF_V16(0)
#define WF_WGMMA_A         "%16"
#define WF_WGMMA_B         "%17"
#define WF_WGMMA_ADD       "%18"
#elif WF_WGMMA_N == 64
#define WF_WGMMA_SHAPE     "m64n64"
#define WF_WGMMA_REGISTERS WF_R0 "," WF_R1
#define WF_WGMMA_VALUES    WF_V16(0), WF_V16(16)
#define WF_WGMMA_A         "%32"
#define WF_WGMMA_B         "%33"
#define WF_WGMMA_ADD       "%34"
#elif WF_WGMMA_N == 96
#define WF_WGMMA_SHAPE     "m64n96"
#define WF_WGMMA_REGISTERS WF_R0 "," WF_R1 "," WF_R2
#define WF_WGMMA_VALUES    WF_V16(0), WF_V16(16), WF_V16(32)
#define WF_WGMMA_A         "%48"
#define WF_WGMMA_B         "%49"
#define WF_WGMMA_ADD       "%50"
#elif WF_WGMMA_N == 128
#define WF_WGMMA_SHAPE     "m64n128"
#define WF_WGMMA_REGISTERS WF_R0 "," WF_R1 "," WF_R2 "," WF_R3
#define WF_WGMMA_VALUES    WF_V16(0), WF_V16(16), WF_V16(32), WF_V16(48)
#define WF_WGMMA_A         "%64"
#define WF_WGMMA_B         "%65"
#define WF_WGMMA_ADD       "%66"
#elif WF_WGMMA_N == 160
#define WF_WGMMA_SHAPE     "m64n160"
#define WF_WGMMA_REGISTERS WF_R0 "," WF_R1 "," WF_R2 "," WF_R3 "," WF_R4
#define WF_WGMMA_VALUES    WF_V16(0), WF_V16(16), WF_V16(32), WF_V16(48), WF_V16(64)
#define WF_WGMMA_A         "%80"
#define WF_WGMMA_B         "%81"
#define WF_WGMMA_ADD       "%82"
#elif WF_WGMMA_N == 192
#define WF_WGMMA_SHAPE     "m64n192"
#define WF_WGMMA_REGISTERS WF_R0 "," WF_R1 "," WF_R2 "," WF_R3 "," WF_R4 "," WF_R5
#define WF_WGMMA_VALUES \
    WF_V16(0), WF_V16(16), WF_V16(32), WF_V16(48), WF_V16(64), WF_V16(80)
#define WF_WGMMA_A   "%96"
#define WF_WGMMA_B   "%97"
#define WF_WGMMA_ADD "%98"
#elif WF_WGMMA_N == 224
#define WF_WGMMA_SHAPE "m64n224"
#define WF_WGMMA_REGISTERS \
    WF_R0 "," WF_R1 "," WF_R2 "," WF_R3 "," WF_R4 "," WF_R5 "," WF_R6
#define WF_WGMMA_VALUES \
    WF_V16(0), WF_V16(16), WF_V16(32), WF_V16(48), WF_V16(64), WF_V16(80), WF_V16(96)
#define WF_WGMMA_A   "%112"
#define WF_WGMMA_B   "%113"
#define WF_WGMMA_ADD "%114"
#elif WF_WGMMA_N == 256
#define WF_WGMMA_SHAPE "m64n256"
#define WF_WGMMA_REGISTERS \
    WF_R0 "," WF_R1 "," WF_R2 "," WF_R3 "," WF_R4 "," WF_R5 "," WF_R6 "," WF_R7
#define WF_WGMMA_VALUES                                                                \
    WF_V16(0), WF_V16(16), WF_V16(32), WF_V16(48), WF_V16(64), WF_V16(80), WF_V16(96), \
        WF_V16(112)
#define WF_WGMMA_A   "%128"
#define WF_WGMMA_B   "%129"
#define WF_WGMMA_ADD "%130"
#else
#error "WF_WGMMA_N is a multiple of 32 up to 256"
#endif

WF_DEVICE void wf_wgmma(WF_WGMMA_SUM (&v)[WF_WGMMA_N / 2], wf_u64 a, wf_u64 b, int add)
{
#define WF_C(x) "+" WF_WGMMA_REGISTER(x)
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " WF_WGMMA_ADD ", 0;\n"
                 "wgmma.mma_async.sync.aligned." WF_WGMMA_SHAPE WF_WGMMA_TYPES
                 " {" WF_WGMMA_REGISTERS "}, " WF_WGMMA_A ", " WF_WGMMA_B
                 ", add" WF_WGMMA_TAIL ";\n}"
                 : WF_WGMMA_VALUES
                 : "l"(a), "l"(b), "r"(add));
#undef WF_C
}
#endif

#endif
