/* Races of LDS and global memory against a plain model that keeps every access: what is
 * reported is a race, and races of whole dwords are found. */
#include "emulator/check/race.h"
#include "emulator/check/shadow.h"
#include "emulator/launch/group.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAVES = 4,
    GROUPS = 3,
    BYTES = 1024,
    MAX_SEEN = 64
};

/* Workgroups with their waves, without registers that anything looks at. */
struct stage {
    struct em_group group[GROUPS];
    struct em_wave *wave[GROUPS][WAVES];
    struct em_global_shadow *global;
    uint8_t *memory; /* global */
    uint64_t random;
};

static void open_stage(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    s->global = em_global_shadow_create();
    s->memory = aligned_alloc(64, BYTES);
    cr_assert(s->global && s->memory);
    memset(s->memory, 0, BYTES);
    for (unsigned g = 0; g < GROUPS; g++) {
        struct em_group *group = &s->group[g];
        group->waves = WAVES;
        group->index = g;
        group->lds_bytes = BYTES;
        group->lds = aligned_alloc(64, EM_MAX_LDS_BYTES);
        group->lds_shadow = em_lds_shadow_create(BYTES);
        group->global_shadow = s->global;
        for (unsigned i = 0; i < WAVES; i++) {
            struct em_wave *w = em_wave_create();
            cr_assert(w && group->lds && group->lds_shadow);
            w->id = i;
            w->group = group;
            w->shadow = em_shadow_create();
            cr_assert(w->shadow);
            group->wave[i] = w;
            s->wave[g][i] = w;
        }
    }
    s->random = 88172645463325252;
}

static void close_stage(struct stage *s)
{
    for (unsigned g = 0; g < GROUPS; g++) {
        for (unsigned i = 0; i < WAVES; i++) {
            em_shadow_destroy(s->wave[g][i]->shadow);
            em_wave_destroy(s->wave[g][i]);
        }
        free(s->group[g].lds);
        em_lds_shadow_destroy(s->group[g].lds_shadow);
    }
    em_global_shadow_destroy(s->global);
    free(s->memory);
}

static uint32_t draw(struct stage *s, uint32_t below)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (uint32_t)(s->random >> 20) % below;
}

/* An access of some lanes, with what they write. */
struct trial {
    struct em_access access;
    uint64_t address[EM_LANES];
    uint8_t data[EM_LANES][16];
};

static void make_access(struct trial *t, enum em_access_kind kind, unsigned bytes)
{
    memset(&t->access, 0, sizeof(t->access));
    t->access.kind = kind;
    t->access.bytes = bytes;
    t->access.address = t->address;
    t->access.data = kind == EM_WRITE ? t->data[0] : NULL;
    t->access.stride = 16;
}

/* Up to eight lanes anywhere, on whole dwords or on parts of them. */
static void draw_access(struct stage *s, struct trial *t, bool whole, uint64_t base)
{
    static const unsigned sizes[] = { 4, 8, 16, 12, 1, 2 };
    unsigned bytes = sizes[draw(s, whole ? 4 : 6)];
    uint32_t kind = draw(s, whole ? 2 : 5);
    make_access(t, kind < 3 ? (enum em_access_kind)kind : EM_READ, bytes);
    if (t->access.kind == EM_ATOMIC && bytes != 8) {
        t->access.bytes = 4;
    }
    bytes = t->access.bytes;
    for (unsigned lane = 0; lane < 8; lane++) {
        unsigned align = bytes < 4 ? bytes : 4;
        t->address[lane] = base + draw(s, (BYTES - 16) / align) * align;
        for (unsigned i = 0; i < 16; i++) {
            t->data[lane][i] = (uint8_t)draw(s, 3);
        }
    }
    t->access.lanes = draw(s, 255) + 1;
}

/* All lanes in a row: of bytes, halves, dwords or more. */
static void draw_row(struct stage *s, struct trial *t, bool whole, uint64_t base)
{
    static const unsigned sizes[] = { 4, 8, 16, 1, 2 };
    unsigned bytes = sizes[draw(s, whole ? 3 : 5)];
    make_access(t, draw(s, 2) ? EM_WRITE : EM_READ, bytes);
    uint64_t first = base + draw(s, (BYTES - EM_LANES * bytes) / 4 + 1) * 4;
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        t->address[lane] = first + (uint64_t)lane * bytes;
    }
    t->access.lanes = UINT64_MAX;
    t->access.contiguous = true;
    t->access.stride = bytes > 4 ? 16 : 4;
}

/* What a byte went through since the last barrier. */
struct seen {
    unsigned n;
    struct {
        uint16_t group, wave;
        uint16_t kind;
    } by[MAX_SEEN];
};

/* Whether an access of the byte is in conflict with an earlier one. */
static bool conflicts(const struct seen *seen,
                      unsigned group,
                      unsigned wave,
                      enum em_access_kind kind)
{
    for (unsigned i = 0; i < seen->n; i++) {
        bool same = seen->by[i].group == group && seen->by[i].wave == wave;
        bool reads = kind == EM_READ && seen->by[i].kind == EM_READ;
        bool atomics = kind == EM_ATOMIC && seen->by[i].kind == EM_ATOMIC;
        if (!same && !reads && !atomics) {
            return true;
        }
    }
    return false;
}

static void note(struct seen *seen,
                 unsigned group,
                 unsigned wave,
                 enum em_access_kind kind)
{
    if (seen->n < MAX_SEEN) {
        seen->by[seen->n].group = (uint16_t)group;
        seen->by[seen->n].wave = (uint16_t)wave;
        seen->by[seen->n].kind = (uint16_t)kind;
        seen->n++;
    }
}

/* Goes through the lanes' bytes: whether any is in conflict; then notes them and
 * carries the writes out. Bytes that are written as they are count for nothing. */
static bool model_access(struct seen *seen,
                         uint8_t *memory,
                         uint64_t base,
                         const struct trial *t,
                         unsigned group,
                         unsigned wave)
{
    bool found = false;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint64_t lanes = t->access.lanes; lanes; lanes &= lanes - 1) {
            unsigned lane = (unsigned)__builtin_ctzll(lanes);
            for (unsigned i = 0; i < t->access.bytes; i++) {
                size_t at = (size_t)(t->address[lane] - base) + i;
                if (pass == 0) {
                    found = found || conflicts(&seen[at], group, wave, t->access.kind);
                } else {
                    note(&seen[at], group, wave, t->access.kind);
                    const uint8_t *data = t->data[0] + lane * t->access.stride;
                    memory[at] = t->access.kind == EM_WRITE ? data[i] : memory[at];
                }
            }
        }
    }
    return found;
}

/* Every value that is written is a new one. */
static void make_new(struct trial *t, uint32_t *counter)
{
    for (unsigned lane = 0; lane < EM_LANES; lane++) {
        for (unsigned i = 0; i < 4; i++) {
            uint32_t value = ++*counter;
            memcpy(&t->data[lane][i * 4], &value, 4);
        }
    }
}

static const struct em_op lds_op = { .class = EM_CLASS_LDS };
static const struct em_op global_op = { .class = EM_CLASS_VMEM_LOAD };

static void lds_trials(struct stage *s, bool whole, unsigned trials)
{
    static struct seen seen[BYTES];
    static struct trial t;
    struct em_group *g = &s->group[0];
    uint32_t counter = 0;
    unsigned reported = 0;
    unsigned quiet = 0;
    memset(seen, 0, sizeof(seen));
    em_lds_shadow_reset(g->lds_shadow);
    for (unsigned n = 0; n < trials; n++) {
        unsigned wave = draw(s, WAVES);
        draw_access(s, &t, whole, 0);
        make_new(&t, &counter);
        bool fault = em_race_lds(g->wave[wave], &lds_op, &t.access, NULL) == EM_FAULTED;
        bool expected = model_access(seen, g->lds, 0, &t, 0, wave);
        cr_assert(!fault || expected, "trial %u: %s", n, g->fault.text);
        cr_assert(!whole || fault == expected, "trial %u is a race", n);
        reported += fault;
        quiet += !fault;
        if (fault) { /* what the access left behind is not settled */
            memset(&g->fault, 0, sizeof(g->fault));
            memset(seen, 0, sizeof(seen));
            em_lds_shadow_reset(g->lds_shadow);
            g->epoch = 0;
        } else if (draw(s, 3) == 0) {
            g->epoch++;
            memset(seen, 0, sizeof(seen));
        }
    }
    cr_assert_gt(reported, trials / 50);
    cr_assert_gt(quiet, trials / 50);
}

Test(race, lds_whole_dwords_exactly)
{
    struct stage s;
    open_stage(&s);
    lds_trials(&s, true, 20000);
    close_stage(&s);
}

Test(race, lds_parts_and_atomics_without_false_reports)
{
    struct stage s;
    open_stage(&s);
    lds_trials(&s, false, 20000);
    close_stage(&s);
}

/* The next launch has the shadow of the last one, or a new one. */
static void next_launch(struct stage *s)
{
    if (draw(s, 3) == 0 || !em_global_shadow_renew(s->global)) {
        em_global_shadow_destroy(s->global);
        s->global = em_global_shadow_create();
        cr_assert_not_null(s->global);
    }
    for (unsigned i = 0; i < GROUPS; i++) {
        s->group[i].global_shadow = s->global;
        s->group[i].race_ordered = false;
    }
}

/* Of 8 accesses, `rows` are rows of all lanes. */
static void global_trials(struct stage *s, bool whole, unsigned rows, unsigned trials)
{
    static struct seen seen[BYTES];
    static struct trial t;
    uint64_t base = (uint64_t)(uintptr_t)s->memory;
    uint32_t counter = 0;
    unsigned reported = 0;
    unsigned quiet = 0;
    memset(seen, 0, sizeof(seen));
    for (unsigned n = 0; n < trials; n++) {
        unsigned group = draw(s, GROUPS);
        unsigned wave = draw(s, WAVES);
        struct em_group *g = &s->group[group];
        if (draw(s, 8) < rows) {
            draw_row(s, &t, whole, base);
        } else {
            draw_access(s, &t, whole, base);
        }
        make_new(&t, &counter);
        bool fault = em_race_global(g->wave[wave], &global_op, &t.access) == EM_FAULTED;
        bool expected = model_access(seen, s->memory, base, &t, group, wave);
        cr_assert(!fault || expected, "trial %u: %s", n, g->fault.text);
        cr_assert(rows < 8 || !whole || fault == expected, "trial %u is a race", n);
        /* Readers that share a dword by parts, or with later ones, may hide. */
        reported += fault;
        quiet += !fault;
        if (fault || draw(s, 4) == 0) { /* the next launch */
            memset(&g->fault, 0, sizeof(g->fault));
            memset(seen, 0, sizeof(seen));
            next_launch(s);
        }
    }
    cr_assert_gt(reported, trials / 50);
    cr_assert_gt(quiet, trials / 50);
}

Test(race, global_whole_dwords)
{
    struct stage s;
    open_stage(&s);
    global_trials(&s, true, 0, 3000);
    close_stage(&s);
}

Test(race, global_parts_and_atomics_without_false_reports)
{
    struct stage s;
    open_stage(&s);
    global_trials(&s, false, 0, 3000);
    close_stage(&s);
}

/* All lanes' dwords in a row, the way that most code has it. */
static enum em_flow lds_row(struct em_wave *w,
                            enum em_access_kind kind,
                            uint32_t at,
                            uint32_t value,
                            uint64_t ret_written[4])
{
    struct trial t;
    uint32_t row[EM_LANES];
    make_access(&t, kind, 4);
    for (unsigned i = 0; i < EM_LANES; i++) {
        t.address[i] = at + i * 4;
        row[i] = value;
    }
    t.access.lanes = UINT64_MAX;
    t.access.contiguous = true;
    t.access.data = kind == EM_WRITE ? (const uint8_t *)row : NULL;
    t.access.stride = 4;
    enum em_flow flow = em_race_lds(w, &lds_op, &t.access, ret_written);
    if (flow == EM_GO && kind == EM_WRITE) {
        memcpy(w->group->lds + at, row, sizeof(row));
    }
    return flow;
}

static uint64_t lds_reads(struct em_wave *w, uint64_t address, unsigned bytes)
{
    struct trial t;
    uint64_t written[4];
    make_access(&t, EM_READ, bytes);
    t.access.lanes = 1;
    t.address[0] = address;
    cr_assert_eq(em_race_lds(w, &lds_op, &t.access, written), EM_GO);
    return written[0] & 1;
}

/* Compilers read more bytes than they use. */
Test(race, lds_counts_as_written_where_one_byte_of_a_dword_is)
{
    struct stage s;
    open_stage(&s);
    struct em_wave *w = s.wave[0][0];
    struct trial t;
    static const uint8_t byte = 1;
    uint64_t written[4];
    make_access(&t, EM_WRITE, 1);
    t.access.lanes = 1;
    t.access.data = &byte;
    t.address[0] = 5;
    cr_assert_eq(em_race_lds(w, &lds_op, &t.access, NULL), EM_GO);
    cr_assert_eq(lds_reads(w, 4, 4), 1);
    cr_assert_eq(lds_reads(w, 4, 2), 1);
    cr_assert_eq(lds_reads(w, 2, 4), 1, "from 2 to 5");
    cr_assert_eq(lds_reads(w, 6, 2), 0);
    cr_assert_eq(lds_reads(w, 0, 4), 0);
    cr_assert_eq(lds_reads(w, 8, 4), 0);
    cr_assert_eq(lds_row(w, EM_READ, 0, 0, written), EM_GO);
    cr_assert_eq(written[0], 2, "the second lane's");
    close_stage(&s);
}

Test(race, rows_of_lds)
{
    struct stage s;
    open_stage(&s);
    struct em_wave **w = s.wave[0];
    uint64_t written[4];
    cr_assert_eq(lds_row(w[0], EM_READ, 0, 0, written), EM_GO);
    cr_assert_eq(written[0], 0, "nothing was written");
    s.group[0].epoch++;
    cr_assert_eq(lds_row(w[0], EM_WRITE, 0, 7, NULL), EM_GO);
    cr_assert_eq(lds_row(w[1], EM_WRITE, 0, 7, NULL), EM_GO, "the same value");
    cr_assert_eq(lds_row(w[1], EM_READ, 0, 0, written), EM_GO, "its own value");
    cr_assert_eq(written[0], UINT64_MAX);
    cr_assert_eq(lds_row(w[1], EM_READ, 4, 0, written), EM_GO);
    cr_assert_eq(written[0], UINT64_MAX >> 1, "the last lane's was not written");
    cr_assert_eq(lds_row(w[2], EM_READ, 0, 0, NULL), EM_FAULTED);
    cr_assert_eq(s.group[0].fault.kind, EM_FAULT_LDS_RACE);
    cr_assert_eq(s.group[0].fault.other_wave, 0);
    close_stage(&s);
}

/* A barrier orders what was waited for before it. */
Test(race, a_write_that_was_not_waited_for)
{
    struct stage s;
    open_stage(&s);
    struct em_wave **w = s.wave[0];
    const struct em_span none = { 0, 0 };
    for (unsigned waits = 0; waits < 2; waits++) {
        em_lds_shadow_reset(s.group[0].lds_shadow);
        s.group[0].epoch = 0;
        cr_assert_eq(lds_row(w[0], EM_WRITE, 0, 100 + waits, NULL), EM_GO);
        em_shadow_issue(w[0], &lds_op, EM_LGKM_LDS, none, 0, 0);
        if (waits) {
            em_shadow_wait(w[0], UINT_MAX, 0);
        }
        s.group[0].epoch++;
        em_shadow_wait(w[0], UINT_MAX, 0);
        enum em_flow flow = lds_row(w[1], EM_READ, 0, 0, NULL);
        cr_assert_eq(flow, waits ? EM_GO : EM_FAULTED);
        cr_assert(waits || strstr(s.group[0].fault.text, "before the barrier"));
        memset(&s.group[0].fault, 0, sizeof(s.group[0].fault));
    }
    close_stage(&s);
}

static void write_lds(struct stage *s, uint32_t at, uint32_t value)
{
    const struct em_span none = { 0, 0 };
    cr_assert_eq(lds_row(s->wave[0][0], EM_WRITE, at, value, NULL), EM_GO);
    em_shadow_issue(s->wave[0][0], &lds_op, EM_LGKM_LDS, none, 0, 0);
}

/* The counter holds 15: the first of 20 writes are done at the barrier, the last are
 * not.
 */
Test(race, the_last_of_many_writes_was_not_waited_for)
{
    struct stage s;
    open_stage(&s);
    for (unsigned first = 0; first < 2; first++) {
        em_lds_shadow_reset(s.group[0].lds_shadow);
        s.group[0].epoch = 0;
        for (uint32_t i = 0; i < 20; i++) {
            write_lds(&s, i ? 256 * (1 + i % 3) : 0, 100 * (first + 1) + i);
        }
        s.group[0].epoch++;
        cr_assert_eq(lds_row(s.wave[0][1], EM_READ, first ? 0 : 512, 0, NULL),
                     first ? EM_GO : EM_FAULTED);
        memset(&s.group[0].fault, 0, sizeof(s.group[0].fault));
        em_shadow_wait(s.wave[0][0], UINT_MAX, 0);
    }
    close_stage(&s);
}

/* lgkmcnt(1) behind two writes is a wait for the first. */
Test(race, one_of_two_writes_was_waited_for)
{
    struct stage s;
    open_stage(&s);
    for (unsigned first = 0; first < 2; first++) {
        em_lds_shadow_reset(s.group[0].lds_shadow);
        s.group[0].epoch = 0;
        write_lds(&s, 0, 200 + first);
        write_lds(&s, 256, 300 + first);
        em_shadow_wait(s.wave[0][0], UINT_MAX, 1);
        s.group[0].epoch++;
        cr_assert_eq(lds_row(s.wave[0][1], EM_READ, first ? 0 : 256, 0, NULL),
                     first ? EM_GO : EM_FAULTED);
        memset(&s.group[0].fault, 0, sizeof(s.group[0].fault));
        em_shadow_wait(s.wave[0][0], UINT_MAX, 0);
    }
    close_stage(&s);
}

/* Thousands of barriers and atomics: more times than a tag tells apart. */
Test(race, times_that_wrap)
{
    struct stage s;
    open_stage(&s);
    struct em_wave **w = s.wave[0];
    for (uint32_t n = 0; n < 5000; n++) {
        cr_assert_eq(lds_row(w[n % WAVES], EM_WRITE, 0, n, NULL), EM_GO, "%u", n);
        cr_assert_eq(lds_row(w[n % WAVES], EM_ATOMIC, 256, 0, NULL), EM_GO, "%u", n);
        s.group[0].epoch++;
        cr_assert_eq(lds_row(w[(n + 1) % WAVES], EM_READ, 0, 0, NULL), EM_GO, "%u", n);
        s.group[0].epoch++;
    }
    cr_assert_eq(lds_row(w[0], EM_WRITE, 0, 6000, NULL), EM_GO);
    cr_assert_eq(lds_row(w[1], EM_READ, 0, 0, NULL), EM_FAULTED);
    close_stage(&s);
}

static enum em_flow global_one(struct em_wave *w,
                               const struct em_op *op,
                               enum em_access_kind kind,
                               const uint8_t *at,
                               uint32_t value)
{
    struct trial t;
    make_access(&t, kind, 4);
    t.address[5] = (uint64_t)(uintptr_t)at;
    t.access.lanes = 1 << 5;
    memcpy(t.data[5], &value, 4);
    enum em_flow flow = em_race_global(w, op, &t.access);
    memcpy((void *)(uintptr_t)t.address[5], &value, kind == EM_WRITE ? 4 : 0);
    return flow;
}

Test(race, what_may_order_workgroups)
{
    struct stage s;
    open_stage(&s);
    struct em_op past_caches = { .class = EM_CLASS_VMEM_LOAD, .in.sc1 = true };
    struct em_op scalar_glc = { .in = { .encoding = EM_SMEM, .sc0 = true } };
    for (unsigned how = 0; how < 5; how++) {
        const uint8_t *at = s.memory + how * 16;
        const uint8_t *flag = s.memory + 512 + how * 16;
        struct em_wave *reader = s.wave[1][0];
        cr_assert_eq(global_one(s.wave[0][0], &global_op, EM_WRITE, at, 1), EM_GO);
        enum em_flow flow = EM_GO;
        if (how == 1) {
            flow = global_one(reader, &global_op, EM_ATOMIC, flag, 0);
        } else if (how == 2) {
            flow = global_one(reader, &past_caches, EM_READ, flag, 0);
        } else if (how == 3) {
            em_race_fence(reader, false, true);
        } else if (how == 4) {
            flow = global_one(reader, &scalar_glc, EM_READ, flag, 0);
        }
        cr_assert_eq(flow, EM_GO);
        flow = global_one(reader, &global_op, EM_READ, at, 0);
        cr_assert_eq(flow, how == 0 ? EM_FAULTED : EM_GO, "way %u", how);
        s.group[1].race_ordered = false;
        memset(&s.group[1].fault, 0, sizeof(s.group[1].fault));
    }
    close_stage(&s);
}

Test(race, global_rows_exactly)
{
    struct stage s;
    open_stage(&s);
    global_trials(&s, true, 8, 3000);
    close_stage(&s);
}

Test(race, global_rows_and_lanes_without_false_reports)
{
    struct stage s;
    open_stage(&s);
    global_trials(&s, false, 5, 3000);
    close_stage(&s);
}
