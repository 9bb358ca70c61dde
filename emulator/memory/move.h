/* Moves between 64 lanes' registers and memory: the part of loads and stores that is
 * left when all addresses are known and checked. */
#ifndef WF_EMULATOR_MEMORY_MOVE_H
#define WF_EMULATOR_MEMORY_MOVE_H

#include <stdbool.h>
#include <stdint.h>

struct em_move {
    uint8_t *base;           /* added to every address; NULL: they are the host's */
    const uint64_t *address; /* [64]; of lanes that do not take part: anything */
    uint64_t lanes;          /* that take part; not 0 */
    uint32_t *row;           /* first of the registers: [dwords][64] */
    bool contiguous;         /* all lanes take part, lane after lane */
};
typedef void (*em_move_fn)(const struct em_move *m);

/* Loads. Sub-dword ones extend to 32 bits; d16 ones replace one half of the register.
 */
void em_load_u8(const struct em_move *m);
void em_load_i8(const struct em_move *m);
void em_load_u16(const struct em_move *m);
void em_load_i16(const struct em_move *m);
void em_load_u8_d16(const struct em_move *m);
void em_load_u8_d16_hi(const struct em_move *m);
void em_load_i8_d16(const struct em_move *m);
void em_load_i8_d16_hi(const struct em_move *m);
void em_load_b16_d16(const struct em_move *m);
void em_load_b16_d16_hi(const struct em_move *m);
void em_load_x1(const struct em_move *m);
void em_load_x2(const struct em_move *m);
void em_load_x3(const struct em_move *m);
void em_load_x4(const struct em_move *m);

/* Stores. Where lanes meet, the highest one wins. */
void em_store_b8(const struct em_move *m);
void em_store_b8_d16_hi(const struct em_move *m);
void em_store_b16(const struct em_move *m);
void em_store_b16_d16_hi(const struct em_move *m);
void em_store_x1(const struct em_move *m);
void em_store_x2(const struct em_move *m);
void em_store_x3(const struct em_move *m);
void em_store_x4(const struct em_move *m);

/* The rows (2 to 4) as the lanes' own 16 bytes each; what is missing is row 0 again. */
void em_move_to_lanes(const uint32_t *row, unsigned rows, uint8_t ret[64][16]);

#endif
