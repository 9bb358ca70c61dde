/* A wave with a workgroup, an address space and LDS, and memory instructions made by
 * hand: for tests and benches of the memory units. */
#ifndef WF_TESTS_EMULATOR_MEMORY_FIXTURE_H
#define WF_TESTS_EMULATOR_MEMORY_FIXTURE_H

#include "emulator/check/fault.h"
#include "emulator/launch/group.h"
#include "emulator/memory/access.h"
#include "emulator/memory/space.h"

struct memory_fixture {
    struct em_space *space;
    struct em_wave *w;
    struct em_group group;
    uint64_t seed;
};

void fixture_init(struct memory_fixture *f, uint32_t lds_bytes);
void fixture_fini(struct memory_fixture *f);
uint64_t fixture_alloc(struct memory_fixture *f, uint64_t bytes);
uint32_t fixture_random(struct memory_fixture *f);
/* Random bits in registers, LDS and EXEC. */
void fixture_scramble(struct memory_fixture *f);
void fixture_set64(struct memory_fixture *f,
                   unsigned vgpr,
                   unsigned lane,
                   uint64_t value);

/* Operands: `dwords` registers from v[n], s[n] on. */
struct em_operand v(unsigned n, unsigned dwords);
struct em_operand s(unsigned n, unsigned dwords);

/* All operands NONE. */
struct em_inst fixture_inst(enum em_opcode op, enum em_encoding encoding);
/* Binds and runs it; the fault, if any, is in f->group.fault. */
enum em_flow fixture_run(struct memory_fixture *f, const struct em_inst *in);

#endif
