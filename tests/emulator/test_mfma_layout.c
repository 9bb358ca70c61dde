/* Where matrix instructions find the elements of their operands.
 *
 * The hashes are of AMD's matrix instruction calculator (its release for CDNA3), made
 * thus: for every CDNA3 instruction in the order of its name, ask it for the register,
 * the lane and the lowest bit of every element and write a line "NAME MATRIX BLOCK ROW
 * COLUMN REGISTER LANE BIT": A in the order block, row, k; B block, k, column; D block,
 * row, column. A pair of registers is its lower one. `dense`: those without sparsity.
 * `modifiers`: A with every legal cbsz and abid (matrix "A<cbsz><abid>") and then B
 * with blgp 1 to 7 ("B<blgp>"). `sparse`: A, B, D, and the indices with cbsz 0 and each
 * abid, then cbsz 1 and abid 0 and 1 ("K<cbsz><abid>"); the calculator places a sparse
 * A by the chunk of two elements, and four bits of indices by their lowest. */
#include "core/sha256.h"
#include "emulator/exec/mfma.h"
#include "tests/emulator/mfma_model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char dense_hash[] =
    "74056f6c7c643bdd2b493806f10a0b6f3daa286cc8e206689c1629b50a97c149";
static const char modifiers_hash[] =
    "a1e10fdc2315a461426418b6c1c52382baac5a5fb43022b01c3ce450ee5a84c9";
static const char sparse_hash[] =
    "343325c99e10bbfffeaecd9c0c5db2e2ac62989b3559500c04e8cd7c73a00b69";

struct text {
    struct wf_sha256 *hash;
    unsigned lines;
};

static void line(struct text *t,
                 const struct model *m,
                 const char *matrix,
                 const unsigned at[3],
                 struct model_cell cell)
{
    char text[96];
    int n = snprintf(text, sizeof(text), "%s %s %u %u %u %u %u %u\n", m->name, matrix,
                     at[0], at[1], at[2], cell.reg, cell.lane, cell.bit);
    wf_sha256_update(t->hash, text, (size_t)n);
    t->lines++;
}

static void write_a(struct text *t, const struct model *m, unsigned cbsz, unsigned abid)
{
    char matrix[24] = "A";
    if (cbsz) {
        (void)snprintf(matrix, sizeof(matrix), "A%u%u", cbsz, abid);
    }
    for (unsigned b = 0; b < m->blocks; b++) {
        unsigned from = cbsz ? b - b % (1U << cbsz) + abid : b;
        for (unsigned i = 0; i < m->n; i++) {
            for (unsigned k = 0; k < m->k; k++) {
                unsigned stored = m->sparse ? k / 2 : k;
                struct model_cell cell = m->a[(from * m->n + i) * m->stored + stored];
                if (m->sparse) { /* the chunk of two that it is in */
                    unsigned chunk = 2 * model_bits(m->a_type);
                    cell.bit = (uint8_t)(cell.bit - cell.bit % chunk);
                }
                line(t, m, matrix, (unsigned[]){ b, i, k }, cell);
            }
        }
    }
}

static void write_b(struct text *t, const struct model *m, unsigned blgp)
{
    char matrix[24] = "B";
    if (blgp) {
        (void)snprintf(matrix, sizeof(matrix), "B%u", blgp);
    }
    for (unsigned b = 0; b < m->blocks; b++) {
        for (unsigned k = 0; k < m->k; k++) {
            for (unsigned j = 0; j < m->n; j++) {
                struct model_cell cell = m->b[(b * m->n + j) * m->k + k];
                cell.lane = (uint8_t)model_blgp_lane(cell.lane, blgp);
                line(t, m, matrix, (unsigned[]){ b, k, j }, cell);
            }
        }
    }
}

static void write_d(struct text *t, const struct model *m)
{
    for (unsigned e = 0; e < m->blocks * m->n * m->n; e++) {
        unsigned at[3] = { e / (m->n * m->n), e / m->n % m->n, e % m->n };
        line(t, m, "D", at, m->d[e]);
    }
}

static void write_indices(struct text *t,
                          const struct model *m,
                          unsigned cbsz,
                          unsigned abid)
{
    char matrix[24];
    (void)snprintf(matrix, sizeof(matrix), "K%u%u", cbsz, abid);
    unsigned bits = model_bits(m->a_type);
    for (unsigned i = 0; i < m->n; i++) {
        for (unsigned k = 0; k < m->k; k++) {
            struct model_cell cell = m->a[i * m->stored + k / 2];
            unsigned in_lane = cell.reg * 32U / bits + cell.bit / bits;
            unsigned set = cbsz ? 0 : abid * 64 / bits;
            cell.reg = 0;
            cell.bit = (uint8_t)((set + in_lane) / 2 * 4);
            line(t, m, matrix, (unsigned[]){ 0, i, k }, cell);
        }
    }
}

static void write_dense(struct text *t, const struct model *m)
{
    if (!m->sparse) {
        write_a(t, m, 0, 0);
        write_b(t, m, 0);
        write_d(t, m);
    }
}

static void write_modifiers(struct text *t, const struct model *m)
{
    for (unsigned cbsz = 1; m->cbsz && 1U << cbsz <= m->blocks; cbsz++) {
        for (unsigned abid = 0; abid < 1U << cbsz; abid++) {
            write_a(t, m, cbsz, abid);
        }
    }
    for (unsigned blgp = 1; m->blgp && blgp < 8; blgp++) {
        write_b(t, m, blgp);
    }
}

static void write_sparse(struct text *t, const struct model *m)
{
    if (m->sparse) {
        write_a(t, m, 0, 0);
        write_b(t, m, 0);
        write_d(t, m);
        for (unsigned abid = 0; abid < model_bits(m->a_type) / 4; abid++) {
            write_indices(t, m, 0, abid);
        }
        write_indices(t, m, 1, 0);
        write_indices(t, m, 1, 1);
    }
}

static unsigned hash_of(enum model_mutant mutant,
                        void (*write)(struct text *t, const struct model *m),
                        char ret[WF_SHA256_HEX])
{
    size_t count;
    const struct model *all = models(mutant, &count);
    struct text t = { wf_sha256_create(), 0 };
    cr_assert_not_null(t.hash);
    for (size_t i = 0; i < count; i++) {
        write(&t, &all[i]);
    }
    uint8_t digest[WF_SHA256_BYTES];
    wf_sha256_finish(t.hash, digest);
    wf_hex(digest, sizeof(digest), ret);
    return t.lines;
}

Test(mfma_layout, all_cells_of_the_dense_instructions_are_where_the_calculator_says)
{
    char hash[WF_SHA256_HEX];
    cr_assert_eq(hash_of(NO_MUTANT, write_dense, hash), 43456);
    cr_assert_str_eq(hash, dense_hash);
}

Test(mfma_layout, broadcasts_and_lane_patterns_are_the_calculators)
{
    char hash[WF_SHA256_HEX];
    cr_assert_eq(hash_of(NO_MUTANT, write_modifiers, hash), 49984);
    cr_assert_str_eq(hash, modifiers_hash);
}

Test(mfma_layout, sparse_operands_and_indices_are_where_the_calculator_says)
{
    char hash[WF_SHA256_HEX];
    cr_assert_eq(hash_of(NO_MUTANT, write_sparse, hash), 86784);
    cr_assert_str_eq(hash, sparse_hash);
}

Test(mfma_layout, the_hash_sees_rows_in_the_order_of_groups)
{
    char hash[WF_SHA256_HEX];
    cr_assert_eq(hash_of(MUTANT_ROWS, write_dense, hash), 43456);
    cr_assert_str_neq(hash, dense_hash);
}

/* The closed form of mfma.h, and what the kernels compute with, against the walk. */
static void check_input(const struct model *m,
                        unsigned k,
                        unsigned bits,
                        const struct model_cell *cells)
{
    unsigned slots = k / (64 / (m->n * m->blocks));
    for (unsigned e = 0; e < m->blocks * m->n * k; e++) {
        unsigned b = e / (m->n * k);
        unsigned i = e / k % m->n;
        unsigned p = e % k;
        unsigned bit = p % slots * bits;
        cr_assert_eq(cells[e].lane, b * m->n + p / slots * m->n * m->blocks + i);
        cr_assert_eq(cells[e].reg, bit / 32);
        cr_assert_eq(cells[e].bit, bit % 32);
    }
}

static void check_output(const struct model *m)
{
    unsigned per_row = 64 / m->n;
    bool wide = m->a_type == F64;
    unsigned high = wide ? 1 : 4;
    unsigned beside = (64 * high + m->n * m->n - 1) / (m->n * m->n);
    for (unsigned e = 0; e < m->blocks * m->n * m->n; e++) {
        unsigned b = e / (m->n * m->n);
        unsigned i = e / m->n % m->n;
        unsigned reg = b * (m->n * m->n / 64) + i / (high * per_row) * high + i % high;
        unsigned lane =
            b % beside * m->n + i / high % per_row * beside * m->n + e % m->n;
        cr_assert_eq(m->d[e].reg, wide ? 2 * reg : reg, "%s %u", m->name, e);
        cr_assert_eq(m->d[e].lane, lane, "%s %u", m->name, e);
    }
}

Test(mfma_layout, the_closed_form_equals_the_walk)
{
    size_t count;
    const struct model *all = models(NO_MUTANT, &count);
    cr_assert_eq(count, 32 + 14);
    for (size_t i = 0; i < count; i++) {
        check_input(&all[i], all[i].stored, model_bits(all[i].a_type), all[i].a);
        check_input(&all[i], all[i].k, model_bits(all[i].b_type), all[i].b);
        check_output(&all[i]);
    }
}

Test(mfma_layout, every_instruction_has_its_shape)
{
    size_t count;
    size_t shape_count;
    const struct model *all = models(NO_MUTANT, &count);
    const struct em_mfma_shape *shapes = em_mfma_shapes(&shape_count);
    cr_assert_eq(count, shape_count);
    for (size_t i = 0; i < count; i++) {
        const struct em_mfma_shape *s = shapes;
        while (s < shapes + shape_count && s->op != all[i].op) {
            s++;
        }
        cr_assert_lt(s, shapes + shape_count, "%s", all[i].name);
        cr_assert_eq(s->mn, all[i].n);
        cr_assert_eq(s->k, all[i].k);
        cr_assert_eq(s->blocks, all[i].blocks);
        cr_assert_eq(em_mfma_bits(s->type_a), model_bits(all[i].a_type));
        cr_assert_eq(em_mfma_d_rows(s), all[i].d_rows);
        cr_assert_eq(!!(s->flags & EM_MFMA_CBSZ), all[i].cbsz);
        cr_assert_eq(!!(s->flags & EM_MFMA_BLGP), all[i].blgp);
    }
}
