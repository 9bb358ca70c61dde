/* One f32 product, right with FAULT 0, and with one thing wrong on the marked line
 * otherwise. M, N and K are multiples of TILE. */
#include "kernels/device/wf_device.h"

enum {
    RIGHT,
    READS_BEHIND,
    WRITES_BEHIND,
    UNWRITTEN_LDS,
    UNWRITTEN_ADDRESS,
    NO_BARRIER,
    NO_WAIT,
    SHARED_ELEMENT,
    DIVERGENT_BARRIER,
    MISALIGNED,
    ENDLESS,
    TRAP,
    WRONG_VALUE
};

#define TILE 16

WF_SHARED float tile_a[TILE * TILE], tile_b[TILE * TILE];

/* An element of A, past which lies nothing. */
WF_DEVICE float load_a(const float *a, wf_i64 at, wf_i64 elements)
{
    if (FAULT == READS_BEHIND && at == elements - 1) {
        at = elements;
    }
    if (FAULT == UNWRITTEN_ADDRESS) {
        int never;
        asm volatile("v_mov_b32 %0, v99" : "=v"(never) : : "v99");
        at += never & 1;
    }
    if (FAULT == NO_WAIT) {
        float v;
        asm volatile("global_load_dword %0, %1, off\n\t" // NO_WAIT
                     "v_add_f32 %0, 0, %0"
                     : "=&v"(v)
                     : "v"(a + at)
                     : "memory");
        return v;
    }
    return a[at]; // READS_BEHIND UNWRITTEN_ADDRESS
}

WF_DEVICE void store_d(float *d, wf_i64 at, float sum, wf_i64 elements)
{
    if (FAULT == WRONG_VALUE && at == elements / 2) {
        sum += 1000;
    }
    if (FAULT == SHARED_ELEMENT && wf_thread() == 77) {
        at = 0;
    }
    if (FAULT == WRITES_BEHIND && at == elements - 1) {
        at = elements;
    }
    d[at] = sum; // WRITES_BEHIND SHARED_ELEMENT UNWRITTEN_LDS
}

/* Before anything is computed. */
WF_DEVICE void begin(float *d)
{
    const int wave = wf_uniform(wf_thread() / WF_WAVE);
    if (FAULT == MISALIGNED) {
        char *at = (char *)d + 4 * wf_thread() + (wf_thread() == 70 ? 2 : 0);
        (void)__hip_atomic_fetch_add((unsigned *)at, 1u, __ATOMIC_RELAXED, // MISALIGNED
                                     __HIP_MEMORY_SCOPE_AGENT);
    }
    if (FAULT == ENDLESS) {
        if (wave == 3) {
            asm volatile("0: s_branch 0b"); // ENDLESS
        }
    }
    if (FAULT == TRAP && wave == 2) {
        asm volatile("s_trap 2"); // TRAP
    }
    if (FAULT == DIVERGENT_BARRIER) {
        wf_barrier();
        if (wave == 1) {
            wf_barrier(); // DIVERGENT_BARRIER
            asm volatile("s_endpgm");
        }
    }
}

WF_KERNEL(256, 1) wf_faulty(const float *a, const float *b, float *d, int m, int n, int k)
{
    const int column = wf_thread() % TILE, row = wf_thread() / TILE;
    const int i = wf_block_y() * TILE + row, j = wf_block_x() * TILE + column;
    float sum = 0.0f;
    begin(d);
    for (int at = 0; at < k; at += TILE) {
        if (FAULT != UNWRITTEN_LDS || wf_thread() != 130) {
            tile_a[row * TILE + column] =
                load_a(a, (wf_i64)i * k + at + column, (wf_i64)m * k);
        }
        tile_b[row * TILE + column] = b[(wf_i64)(at + row) * n + j];
        if (FAULT != NO_BARRIER) {
            wf_barrier();
        }
        for (int x = 0; x < TILE; x++) {
            sum += tile_a[row * TILE + x] * tile_b[x * TILE + column]; // NO_BARRIER
        }
        wf_barrier();
    }
    store_d(d, (wf_i64)i * n + j, sum, (wf_i64)m * n);
}
