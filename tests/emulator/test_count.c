/* Counters against plain counting, and what the model makes of them. */
#include "emulator/count/model.h"
#include "emulator/exec/code.h"
#include "program.h"

#include <criterion/criterion.h>
#include <string.h>

static uint64_t random_state = 88172645463325252;

static uint32_t draw(uint32_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 20) % below;
}

struct trial {
    struct em_access access;
    uint64_t address[EM_LANES];
};

/* Lanes in a row, with gaps, shuffled, all on one dword, or anywhere. */
static void draw_access(struct trial *t, unsigned bytes, uint64_t room)
{
    uint32_t form = draw(5);
    uint64_t first = draw((uint32_t)(room - EM_LANES * 64)) & ~UINT64_C(3);
    unsigned step = bytes * (1 + draw(3));
    for (unsigned i = 0; i < EM_LANES; i++) {
        t->address[i] = first + (form == 0   ? i * bytes
                                 : form == 1 ? i * step
                                 : form == 2 ? (i ^ 21) * bytes
                                 : form == 3 ? 0
                                             : draw(EM_LANES * 48));
    }
    t->access = (struct em_access){ .address = t->address,
                                    .bytes = bytes,
                                    .kind = (enum em_access_kind)draw(2) };
    t->access.lanes =
        form == 0 ? UINT64_MAX : (uint64_t)draw(UINT32_MAX) << 32 | draw(UINT32_MAX);
    t->access.contiguous = form == 0;
}

static uint64_t plain_lines(const struct trial *t)
{
    static uint8_t seen[1 << 10];
    uint64_t n = 0;
    memset(seen, 0, sizeof(seen));
    for (unsigned i = 0; i < EM_LANES; i++) {
        for (unsigned j = 0; (t->access.lanes >> i & 1) && j < t->access.bytes; j++) {
            uint64_t line = (t->address[i] + j) / 128;
            n += !seen[line];
            seen[line] = 1;
        }
    }
    return n;
}

Test(count, lines_and_bytes_of_global_memory)
{
    static const unsigned sizes[] = { 1, 2, 4, 8, 12, 16 };
    struct em_counts c = { 0 };
    struct em_wave w = { .counts = &c };
    for (unsigned n = 0; n < 20000; n++) {
        struct trial t;
        draw_access(&t, sizes[draw(6)], 1 << 16);
        uint64_t lines = c.global_lines;
        uint64_t bytes = c.global_read_bytes + c.global_write_bytes;
        em_count_global(&w, &t.access);
        cr_assert_eq(c.global_lines - lines, plain_lines(&t), "trial %u", n);
        cr_assert_eq(c.global_read_bytes + c.global_write_bytes - bytes,
                     (uint64_t)__builtin_popcountll(t.access.lanes) * t.access.bytes);
    }
}

/* The group of lanes that a lane is served in. */
static unsigned group_of(const struct em_access *a, unsigned lane)
{
    static const uint8_t reads_of_16[32] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                             2, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0,
                                             0, 0, 3, 3, 3, 3, 2, 2, 2, 2 };
    if (a->bytes <= 4) {
        return lane / 32;
    }
    if (a->bytes <= 8) {
        return lane / 16;
    }
    return a->bytes == 16 && a->kind == EM_READ ? lane / 32 * 4 + reads_of_16[lane % 32]
                                                : lane / 8;
}

/* Most different dwords of a bank, by looking at all pairs. */
static unsigned plain_cycles(const struct trial *t, unsigned group)
{
    uint64_t dwords[EM_LANES * 5];
    unsigned n = 0;
    unsigned of_bank[32] = { 0 };
    unsigned worst = 0;
    for (unsigned i = 0; i < EM_LANES; i++) {
        if (!(t->access.lanes >> i & 1) || group_of(&t->access, i) != group) {
            continue;
        }
        for (unsigned j = 0; j < t->access.bytes; j++) {
            uint64_t dword = (t->address[i] + j) / 4;
            bool known = false;
            for (unsigned k = 0; k < n; k++) {
                known = known || dwords[k] == dword;
            }
            if (!known) {
                dwords[n++] = dword;
                of_bank[dword % 32]++;
            }
        }
    }
    for (unsigned b = 0; b < 32; b++) {
        worst = of_bank[b] > worst ? of_bank[b] : worst;
    }
    return worst;
}

Test(count, cycles_of_lds_banks)
{
    static const unsigned sizes[] = { 1, 2, 4, 8, 12, 16 };
    struct em_counts c = { 0 };
    struct em_wave w = { .counts = &c };
    struct em_op op = { 0 };
    for (unsigned n = 0; n < 4000; n++) {
        struct trial t;
        draw_access(&t, sizes[draw(6)], 1 << 14);
        uint64_t cycles = 0;
        uint64_t added = 0;
        for (unsigned g = 0; g < 8; g++) {
            unsigned worst = plain_cycles(&t, g);
            cycles += worst;
            added += worst > 1 ? worst - 1 : 0;
        }
        uint64_t before = c.lds_cycles;
        uint64_t before_added = c.lds_conflict_cycles;
        em_count_lds(&w, &op, &t.access);
        cr_assert_eq(c.lds_cycles - before, cycles, "trial %u", n);
        cr_assert_eq(c.lds_conflict_cycles - before_added, added, "trial %u", n);
    }
}

Test(count, known_patterns_of_lds)
{
    struct em_counts c = { 0 };
    struct em_wave w = { .counts = &c };
    struct em_op op = { 0 };
    struct trial t = { .access = { .lanes = UINT64_MAX, .bytes = 4 } };
    t.access.address = t.address;
    for (unsigned i = 0; i < EM_LANES; i++) {
        t.address[i] = (uint64_t)i * 128; /* a column of a 32-dword wide tile */
    }
    em_count_lds(&w, &op, &t.access);
    cr_assert_eq(c.lds_cycles, 64);
    cr_assert_eq(c.lds_conflict_cycles, 62);
    for (unsigned i = 0; i < EM_LANES; i++) {
        t.address[i] = (uint64_t)i * 132; /* the same with a dword of padding */
    }
    em_count_lds(&w, &op, &t.access);
    cr_assert_eq(c.lds_cycles, 66);
    memset(t.address, 0, sizeof(t.address)); /* one dword for all */
    em_count_lds(&w, &op, &t.access);
    cr_assert_eq(c.lds_cycles, 68);
    cr_assert_eq(c.lds_conflict_cycles, 62);
}

Test(count, every_matrix_instruction_has_its_work)
{
    unsigned passes;
    uint64_t flops;
    unsigned found = 0;
    for (unsigned op = 0; op < EM_OPCODES; op++) {
        const char *name = em_op_info((enum em_opcode)op)->name;
        bool matrix =
            strncmp(name, "v_mfma", 6) == 0 || strncmp(name, "v_smfmac", 8) == 0;
        bool work = em_mfma_work((enum em_opcode)op, &passes, &flops);
        cr_assert_eq(work, matrix, "%s", name);
        found += work;
    }
    cr_assert_geq(found, 46);
    cr_assert(em_mfma_work(EM_v_mfma_f32_32x32x8_f16, &passes, &flops));
    cr_assert_eq(passes, 8);
    cr_assert_eq(flops, 2 * 32 * 32 * 8);
    cr_assert(em_mfma_work(EM_v_mfma_f32_4x4x4_16b_f16, &passes, &flops));
    cr_assert_eq(passes, 2);
    cr_assert_eq(flops, 2 * 4 * 4 * 4 * 16);
    cr_assert(em_mfma_work(EM_v_smfmac_f32_16x16x32_f16, &passes, &flops));
    cr_assert_eq(flops, 2 * 16 * 16 * 16, "half of A's K is there");
}

Test(count, occupancy_by_what_runs_out)
{
    static const struct {
        unsigned vgprs, agprs, sgprs, items;
        uint32_t lds;
        unsigned workgroups;
        const char *limit;
    } cases[] = {
        { 64, 0, 32, 256, 0, 8, "waves" },    { 65, 0, 32, 256, 0, 7, "vgprs" },
        { 128, 128, 32, 256, 0, 2, "vgprs" }, { 256, 256, 32, 256, 0, 1, "vgprs" },
        { 32, 0, 112, 256, 0, 7, "sgprs" },   { 32, 0, 32, 256, 32768, 2, "lds" },
        { 32, 0, 32, 256, 32769, 1, "lds" },  { 32, 0, 32, 64, 0, 32, "waves" },
        { 32, 0, 32, 128, 0, 16, "waves" },   { 32, 0, 32, 1024, 0, 2, "waves" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct em_kernel k = { .vgprs = cases[i].vgprs,
                               .agprs = cases[i].agprs,
                               .sgprs = cases[i].sgprs };
        struct em_occupancy o;
        em_occupancy(&k, cases[i].items, cases[i].lds, &o);
        cr_assert_eq(o.workgroups_of_cu, cases[i].workgroups, "case %zu: %u", i,
                     o.workgroups_of_cu);
        cr_assert_str_eq(o.limit, cases[i].limit, "case %zu", i);
    }
}

/* A launch of the test kernels: exact, and the same for one thread and for two. */
Test(count, a_launch_does_not_depend_on_threads)
{
    struct program p = program_open(FAULT_KERNELS);
    struct {
        uint64_t p;
        int n;
    } arguments = { program_buffer(&p, 1000 * 4), 1000 };
    struct em_counts first = { 0 };
    struct em_report r[2];
    for (unsigned i = 0; i < 2; i++) {
        struct program_launch l = {
            .grid = 4, .block = 256, .count = true, .threads = i + 1
        };
        r[i] = program_run(&p, "fill", &l, &arguments, sizeof(arguments));
        cr_assert(!r[i].faulted && r[i].counted);
    }
    first = r[0].counts;
    cr_assert_eq(first.count, r[1].counts.count);
    cr_assert_arr_eq(first.executed, r[1].counts.executed, first.count * 8);
    cr_assert_eq(first.global_write_bytes, 4000);
    cr_assert_eq(first.global_read_bytes, 0);
    cr_assert_eq(first.global_accesses, 16);
    cr_assert_eq(first.global_lines, 32);
#define X(member, unit, words) cr_assert_eq(first.member, r[1].counts.member);
    EM_MEMORY_COUNTS(X)
#undef X
    struct em_totals t;
    em_totals(&first, em_image_code(p.image), &t);
    cr_assert_eq(t.instructions, r[0].instructions);
    cr_assert_eq(t.by_class[EM_CLASS_VMEM_STORE], 16);
    uint64_t sum = 0;
    for (unsigned i = 0; i < EM_CLASSES; i++) {
        sum += t.by_class[i];
    }
    cr_assert_eq(sum, t.instructions);
    struct em_launch launch = { .image = p.image };
    struct em_model model;
    em_model(&r[0], &launch, &model);
    cr_assert_eq(model.cycles, model.pipe[model.bound]);
    cr_assert_eq(model.pipe[EM_PIPE_vmem], 4 * 4, "a unit has one workgroup");
    cr_assert_eq(em_model_cycles(&r[0], &launch), model.cycles);
    cr_assert_eq(em_model_ns(2100), 1000);
    em_report_fini(&r[0]);
    em_report_fini(&r[1]);
    program_close(&p);
}
