/* The decoded instructions of a code object's executable part. */
#ifndef WF_EMULATOR_EXEC_CODE_H
#define WF_EMULATOR_EXEC_CODE_H

#include "core/error.h"
#include "emulator/exec/wave.h"

struct em_code; /* opaque; immutable once made, shared by threads */

/* `words` are copied. `address` is where words[0] is in the device's address space. */
enum wf_status em_code_create(const uint32_t *words,
                              size_t count,
                              uint64_t address,
                              struct em_code **ret,
                              struct wf_error *err);
void em_code_destroy(struct em_code *code);
size_t em_code_count(const struct em_code *code); /* dwords */
uint64_t em_code_address(const struct em_code *code, uint32_t index);
/* Index of an address; false where it is not in the code or not on a dword. */
bool em_code_index(const struct em_code *code, uint64_t address, uint32_t *ret);
/* The instruction that starts at that dword; index < count. */
const struct em_op *em_code_at(const struct em_code *code, uint32_t index);
/* Whether the code holds global atomics whose order changes a result (floating point,
 * or a value returned): such launches run their workgroups in order, on one thread. */
bool em_code_order_matters(const struct em_code *code);

/* What the code that a kernel can reach from its entry does; where it jumps through a
 * register, all of the code counts. */
struct em_reach {
    bool order_matters;           /* as above, of this kernel */
    unsigned vgprs, agprs, sgprs; /* the highest register named, + 1 */
};
enum wf_status em_code_reach(const struct em_code *code,
                             uint32_t entry,
                             struct em_reach *ret,
                             struct wf_error *err);

#endif
