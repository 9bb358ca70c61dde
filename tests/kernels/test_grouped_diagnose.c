/* Each fault of grouped_gemm that the diagnosis knows is planted and must be named, by
 * both checks. */
#include "grouped_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define OP     "{'op':'grouped_gemm','trans_b':'T','N':24,'K':40,"
#define THREE  OP "'groups':[70,100,90]}"
#define TWO    OP "'groups':[70,300]}"
#define EMPTY  OP "'groups':[5,0,30,0,20]}"
#define SCALED OP "'groups':[5,0,30,20],'a_type':'e4m3fnuz','scale':'row'}"
#define BLOCKS                                                                \
    "{'op':'grouped_gemm','trans_b':'T','N':24,'K':300,'groups':[9,0,30,20]," \
    "'a_type':'e4m3fn','scale':'block128','d_type':'f32'}"

typedef double (*mutate_fn)(const struct grouped *l,
                            int64_t group,
                            int64_t row,
                            int64_t col);

/* Of the full check, or of the one of products. */
static void expect_by(struct grouped *l, int method, const char *words)
{
    struct wf_check_report r;
    grouped_check(l, method, &r);
    cr_expect_neq(r.answer, WF_ANSWER_PASS, "%s", words);
    cr_expect(strstr(r.diagnosis, words) != NULL &&
                  strstr(r.diagnosis, "batch") == NULL,
              "method %d: \"%s\" is not in \"%s\", or batches are", method, words,
              r.diagnosis);
}

static void expect(struct grouped *l, const char *words)
{
    expect_by(l, 0, words);
    expect_by(l, 1, words);
    grouped_free(l);
}

static void expect_mutant(const char *text, mutate_fn value, const char *words)
{
    struct grouped l;
    grouped_make(&l, text);
    for (int64_t row = 0; row < l.g->m; row++) {
        for (int64_t col = 0; col < l.g->n; col++) {
            grouped_store(&l, row, col, value(&l, grouped_of_row(&l, row), row, col));
        }
    }
    expect(&l, words);
}

/* --- the B of another group --- */

static double group_0(const struct grouped *l, int64_t group, int64_t row, int64_t col)
{
    (void)group;
    return grouped_element(l, 0, row, col);
}

static double group_on(const struct grouped *l, int64_t group, int64_t row, int64_t col)
{
    return grouped_element(l, group + 1 < l->g->batch ? group + 1 : group, row, col);
}

static double group_back(const struct grouped *l,
                         int64_t group,
                         int64_t row,
                         int64_t col)
{
    return grouped_element(l, group > 0 ? group - 1 : 0, row, col);
}

static double empty_not_counted(const struct grouped *l,
                                int64_t group,
                                int64_t row,
                                int64_t col)
{
    return grouped_element(l, group / 2, row, col);
}

Test(grouped_diagnose, the_weights_of_another_group)
{
    expect_mutant(THREE, group_0, "B of group 0 was used for every group");
    expect_mutant(SCALED, group_0, "B of group 0 was used for every group");
    expect_mutant(THREE, group_0, "wrong elements lie in groups 1..2 of 3, rows 70..");
    expect_mutant(THREE, group_on, "with the B of the next group");
    expect_mutant(THREE, group_back, "with the B of the group before");
    expect_mutant(EMPTY, empty_not_counted, "groups without rows were not counted");
}

/* --- offsets --- */

/* Tiles of 64 rows: those of a group's last one that it does not have are written. */
static double overrun(const struct grouped *l, int64_t group, int64_t row, int64_t col)
{
    int64_t from = group;
    if (group > 0) {
        const int64_t begin = l->g->begin[group];
        const int64_t before = begin - l->g->begin[group - 1];
        from = row < begin + (before + 63) / 64 * 64 - before ? group - 1 : group;
    }
    return grouped_element(l, from, row, col);
}

static double from_row_0(const struct grouped *l,
                         int64_t group,
                         int64_t row,
                         int64_t col)
{
    return grouped_element(l, group, row - l->g->begin[group], col);
}

static double from_whole_tiles(const struct grouped *l,
                               int64_t group,
                               int64_t row,
                               int64_t col)
{
    int64_t at = row - l->g->begin[group];
    for (int64_t b = 0; b < group; b++) {
        at += (l->g->begin[b + 1] - l->g->begin[b] + 31) / 32 * 32;
    }
    return at < l->g->m ? grouped_element(l, group, at, col) : 0.0;
}

static double next_row(const struct grouped *l, int64_t group, int64_t row, int64_t col)
{
    const int64_t from = row + 1 < l->g->m ? row + 1 : row;
    (void)group;
    return grouped_element(l, grouped_of_row(l, from), from, col);
}

Test(grouped_diagnose, rows_that_begin_elsewhere)
{
    expect_mutant(THREE, overrun, "last tile of a group (64 rows) was written beyond");
    expect_mutant(THREE, from_row_0, "rows of A were counted from 0 in every group");
    expect_mutant(TWO, from_whole_tiles,
                  "as if every group had a multiple of 32 of them");
    expect_mutant(THREE, next_row, "row i of D holds the answer of row i + 1");
}

/* The last, partial tile of 64 rows of each group; */
static void spoil_tails(struct grouped *l, bool written)
{
    for (int64_t row = 0; row < l->g->m; row++) {
        const int64_t b = grouped_of_row(l, row);
        const int64_t rows = l->g->begin[b + 1] - l->g->begin[b];
        const bool tail = row - l->g->begin[b] >= rows / 64 * 64;
        for (int64_t col = 0; col < l->g->n && tail; col++) {
            grouped_store(l, row, col, written ? 0.25 * (double)(row + col) : NAN);
        }
        if (tail && !written) {
            const struct gemm_matrix *d = &l->g->matrix[GEMM_D];
            const size_t bytes = wf_dtype_bytes(d->dtype);
            wf_poison(d->dtype, l->d + (size_t)(row * d->ld) * bytes,
                      (uint64_t)l->g->n);
        }
    }
}

Test(grouped_diagnose, the_last_tiles_of_groups)
{
    static const char words[] =
        "the last, partial tile of groups is missing or wrong (64)";
    for (int written = 0; written < 2; written++) {
        struct grouped l;
        grouped_make(&l, THREE);
        spoil_tails(&l, written == 1);
        expect(&l, words);
    }
}

/* --- scales --- */

static double sa_from_0(const struct grouped *l,
                        int64_t group,
                        int64_t row,
                        int64_t col)
{
    return grouped_dot(l, group, row, col) *
           grouped_value(l, GEMM_SA, row - l->g->begin[group]) /
           grouped_value(l, GEMM_SA, row);
}

static double sb_of_0(const struct grouped *l, int64_t group, int64_t row, int64_t col)
{
    return grouped_dot(l, group, row, col) * grouped_value(l, GEMM_SB, col) /
           grouped_value(l, GEMM_SB, group * l->g->n + col);
}

/* SA as [K blocks][M]; the B of each group has one column block. */
static double sa_turned(const struct grouped *l,
                        int64_t group,
                        int64_t row,
                        int64_t col)
{
    const struct gemm *g = l->g;
    double sum = 0.0;
    for (int64_t k = 0; k < g->k; k++) {
        sum += grouped_value(l, GEMM_SA, k / 128 * g->m + row) *
               grouped_value(l, GEMM_SB, group * 3 + k / 128) *
               grouped_value(l, GEMM_A, row * g->matrix[GEMM_A].ld + k) *
               grouped_value(l, GEMM_B,
                             group * g->matrix[GEMM_B].stride +
                                 col * g->matrix[GEMM_B].ld + k);
    }
    return sum;
}

Test(grouped_diagnose, scales_of_other_rows_and_groups)
{
    expect_mutant(SCALED, sa_from_0, "SA was counted from 0 in every group");
    expect_mutant(SCALED, sb_of_0, "SB of group 0 was used for every group");
    expect_mutant(BLOCKS, sa_turned, "SA was read transposed");
}
