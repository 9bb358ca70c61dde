/* Decoded code: an operation at every dword, addresses, and what a kernel can reach. */
#include "emulator/exec/code.h"
#include "emulator/launch/group.h"
#include "program.h"

#include <criterion/criterion.h>
#include <string.h>

#define S_NOP    0xbf800000
#define S_ENDPGM 0xbf810000
#define S_MOV_S6 0xbe8600ff /* with a literal */

static struct em_code *code_of(const uint32_t *words, size_t count)
{
    struct em_code *code = NULL;
    struct wf_error err;
    cr_assert_eq(em_code_create(words, count, 0x1000, &code, &err), WF_OK);
    return code;
}

static struct em_fault run(const struct em_code *code)
{
    struct em_wave *w = em_wave_create();
    struct em_group group = { 0 };
    w->code = code;
    w->group = &group;
    (void)em_wave_run(w, 100);
    em_wave_destroy(w);
    return group.fault;
}

Test(code, every_dword_has_an_operation)
{
    static const uint32_t words[] = { S_NOP, S_MOV_S6, S_ENDPGM, S_NOP };
    struct em_code *code = code_of(words, 4);
    cr_expect_eq(em_code_count(code), 4);
    cr_expect_eq(em_code_at(code, 1)->next, 3);
    cr_expect_eq(em_code_at(code, 1)->in.op, EM_s_mov_b32);
    cr_expect_eq(em_code_at(code, 2)->in.op, EM_s_endpgm);
    cr_expect_eq(em_code_at(code, 2)->next, 3);
    em_code_destroy(code);
}

Test(code, addresses_are_indices_and_back)
{
    static const uint32_t words[] = { S_NOP, S_NOP };
    struct em_code *code = code_of(words, 2);
    uint32_t index = 77;
    cr_expect_eq(em_code_address(code, 1), 0x1004);
    cr_expect(em_code_index(code, 0x1004, &index));
    cr_expect_eq(index, 1);
    cr_expect_not(em_code_index(code, 0x1002, &index));
    cr_expect_not(em_code_index(code, 0x1008, &index));
    cr_expect_not(em_code_index(code, 0xffc, &index));
    em_code_destroy(code);
}

Test(code, code_that_ends_within_an_instruction_faults_there)
{
    static const uint32_t words[] = { S_NOP, S_MOV_S6 };
    struct em_code *code = code_of(words, 2);
    struct em_fault f = run(code);
    cr_expect_eq(f.kind, EM_FAULT_BAD_INSTRUCTION);
    cr_expect_eq(f.pc, 1);
    em_code_destroy(code);
}

Test(code, code_without_an_end_faults_behind_its_last_dword)
{
    static const uint32_t words[] = { S_NOP };
    struct em_code *code = code_of(words, 1);
    struct em_fault f = run(code);
    cr_expect_eq(f.kind, EM_FAULT_BAD_JUMP);
    cr_expect_eq(f.pc, 1);
    em_code_destroy(code);
    code = code_of(words, 0);
    cr_expect_eq(run(code).kind, EM_FAULT_BAD_JUMP);
    em_code_destroy(code);
}

static struct em_reach reach_of(const struct program *p, const char *name)
{
    struct em_reach r = { 0 };
    struct wf_error err;
    const struct em_kernel *k = em_image_find(p->image, name);
    cr_assert(k, "%s", name);
    cr_assert_eq(em_code_reach(em_image_code(p->image), k->entry, &r, &err), WF_OK);
    return r;
}

Test(code, a_kernel_reaches_its_own_code_only)
{
    struct program p = program_open(WF_TEST_LAUNCH_CO);
    cr_expect(em_code_order_matters(em_image_code(p.image)));
    cr_expect_not(reach_of(&p, "work").order_matters);
    cr_expect(reach_of(&p, "grid_barrier").order_matters);
    cr_expect_eq(reach_of(&p, "work").sgprs, 11);
    cr_expect_eq(reach_of(&p, "work").vgprs, 0);
    cr_expect_eq(reach_of(&p, "exchange").vgprs, 4);
    cr_expect_eq(reach_of(&p, "beyond_unreached").vgprs, 41);
    /* It calls through a register: all the code counts. */
    cr_expect(reach_of(&p, "calls").order_matters);
    program_close(&p);
}
