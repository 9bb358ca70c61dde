/* What each memory operation with a name of its own does, by opcode; and whether its
 * operands are registers that exist. */
#include "emulator/memory/rules.h"

/* X(prefix, name, what, bytes, dwords, shift, move) */
#define MOVES(X, p)                                                \
    X(p, load_ubyte, LOAD, 1, 1, 0, em_load_u8)                    \
    X(p, load_sbyte, LOAD, 1, 1, 0, em_load_i8)                    \
    X(p, load_ushort, LOAD, 2, 1, 0, em_load_u16)                  \
    X(p, load_sshort, LOAD, 2, 1, 0, em_load_i16)                  \
    X(p, load_dword, LOAD, 4, 1, 0, em_load_x1)                    \
    X(p, load_dwordx2, LOAD, 8, 2, 0, em_load_x2)                  \
    X(p, load_dwordx3, LOAD, 12, 3, 0, em_load_x3)                 \
    X(p, load_dwordx4, LOAD, 16, 4, 0, em_load_x4)                 \
    X(p, load_ubyte_d16, LOAD, 1, 1, 0, em_load_u8_d16)            \
    X(p, load_ubyte_d16_hi, LOAD, 1, 1, 0, em_load_u8_d16_hi)      \
    X(p, load_sbyte_d16, LOAD, 1, 1, 0, em_load_i8_d16)            \
    X(p, load_sbyte_d16_hi, LOAD, 1, 1, 0, em_load_i8_d16_hi)      \
    X(p, load_short_d16, LOAD, 2, 1, 0, em_load_b16_d16)           \
    X(p, load_short_d16_hi, LOAD, 2, 1, 0, em_load_b16_d16_hi)     \
    X(p, store_byte, STORE, 1, 1, 0, em_store_b8)                  \
    X(p, store_byte_d16_hi, STORE, 1, 1, 16, em_store_b8_d16_hi)   \
    X(p, store_short, STORE, 2, 1, 0, em_store_b16)                \
    X(p, store_short_d16_hi, STORE, 2, 1, 16, em_store_b16_d16_hi) \
    X(p, store_dword, STORE, 4, 1, 0, em_store_x1)                 \
    X(p, store_dwordx2, STORE, 8, 2, 0, em_store_x2)               \
    X(p, store_dwordx3, STORE, 12, 3, 0, em_store_x3)              \
    X(p, store_dwordx4, STORE, 16, 4, 0, em_store_x4)

#define LDS_LOADS(X, p)                                      \
    X(p, load_lds_ubyte, LOAD_TO_LDS, 1, 1, 0, em_load_u8)   \
    X(p, load_lds_sbyte, LOAD_TO_LDS, 1, 1, 0, em_load_i8)   \
    X(p, load_lds_ushort, LOAD_TO_LDS, 2, 1, 0, em_load_u16) \
    X(p, load_lds_sshort, LOAD_TO_LDS, 2, 1, 0, em_load_i16) \
    X(p, load_lds_dword, LOAD_TO_LDS, 4, 1, 0, em_load_x1)

/* X(prefix, name, bytes, dwords, atomic) */
#define ATOMICS(X, p)                                   \
    X(p, atomic_swap, 4, 1, em_atomic_swap_32)          \
    X(p, atomic_cmpswap, 4, 1, em_atomic_cmpswap_32)    \
    X(p, atomic_add, 4, 1, em_atomic_add_32)            \
    X(p, atomic_sub, 4, 1, em_atomic_sub_32)            \
    X(p, atomic_smin, 4, 1, em_atomic_smin_32)          \
    X(p, atomic_umin, 4, 1, em_atomic_umin_32)          \
    X(p, atomic_smax, 4, 1, em_atomic_smax_32)          \
    X(p, atomic_umax, 4, 1, em_atomic_umax_32)          \
    X(p, atomic_and, 4, 1, em_atomic_and_32)            \
    X(p, atomic_or, 4, 1, em_atomic_or_32)              \
    X(p, atomic_xor, 4, 1, em_atomic_xor_32)            \
    X(p, atomic_inc, 4, 1, em_atomic_inc_32)            \
    X(p, atomic_dec, 4, 1, em_atomic_dec_32)            \
    X(p, atomic_swap_x2, 8, 2, em_atomic_swap_64)       \
    X(p, atomic_cmpswap_x2, 8, 2, em_atomic_cmpswap_64) \
    X(p, atomic_add_x2, 8, 2, em_atomic_add_64)         \
    X(p, atomic_sub_x2, 8, 2, em_atomic_sub_64)         \
    X(p, atomic_smin_x2, 8, 2, em_atomic_smin_64)       \
    X(p, atomic_umin_x2, 8, 2, em_atomic_umin_64)       \
    X(p, atomic_smax_x2, 8, 2, em_atomic_smax_64)       \
    X(p, atomic_umax_x2, 8, 2, em_atomic_umax_64)       \
    X(p, atomic_and_x2, 8, 2, em_atomic_and_64)         \
    X(p, atomic_or_x2, 8, 2, em_atomic_or_64)           \
    X(p, atomic_xor_x2, 8, 2, em_atomic_xor_64)         \
    X(p, atomic_inc_x2, 8, 2, em_atomic_inc_64)         \
    X(p, atomic_dec_x2, 8, 2, em_atomic_dec_64)         \
    X(p, atomic_add_f32, 4, 1, em_atomic_add_f32)       \
    X(p, atomic_pk_add_f16, 4, 1, em_atomic_pk_add_f16) \
    X(p, atomic_add_f64, 8, 2, em_atomic_add_f64)       \
    X(p, atomic_min_f64, 8, 2, em_atomic_min_f64)       \
    X(p, atomic_max_f64, 8, 2, em_atomic_max_f64)

/* X(name, name_rtn, bytes, dwords, atomic): with and without the old value. */
#define DS_ATOMICS(X)                                                  \
    X(ds_add_u32, ds_add_rtn_u32, 4, 1, em_atomic_add_32)              \
    X(ds_sub_u32, ds_sub_rtn_u32, 4, 1, em_atomic_sub_32)              \
    X(ds_rsub_u32, ds_rsub_rtn_u32, 4, 1, em_atomic_rsub_32)           \
    X(ds_inc_u32, ds_inc_rtn_u32, 4, 1, em_atomic_inc_32)              \
    X(ds_dec_u32, ds_dec_rtn_u32, 4, 1, em_atomic_dec_32)              \
    X(ds_min_i32, ds_min_rtn_i32, 4, 1, em_atomic_smin_32)             \
    X(ds_max_i32, ds_max_rtn_i32, 4, 1, em_atomic_smax_32)             \
    X(ds_min_u32, ds_min_rtn_u32, 4, 1, em_atomic_umin_32)             \
    X(ds_max_u32, ds_max_rtn_u32, 4, 1, em_atomic_umax_32)             \
    X(ds_and_b32, ds_and_rtn_b32, 4, 1, em_atomic_and_32)              \
    X(ds_or_b32, ds_or_rtn_b32, 4, 1, em_atomic_or_32)                 \
    X(ds_xor_b32, ds_xor_rtn_b32, 4, 1, em_atomic_xor_32)              \
    X(ds_mskor_b32, ds_mskor_rtn_b32, 4, 1, em_atomic_mskor_32)        \
    X(ds_cmpst_b32, ds_cmpst_rtn_b32, 4, 1, em_atomic_cmpswap_32)      \
    X(ds_cmpst_f32, ds_cmpst_rtn_f32, 4, 1, em_atomic_cmp_f32)         \
    X(ds_min_f32, ds_min_rtn_f32, 4, 1, em_atomic_min_f32)             \
    X(ds_max_f32, ds_max_rtn_f32, 4, 1, em_atomic_max_f32)             \
    X(ds_add_f32, ds_add_rtn_f32, 4, 1, em_atomic_add_f32)             \
    X(ds_pk_add_f16, ds_pk_add_rtn_f16, 4, 1, em_atomic_pk_add_f16)    \
    X(ds_pk_add_bf16, ds_pk_add_rtn_bf16, 4, 1, em_atomic_pk_add_bf16) \
    X(ds_add_u64, ds_add_rtn_u64, 8, 2, em_atomic_add_64)              \
    X(ds_sub_u64, ds_sub_rtn_u64, 8, 2, em_atomic_sub_64)              \
    X(ds_rsub_u64, ds_rsub_rtn_u64, 8, 2, em_atomic_rsub_64)           \
    X(ds_inc_u64, ds_inc_rtn_u64, 8, 2, em_atomic_inc_64)              \
    X(ds_dec_u64, ds_dec_rtn_u64, 8, 2, em_atomic_dec_64)              \
    X(ds_min_i64, ds_min_rtn_i64, 8, 2, em_atomic_smin_64)             \
    X(ds_max_i64, ds_max_rtn_i64, 8, 2, em_atomic_smax_64)             \
    X(ds_min_u64, ds_min_rtn_u64, 8, 2, em_atomic_umin_64)             \
    X(ds_max_u64, ds_max_rtn_u64, 8, 2, em_atomic_umax_64)             \
    X(ds_and_b64, ds_and_rtn_b64, 8, 2, em_atomic_and_64)              \
    X(ds_or_b64, ds_or_rtn_b64, 8, 2, em_atomic_or_64)                 \
    X(ds_xor_b64, ds_xor_rtn_b64, 8, 2, em_atomic_xor_64)              \
    X(ds_mskor_b64, ds_mskor_rtn_b64, 8, 2, em_atomic_mskor_64)        \
    X(ds_cmpst_b64, ds_cmpst_rtn_b64, 8, 2, em_atomic_cmpswap_64)      \
    X(ds_cmpst_f64, ds_cmpst_rtn_f64, 8, 2, em_atomic_cmp_f64)         \
    X(ds_min_f64, ds_min_rtn_f64, 8, 2, em_atomic_min_f64)             \
    X(ds_max_f64, ds_max_rtn_f64, 8, 2, em_atomic_max_f64)             \
    X(ds_add_f64, ds_add_rtn_f64, 8, 2, em_atomic_add_f64)

#define DS_MOVES(X)                                               \
    X(ds, read_b32, LOAD, 4, 1, 0, em_load_x1)                    \
    X(ds, read_b64, LOAD, 8, 2, 0, em_load_x2)                    \
    X(ds, read_b96, LOAD, 12, 3, 0, em_load_x3)                   \
    X(ds, read_b128, LOAD, 16, 4, 0, em_load_x4)                  \
    X(ds, read_i8, LOAD, 1, 1, 0, em_load_i8)                     \
    X(ds, read_u8, LOAD, 1, 1, 0, em_load_u8)                     \
    X(ds, read_i16, LOAD, 2, 1, 0, em_load_i16)                   \
    X(ds, read_u16, LOAD, 2, 1, 0, em_load_u16)                   \
    X(ds, read_u8_d16, LOAD, 1, 1, 0, em_load_u8_d16)             \
    X(ds, read_u8_d16_hi, LOAD, 1, 1, 0, em_load_u8_d16_hi)       \
    X(ds, read_i8_d16, LOAD, 1, 1, 0, em_load_i8_d16)             \
    X(ds, read_i8_d16_hi, LOAD, 1, 1, 0, em_load_i8_d16_hi)       \
    X(ds, read_u16_d16, LOAD, 2, 1, 0, em_load_b16_d16)           \
    X(ds, read_u16_d16_hi, LOAD, 2, 1, 0, em_load_b16_d16_hi)     \
    X(ds, write_b8, STORE, 1, 1, 0, em_store_b8)                  \
    X(ds, write_b8_d16_hi, STORE, 1, 1, 16, em_store_b8_d16_hi)   \
    X(ds, write_b16, STORE, 2, 1, 0, em_store_b16)                \
    X(ds, write_b16_d16_hi, STORE, 2, 1, 16, em_store_b16_d16_hi) \
    X(ds, write_b32, STORE, 4, 1, 0, em_store_x1)                 \
    X(ds, write_b64, STORE, 8, 2, 0, em_store_x2)                 \
    X(ds, write_b96, STORE, 12, 3, 0, em_store_x3)                \
    X(ds, write_b128, STORE, 16, 4, 0, em_store_x4)               \
    /* One half of a two-address operation each. */               \
    X(ds, read2_b32, LOAD, 4, 1, 0, em_load_x1)                   \
    X(ds, read2st64_b32, LOAD, 4, 1, 0, em_load_x1)               \
    X(ds, read2_b64, LOAD, 8, 2, 0, em_load_x2)                   \
    X(ds, read2st64_b64, LOAD, 8, 2, 0, em_load_x2)               \
    X(ds, write2_b32, STORE, 4, 1, 0, em_store_x1)                \
    X(ds, write2st64_b32, STORE, 4, 1, 0, em_store_x1)            \
    X(ds, write2_b64, STORE, 8, 2, 0, em_store_x2)                \
    X(ds, write2st64_b64, STORE, 8, 2, 0, em_store_x2)

/* X(prefix, name, what, components, d16): formats decide how many bytes. */
#define FORMATS(X, p)                                 \
    X(p, load_format_x, LOAD_FORMAT, 1, false)        \
    X(p, load_format_xy, LOAD_FORMAT, 2, false)       \
    X(p, load_format_xyz, LOAD_FORMAT, 3, false)      \
    X(p, load_format_xyzw, LOAD_FORMAT, 4, false)     \
    X(p, store_format_x, STORE_FORMAT, 1, false)      \
    X(p, store_format_xy, STORE_FORMAT, 2, false)     \
    X(p, store_format_xyz, STORE_FORMAT, 3, false)    \
    X(p, store_format_xyzw, STORE_FORMAT, 4, false)   \
    X(p, load_format_d16_x, LOAD_FORMAT, 1, true)     \
    X(p, load_format_d16_xy, LOAD_FORMAT, 2, true)    \
    X(p, load_format_d16_xyz, LOAD_FORMAT, 3, true)   \
    X(p, load_format_d16_xyzw, LOAD_FORMAT, 4, true)  \
    X(p, store_format_d16_x, STORE_FORMAT, 1, true)   \
    X(p, store_format_d16_xy, STORE_FORMAT, 2, true)  \
    X(p, store_format_d16_xyz, STORE_FORMAT, 3, true) \
    X(p, store_format_d16_xyzw, STORE_FORMAT, 4, true)

#define MOVE(p, name, w, n, d, s, fn)                                               \
    [EM_##p##_##name] = {                                                           \
        .what = EM_MEM_##w, .bytes = (n), .dwords = (d), .shift = (s), .move = (fn) \
    },
#define ATOMIC(p, name, n, d, fn)                                          \
    [EM_##p##_##name] = {                                                  \
        .what = EM_MEM_ATOMIC, .bytes = (n), .dwords = (d), .atomic = (fn) \
    },
#define DS_ATOMIC(name, name_rtn, n, d, fn)                                \
    [EM_##name] = { .what = EM_MEM_ATOMIC,                                 \
                    .bytes = (n),                                          \
                    .dwords = (d),                                         \
                    .atomic = (fn) },                                      \
    [EM_##name_rtn] = {                                                    \
        .what = EM_MEM_ATOMIC, .bytes = (n), .dwords = (d), .atomic = (fn) \
    },
#define FORMAT(p, name, w, n, half)                               \
    [EM_##p##_##name] = { .what = EM_MEM_##w,                     \
                          .dwords = (half) ? ((n) + 1) / 2 : (n), \
                          .components = (n),                      \
                          .d16 = (half) },

static const struct em_memory_rule rules[EM_OPCODES] = {
    /* clang-format off */
    MOVES(MOVE, flat)
    MOVES(MOVE, global)
    MOVES(MOVE, scratch)
    MOVES(MOVE, buffer)
    LDS_LOADS(MOVE, global)
    LDS_LOADS(MOVE, scratch)
    ATOMICS(ATOMIC, flat)
    ATOMICS(ATOMIC, global)
    ATOMICS(ATOMIC, buffer)
    ATOMIC(flat, atomic_pk_add_bf16, 4, 1, em_atomic_pk_add_bf16)
    ATOMIC(global, atomic_pk_add_bf16, 4, 1, em_atomic_pk_add_bf16)
    FORMATS(FORMAT, buffer)
    FORMATS(FORMAT, tbuffer)
    [EM_buffer_load_format_d16_hi_x] = { .what = EM_MEM_LOAD_FORMAT,
                                         .dwords = 1,
                                         .shift = 16,
                                         .components = 1,
                                         .d16 = true },
    [EM_buffer_store_format_d16_hi_x] = { .what = EM_MEM_STORE_FORMAT,
                                          .dwords = 1,
                                          .shift = 16,
                                          .components = 1,
                                          .d16 = true },
    DS_MOVES(MOVE)
    DS_ATOMICS(DS_ATOMIC)
    ATOMIC(ds, wrxchg_rtn_b32, 4, 1, em_atomic_swap_32)
    ATOMIC(ds, wrxchg_rtn_b64, 8, 2, em_atomic_swap_64)
    ATOMIC(ds, wrxchg2_rtn_b32, 4, 1, em_atomic_swap_32)
    ATOMIC(ds, wrxchg2st64_rtn_b32, 4, 1, em_atomic_swap_32)
    ATOMIC(ds, wrxchg2_rtn_b64, 8, 2, em_atomic_swap_64)
    ATOMIC(ds, wrxchg2st64_rtn_b64, 8, 2, em_atomic_swap_64)
    ATOMIC(ds, wrap_rtn_b32, 4, 1, em_atomic_wrap_32)
    [EM_buffer_wbl2] = { .what = EM_MEM_FENCE },
    [EM_buffer_inv] = { .what = EM_MEM_FENCE },
    /* clang-format on */
};

const struct em_memory_rule *em_memory_rule(enum em_opcode op)
{
    return op < EM_OPCODES && rules[op].what != EM_MEM_NONE ? &rules[op] : NULL;
}

static bool within(unsigned code, unsigned dwords, unsigned first, unsigned end)
{
    return code >= first && code + dwords <= end;
}

bool em_registers_exist(const struct em_inst *in)
{
    const struct em_operand *all[6] = { &in->dst,    &in->sdst,   &in->src[0],
                                        &in->src[1], &in->src[2], &in->src[3] };
    for (unsigned i = 0; i < 6; i++) {
        unsigned code = all[i]->code;
        unsigned dwords = all[i]->dwords;
        bool vector = within(code, dwords, EM_VGPR0, EM_AGPR0) ||
                      within(code, dwords, EM_AGPR0, EM_VGPR0 + EM_ROWS);
        bool constant = code >= EM_SCALARS && code < EM_VGPR0;
        if (code != EM_NONE && !vector && !constant &&
            !within(code, dwords, EM_SGPR0, EM_SCALARS)) {
            return false;
        }
    }
    return true;
}

bool em_vector_of(struct em_operand operand, unsigned dwords)
{
    return em_is_vector(operand.code) && operand.dwords >= dwords;
}
