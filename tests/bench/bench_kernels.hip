/* Whole kernels that live on memory, and one that lives on arithmetic. */
#define KERNEL extern "C" __attribute__((global))

typedef float float4_t __attribute__((ext_vector_type(4)));

static __attribute__((device)) unsigned thread(void)
{
    return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();
}

KERNEL void copy_x1(float *to, const float *from, unsigned, unsigned threads)
{
    for (unsigned i = 0; i < 16; i++) {
        to[thread() + i * threads] = from[thread() + i * threads];
    }
}

KERNEL void copy_x4(float4_t *to, const float4_t *from, unsigned, unsigned threads)
{
    for (unsigned i = 0; i < 4; i++) {
        to[thread() + i * threads] = from[thread() + i * threads];
    }
}

KERNEL void copy_half(unsigned short *to,
                      const unsigned short *from,
                      unsigned,
                      unsigned threads)
{
    for (unsigned i = 0; i < 32; i++) {
        to[thread() + i * threads] = from[thread() + i * threads];
    }
}

/* Each lane's values are a line of 128 bytes and more apart; `mask`: dwords - 1. */
KERNEL void gather(float *to, const float *from, unsigned mask, unsigned threads)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned at = thread() + i * threads;
        to[at] = from[at * 2654435761u & mask];
    }
}

/* A column of the matrix for a wave, 1024 dwords from lane to lane. */
KERNEL void strided(float *to, const float *from, unsigned mask, unsigned threads)
{
    for (unsigned i = 0; i < 16; i++) {
        unsigned at = thread() + i * threads;
        unsigned from_at = (at << 10 | at >> 10) & mask;
        to[at] = from[from_at];
    }
}

/* Tiles of 32 x 32 of a matrix of 1024 columns, through LDS. */
KERNEL void transpose(float *to, const float *from, unsigned, unsigned)
{
    static __attribute__((shared)) float tile[32][33];
    unsigned x = __builtin_amdgcn_workitem_id_x() % 32;
    unsigned y = __builtin_amdgcn_workitem_id_x() / 32;
    unsigned tile_x = __builtin_amdgcn_workgroup_id_x() % 32 * 32;
    unsigned tile_y = __builtin_amdgcn_workgroup_id_x() / 32 * 32;
    unsigned rows = 1024;
    for (unsigned i = 0; i < 32; i += 8) {
        tile[y + i][x] = from[(tile_y + y + i) * 1024 + tile_x + x];
    }
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    for (unsigned i = 0; i < 32; i += 8) {
        to[(tile_x + y + i) * rows + tile_y + x] = tile[x][y + i];
    }
}

KERNEL void arithmetic(float *to, const float *from, unsigned, unsigned)
{
    float a = from[thread()];
    float b = a + 1.0f;
    float c = a * 0.5f;
    for (unsigned i = 0; i < 256; i++) {
        a = __builtin_fmaf(a, 0.5f, b);
        b = __builtin_fmaf(b, 0.25f, c);
        c = a * 0.5f + b * 0.125f;
    }
    to[thread()] = a + b + c;
}
