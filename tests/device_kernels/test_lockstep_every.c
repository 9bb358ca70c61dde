/* The every_feature pack's own source, launch by launch as every_feature.json states
 * it, against double precision. The runner's tests have a stand-in for these kernels;
 * here the files that are compiled for the devices run, and what they promise about
 * their workspaces is tried: NaN where one is not as it was declared. */
#include "tests/device_kernels/guarded.h"
#include "tests/device_kernels/lockstep.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    TILE = 16,
    BLOCKS = 3
};

/* As every_feature.h lays it out. */
struct task {
    int m;
    short n;
    long long k;
    unsigned char several;
    float *partial;
    float alpha;
    unsigned *count;
    unsigned short split;
};
_Static_assert(sizeof(struct task) == 56, "as every_feature.json states it");

void every_wf_every_multiply(unsigned char several,
                             const float *const *operands,
                             struct task task);
void every_wf_every_reduce(float *d,
                           const float *partial,
                           const unsigned *count,
                           const float *zero,
                           int begin,
                           int end,
                           int m,
                           int n,
                           int split,
                           int blocks);
void every_wf_every_add_c(float *d,
                          const float *c,
                          long long elements,
                          double beta,
                          int blocks);

struct problem {
    int m, n, k, split;
    float alpha;
    double beta;
    struct guarded a, bt, c, d, partial, count, zero;
    const float *operands[3];
    unsigned char several; /* first argument of multiply */
    int begin, end;        /* rows of the present reduce */
};

static struct guarded random_floats(int elements, uint32_t seed)
{
    struct guarded g = guarded_make((size_t)elements * sizeof(float));
    float *at = g.data;
    for (int i = 0; i < elements; i++) {
        seed = seed * 1664525U + 1013904223U;
        at[i] = (float)((double)(seed >> 8) / 8388608.0 - 1.0);
    }
    return g;
}

static struct guarded zeroes(int elements)
{
    struct guarded g = guarded_make((size_t)elements * sizeof(float));
    memset(g.data, 0, (size_t)elements * sizeof(float));
    return g;
}

static int tiles(int extent)
{
    return (extent + TILE - 1) / TILE;
}

static struct problem problem_make(int m, int n, int k, int split)
{
    struct problem p = { .m = m, .n = n, .k = k, .split = split };
    p.alpha = 0.5F;
    p.beta = -2;
    p.several = split > 1;
    p.a = random_floats(m * k, 1);
    p.bt = random_floats(n * k, 2);
    p.c = random_floats(m * n, 3);
    p.d = guarded_make((size_t)m * (size_t)n * sizeof(float));
    p.partial = guarded_make((size_t)split * (size_t)m * (size_t)n * sizeof(float));
    p.count = zeroes(tiles(m) * tiles(n));
    p.zero = zeroes(n);
    p.operands[0] = p.a.data;
    p.operands[1] = p.bt.data;
    return p;
}

static void problem_free(struct problem *p)
{
    struct guarded *const all[] = { &p->a,       &p->bt,    &p->c,   &p->d,
                                    &p->partial, &p->count, &p->zero };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        guarded_free(all[i]);
    }
}

static void multiply(void *argument)
{
    const struct problem *p = argument;
    struct task task;
    memset(&task, 0, sizeof(task));
    task.m = p->m;
    task.n = (short)p->n;
    task.k = p->k;
    task.several = p->split > 1;
    task.partial = p->partial.data;
    task.alpha = p->alpha;
    task.count = p->count.data;
    task.split = (unsigned short)p->split;
    every_wf_every_multiply(p->several, p->operands, task);
}

static void reduce(void *argument)
{
    const struct problem *p = argument;
    every_wf_every_reduce((float *)p->d.data + p->begin * p->n, p->partial.data,
                          p->count.data, p->zero.data, p->begin, p->end, p->m, p->n,
                          p->split, BLOCKS);
}

static void add_c(void *argument)
{
    const struct problem *p = argument;
    every_wf_every_add_c(p->d.data, p->c.data, (long long)p->m * p->n, p->beta, BLOCKS);
}

static void run(void (*kernel)(void *argument), struct problem *p, int wave)
{
    struct lockstep_launch launch = { .grid = { BLOCKS, 1, 1 },
                                      .threads = 256,
                                      .wave = wave };
    if (kernel == multiply) {
        launch.grid[0] = (unsigned)tiles(p->n);
        launch.grid[1] = (unsigned)tiles(p->m);
        launch.grid[2] = (unsigned)p->split;
        launch.dynamic_bytes = 2 * sizeof(float) * TILE * TILE;
    }
    const char *failure = lockstep_run(&launch, kernel, p);
    cr_assert_null(failure, "%d x %d x %d in %d: %s", p->m, p->n, p->k, p->split,
                   failure);
}

static void run_reduces(struct problem *p, int wave)
{
    const int top = (p->m + 1) / 2;
    p->begin = 0;
    p->end = top;
    run(reduce, p, wave);
    p->begin = top;
    p->end = p->m;
    if (p->m > top) {
        run(reduce, p, wave);
    }
}

static void expect_right(const struct problem *p)
{
    const float *a = p->a.data;
    const float *bt = p->bt.data;
    const float *c = p->c.data;
    const float *d = p->d.data;
    for (int i = 0; i < p->m; i++) {
        for (int j = 0; j < p->n; j++) {
            double sum = 0;
            for (int x = 0; x < p->k; x++) {
                sum += (double)a[i * p->k + x] * (double)bt[j * p->k + x];
            }
            double want = (double)p->alpha * sum + p->beta * (double)c[i * p->n + j];
            double got = (double)d[i * p->n + j];
            cr_assert(fabs(got - want) < 1e-4, "%d x %d x %d: D[%d, %d] is %g, not %g",
                      p->m, p->n, p->k, i, j, got, want);
        }
    }
}

Test(lockstep_every, four_launches_give_the_product)
{
    static const int size[][4] = {
        { 37, 29, 300, 4 }, { 1, 1, 1, 1 },    { 16, 16, 16, 1 },
        { 17, 33, 65, 3 },  { 3, 50, 200, 7 }, { 33, 15, 31, 1 },
    };
    for (size_t s = 0; s < sizeof(size) / sizeof(size[0]); s++) {
        for (int wave = 32; wave <= 64; wave *= 2) {
            struct problem p =
                problem_make(size[s][0], size[s][1], size[s][2], size[s][3]);
            run(multiply, &p, wave);
            run_reduces(&p, wave);
            run(add_c, &p, wave);
            expect_right(&p);
            problem_free(&p);
        }
    }
}

static int count_nan(const struct problem *p)
{
    const float *d = p->d.data;
    int n = 0;
    for (int i = 0; i < p->m * p->n; i++) {
        n += isnan(d[i]) != 0;
    }
    return n;
}

Test(lockstep_every, a_workspace_that_was_not_set_gives_nan)
{
    struct problem p = problem_make(20, 20, 40, 2);
    run(multiply, &p, 64);
    run_reduces(&p, 64);
    cr_expect_eq(count_nan(&p), 0);
    run(multiply, &p, 64); /* `count` keeps the first launch's */
    run_reduces(&p, 64);
    cr_expect_eq(count_nan(&p), 20 * 20);

    memset(p.count.data, 0, 4 * sizeof(unsigned)); /* 2 x 2 tiles */
    ((float *)p.zero.data)[7] = NAN;
    run(multiply, &p, 64);
    run_reduces(&p, 64);
    cr_expect_eq(count_nan(&p), 20);
    problem_free(&p);
}

Test(lockstep_every, arguments_that_disagree_give_nan)
{
    struct problem p = problem_make(20, 20, 40, 2);
    p.several = 0;
    run(multiply, &p, 64);
    run_reduces(&p, 64);
    cr_expect_eq(count_nan(&p), 20 * 20);
    problem_free(&p);

    p = problem_make(20, 20, 40, 1);
    p.operands[2] = p.a.data; /* declared null */
    run(multiply, &p, 64);
    run_reduces(&p, 64);
    cr_expect_eq(count_nan(&p), 20 * 20);
    problem_free(&p);
}
