/* Source lines of a code object's addresses, from its .debug_line. */
#ifndef WF_EMULATOR_LOAD_LINES_H
#define WF_EMULATOR_LOAD_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct em_lines; /* opaque */

/* NULL: no memory. `elf` is only read when the first line is asked for, and outlives
 * the result. */
struct em_lines *em_lines_create(const uint8_t *elf, size_t bytes);
void em_lines_destroy(struct em_lines *lines);
/* "file.hip:12" of an address of the file; false where there is none. Any thread. */
bool em_lines_find(struct em_lines *lines, uint64_t address, char *text, size_t bytes);

#endif
