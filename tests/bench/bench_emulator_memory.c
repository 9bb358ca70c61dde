/* Wave-instructions a second of the emulator's memory units, kind by kind, without
 * checks and counters. Best of five. */
#include "core/clock.h"
#include "tests/emulator/memory_fixture.h"

#include <stdio.h>

enum {
    REPEATS = 100000,
    ROUNDS = 5
};

static double measure(struct memory_fixture *f, const struct em_inst *in)
{
    struct em_op op;
    em_bind(in, &op);
    double best = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        int64_t start = wf_monotonic_ns();
        for (unsigned i = 0; i < REPEATS; i++) {
            if (op.run(f->w, &op) != EM_GO) {
                return 0;
            }
        }
        double rate = REPEATS * 1e3 / (double)(wf_monotonic_ns() - start);
        best = rate > best ? rate : best;
    }
    return best;
}

static void report(struct memory_fixture *f, const char *what, const struct em_inst *in)
{
    double rate = measure(f, in);
    printf("%-44s %8.1f M/s %8.1f ns\n", what, rate, 1e3 / rate);
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
    in.src[0] = v(0, k->encoding == EM_GLOBAL ? 2 : 1);
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
    fixture_init(&f, 65536);
    uint64_t base = fixture_alloc(&f, 1 << 20);
    f.w->s[4] = (uint32_t)base;
    f.w->s[5] = (uint32_t)(base >> 32);
    f.w->s[6] = 1 << 20;
    f.w->s[7] = 0x20000;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct kind *k = &kinds[i];
        struct em_inst in = instruction(k);
        uint64_t from = k->encoding == EM_GLOBAL ? base : 0;
        unsigned bytes =
            k->op == EM_global_load_ushort || k->op == EM_global_store_short
                ? 2
                : 4 * k->dwords;
        char text[64];
        em_set_s64(f.w, EM_EXEC, UINT64_MAX);
        set_run(&f, from, bytes);
        (void)snprintf(text, sizeof(text), "%s, in a row", k->name);
        report(&f, text, &in);
        set_scattered(&f, from, 272);
        (void)snprintf(text, sizeof(text), "%s, scattered", k->name);
        report(&f, text, &in);
        em_set_s64(f.w, EM_EXEC, UINT64_C(0x7fffffffffff7ffe));
        (void)snprintf(text, sizeof(text), "%s, scattered, 61 lanes", k->name);
        report(&f, text, &in);
    }
    fixture_fini(&f);
    return 0;
}
