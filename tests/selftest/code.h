/* Short programs written by hand: words, and what they must disassemble to. */
#ifndef WF_TESTS_SELFTEST_CODE_H
#define WF_TESTS_SELFTEST_CODE_H

#include "selftest/generate_prove.h"

/* X(NAME, first word, second word or 0, text) */
#define CODE_LIST(X)                                                         \
    X(LOAD_ARGUMENT, 0xc0020100, 0, "s_load_dword s4, s[0:1], 0x0")          \
    X(WAIT_LGKM, 0xbf8cc07f, 0, "s_waitcnt lgkmcnt(0)")                      \
    X(WAIT_VM, 0xbf8c0f70, 0, "s_waitcnt vmcnt(0)")                          \
    X(WAIT_VM_1, 0xbf8c0f71, 0, "s_waitcnt vmcnt(1)")                        \
    X(ADDRESS, 0x24020082, 0, "v_lshlrev_b32_e32 v1, 2, v0")                 \
    X(MASK_63, 0x260200bf, 0, "v_and_b32_e32 v1, 63, v0")                    \
    X(TIMES_16, 0x24080084, 0, "v_lshlrev_b32_e32 v4, 4, v0")                \
    X(V2_IS_0, 0x7e040280, 0, "v_mov_b32_e32 v2, 0")                         \
    X(V2_IS_1, 0x7e040281, 0, "v_mov_b32_e32 v2, 1")                         \
    X(V3_IS_V2, 0x7e060302, 0, "v_mov_b32_e32 v3, v2")                       \
    X(OR_3, 0x28060883, 0, "v_or_b32_e32 v3, 3, v4")                         \
    X(ADD_16, 0x68060890, 0, "v_add_u32_e32 v3, 16, v4")                     \
    X(MULTIPLY, 0x0a060500, 0, "v_mul_f32_e32 v3, v0, v2")                   \
    X(SUBTRACT, 0x04060500, 0, "v_sub_f32_e32 v3, v0, v2")                   \
    X(LOAD_V2, 0xdc508000, 0x02020001, "global_load_dword v2, v1, s[2:3]")   \
    X(LOAD_V5, 0xdc508000, 0x05020001, "global_load_dword v5, v1, s[2:3]")   \
    X(STORE_V2, 0xdc708000, 0x00020201, "global_store_dword v1, v2, s[2:3]") \
    X(STORE_V3, 0xdc708000, 0x00020301, "global_store_dword v1, v3, s[2:3]") \
    X(STORE_V5, 0xdc708000, 0x00020501, "global_store_dword v1, v5, s[2:3]") \
    X(LDS_WRITE, 0xd81a0000, 0x00000201, "ds_write_b32 v1, v2")              \
    X(LDS_READ, 0xd86c0000, 0x03000001, "ds_read_b32 v3, v1")                \
    X(BARRIER, 0xbf8a0000, 0, "s_barrier")                                   \
    X(BELOW_32, 0x7d9800a0, 0, "v_cmp_gt_u32_e32 vcc, 32, v0")               \
    X(BELOW_64, 0x7d9800c0, 0, "v_cmp_gt_u32_e32 vcc, 64, v0")               \
    X(NARROW, 0xbe86206a, 0, "s_and_saveexec_b64 s[6:7], vcc")               \
    X(SKIP_1, 0xbf880001, 0, "s_cbranch_execz 1")                            \
    X(SKIP_2, 0xbf880002, 0, "s_cbranch_execz 2")                            \
    X(JUMP_1, 0xbf820001, 0, "s_branch 1")                                   \
    X(WIDEN, 0x87fe067e, 0, "s_or_b64 exec, exec, s[6:7]")                   \
    X(S5_IS_7, 0xbe850087, 0, "s_mov_b32 s5, 7")                             \
    X(FIELD, 0x9285ff04, 0x00080000, "s_bfe_u32 s5, s4, 0x80000")            \
    X(FIELD_BIT_15, 0x9285ff04, 0x00088000, "s_bfe_u32 s5, s4, 0x88000")     \
    X(FIELD_FROM_1, 0x9285ff04, 0x00080001, "s_bfe_u32 s5, s4, 0x80001")     \
    X(EXP_V2, 0x7e044100, 0, "v_exp_f32_e32 v2, v0")                         \
    X(SQUARE, 0xd1050003, 0x00020502, "v_mul_f32_e64 v3, v2, v2")            \
    X(SQUARE_ABS, 0xd1050103, 0x00020502, "v_mul_f32_e64 v3, |v2|, v2")      \
    X(SQUARE_NEG, 0xd1050003, 0x20020502, "v_mul_f32_e64 v3, -v2, v2")       \
    X(V3_IS_S5, 0x7e060205, 0, "v_mov_b32_e32 v3, s5")                       \
    X(MATRIX, 0xd3cc0002, 0x040a5d2a,                                        \
      "v_mfma_f32_32x32x8_f16 v[2:17], v[42:43], v[46:47], v[2:17]")         \
    X(END, 0xbf810000, 0, "s_endpgm")

enum code_line {
#define X(name, first, second, text) name,
    CODE_LIST(X)
#undef X
    CODE_LINES
};

/* A program analysed as a kernel of 64 work-items in x. */
struct program {
    struct em_code *code;
    uint32_t at[32]; /* dword of each line */
    struct gen_flow flow;
    struct gen_waits *waits;
    struct gen_values *values;
};

/* The test ends where a line does not disassemble to its text. program_free frees it.
 */
struct program *program_of(const enum code_line *line, size_t count);
void program_free(struct program *p);
/* Why line `n` replaced by `with` (CODE_LINES: s_nop) is no mutant. */
enum gen_reason program_prove(struct program *p,
                              size_t n,
                              enum gen_kind kind,
                              enum code_line with);

#define PROGRAM(...)                                             \
    program_of((const enum code_line[]){ __VA_ARGS__ },          \
               sizeof((const enum code_line[]){ __VA_ARGS__ }) / \
                   sizeof(enum code_line))

#endif
