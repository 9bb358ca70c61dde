/* What FLAT, GLOBAL, SCRATCH, MUBUF and DS share: the lanes' addresses in one memory,
 * the checks of an access, and how it is carried out. Internal to memory/. */
#ifndef WF_EMULATOR_MEMORY_TARGET_H
#define WF_EMULATOR_MEMORY_TARGET_H

#include "emulator/check/fault.h"
#include "emulator/memory/access.h"
#include "emulator/memory/atomic.h"
#include "emulator/memory/move.h"

enum em_where {
    EM_IN_GLOBAL,
    EM_IN_LDS,
    EM_IN_SCRATCH
};

/* What kind of memory operation a row of a table describes. */
enum em_memory_what {
    EM_MEM_NONE,
    EM_MEM_LOAD,
    EM_MEM_STORE,
    EM_MEM_ATOMIC,
    EM_MEM_LOAD_TO_LDS,
    EM_MEM_LOAD_FORMAT,
    EM_MEM_STORE_FORMAT,
    EM_MEM_FENCE
};

struct em_memory_rule {
    uint8_t what;       /* enum em_memory_what */
    uint8_t bytes;      /* of a lane */
    uint8_t dwords;     /* registers of a lane's data; atomics: of a value */
    uint8_t shift;      /* stores of a register's high half: 16 */
    uint8_t components; /* formats: as many of x to w */
    bool d16;           /* formats: 16 bits a component, two to a register */
    em_move_fn move;
    em_atomic_fn atomic;
};

struct em_target {
    _Alignas(64) uint64_t address[EM_LANES]; /* LDS, scratch: offsets */
    uint64_t lanes;                          /* that access memory; not 0 */
    enum em_where where;
    bool contiguous;
    uint64_t written[4]; /* LDS reads under checks: lanes whose dword was written */
};

/* Sets `contiguous`: all lanes, `bytes` apart. */
void em_target_order(struct em_target *t, unsigned bytes);

/* Bounds, alignment of atomics, races and counters of an access of `bytes` a lane.
 * `data`: the register rows that a store stores; else NULL. */
enum em_flow em_target_check(struct em_wave *w,
                             const struct em_op *op,
                             const struct em_memory_rule *rule,
                             struct em_target *t,
                             const uint32_t *data);

/* Checks and carries out a load, a store or an atomic, and keeps the shadow of what was
 * loaded. Does not count it as outstanding. */
enum em_flow em_target_run(struct em_wave *w,
                           const struct em_op *op,
                           const struct em_memory_rule *rule,
                           struct em_target *t);

/* The data register of a load or an atomic that returns. */
struct em_operand em_loaded(const struct em_op *op);

#endif
