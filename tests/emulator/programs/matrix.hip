// Matrix products with MFMA: fp16 and int8, through LDS, compared element by element.
#include "check.h"

#include <cmath>

typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));
typedef int int4x __attribute__((ext_vector_type(4)));

// C[M][N] = A[M][K] * B[K][N]; a wave makes 32 x 32 of C.
__global__ void gemm_f16(const _Float16 *a, const _Float16 *b, float *c, int n, int k)
{
    __shared__ _Float16 tile_a[32][8 + 2], tile_b[8][32 + 2];
    int lane = threadIdx.x, row = lane % 32, group = lane / 32;
    int y = blockIdx.y * 32, x = blockIdx.x * 32;
    float16 acc = {};
    for (int at = 0; at < k; at += 8) {
        for (int i = lane; i < 32 * 8; i += 64) {
            tile_a[i / 8][i % 8] = a[(y + i / 8) * k + at + i % 8];
            tile_b[i / 32][i % 32] = b[(at + i / 32) * n + x + i % 32];
        }
        __syncthreads();
        half4 va, vb;
        for (int j = 0; j < 4; j++) {
            va[j] = tile_a[row][group * 4 + j];
            vb[j] = tile_b[group * 4 + j][row];
        }
        acc = __builtin_amdgcn_mfma_f32_32x32x8f16(va, vb, acc, 0, 0, 0);
        __syncthreads();
    }
    for (int i = 0; i < 16; i++) {
        c[(y + 8 * (i / 4) + 4 * group + i % 4) * n + x + row] = acc[i];
    }
}

static void product_f16()
{
    const int m = 64, n = 96, k = 72;
    numbers r;
    std::vector<_Float16> a(m * k), b(k * n);
    for (auto &v : a) {
        v = (_Float16)(float)(r.below(9) - 4);
    }
    for (auto &v : b) {
        v = (_Float16)((float)(r.below(9) - 4) * 0.5f);
    }
    _Float16 *da = to_device(a), *db = to_device(b);
    float *dc = to_device(std::vector<float>(m * n));
    gemm_f16<<<dim3(n / 32, m / 32), 64>>>(da, db, dc, n, k);
    std::vector<float> c = from_device(dc, m * n);
    for (int y = 0; y < m; y++) {
        for (int x = 0; x < n; x++) {
            float want = 0; // small halves: exact in any order
            for (int i = 0; i < k; i++) {
                want += (float)a[y * k + i] * (float)b[i * n + x];
            }
            EXPECT(c[y * n + x] == want);
        }
    }
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
}

__device__ long pack8(const signed char *p, int stride)
{
    unsigned long v = 0;
    for (int j = 0; j < 8; j++) {
        v |= (unsigned long)(unsigned char)p[j * stride] << (8 * j);
    }
    return (long)v;
}

__global__ void gemm_i8(const signed char *a, const signed char *b, int *c, int n, int k)
{
    int lane = threadIdx.x, row = lane % 16, group = lane / 16;
    int y = blockIdx.y * 16, x = blockIdx.x * 16;
    int4x acc = { 0, 0, 0, 0 };
    for (int at = 0; at < k; at += 32) {
        long va = pack8(a + (y + row) * k + at + group * 8, 1);
        long vb = pack8(b + (at + group * 8) * n + x + row, n);
        acc = __builtin_amdgcn_mfma_i32_16x16x32_i8(va, vb, acc, 0, 0, 0);
    }
    for (int i = 0; i < 4; i++) {
        c[(y + 4 * group + i) * n + x + row] = acc[i];
    }
}

static void product_i8()
{
    const int m = 32, n = 48, k = 96;
    numbers r;
    std::vector<signed char> a(m * k), b(k * n);
    for (auto &v : a) {
        v = (signed char)(r.below(256) - 128);
    }
    for (auto &v : b) {
        v = (signed char)(r.below(256) - 128);
    }
    signed char *da = to_device(a), *db = to_device(b);
    int *dc = to_device(std::vector<int>(m * n));
    gemm_i8<<<dim3(n / 16, m / 16), 64>>>(da, db, dc, n, k);
    std::vector<int> c = from_device(dc, m * n);
    for (int y = 0; y < m; y++) {
        for (int x = 0; x < n; x++) {
            int want = 0;
            for (int i = 0; i < k; i++) {
                want += a[y * k + i] * b[i * n + x];
            }
            EXPECT(c[y * n + x] == want);
        }
    }
    CHECK(hipFree(da));
    CHECK(hipFree(db));
    CHECK(hipFree(dc));
}

int main()
{
    product_f16();
    product_i8();
    return finish("matrix");
}
