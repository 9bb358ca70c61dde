/* Loops of small flow graphs, and of random ones. */
#include "core/rng.h"
#include "isa/loops.h"

#include <criterion/criterion.h>
#include <string.h>

#define NOP     0xbf800000U                   /* s_nop 0 */
#define END     0xbf810000U                   /* s_endpgm */
#define IF(n)   (0xbf850000U | (uint16_t)(n)) /* s_cbranch_scc1 n */
#define JUMP(n) (0xbf820000U | (uint16_t)(n)) /* s_branch n */

struct found {
    struct em_code *code;
    struct isa_marks *marks;
    struct isa_flow flow;
    struct isa_loops loops;
};

static struct found find(const uint32_t *words, size_t count)
{
    struct found f = { .code = NULL };
    cr_assert_eq(em_code_create(words, count, 0x1000, &f.code, NULL), WF_OK);
    cr_assert_eq(isa_marks_create(f.code, &f.marks, NULL), WF_OK);
    cr_assert_eq(isa_flow_build(f.marks, 0, (uint32_t)count, &f.flow, NULL), WF_OK);
    cr_assert_eq(isa_loops_find(&f.flow, &f.loops, NULL), WF_OK);
    return f;
}

static void drop(struct found *f)
{
    isa_loops_fini(&f->loops);
    isa_flow_fini(&f->flow);
    isa_marks_free(f->marks);
    em_code_destroy(f->code);
}

#define FIND(...)                                    \
    static const uint32_t words[] = { __VA_ARGS__ }; \
    struct found f = find(words, sizeof(words) / sizeof(words[0]))

Test(loops, straight_code_has_none)
{
    FIND(NOP, IF(1), NOP, END);
    cr_expect_eq(f.loops.count, 0);
    cr_expect_eq(f.flow.block_count, 3);
    drop(&f);
}

Test(loops, one_block_that_jumps_to_itself)
{
    FIND(NOP, NOP, IF(-2), END);
    cr_assert_eq(f.loops.count, 1);
    cr_expect_eq(f.loops.loop[0].block_count, 1);
    cr_expect_eq(f.loops.loop[0].depth, 1);
    cr_expect(!f.loops.loop[0].irreducible);
    drop(&f);
}

Test(loops, an_inner_loop_has_its_parent)
{
    /* 0 | 1 NOP | 2 NOP, IF(-2) to 2 | IF to 1 | END */
    FIND(NOP, NOP, NOP, IF(-2), IF(-4), END);
    cr_assert_eq(f.loops.count, 2);
    cr_expect_eq(f.loops.loop[0].parent, ISA_NO_LOOP);
    cr_expect_eq(f.loops.loop[0].children, 1);
    cr_expect_eq(f.loops.loop[1].parent, 0);
    cr_expect_eq(f.loops.loop[1].depth, 2);
    drop(&f);
}

Test(loops, two_back_edges_to_one_header_are_one_loop)
{
    FIND(NOP, NOP, IF(-2), NOP, IF(-4), END);
    cr_assert_eq(f.loops.count, 1);
    cr_expect_eq(f.loops.loop[0].back_edges, 2);
    cr_expect_eq(f.loops.loop[0].block_count, 2);
    drop(&f);
}

/* An exit in the middle and its code are no part of the loop, wherever they lie. */
Test(loops, code_that_leaves_is_outside)
{
    FIND(NOP, IF(2), NOP, JUMP(1), JUMP(1), IF(-6), END);
    /* 0: header; 4 is reached by IF and jumps behind the back edge. */
    cr_assert_eq(f.loops.count, 1);
    cr_expect_eq(f.loops.loop[0].block_count, 3);
    drop(&f);
}

Test(loops, two_entries_make_it_irreducible_within_its_outer_loop)
{
    /* 0 outer header: IF into the middle; 2..5 the region; 6 the outer back edge. */
    FIND(NOP, IF(2), NOP, NOP, NOP, IF(-4), IF(-7), END);
    cr_assert_eq(f.loops.count, 2);
    cr_expect(!f.loops.loop[0].irreducible);
    cr_expect(f.loops.loop[1].irreducible);
    cr_expect_eq(f.loops.loop[1].parent, 0);
    cr_expect_lt(f.loops.loop[1].block_count, f.loops.loop[0].block_count);
    drop(&f);
}

Test(loops, jumps_out_of_the_code_lead_nowhere)
{
    FIND(NOP, IF(1000), JUMP(-30000));
    cr_expect_eq(f.loops.count, 0);
    drop(&f);
}

static uint32_t random_word(struct wf_rng *rng, int count)
{
    int to = (int)wf_rng_next_below(rng, 2 * (uint64_t)count) - count;
    switch (wf_rng_next_below(rng, 8)) {
    case 0:
    case 1:
        return IF(to);
    case 2:
        return JUMP(to);
    case 3:
        return END;
    case 4:
        return (uint32_t)wf_rng_next(rng); /* anything */
    default:
        return NOP;
    }
}

static bool contains(const struct isa_loop *l, uint32_t block)
{
    for (size_t i = 0; i < l->block_count; i++) {
        if (l->block[i] == block) {
            return true;
        }
    }
    return false;
}

static void check_loops(const struct found *f)
{
    for (size_t i = 0; i < f->loops.count; i++) {
        const struct isa_loop *l = &f->loops.loop[i];
        cr_assert(l->block_count > 0 && contains(l, l->header));
        for (size_t b = 0; b < l->block_count; b++) {
            cr_assert_lt(l->block[b], f->flow.block_count);
            cr_assert(b == 0 || l->block[b - 1] < l->block[b]);
        }
        if (l->parent != ISA_NO_LOOP) {
            cr_assert_lt(l->parent, i);
            cr_assert(contains(&f->loops.loop[l->parent], l->header));
        }
    }
}

/* A cycle in the graph is a loop here, whatever the code looks like. */
static bool has_cycle(const struct isa_flow *f)
{
    uint8_t state[64] = { 0 }; /* in-degree within what is left */
    size_t left = f->block_count;
    bool gone[64] = { false };
    bool changed = true;
    while (changed) {
        changed = false;
        memset(state, 0, sizeof(state));
        for (size_t b = 0; b < f->block_count; b++) {
            for (int s = 0; s < 2; s++) {
                if (!gone[b] && f->block[b].succ[s] != ISA_NO_BLOCK) {
                    state[f->block[b].succ[s]]++;
                }
            }
        }
        for (size_t b = 0; b < f->block_count; b++) {
            if (!gone[b] && state[b] == 0) {
                gone[b] = true;
                left--;
                changed = true;
            }
        }
    }
    return left > 0;
}

Test(loops, random_code_keeps_the_rules)
{
    struct wf_rng rng = { .seed = 42 };
    int cycles = 0;
    for (int round = 0; round < 4000; round++) {
        uint32_t words[24];
        int count = 2 + (int)wf_rng_next_below(&rng, 22);
        for (int i = 0; i < count; i++) {
            words[i] = random_word(&rng, count);
        }
        struct found f = find(words, (size_t)count);
        check_loops(&f);
        cr_assert(!f.loops.cut);
        bool cycle = has_cycle(&f.flow);
        cycles += cycle;
        cr_assert_eq(cycle, f.loops.count > 0, "round %d", round);
        drop(&f);
    }
    cr_expect_gt(cycles, 400);
}
