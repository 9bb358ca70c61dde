/* Which registers are pending, counter by counter, and what counts as written. */
#include "emulator/check/shadow.h"
#include "emulator/launch/group.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct em_group group;
static struct em_wave *wave;

static void setup(void)
{
    wave = em_wave_create();
    cr_assert_not_null(wave);
    wave->shadow = em_shadow_create();
    cr_assert_not_null(wave->shadow);
    memset(&group, 0, sizeof(group));
    group.waves = 1;
    group.wave[0] = wave;
    wave->group = &group;
}

static void teardown(void)
{
    em_shadow_destroy(wave->shadow);
    em_wave_destroy(wave);
}

TestSuite(shadow, .init = setup, .fini = teardown);

static struct em_op reading(unsigned code, unsigned count)
{
    struct em_op op = { .class = EM_CLASS_VALU, .reads = 1 };
    op.read[0] = (struct em_span){ (uint16_t)code, (uint16_t)count };
    return op;
}

static struct em_op loading(enum em_class class,
                            enum em_encoding encoding,
                            unsigned code)
{
    struct em_op op = { .class = (uint8_t) class, .writes = 1 };
    op.in.encoding = (uint8_t)encoding;
    op.written[0] = (struct em_span){ (uint16_t)code, 1 };
    for (unsigned i = 0; i < 4; i++) {
        op.in.src[i].code = EM_NONE;
    }
    return op;
}

static void issue(unsigned counter, unsigned code, unsigned count)
{
    struct em_op op = loading(EM_CLASS_VMEM_LOAD, EM_GLOBAL, code);
    struct em_span span = { (uint16_t)code, (uint16_t)count };
    em_shadow_issue(wave, &op, counter, span, 0, 0);
}

static bool pending(const struct em_op *op)
{
    bool found = em_shadow_pending(wave, op) == EM_FAULTED;
    cr_assert(!found || group.fault.kind == EM_FAULT_MISSING_WAIT);
    group.fault.kind = EM_FAULT_NONE;
    return found;
}

static bool read_pending(unsigned code, unsigned count)
{
    struct em_op op = reading(code, count);
    return pending(&op);
}

static const unsigned V = EM_VGPR0;

Test(shadow, loads_return_in_order)
{
    issue(EM_VMCNT, V + 10, 4);
    issue(EM_VMCNT, 0, 0); /* a store */
    issue(EM_VMCNT, V + 20, 1);
    cr_assert(read_pending(V + 10, 1));
    cr_assert(read_pending(V + 13, 1));
    cr_assert(!read_pending(V + 14, 6));
    cr_assert(read_pending(V + 5, 6), "a span that ends in it");
    cr_assert(read_pending(V + 0, 32), "a span around it");
    em_shadow_wait(wave, 2, UINT_MAX);
    cr_assert(!read_pending(V + 10, 4));
    cr_assert(read_pending(V + 20, 1));
    em_shadow_wait(wave, 1, UINT_MAX);
    cr_assert(read_pending(V + 20, 1));
    em_shadow_wait(wave, UINT_MAX, 0);
    cr_assert(read_pending(V + 20, 1), "another counter");
    em_shadow_wait(wave, 0, UINT_MAX);
    cr_assert(!read_pending(V + 20, 1));
    cr_assert_eq(wave->shadow->outstanding, 0);
}

Test(shadow, a_register_of_two_loads_waits_for_both)
{
    issue(EM_VMCNT, V + 1, 1);
    issue(EM_VMCNT, V + 1, 1);
    em_shadow_wait(wave, 1, UINT_MAX);
    cr_assert(read_pending(V + 1, 1));
    em_shadow_wait(wave, 0, UINT_MAX);
    cr_assert(!read_pending(V + 1, 1));
}

Test(shadow, scalar_loads_return_in_any_order)
{
    issue(EM_LGKM_SMEM, 8, 4);
    issue(EM_LGKM_LDS, V + 1, 1);
    issue(EM_LGKM_LDS, V + 2, 1);
    em_shadow_wait(wave, UINT_MAX, 1);
    cr_assert(read_pending(8, 1));
    cr_assert(!read_pending(V + 1, 1), "two of LDS cannot be left");
    cr_assert(read_pending(V + 2, 1));
    em_shadow_wait(wave, UINT_MAX, 0);
    cr_assert(!read_pending(8, 4));
    cr_assert(!read_pending(V + 2, 1));
}

Test(shadow, flat_holds_both_counters)
{
    issue(EM_FLAT_BOTH, V + 1, 1);
    em_shadow_wait(wave, 0, UINT_MAX);
    cr_assert(read_pending(V + 1, 1));
    em_shadow_wait(wave, UINT_MAX, 0);
    cr_assert(!read_pending(V + 1, 1));
    issue(EM_FLAT_BOTH, V + 1, 1);
    em_shadow_wait(wave, 0, 0);
    cr_assert(!read_pending(V + 1, 1));
}

Test(shadow, counters_hold_no_more_than_they_can)
{
    for (unsigned i = 0; i < 64; i++) {
        issue(EM_VMCNT, V + i, 1);
    }
    cr_assert(!read_pending(V + 0, 1), "the 64th was issued when the first was done");
    cr_assert(read_pending(V + 1, 1));
    for (unsigned i = 0; i < 600; i++) {
        issue(EM_LGKM_SMEM, i % 100, 1);
    }
    cr_assert(wave->shadow->outstanding <= EM_OUTSTANDING);
    em_shadow_wait(wave, 0, 0);
    cr_assert_eq(wave->shadow->outstanding, 0);
}

Test(shadow, writes_to_pending_registers)
{
    issue(EM_VMCNT, V + 1, 1);
    struct em_op op = loading(EM_CLASS_VALU, EM_VOP1, V + 1);
    cr_assert(pending(&op), "arithmetic");
    op = loading(EM_CLASS_VMEM_LOAD, EM_GLOBAL, V + 1);
    cr_assert(!pending(&op), "a load of the same counter");
    op = loading(EM_CLASS_LDS, EM_DS, V + 1);
    cr_assert(pending(&op), "a load of another counter");
    op = loading(EM_CLASS_VMEM_LOAD, EM_GLOBAL, V + 1);
    op.reads = 1;
    op.read[0] = op.written[0];
    cr_assert(!pending(&op), "a load into half of the register");
    op.in.src[0].code = (uint16_t)(V + 1);
    cr_assert(pending(&op), "its address");
    issue(EM_LGKM_SMEM, 20, 1);
    op = loading(EM_CLASS_SMEM, EM_SMEM, 20);
    cr_assert(pending(&op), "scalar loads have no order");
}

Test(shadow, the_last_registers_of_each_file)
{
    issue(EM_VMCNT, EM_AGPR0 + 255, 1);
    issue(EM_VMCNT, V + 255, 1);
    issue(EM_LGKM_SMEM, EM_VCC + 1, 1);
    cr_assert(read_pending(EM_AGPR0 + 224, 32));
    cr_assert(read_pending(V + 224, 32));
    cr_assert(!read_pending(EM_AGPR0, 32));
    cr_assert(read_pending(EM_VCC, 2));
    cr_assert(!read_pending(EM_M0, 1));
}

Test(shadow, what_a_message_says)
{
    struct em_operand o = { .code = (uint16_t)(V + 5), .dwords = 2 };
    struct em_op op = { .index = 77 };
    em_shadow_set(wave->shadow, o, ~UINT64_C(0x100), UINT64_MAX);
    cr_assert_eq(em_shadow_use(wave, &op, o, 0xff, "address"), EM_GO);
    cr_assert_eq(em_shadow_use(wave, &op, o, 0xf00, "address"), EM_FAULTED);
    cr_assert_eq(group.fault.lane, 8);
    cr_assert_eq(group.fault.pc, 77);
    cr_assert_str_eq(group.fault.text, "v5, used as address, was never written");
    group.fault.kind = EM_FAULT_NONE;
    struct em_operand scc = { .code = EM_SCC, .dwords = 1 };
    cr_assert_eq(em_shadow_use(wave, &op, scc, 1, "branch condition"), EM_FAULTED);
    cr_assert_str_eq(group.fault.text,
                     "scc, used as branch condition, was never written");
    struct em_operand vcc = { .code = EM_VCC, .dwords = 2 };
    em_shadow_set_scalar(wave->shadow, EM_VCC, 1, true);
    cr_assert_eq(em_shadow_use(wave, &op, vcc, 1, "EXEC"), EM_FAULTED);
    cr_assert_str_eq(group.fault.text,
                     "scc, used as branch condition, was never written",
                     "the first fault stays");
    struct em_operand constant = { .code = EM_INT_0, .dwords = 1 };
    cr_assert_eq(em_shadow_use(wave, &op, constant, UINT64_MAX, "address"), EM_GO);
}
