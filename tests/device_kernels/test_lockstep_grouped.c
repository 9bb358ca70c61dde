/* The sm_90 grouped GEMM's source, lane by lane, against a loop over groups: types,
 * gate, row scales, groups without rows, more of them than a warp has lanes. Operands
 * are small multiples of 1/8 (i8: whole numbers), so that products are exact. */
#include "core/dtype.h"
#include "tests/device_kernels/guarded.h"
#include "tests/device_kernels/lockstep.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Numbers of kernels/gemm/problem_device.h. */
enum {
    F16 = 0,
    BF16 = 1,
    I8 = 4,
    F32 = 5,
    I32 = 6,
    E4M3FN = 7,
    NO_TYPE = 15
};

#define BLOCK       64
#define MOST_GROUPS 80

#define ARGUMENTS(scalar)                                                             \
    const void *a, const void *b, const void *c, void *d, const void *bias,           \
        const float *sa, const float *sb, float *partial, int m, int n, int k,        \
        int split, int k_per_split, int xcc_count, long long lda, long long ldb,      \
        long long ldc, long long ldd, long long stride_a, long long stride_b,         \
        long long stride_c, long long stride_d, scalar alpha, scalar beta, int types, \
        const int *offsets, int groups, int tiles_m
typedef void float_fn(ARGUMENTS(float));
typedef void i8_fn(ARGUMENTS(int));
float_fn grouped_f16_wf_grouped_mma, grouped_f16_wf_grouped_mma_any;
float_fn grouped_bf16gate_wf_grouped_mma, grouped_bf16gate_wf_grouped_mma_any;
float_fn grouped_e4m3_wf_grouped_mma, grouped_e4m3_wf_grouped_mma_any;
i8_fn grouped_i8_wf_grouped_mma, grouped_i8_wf_grouped_mma_any;

struct variant {
    int type, gate;
    float_fn *fast, *any;
    i8_fn *fast_i8, *any_i8;
};

static const struct variant VARIANTS[] = {
    { F16, 0, grouped_f16_wf_grouped_mma, grouped_f16_wf_grouped_mma_any, NULL, NULL },
    { BF16, 1, grouped_bf16gate_wf_grouped_mma, grouped_bf16gate_wf_grouped_mma_any,
      NULL, NULL },
    { E4M3FN, 0, grouped_e4m3_wf_grouped_mma, grouped_e4m3_wf_grouped_mma_any, NULL,
      NULL },
    { I8, 0, NULL, NULL, grouped_i8_wf_grouped_mma, grouped_i8_wf_grouped_mma_any },
};

/* Problem, operands (values row by row, leading dimensions padded), groups. */
struct job {
    const struct variant *v;
    int n, k, pad, groups, scaled, d_type, aligned;
    int offsets[MOST_GROUPS + 1];
    long long lda, ldb, ldd, stride_b;
    struct guarded a, b, d, sa, sb, place; /* place: the offsets, guarded */
};

static enum wf_dtype dtype_of(int type)
{
    static const enum wf_dtype of[] = {
        [F16] = WF_F16, [BF16] = WF_BF16, [I8] = WF_I8,
        [F32] = WF_F32, [I32] = WF_I32,   [E4M3FN] = WF_E4M3FN
    };
    return of[type];
}

static double value(const struct guarded *x, int type, long long at)
{
    const enum wf_dtype t = dtype_of(type);
    double v = 0;
    wf_to_f64(t, (const char *)x->data + at * (long long)wf_dtype_bytes(t), &v, 1);
    return v;
}

static struct guarded filled(int type, long long elements, uint32_t seed)
{
    const enum wf_dtype t = dtype_of(type);
    struct guarded x = guarded_make((size_t)elements * wf_dtype_bytes(t));
    for (long long i = 0; i < elements; i++) {
        seed = seed * 1664525U + 1013904223U;
        const int whole = (int)(seed >> 24) % 17 - 8;
        const double v = type == I8 ? whole : whole / 8.0;
        wf_from_f64(t, &v, (char *)x.data + i * (long long)wf_dtype_bytes(t), 1);
    }
    return x;
}

static int rows_of(const struct job *j)
{
    return j->offsets[j->groups];
}

static void make(struct job *j)
{
    const int columns = j->v->gate ? 2 * j->n : j->n;
    const int m = rows_of(j);
    j->lda = j->ldb = j->k + j->pad;
    j->ldd = j->n + j->pad;
    j->stride_b = columns * j->ldb + j->pad;
    j->a = filled(j->v->type, (m - 1) * j->lda + j->k, 1);
    j->b = filled(j->v->type,
                  (j->groups - 1) * j->stride_b + (columns - 1) * j->ldb + j->k, 2);
    j->d = guarded_make((size_t)((m - 1) * j->ldd + j->n) *
                        wf_dtype_bytes(dtype_of(j->d_type)));
    memset(j->d.data, 0xff,
           (size_t)((m - 1) * j->ldd + j->n) * wf_dtype_bytes(dtype_of(j->d_type)));
    j->place = guarded_make((size_t)(j->groups + 1) * sizeof *j->offsets);
    memcpy(j->place.data, j->offsets, (size_t)(j->groups + 1) * sizeof *j->offsets);
    if (j->scaled) {
        j->sa = filled(F32, m, 3);
        j->sb = filled(F32, (long long)j->groups * columns, 4);
    }
}

static void drop(struct job *j)
{
    struct guarded *const each[] = { &j->a, &j->b, &j->d, &j->sa, &j->sb, &j->place };
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        guarded_free(each[i]);
    }
}

static int tile_rows(const struct job *j)
{
    return (rows_of(j) + BLOCK - 1) / BLOCK + j->groups;
}

static void call(void *argument)
{
    const struct job *j = argument;
    const int types = j->d_type | NO_TYPE << 4 | NO_TYPE << 8 |
                      (j->v->gate ? 2 : 0) << 12 | (j->scaled ? 1 : 0) << 16;
#define CALL(fn, alpha)                                                             \
    (fn)(j->a.data, j->b.data, NULL, j->d.data, NULL, j->sa.data, j->sb.data, NULL, \
         rows_of(j), j->n, j->k, 1, j->k, 1, j->lda, j->ldb, 0, j->ldd, 0,          \
         j->stride_b, 0, 0, alpha, 0, types, j->place.data, j->groups, tile_rows(j))
    if (j->v->type == I8) {
        CALL(j->aligned ? j->v->fast_i8 : j->v->any_i8, -3);
    } else {
        CALL(j->aligned ? j->v->fast : j->v->any, 0.5F);
    }
}

static double sum(const struct job *j,
                  int group,
                  int row,
                  int column,
                  double *magnitude)
{
    const int columns = j->v->gate ? 2 * j->n : j->n;
    double r = 0;
    for (int k = 0; k < j->k; k++) {
        const double p =
            value(&j->a, j->v->type, row * j->lda + k) *
            value(&j->b, j->v->type, group * j->stride_b + column * j->ldb + k);
        r += p;
        *magnitude += fabs(p);
    }
    r *= j->v->type == I8 ? -3.0 : 0.5;
    return j->scaled ? r * value(&j->sa, F32, row) *
                           value(&j->sb, F32, (long long)group * columns + column)
                     : r;
}

static void check_element(const struct job *j, int group, int row, int column)
{
    const double u = j->d_type == BF16 ? 0x1p-8 : j->d_type == F16 ? 0x1p-11 : 0x1p-22;
    double magnitude = 0;
    double want = sum(j, group, row, column, &magnitude);
    if (j->v->gate) {
        const double up = sum(j, group, row, j->n + column, &magnitude);
        magnitude *= fabs(want) + fabs(up);
        want = want / (1.0 + exp(-want)) * up;
    }
    const double got = value(&j->d, j->d_type, row * j->ldd + column);
    const double tolerance =
        j->d_type == I32 ? 0.0 : fabs(want) * u + magnitude * 0x1p-20 + 0x1p-24;
    cr_assert(fabs(got - want) <= tolerance, "type %d group %d D[%d][%d]: %g, not %g",
              j->v->type, group, row, column, got, want);
}

static void check_row(const struct job *j, int group, int row)
{
    const size_t bytes = wf_dtype_bytes(dtype_of(j->d_type));
    const size_t gap = row + 1 < rows_of(j) ? (size_t)j->pad * bytes : 0;
    const unsigned char *behind =
        (const unsigned char *)j->d.data + (size_t)(row * j->ldd + j->n) * bytes;
    size_t kept = 0;
    for (int column = 0; column < j->n; column++) {
        check_element(j, group, row, column);
    }
    for (size_t e = 0; e < gap; e++) {
        kept += behind[e] == 0xff;
    }
    cr_assert_eq(kept, gap, "the padding of row %d is written", row);
}

static void check(const struct job *j)
{
    for (int g = 0; g < j->groups; g++) {
        for (int row = j->offsets[g]; row < j->offsets[g + 1]; row++) {
            check_row(j, g, row);
        }
    }
}

static void run(struct job *j)
{
    const int columns = j->v->gate ? BLOCK / 2 : BLOCK;
    make(j);
    const struct lockstep_launch launch = {
        .grid = { (unsigned)(tile_rows(j) * ((j->n + columns - 1) / columns)), 1, 1 },
        .threads = 128,
        .wave = 32,
        .dynamic_bytes = (size_t)4 * (BLOCK + BLOCK) * 128
    };
    const char *failure = lockstep_run(&launch, call, j);
    cr_assert_null(failure, "type %d: %s", j->v->type, failure);
    check(j);
    drop(j);
}

static void set_groups(struct job *j, const int *rows, int groups)
{
    j->groups = groups;
    j->offsets[0] = 0;
    for (int g = 0; g < groups; g++) {
        j->offsets[g + 1] = j->offsets[g] + rows[g];
    }
}

static void run_all(const int *rows, int groups, int n, int k, int pad)
{
    for (size_t i = 0; i < sizeof VARIANTS / sizeof *VARIANTS; i++) {
        const int type = VARIANTS[i].type;
        struct job j = { .v = &VARIANTS[i],
                         .n = n,
                         .k = k,
                         .pad = pad,
                         .scaled = type == E4M3FN,
                         .d_type = type == I8       ? I32
                                   : type == E4M3FN ? BF16
                                                    : type,
                         .aligned = (k + pad) % 16 == 0 };
        set_groups(&j, rows, groups);
        run(&j);
    }
}

Test(lockstep_grouped, groups_of_all_heights)
{
    static const int rows[] = { 0, 1, 0, 65, 3, 0, 64, 0 };
    run_all(rows, 8, 40, 48, 16);
    run_all(rows, 8, 37, 35, 1);
}

Test(lockstep_grouped, more_groups_than_lanes)
{
    int rows[MOST_GROUPS] = { 0 };
    rows[2] = 2;
    rows[31] = 66;
    rows[32] = 1;
    rows[70] = 3;
    run_all(rows, MOST_GROUPS, 9, 16, 0);
}

Test(lockstep_grouped, one_group_and_no_sum)
{
    static const int rows[] = { 5 };
    run_all(rows, 1, 9, 20, 12);
    static const int three[] = { 2, 0, 3 };
    run_all(three, 3, 9, 0, 16);
}
