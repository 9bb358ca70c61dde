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
/* A component as the 16 bits of d16 operations, and back: f16, or an integer (narrowed
 * by dropping bits). */
uint32_t em_format_to_d16(uint8_t format, uint32_t value);
uint32_t em_format_from_d16(uint8_t format, uint32_t half);

#endif
