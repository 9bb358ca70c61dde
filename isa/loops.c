/* Loops by dominators (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm").
 *
 * An edge to a block that dominates its source closes a natural loop; loops with the
 * same header are one. A retreating edge to a block that does not dominate its source
 * closes an irreducible one: what lies on a path from its target to its source below
 * the block that dominates both. */
#include "isa/loops.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_BLOCKS = 32768,
    MAX_LOOPS = 2048,
    MAX_MEMBERS = 4 << 20, /* blocks of all loops together */
    MAX_PASSES = 64        /* until dominators stand still; 3 to 5 are usual */
};

/* Node `n` is a virtual one before all roots. */
struct graph {
    const struct isa_flow *flow;
    uint32_t n;
    uint32_t *order;  /* reverse postorder -> block, order[0] is n */
    uint32_t *number; /* block -> place in order, ISA_NO_BLOCK: not reached */
    uint32_t *idom;   /* block -> block */
    uint32_t *pred;   /* predecessors of block b: pred[pred_at[b] .. pred_at[b + 1]) */
    uint32_t *pred_at;
    uint32_t *stack, *mark; /* mark[b] == stamp: in the set that is being built */
    uint32_t stamp;
    uint32_t reached;
    size_t members;
};

static enum wf_status graph_init(struct graph *g,
                                 const struct isa_flow *f,
                                 struct wf_error *err)
{
    size_t n = f->block_count;
    *g = (struct graph){ .flow = f, .n = (uint32_t)n };
    g->order = wf_calloc(n + 1, sizeof(uint32_t));
    g->number = wf_calloc(n + 1, sizeof(uint32_t));
    g->idom = wf_calloc(n + 1, sizeof(uint32_t));
    g->pred = wf_calloc(2 * n + 1, sizeof(uint32_t));
    g->pred_at = wf_calloc(n + 2, sizeof(uint32_t));
    g->stack = wf_calloc(3 * n + 3, sizeof(uint32_t));
    g->mark = wf_calloc(n + 1, sizeof(uint32_t));
    if (!g->order || !g->number || !g->idom || !g->pred || !g->pred_at || !g->stack ||
        !g->mark) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the loops of %zu blocks", n);
    }
    return WF_OK;
}

static void graph_fini(struct graph *g)
{
    free(g->order);
    free(g->number);
    free(g->idom);
    free(g->pred);
    free(g->pred_at);
    free(g->stack);
    free(g->mark);
}

static void find_predecessors(struct graph *g)
{
    for (uint32_t b = 0; b < g->n; b++) {
        for (int i = 0; i < 2; i++) {
            uint32_t to = g->flow->block[b].succ[i];
            if (to != ISA_NO_BLOCK) {
                g->pred_at[to + 1]++;
            }
        }
    }
    for (uint32_t b = 0; b < g->n; b++) {
        g->pred_at[b + 1] += g->pred_at[b];
    }
    uint32_t *next = g->stack; /* where the next predecessor goes */
    memcpy(next, g->pred_at, g->n * sizeof(uint32_t));
    for (uint32_t b = 0; b < g->n; b++) {
        for (int i = 0; i < 2; i++) {
            uint32_t to = g->flow->block[b].succ[i];
            if (to != ISA_NO_BLOCK) {
                g->pred[next[to]++] = b;
            }
        }
    }
}

/* Depth first from one root, without recursion: the stack holds blocks, mark[] counts
 * how many of a block's successors were followed. Fills order[] from `*at` down. */
static void postorder_from(struct graph *g, uint32_t root, uint32_t *at)
{
    size_t depth = 0;
    if (g->number[root] != ISA_NO_BLOCK) {
        return;
    }
    g->number[root] = 0;
    g->stack[depth++] = root;
    while (depth > 0) {
        uint32_t b = g->stack[depth - 1];
        if (g->mark[b] < 2) {
            uint32_t to = g->flow->block[b].succ[g->mark[b]++];
            if (to != ISA_NO_BLOCK && g->number[to] == ISA_NO_BLOCK) {
                g->number[to] = 0;
                g->stack[depth++] = to;
            }
        } else {
            g->order[--*at] = b;
            depth--;
        }
    }
}

static void number_blocks(struct graph *g)
{
    uint32_t at = g->n + 1;
    memset(g->number, 0xff, (g->n + 1) * sizeof(uint32_t));
    for (uint32_t b = g->n; b-- > 0;) {
        if (g->flow->block[b].root) {
            postorder_from(g, b, &at);
        }
    }
    g->order[--at] = g->n;
    g->reached = g->n + 1 - at;
    memmove(g->order, g->order + at, g->reached * sizeof(uint32_t));
    for (uint32_t i = 0; i < g->reached; i++) {
        g->number[g->order[i]] = i;
    }
    memset(g->mark, 0, (g->n + 1) * sizeof(uint32_t));
}

/* --- dominators --- */

static uint32_t common(const struct graph *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (g->number[a] > g->number[b]) {
            a = g->idom[a];
        } else {
            b = g->idom[b];
        }
    }
    return a;
}

static bool update_dominator(struct graph *g, uint32_t b)
{
    uint32_t best = g->flow->block[b].root ? g->n : ISA_NO_BLOCK;
    for (uint32_t i = g->pred_at[b]; i < g->pred_at[b + 1]; i++) {
        uint32_t p = g->pred[i];
        if (g->number[p] != ISA_NO_BLOCK && g->idom[p] != ISA_NO_BLOCK) {
            best = best == ISA_NO_BLOCK ? p : common(g, best, p);
        }
    }
    bool changed = g->idom[b] != best;
    g->idom[b] = best;
    return changed;
}

/* False: they did not stand still within the passes. */
static bool find_dominators(struct graph *g)
{
    memset(g->idom, 0xff, (g->n + 1) * sizeof(uint32_t));
    g->idom[g->n] = g->n;
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        bool changed = false;
        for (uint32_t i = 1; i < g->reached; i++) {
            changed = update_dominator(g, g->order[i]) || changed;
        }
        if (!changed) {
            return true;
        }
    }
    return false;
}

static bool dominates(const struct graph *g, uint32_t a, uint32_t b)
{
    while (g->number[b] > g->number[a]) {
        b = g->idom[b];
    }
    return a == b;
}

/* --- bodies --- */

static void stamp(struct graph *g)
{
    g->stamp++;
}

static void take(struct graph *g, uint32_t b, size_t *depth)
{
    if (g->mark[b] != g->stamp) {
        g->mark[b] = g->stamp;
        g->stack[(*depth)++] = b;
    }
}

/* Marks what reaches the sources of the header's back edges without the header. */
static void mark_natural(struct graph *g, uint32_t header, uint32_t *ret_edges)
{
    size_t depth = 0;
    stamp(g);
    g->mark[header] = g->stamp;
    *ret_edges = 0;
    for (uint32_t i = g->pred_at[header]; i < g->pred_at[header + 1]; i++) {
        uint32_t p = g->pred[i];
        if (g->number[p] != ISA_NO_BLOCK && dominates(g, header, p)) {
            ++*ret_edges;
            take(g, p, &depth);
        }
    }
    while (depth > 0) {
        uint32_t b = g->stack[--depth];
        for (uint32_t i = g->pred_at[b]; i < g->pred_at[b + 1]; i++) {
            if (g->number[g->pred[i]] != ISA_NO_BLOCK) {
                take(g, g->pred[i], &depth);
            }
        }
    }
}

/* Marks what lies on paths from `to` to `from` below their common dominator: what `to`
 * reaches gets one stamp, and of that what reaches `from` the next one. */
static void mark_irreducible(struct graph *g, uint32_t from, uint32_t to)
{
    uint32_t above = common(g, from, to);
    size_t depth = 0;
    stamp(g);
    take(g, to, &depth);
    while (depth > 0) {
        const struct isa_block *b = &g->flow->block[g->stack[--depth]];
        for (int i = 0; i < 2; i++) {
            uint32_t s = b->succ[i];
            if (s != ISA_NO_BLOCK && s != above && dominates(g, above, s)) {
                take(g, s, &depth);
            }
        }
    }
    uint32_t forward = g->stamp;
    stamp(g);
    take(g, from, &depth);
    while (depth > 0) {
        uint32_t b = g->stack[--depth];
        for (uint32_t i = g->pred_at[b]; i < g->pred_at[b + 1]; i++) {
            if (g->mark[g->pred[i]] == forward) {
                take(g, g->pred[i], &depth);
            }
        }
    }
}

/* The marked blocks become a loop. */
static enum wf_status add_loop(struct graph *g,
                               struct isa_loops *l,
                               struct isa_loop loop,
                               struct wf_error *err)
{
    size_t count = 0;
    for (uint32_t b = 0; b < g->n; b++) {
        count += g->mark[b] == g->stamp;
    }
    if (l->count == MAX_LOOPS || g->members + count > MAX_MEMBERS) {
        l->cut = true;
        return WF_OK;
    }
    loop.block = wf_calloc(count, sizeof(uint32_t));
    struct isa_loop *grown = wf_realloc_array(l->loop, l->count + 1, sizeof(*l->loop));
    l->loop = grown != NULL ? grown : l->loop;
    if (grown == NULL || loop.block == NULL) {
        free(loop.block);
        return wf_errorf(err, WF_ENOMEM, "no memory for loop %zu", l->count);
    }
    for (uint32_t b = 0; b < g->n; b++) {
        if (g->mark[b] == g->stamp) {
            loop.block[loop.block_count++] = b;
        }
    }
    g->members += count;
    l->loop[l->count++] = loop;
    return WF_OK;
}

static enum wf_status loops_of_header(struct graph *g,
                                      uint32_t header,
                                      struct isa_loops *l,
                                      struct wf_error *err)
{
    bool natural = false;
    bool other = false;
    uint32_t from = 0;
    uint32_t edges = 0;
    for (uint32_t i = g->pred_at[header]; i < g->pred_at[header + 1]; i++) {
        uint32_t p = g->pred[i];
        if (g->number[p] == ISA_NO_BLOCK || g->number[p] < g->number[header]) {
            continue;
        }
        if (dominates(g, header, p)) {
            natural = true;
        } else {
            other = true;
            from = p;
        }
    }
    enum wf_status st = WF_OK;
    if (natural && !l->cut) {
        mark_natural(g, header, &edges);
        st = add_loop(g, l, (struct isa_loop){ .header = header, .back_edges = edges },
                      err);
    }
    if (st == WF_OK && other && !l->cut) {
        mark_irreducible(g, from, header);
        st = add_loop(
            g, l,
            (struct isa_loop){ .header = header, .back_edges = 1, .irreducible = true },
            err);
    }
    return st;
}

/* --- nesting --- */

static int by_size(const void *a, const void *b)
{
    const struct isa_loop *x = a;
    const struct isa_loop *y = b;
    if (x->block_count != y->block_count) {
        return x->block_count > y->block_count ? -1 : 1;
    }
    return x->header < y->header ? -1 : x->header > y->header;
}

/* The largest come first, so that what stands at a loop's header when its turn comes is
 * the smallest loop around it. */
static void nest(struct graph *g, struct isa_loops *l)
{
    uint32_t *inner = g->stack; /* block -> loop */
    if (l->count > 0) {
        qsort(l->loop, l->count, sizeof(*l->loop), by_size);
    }
    memset(inner, 0xff, g->n * sizeof(uint32_t));
    for (uint32_t i = 0; i < l->count; i++) {
        struct isa_loop *loop = &l->loop[i];
        loop->parent = inner[loop->header];
        loop->depth = 1;
        if (loop->parent != ISA_NO_LOOP) {
            loop->depth = l->loop[loop->parent].depth + 1;
            l->loop[loop->parent].children++;
        }
        for (size_t b = 0; b < loop->block_count; b++) {
            inner[loop->block[b]] = i;
        }
    }
}

enum wf_status isa_loops_find(const struct isa_flow *f,
                              struct isa_loops *ret,
                              struct wf_error *err)
{
    struct isa_loops l = { .loop = NULL };
    struct graph g;
    if (f->block_count > MAX_BLOCKS) {
        *ret = (struct isa_loops){ .cut = true };
        return WF_OK;
    }
    enum wf_status st = graph_init(&g, f, err);
    if (st == WF_OK) {
        find_predecessors(&g);
        number_blocks(&g);
        l.cut = !find_dominators(&g);
    }
    for (uint32_t i = 1; st == WF_OK && !l.cut && i < g.reached; i++) {
        st = loops_of_header(&g, g.order[i], &l, err);
    }
    if (st == WF_OK) {
        nest(&g, &l);
        *ret = l;
    } else {
        isa_loops_fini(&l);
    }
    graph_fini(&g);
    return st;
}

void isa_loops_fini(struct isa_loops *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->loop[i].block);
    }
    free(l->loop);
    *l = (struct isa_loops){ .loop = NULL };
}
