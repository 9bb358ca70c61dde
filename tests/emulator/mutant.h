/* Code objects with one instruction taken out, for tests: what the checks must see. */
#ifndef WF_TESTS_EMULATOR_MUTANT_H
#define WF_TESTS_EMULATOR_MUTANT_H

#include "program.h"

struct mutants {
    const char *path;
    uint8_t *file;
    size_t bytes;
    size_t text;          /* of the code's first dword, in the file */
    struct program whole; /* without a change */
};

/* Ends the test program where the file cannot be read. */
struct mutants mutants_open(const char *path);
void mutants_close(struct mutants *m);
/* The kernel's n-th instruction of that operation: index of its dword; false: there are
 * fewer. */
bool mutants_find(const struct mutants *m,
                  const char *kernel,
                  enum em_opcode op,
                  unsigned n,
                  uint32_t *ret_index);
/* The code object with s_nop 0 in place of the instruction's first dword. */
struct program mutants_without(const struct mutants *m, uint32_t index);

#endif
