/* Binds and runs the matrix instructions (v_mfma, v_smfmac) and the moves to and from
 * the accumulation registers. Matrix instructions take no notice of EXEC. The
 * hardware's wait states between a matrix instruction and the use of its result are not
 * modelled: results are there at once. */
#include "emulator/exec/mfma.h"
#include "emulator/check/fault.h"
#include "emulator/check/shadow.h"

#include <immintrin.h>

#define DENSE(name, mn, k, blocks, a, b, flags)                          \
    {                                                                    \
        EM_v_mfma_##name, mn, k, blocks, EM_MFMA_##a, EM_MFMA_##b, flags \
    }
#define SPARSE(name, mn, k, a, b)                                              \
    {                                                                          \
        EM_v_smfmac_##name, mn, k, 1, EM_MFMA_##a, EM_MFMA_##b, EM_MFMA_SPARSE \
    }
enum {
    NONE = 0,
    BOTH = EM_MFMA_CBSZ | EM_MFMA_BLGP
};

static const struct em_mfma_shape shapes[] = {
    DENSE(f32_32x32x1_2b_f32, 32, 1, 2, F32, F32, BOTH),
    DENSE(f32_16x16x1_4b_f32, 16, 1, 4, F32, F32, BOTH),
    DENSE(f32_4x4x1_16b_f32, 4, 1, 16, F32, F32, BOTH),
    DENSE(f32_32x32x2_f32, 32, 2, 1, F32, F32, EM_MFMA_BLGP),
    DENSE(f32_16x16x4_f32, 16, 4, 1, F32, F32, EM_MFMA_BLGP),
    DENSE(f32_16x16x8_xf32, 16, 8, 1, XF32, XF32, NONE),
    DENSE(f32_32x32x4_xf32, 32, 4, 1, XF32, XF32, NONE),
    DENSE(f32_32x32x4_2b_f16, 32, 4, 2, F16, F16, BOTH),
    DENSE(f32_16x16x4_4b_f16, 16, 4, 4, F16, F16, BOTH),
    DENSE(f32_4x4x4_16b_f16, 4, 4, 16, F16, F16, BOTH),
    DENSE(f32_32x32x8_f16, 32, 8, 1, F16, F16, NONE),
    DENSE(f32_16x16x16_f16, 16, 16, 1, F16, F16, NONE),
    DENSE(f32_32x32x4_2b_bf16, 32, 4, 2, BF16, BF16, BOTH),
    DENSE(f32_16x16x4_4b_bf16, 16, 4, 4, BF16, BF16, BOTH),
    DENSE(f32_4x4x4_16b_bf16, 4, 4, 16, BF16, BF16, BOTH),
    DENSE(f32_32x32x8_bf16, 32, 8, 1, BF16, BF16, NONE),
    DENSE(f32_16x16x16_bf16, 16, 16, 1, BF16, BF16, NONE),
    DENSE(i32_32x32x4_2b_i8, 32, 4, 2, I8, I8, BOTH),
    DENSE(i32_16x16x4_4b_i8, 16, 4, 4, I8, I8, BOTH),
    DENSE(i32_4x4x4_16b_i8, 4, 4, 16, I8, I8, BOTH),
    DENSE(i32_32x32x16_i8, 32, 16, 1, I8, I8, NONE),
    DENSE(i32_16x16x32_i8, 16, 32, 1, I8, I8, NONE),
    DENSE(f64_16x16x4_f64, 16, 4, 1, F64, F64, EM_MFMA_NEG),
    DENSE(f64_4x4x4_4b_f64, 4, 4, 4, F64, F64, EM_MFMA_NEG),
    DENSE(f32_16x16x32_bf8_bf8, 16, 32, 1, BF8, BF8, NONE),
    DENSE(f32_16x16x32_bf8_fp8, 16, 32, 1, BF8, FP8, NONE),
    DENSE(f32_16x16x32_fp8_bf8, 16, 32, 1, FP8, BF8, NONE),
    DENSE(f32_16x16x32_fp8_fp8, 16, 32, 1, FP8, FP8, NONE),
    DENSE(f32_32x32x16_bf8_bf8, 32, 16, 1, BF8, BF8, NONE),
    DENSE(f32_32x32x16_bf8_fp8, 32, 16, 1, BF8, FP8, NONE),
    DENSE(f32_32x32x16_fp8_bf8, 32, 16, 1, FP8, BF8, NONE),
    DENSE(f32_32x32x16_fp8_fp8, 32, 16, 1, FP8, FP8, NONE),
    SPARSE(f32_16x16x32_f16, 16, 32, F16, F16),
    SPARSE(f32_32x32x16_f16, 32, 16, F16, F16),
    SPARSE(f32_16x16x32_bf16, 16, 32, BF16, BF16),
    SPARSE(f32_32x32x16_bf16, 32, 16, BF16, BF16),
    SPARSE(i32_16x16x64_i8, 16, 64, I8F, I8F),
    SPARSE(i32_32x32x32_i8, 32, 32, I8F, I8F),
    SPARSE(f32_16x16x64_bf8_bf8, 16, 64, BF8, BF8),
    SPARSE(f32_16x16x64_bf8_fp8, 16, 64, BF8, FP8),
    SPARSE(f32_16x16x64_fp8_bf8, 16, 64, FP8, BF8),
    SPARSE(f32_16x16x64_fp8_fp8, 16, 64, FP8, FP8),
    SPARSE(f32_32x32x32_bf8_bf8, 32, 32, BF8, BF8),
    SPARSE(f32_32x32x32_bf8_fp8, 32, 32, BF8, FP8),
    SPARSE(f32_32x32x32_fp8_bf8, 32, 32, FP8, BF8),
    SPARSE(f32_32x32x32_fp8_fp8, 32, 32, FP8, FP8),
};

const struct em_mfma_shape *em_mfma_shapes(size_t *ret_count)
{
    *ret_count = sizeof(shapes) / sizeof(shapes[0]);
    return shapes;
}

/* Which lane's block of A a lane gets, where one block is broadcast to 2^cbsz. */
static void map_cbsz(const struct em_mfma_shape *s,
                     const struct em_inst *in,
                     uint8_t map[EM_LANES])
{
    unsigned lanes = s->mn * s->blocks;
    for (unsigned l = 0; l < EM_LANES; l++) {
        unsigned block = l % lanes / s->mn;
        unsigned from = block >> in->cbsz << in->cbsz | in->abid;
        map[l] = (uint8_t)(l - block * s->mn + from * s->mn);
    }
}

static void map_blgp(unsigned blgp, uint8_t map[EM_LANES])
{
    for (unsigned l = 0; l < EM_LANES; l++) {
        unsigned from = blgp == 1   ? l % 32
                        : blgp == 2 ? 32 + l % 32
                        : blgp == 3 ? (l + 16) % 64
                                    : (blgp - 4) * 16 + l % 16;
        map[l] = (uint8_t)from;
    }
}

/* C's rows: where they are if they are D's own or apart from it, else a copy. */
static const uint32_t *rows_of_c(const struct em_wave *w,
                                 const struct em_op *op,
                                 const struct em_mfma_shape *s,
                                 uint32_t copy[][EM_LANES])
{
    struct em_operand c = s->flags & EM_MFMA_SPARSE ? op->in.dst : op->in.src[2];
    unsigned rows = em_mfma_d_rows(s);
    if (em_is_vector(c.code)) {
        unsigned apart = c.code > op->in.dst.code ? (unsigned)c.code - op->in.dst.code
                                                  : (unsigned)op->in.dst.code - c.code;
        if (apart == 0 || apart >= rows) {
            return em_row(w, c.code);
        }
        memcpy(copy, em_row(w, c.code), rows * sizeof(copy[0]));
        return copy[0];
    }
    uint64_t value;
    if (s->type_a == EM_MFMA_F64) {
        struct em_operand pair = { c.code, 2, EM_F64 };
        value = em_scalar64(w, &op->in, pair);
    } else {
        struct em_operand one = { c.code, 1, EM_B32 };
        value = em_scalar32(w, &op->in, one);
        value |= value << 32;
    }
    for (unsigned r = 0; r < rows; r++) {
        for (unsigned l = 0; l < EM_LANES; l++) {
            copy[r][l] = (uint32_t)(r % 2 ? value >> 32 : value);
        }
    }
    return copy[0];
}

static void shuffle(const struct em_mfma_shape *s,
                    const struct em_inst *in,
                    struct em_mfma_stage *a,
                    struct em_mfma_stage *b,
                    struct em_mfma_map *ret)
{
    ret->a = ret->b = NULL;
    if (s->flags & EM_MFMA_CBSZ && in->cbsz) {
        map_cbsz(s, in, ret->lanes_a);
        ret->a = ret->lanes_a;
        em_mfma_permute(a, ret->a);
    }
    if (s->flags & EM_MFMA_BLGP && in->blgp) {
        map_blgp(in->blgp, ret->lanes_b);
        ret->b = ret->lanes_b;
        em_mfma_permute(b, ret->b);
    }
}

static enum em_flow run_matrix(struct em_wave *w, const struct em_op *op)
{
    const struct em_mfma_shape *s = &shapes[op->data[0]];
    const struct em_inst *in = &op->in;
    bool flush = s->type_a == EM_MFMA_F32 && !(w->mode & 1 << 4);
    _Alignas(64) uint32_t copy[EM_MFMA_D_ROWS][EM_LANES];
    struct em_mfma_map map;
    struct em_mfma_job job;
    job.shape = s;
    unsigned k_a = em_mfma_k_a(s);
    em_mfma_stage(em_row(w, in->src[0].code), s->type_a, em_mfma_slots(s, k_a), flush,
                  &job.a);
    em_mfma_stage(em_row(w, in->src[1].code), s->type_b, em_mfma_slots(s, s->k), flush,
                  &job.b);
    shuffle(s, in, &job.a, &job.b, &map);
    uint32_t index[EM_LANES];
    if (s->flags & EM_MFMA_SPARSE) { /* D may be written over it */
        memcpy(index, em_row(w, in->src[2].code), sizeof(index));
        unsigned bits = 2 * job.a.slots; /* of a set */
        job.index_shift = in->cbsz ? 0 : in->abid * bits % 32;
    }
    job.index = index;
    job.c = rows_of_c(w, op, s, copy);
    job.d = em_row(w, in->dst.code);
    job.negate = s->flags & EM_MFMA_NEG ? in->blgp | in->neg : 0;
    if (w->shadow) {
        em_mfma_shadow(w, op, s, &map);
    }
    if (s->type_a == EM_MFMA_I8) {
        em_mfma_i32(&job);
    } else if (s->type_a == EM_MFMA_F64) {
        em_mfma_f64(&job);
    } else if (w->exact && s->type_a != EM_MFMA_F32 && s->type_a != EM_MFMA_I8F) {
        em_mfma_exact(&job);
    } else {
        em_mfma_fast_f32(&job);
    }
    return EM_GO;
}

static enum em_flow run_bad_register(struct em_wave *w, const struct em_op *op)
{
    char text[160];
    (void)em_print(&op->in, text, sizeof(text));
    return em_fault(w, op, EM_FAULT_BAD_REGISTER, -1, NULL,
                    "%s: operands that are no registers, or run beyond the last one",
                    text);
}

static enum em_flow run_bad_broadcast(struct em_wave *w, const struct em_op *op)
{
    char text[160];
    (void)em_print(&op->in, text, sizeof(text));
    return em_fault(w, op, EM_FAULT_BAD_INSTRUCTION, -1, NULL,
                    "%s: cbsz and abid name blocks that the instruction has not", text);
}

/* `rows` registers from `code` on are VGPRs, or are AGPRs. */
static bool are_registers(uint16_t code, unsigned rows)
{
    unsigned end = code + rows;
    return em_is_vector(code) &&
           (code >= EM_AGPR0 ? end <= EM_AGPR0 + 256U : end <= EM_VGPR0 + 256U);
}

static bool legal_registers(const struct em_inst *in, const struct em_mfma_shape *s)
{
    unsigned a = em_mfma_slots(s, em_mfma_k_a(s)) * em_mfma_bits(s->type_a) / 32;
    unsigned b = em_mfma_slots(s, s->k) * em_mfma_bits(s->type_b) / 32;
    unsigned d = em_mfma_d_rows(s);
    uint16_t c = in->src[2].code;
    bool legal_c = s->flags & EM_MFMA_SPARSE ? are_registers(c, 1)
                                             : !em_is_vector(c) || are_registers(c, d);
    return are_registers(in->dst.code, d) && are_registers(in->src[0].code, a) &&
           are_registers(in->src[1].code, b) && legal_c && c != EM_NONE;
}

static void bind_matrix(struct em_op *op, size_t shape)
{
    const struct em_mfma_shape *s = &shapes[shape];
    const struct em_inst *in = &op->in;
    op->class = EM_CLASS_MFMA;
    op->data[0] = shape;
    op->run = run_matrix;
    if (!legal_registers(in, s)) {
        op->run = run_bad_register;
    } else if (s->flags & EM_MFMA_CBSZ && in->cbsz &&
               (1U << in->cbsz > s->blocks || in->abid >> in->cbsz)) {
        op->run = run_bad_broadcast;
    }
}

/* v_accvgpr_read, _write and _mov are moves like v_mov_b32: EXEC holds. */
static enum em_flow run_move(struct em_wave *w, const struct em_op *op)
{
    struct em_operand from = op->in.src[0];
    struct em_operand to = op->in.dst;
    uint64_t exec = em_exec(w);
    uint32_t *d = em_row(w, to.code);
    uint32_t value[EM_LANES];
    const uint32_t *s = value;
    if (em_is_vector(from.code)) {
        s = em_row(w, from.code);
    } else {
        uint32_t scalar = em_scalar32(w, &op->in, from);
        for (unsigned l = 0; l < EM_LANES; l++) {
            value[l] = scalar;
        }
    }
    for (unsigned l = 0; l < EM_LANES; l += 8) {
        __m256i bits = _mm256_set1_epi32((int)(exec >> l & 0xff));
        __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        __m256i mask = _mm256_cmpeq_epi32(_mm256_and_si256(bits, bit), bit);
        __m256i new = _mm256_loadu_si256((const void *)(s + l));
        __m256i old = _mm256_loadu_si256((const void *)(d + l));
        _mm256_storeu_si256((void *)(d + l), _mm256_blendv_epi8(old, new, mask));
    }
    if (w->shadow) {
        from.dwords = to.dwords = 1;
        em_shadow_set(w->shadow, to, exec, em_shadow_get(w->shadow, from));
    }
    return EM_GO;
}

static bool is_move(unsigned op)
{
    return op == EM_v_accvgpr_read_b32 || op == EM_v_accvgpr_write_b32 ||
           op == EM_v_accvgpr_mov_b32;
}

bool em_bind_mfma(struct em_op *op)
{
    const struct em_inst *in = &op->in;
    if (is_move(in->op)) {
        uint16_t from = in->src[0].code;
        bool legal = are_registers(in->dst.code, 1) && from != EM_NONE &&
                     (!em_is_vector(from) || are_registers(from, 1));
        op->class = EM_CLASS_VALU;
        op->run = legal ? run_move : run_bad_register;
        return true;
    }
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        if (shapes[i].op == in->op) {
            bind_matrix(op, i);
            return true;
        }
    }
    return false;
}
