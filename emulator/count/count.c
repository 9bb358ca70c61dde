/* Adds up what memory instructions do. */
#include "emulator/count/count.h"

#include "core/buf.h"

#include <stdlib.h>

enum {
    LINE_SHIFT = 7, /* 128 bytes */
    BANKS = 32
};

enum wf_status em_counts_init(struct em_counts *c,
                              size_t code_dwords,
                              struct wf_error *err)
{
    memset(c, 0, sizeof(*c));
    c->executed = wf_calloc(code_dwords ? code_dwords : 1, sizeof(*c->executed));
    if (!c->executed) {
        return wf_errorf(err, WF_ENOMEM, "no memory for counters");
    }
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

static unsigned lines_of(const struct em_access *access)
{
    uint64_t seen[128];
    unsigned n = 0;
    for (uint64_t lanes = access->lanes; lanes; lanes &= lanes - 1) {
        uint64_t at = access->address[__builtin_ctzll(lanes)];
        uint64_t last = (at + access->bytes - 1) >> LINE_SHIFT;
        for (uint64_t line = at >> LINE_SHIFT; line <= last; line++) {
            unsigned i = n;
            while (i > 0 && seen[i - 1] != line) {
                i--;
            }
            if (i == 0 && n < 128) {
                seen[n++] = line;
            }
        }
    }
    return n;
}

void em_count_global(struct em_wave *w, const struct em_access *access)
{
    struct em_counts *c = w->counts;
    uint64_t bytes = (uint64_t)lanes_of(access) * access->bytes;
    c->global_read_bytes += access->kind == EM_READ ? bytes : 0;
    c->global_write_bytes += access->kind == EM_READ ? 0 : bytes;
    c->atomic_lanes += access->kind == EM_ATOMIC ? lanes_of(access) : 0;
    c->global_accesses += access->lanes != 0;
    c->global_lines += lines_of(access);
}

void em_count_lds(struct em_wave *w,
                  const struct em_op *op,
                  const struct em_access *access)
{
    (void)op;
    w->counts->lds_bytes += (uint64_t)lanes_of(access) * access->bytes;
    w->counts->lds_cycles +=
        ((uint64_t)lanes_of(access) * access->bytes + BANKS * 4 - 1) / (BANKS * 4);
}

void em_count_scratch(struct em_wave *w, const struct em_access *access)
{
    w->counts->scratch_bytes += (uint64_t)lanes_of(access) * access->bytes;
}
