/* A fault that a kernel committed: what, where, and the answer that it stands for. */
#ifndef WF_EMULATOR_CHECK_FAULT_H
#define WF_EMULATOR_CHECK_FAULT_H

#include "emulator/exec/wave.h"

/* X(kind, answer of the runner, words) */
#define EM_FAULT_KINDS(X)                                                             \
    X(OUT_OF_BOUNDS, "OUT_OF_BOUNDS", "access outside of every allocation")           \
    X(USE_AFTER_FREE, "OUT_OF_BOUNDS", "access to freed memory")                      \
    X(READ_ONLY, "OUT_OF_BOUNDS", "write to read-only memory")                        \
    X(LDS_OUT_OF_BOUNDS, "OUT_OF_BOUNDS", "access outside of the workgroup's LDS")    \
    X(SCRATCH_OUT_OF_BOUNDS, "OUT_OF_BOUNDS", "access outside of the lane's scratch") \
    X(MISALIGNED, "DEVICE_FAULT", "misaligned access")                                \
    X(UNINITIALISED, "UNINITIALISED_READ", "use of a value that was never written")   \
    X(MISSING_WAIT, "RACE", "register used before its load was waited for")           \
    X(LDS_RACE, "RACE", "two waves touch the same LDS without a barrier")             \
    X(GLOBAL_RACE, "RACE", "two waves touch the same memory without order")           \
    X(DIVERGENT_BARRIER, "DEVICE_FAULT", "barrier that not all waves reach")          \
    X(ENDLESS, "TIMEOUT", "instruction budget is used up")                            \
    X(NOT_IMPLEMENTED, "DEVICE_FAULT", "instruction that is not implemented")         \
    X(BAD_INSTRUCTION, "DEVICE_FAULT", "no instruction of gfx942")                    \
    X(BAD_JUMP, "DEVICE_FAULT", "jump out of the code")                               \
    X(BAD_REGISTER, "DEVICE_FAULT", "register beyond those of the kernel")            \
    X(TRAP, "DEVICE_FAULT", "trap")

enum em_fault_kind {
    EM_FAULT_NONE,
#define X(name, answer, words) EM_FAULT_##name,
    EM_FAULT_KINDS(X)
#undef X
};
const char *em_fault_name(enum em_fault_kind kind);   /* "LDS_RACE" */
const char *em_fault_answer(enum em_fault_kind kind); /* "RACE" */
const char *em_fault_words(enum em_fault_kind kind);

struct em_fault {
    enum em_fault_kind kind;
    uint32_t pc; /* index of the instruction's dword */
    uint32_t workgroup[3];
    uint64_t workgroup_index; /* x fastest */
    unsigned wave;
    int lane; /* -1: the whole wave */
    bool has_address;
    uint64_t address;
    /* The other party of a race, or where the value came from; other_pc UINT32_MAX
     * where there is none. */
    uint32_t other_pc;
    unsigned other_wave;
    char text[256]; /* in words: the access, the nearest allocation, the register */
};

/* Records the wave's fault (the first one of a wave counts; of a launch the one with
 * the lowest workgroup, then wave) and returns EM_FAULTED. `address` NULL: none. */
__attribute__((format(printf, 6, 7))) enum em_flow em_fault(struct em_wave *w,
                                                            const struct em_op *op,
                                                            enum em_fault_kind kind,
                                                            int lane,
                                                            const uint64_t *address,
                                                            const char *format,
                                                            ...);
/* As em_fault, of an access to global memory that its allocation (or the lack of one)
 * does not allow: the kind and the words are the address space's. */
enum em_flow em_memory_fault(struct em_wave *w,
                             const struct em_op *op,
                             int lane,
                             uint64_t address,
                             uint64_t bytes,
                             bool write);
/* The recorded fault may still be completed by whoever called em_fault. */
struct em_fault *em_wave_fault(struct em_wave *w);

#endif
