/* Wave-instructions a second of the emulator's memory units, kind by kind: alone, and
 * with checks and counters (which are waited for every eighth time). Processor time,
 * best of five. */
#include "emulator/check/race.h"
#include "emulator/check/shadow.h"
#include "emulator/count/count.h"
#include "tests/bench/bench.h"
#include "tests/emulator/memory_fixture.h"

#include <stdio.h>
#include <string.h>

enum {
    REPEATS = 20000,
    ROUNDS = 5
};

static double measure(struct memory_fixture *f, const struct em_inst *in)
{
    struct em_op op;
    em_bind(in, &op);
    double best = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        double start = bench_cpu_s();
        for (unsigned i = 0; i < REPEATS; i++) {
            if (op.run(f->w, &op) != EM_GO) {
                printf("%s\n", f->group.fault.text);
                return 0;
            }
            if (f->w->shadow && i % 8 == 7) {
                em_shadow_wait(f->w, 0, 0);
            }
        }
        double rate = (double)REPEATS * 1e-6 / (bench_cpu_s() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

struct checks {
    struct em_shadow *shadow;
    struct em_lds_shadow *lds;
    struct em_global_shadow *global;
    struct em_counts counts;
};

static int make_checks(struct checks *c)
{
    struct wf_error err;
    c->shadow = em_shadow_create();
    c->lds = em_lds_shadow_create(EM_MAX_LDS_BYTES);
    c->global = em_global_shadow_create();
    if (!c->shadow || !c->lds || !c->global ||
        em_counts_init(&c->counts, 16, &err) != 0) {
        return 1;
    }
    memset(c->shadow->v, 0xff, sizeof(c->shadow->v));
    memset(c->shadow->s, 0xff, sizeof(c->shadow->s));
    return 0;
}

static void switch_checks(struct memory_fixture *f, struct checks *c, bool on)
{
    /* All registers count as written: LDS that was not is loaded into some. */
    memset(c->shadow->v, 0xff, sizeof(c->shadow->v));
    f->w->shadow = on ? c->shadow : NULL;
    f->w->counts = on ? &c->counts : NULL;
    f->group.lds_shadow = on ? c->lds : NULL;
    f->group.global_shadow = on ? c->global : NULL;
}

static void report(struct memory_fixture *f,
                   struct checks *c,
                   const char *what,
                   const struct em_inst *in)
{
    switch_checks(f, c, false);
    double alone = measure(f, in);
    switch_checks(f, c, true);
    double checked = measure(f, in);
    printf("%-46s %6.1f M/s %6.1f ns; checked %6.1f M/s %6.1f ns\n", what, alone,
           1e3 / alone, checked, 1e3 / checked);
}

/* Addresses in v[0:1], `step` bytes apart in a mixed order. */
static void set_scattered(struct memory_fixture *f, uint64_t base, uint64_t step)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(f, 0, i, base + step * (i * 37 % EM_LANES));
    }
}

/* In the order of the lanes. */
static void set_run(struct memory_fixture *f, uint64_t base, unsigned step)
{
    for (unsigned i = 0; i < EM_LANES; i++) {
        fixture_set64(f, 0, i, base + (uint64_t)step * i);
    }
}

struct kind {
    enum em_opcode op;
    enum em_encoding encoding;
    const char *name;
    unsigned dwords;
    bool store;
};

static struct em_inst instruction(const struct kind *k)
{
    struct em_inst in = fixture_inst(k->op, k->encoding);
    bool flat = k->encoding == EM_GLOBAL || k->encoding == EM_FLAT;
    in.src[0] = v(0, flat ? 2 : 1);
    if (k->store) {
        in.src[1] = v(8, k->dwords);
    } else {
        in.dst = v(8, k->dwords);
    }
    if (k->encoding == EM_MUBUF) {
        in.src[2] = s(4, 4);
        in.src[3] = (struct em_operand){ .code = EM_INT_0, .dwords = 1 };
        in.offen = true;
    }
    return in;
}

int main(void)
{
    static const struct kind kinds[] = {
        { EM_global_load_ushort, EM_GLOBAL, "global_load_ushort", 1, false },
        { EM_global_load_dword, EM_GLOBAL, "global_load_dword", 1, false },
        { EM_global_load_dwordx2, EM_GLOBAL, "global_load_dwordx2", 2, false },
        { EM_global_load_dwordx4, EM_GLOBAL, "global_load_dwordx4", 4, false },
        { EM_global_store_short, EM_GLOBAL, "global_store_short", 1, true },
        { EM_global_store_dword, EM_GLOBAL, "global_store_dword", 1, true },
        { EM_global_store_dwordx2, EM_GLOBAL, "global_store_dwordx2", 2, true },
        { EM_global_store_dwordx4, EM_GLOBAL, "global_store_dwordx4", 4, true },
        { EM_global_atomic_add, EM_GLOBAL, "global_atomic_add", 1, true },
        { EM_global_atomic_pk_add_bf16, EM_GLOBAL, "global_atomic_pk_add_bf16", 1,
          true },
        { EM_flat_load_dword, EM_FLAT, "flat_load_dword", 1, false },
        { EM_buffer_load_dword, EM_MUBUF, "buffer_load_dword", 1, false },
        { EM_buffer_load_dwordx4, EM_MUBUF, "buffer_load_dwordx4", 4, false },
        { EM_buffer_store_dwordx4, EM_MUBUF, "buffer_store_dwordx4", 4, true },
        { EM_ds_read_b32, EM_DS, "ds_read_b32", 1, false },
        { EM_ds_read_b64, EM_DS, "ds_read_b64", 2, false },
        { EM_ds_read_b128, EM_DS, "ds_read_b128", 4, false },
        { EM_ds_write_b32, EM_DS, "ds_write_b32", 1, true },
        { EM_ds_write_b64, EM_DS, "ds_write_b64", 2, true },
        { EM_ds_write_b128, EM_DS, "ds_write_b128", 4, true },
        { EM_ds_add_u32, EM_DS, "ds_add_u32", 1, true },
    };
    struct memory_fixture f;
    struct checks checks;
    fixture_init(&f, 65536);
    if (make_checks(&checks) != 0) {
        return 1;
    }
    uint64_t base = fixture_alloc(&f, 1 << 20);
    f.w->s[4] = (uint32_t)base;
    f.w->s[5] = (uint32_t)(base >> 32);
    f.w->s[6] = 1 << 20;
    f.w->s[7] = 0x20000;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct kind *k = &kinds[i];
        struct em_inst in = instruction(k);
        bool flat = k->encoding == EM_GLOBAL || k->encoding == EM_FLAT;
        uint64_t from = flat ? base : 0;
        unsigned bytes =
            k->op == EM_global_load_ushort || k->op == EM_global_store_short
                ? 2
                : 4 * k->dwords;
        char text[64];
        em_set_s64(f.w, EM_EXEC, UINT64_MAX);
        set_run(&f, from, bytes);
        (void)snprintf(text, sizeof(text), "%s, in a row", k->name);
        report(&f, &checks, text, &in);
        set_scattered(&f, from, 272);
        (void)snprintf(text, sizeof(text), "%s, scattered", k->name);
        report(&f, &checks, text, &in);
        em_set_s64(f.w, EM_EXEC, UINT64_C(0x7fffffffffff7ffe));
        (void)snprintf(text, sizeof(text), "%s, scattered, 61 lanes", k->name);
        report(&f, &checks, text, &in);
    }
    em_shadow_destroy(checks.shadow);
    em_lds_shadow_destroy(checks.lds);
    em_global_shadow_destroy(checks.global);
    em_counts_fini(&checks.counts);
    fixture_fini(&f);
    return 0;
}
