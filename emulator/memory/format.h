/* Typed elements of buffers. A format is dfmt | nfmt << 4. */
#ifndef WF_EMULATOR_MEMORY_FORMAT_H
#define WF_EMULATOR_MEMORY_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of an element; 0: not implemented (packed floats of 10 and 11 bits, and what
 * the device does not have). */
unsigned em_format_bytes(uint8_t format);
/* `select`: the resource's, 3 bits a component: 0, 1, or 4 to 7 for x to w. */
void em_format_load(uint8_t format,
                    uint16_t select,
                    const uint8_t *at,
                    uint32_t ret[4]);
/* The first `count` components are given, the others are stored as 0. */
void em_format_store(uint8_t format,
                     const uint32_t value[4],
                     unsigned count,
                     uint8_t *at);

#endif
