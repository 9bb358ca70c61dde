/* Adds up what memory instructions do: the 128-byte lines that an access of a wave
 * touches, and the cycles that LDS's banks need for it.
 *
 * LDS: 32 banks of 4 bytes. The lanes are served in groups: 32 lanes for up to 4 bytes
 * a lane, 16 for 8 bytes, 8 for more, of neighbouring lanes but for 16-byte reads,
 * whose groups are those that AMD documents. A group takes as many cycles as its worst
 * bank has different dwords; lanes that ask for the same dword share it. */
#include "emulator/count/count.h"

#include "core/buf.h"

#include <stdlib.h>

enum {
    LINE_SHIFT = 7, /* 128 bytes */
    BANKS = 32,
    MAX_LINES = 2 * EM_LANES,
    NEAR = 512, /* lines */
    PLACES_SHIFT = 8,
    PLACES = 1 << PLACES_SHIFT
};

enum wf_status em_counts_init(struct em_counts *c,
                              size_t code_dwords,
                              struct wf_error *err)
{
    /* One more: a wave that runs off the end of its code is counted before it faults.
     */
    uint64_t *executed = wf_calloc(code_dwords + 1, sizeof(*executed));
    if (!executed) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the counters of %zu dwords",
                         code_dwords);
    }
    memset(c, 0, sizeof(*c));
    c->executed = executed;
    c->count = code_dwords;
    return WF_OK;
}

void em_counts_fini(struct em_counts *c)
{
    free(c->executed);
    memset(c, 0, sizeof(*c));
}

void em_counts_add(struct em_counts *to, const struct em_counts *from)
{
    for (size_t i = 0; i < from->count && i < to->count; i++) {
        to->executed[i] += from->executed[i];
    }
#define X(member, unit, words) to->member += from->member;
    EM_MEMORY_COUNTS(X)
#undef X
}

static unsigned lanes_of(const struct em_access *access)
{
    return (unsigned)__builtin_popcountll(access->lanes);
}

/* The lines of the lanes' accesses, in the order of lanes; returns how many. */
static unsigned list_lines(const struct em_access *access, uint64_t ret[MAX_LINES])
{
    unsigned n = 0;
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        uint64_t at = access->address[__builtin_ctzll(lanes)];
        uint64_t first = at >> LINE_SHIFT;
        uint64_t last = (at + access->bytes - 1) >> LINE_SHIFT;
        ret[n] = first;
        ret[n + 1] = last;
        n += first == last ? 1 : 2;
    }
    return n;
}

/* Whether no line is lower than the one before; *ret: how many differ. */
static bool is_upwards(const uint64_t *line, unsigned n, unsigned *ret)
{
    uint64_t down = 0;
    uint64_t differ = 0;
    for (unsigned i = 1; i < n; i++) {
        down |= line[i] - line[i - 1]; /* addresses have 48 bits */
        differ += line[i] != line[i - 1];
    }
    *ret = (unsigned)differ + 1;
    return down >> 63 == 0;
}

/* The different ones of up to MAX_LINES lines that are near each other. */
static unsigned count_near(const uint64_t *line, unsigned n, uint64_t lowest)
{
    uint64_t seen[NEAR / 64] = { 0 };
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t place = line[i] - lowest;
        seen[place / 64] |= UINT64_C(1) << place % 64;
    }
    for (unsigned i = 0; i < NEAR / 64; i++) {
        count += (unsigned)__builtin_popcountll(seen[i]);
    }
    return count;
}

/* The different ones of any, by a table of twice as many places. */
static unsigned count_far(const uint64_t *line, unsigned n)
{
    uint64_t table[PLACES];
    memset(table, 0xff, sizeof(table));
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t place = line[i] * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PLACES_SHIFT);
        while (table[place] != UINT64_MAX && table[place] != line[i]) {
            place = (place + 1) % PLACES;
        }
        count += table[place] == UINT64_MAX;
        table[place] = line[i];
    }
    return count;
}

/* Different lines among the lanes' accesses. */
static unsigned lines_of(const struct em_access *access)
{
    uint64_t line[MAX_LINES + 1];
    unsigned n = list_lines(access, line);
    unsigned count;
    if (is_upwards(line, n, &count)) {
        return count;
    }
    uint64_t lowest = line[0];
    uint64_t highest = line[0];
    for (unsigned i = 1; i < n; i++) {
        lowest = line[i] < lowest ? line[i] : lowest;
        highest = line[i] > highest ? line[i] : highest;
    }
    return highest - lowest < NEAR ? count_near(line, n, lowest) : count_far(line, n);
}

void em_count_global(struct em_wave *w, const struct em_access *access)
{
    struct em_counts *c = w->counts;
    if (access->lanes == 0) {
        return;
    }
    uint64_t bytes = (uint64_t)lanes_of(access) * access->bytes;
    if (access->kind == EM_READ) {
        c->global_read_bytes += bytes;
    } else {
        c->global_write_bytes += bytes;
    }
    if (access->kind == EM_ATOMIC) {
        c->atomic_lanes += lanes_of(access);
    }
    c->global_accesses++;
    if (access->contiguous) {
        uint64_t first = access->address[0] >> LINE_SHIFT;
        c->global_lines += ((access->address[0] + bytes - 1) >> LINE_SHIFT) - first + 1;
    } else {
        c->global_lines += lines_of(access);
    }
}

/* The lanes that are served together. */
struct groups {
    unsigned count;
    const uint64_t *lanes;
};

static struct groups groups_of(const struct em_access *access)
{
    static const uint64_t of_32[] = { 0x00000000ffffffff, 0xffffffff00000000 };
    static const uint64_t of_16[] = { 0xffff, 0xffff0000, 0xffff00000000,
                                      0xffff000000000000 };
    static const uint64_t of_8[] = {
        0xff,         0xff00,         0xff0000,         0xff000000,
        0xff00000000, 0xff0000000000, 0xff000000000000, 0xff00000000000000
    };
    static const uint64_t reads_of_16_bytes[] = {
        0x00f0000f,         0x000f00f0,         0xf0000f00,         0x0f00f000,
        0x00f0000f00000000, 0x000f00f000000000, 0xf0000f0000000000, 0x0f00f00000000000
    };
    if (access->bytes <= 4) {
        return (struct groups){ 2, of_32 };
    }
    if (access->bytes <= 8) {
        return (struct groups){ 4, of_16 };
    }
    bool read = access->kind == EM_READ && access->bytes == 16;
    return (struct groups){ 8, read ? reads_of_16_bytes : of_8 };
}

/* Cycles of one group by the dwords that each bank has to give. Lanes mostly go through
 * LDS upwards, so that a dword beyond the bank's highest so far is new without a
 * search.
 */
static unsigned by_dwords(const struct em_access *access, uint64_t lanes)
{
    uint32_t seen[BANKS][EM_LANES * 2];
    uint32_t highest[BANKS];
    uint8_t n[BANKS] = { 0 };
    unsigned worst = 1;
    for (; lanes; lanes &= lanes - 1) {
        uint64_t at = access->address[__builtin_ctzll(lanes)];
        uint32_t last = (uint32_t)((at + access->bytes - 1) / 4);
        for (uint32_t dword = (uint32_t)(at / 4); dword <= last; dword++) {
            unsigned bank = dword % BANKS;
            unsigned i = 0;
            if (n[bank] > 0 && dword > highest[bank]) {
                i = n[bank];
            }
            while (i < n[bank] && seen[bank][i] != dword) {
                i++;
            }
            if (i == n[bank] && i < EM_LANES * 2) {
                seen[bank][n[bank]++] = dword;
                highest[bank] = i == 0 || dword > highest[bank] ? dword : highest[bank];
            }
            worst = n[bank] > worst ? n[bank] : worst;
        }
    }
    return worst;
}

/* Each lane's banks, as a bit: units are the lanes' 1, 2 or 4 dwords, which are
 * aligned; `shift` is their log2 of bytes. */
static void banks_of(const struct em_access *access,
                     unsigned shift,
                     uint32_t ret[EM_LANES])
{
    uint32_t places = UINT32_C(128) >> shift;
    for (unsigned i = 0; i < EM_LANES; i++) {
        uint32_t unit = (uint32_t)access->address[i] >> shift;
        uint32_t takes_part = (uint32_t)(access->lanes >> i & 1);
        ret[i] = takes_part << (unit & (places - 1));
    }
}

/* Whether all lanes have banks of their own: then and only then the sum of the bits is
 * what they are together. */
static bool is_apart(const uint32_t bank[EM_LANES], uint64_t lanes)
{
    uint64_t sum = 0;
    uint64_t all = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint64_t bit = bank[__builtin_ctzll(lanes)];
        sum += bit;
        all |= bit;
    }
    return sum == all;
}

/* Whether each bank has at most one dword to give. */
static bool is_free(const struct em_access *access, uint64_t lanes, unsigned shift)
{
    uint32_t unit_of[BANKS] = { 0 };
    uint32_t used = 0;
    uint32_t places = UINT32_C(128) >> shift;
    for (; lanes; lanes &= lanes - 1) {
        uint64_t at = access->address[__builtin_ctzll(lanes)];
        uint32_t unit = (uint32_t)(at >> shift);
        uint32_t place = unit & (places - 1);
        if ((used >> place & 1) && unit_of[place] != unit) {
            return false;
        }
        used |= UINT32_C(1) << place;
        unit_of[place] = unit;
    }
    return true;
}

static bool is_aligned(const struct em_access *access)
{
    uint64_t low = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        low |= access->lanes >> i & 1 ? access->address[i] : 0;
    }
    return (low & (access->bytes - 1)) == 0;
}

static unsigned log2_of(unsigned bytes)
{
    return bytes <= 4 ? 2 : bytes == 8 ? 3 : bytes == 16 ? 4 : 0;
}

static void count_groups(struct em_counts *c, const struct em_access *access)
{
    struct groups groups = groups_of(access);
    unsigned shift = log2_of(access->bytes);
    bool units = shift != 0 && is_aligned(access);
    uint32_t bank[EM_LANES];
    if (units) {
        banks_of(access, shift, bank);
    }
    for (unsigned i = 0; i < groups.count; i++) {
        uint64_t lanes = groups.lanes[i] & access->lanes;
        if (lanes) {
            bool free_of_conflicts =
                units && (is_apart(bank, lanes) || is_free(access, lanes, shift));
            unsigned cycles = free_of_conflicts ? 1 : by_dwords(access, lanes);
            c->lds_cycles += cycles;
            c->lds_conflict_cycles += cycles - 1;
        }
    }
}

void em_count_lds(struct em_wave *w,
                  const struct em_op *op,
                  const struct em_access *access)
{
    (void)op;
    struct em_counts *c = w->counts;
    c->lds_bytes += (uint64_t)lanes_of(access) * access->bytes;
    if (access->contiguous && access->bytes >= 4 && log2_of(access->bytes) != 0 &&
        access->address[0] % access->bytes == 0) {
        c->lds_cycles += groups_of(access).count;
        return;
    }
    count_groups(c, access);
}

void em_count_scratch(struct em_wave *w, const struct em_access *access)
{
    w->counts->scratch_bytes += (uint64_t)lanes_of(access) * access->bytes;
}
