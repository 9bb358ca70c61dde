#include "tests/campaign/gemm_make.h"

#include "core/rng.h"

#include <stdio.h>
#include <string.h>

#define TRIES           48 /* draws until the kernel takes one */
#define MOST_K_OF_PARTS 65536

static const struct {
    const char *name;
    size_t cases;
} kinds[] = {
#define X(name, text, count, what) { text, count },
    GEMM_KIND_LIST(X)
#undef X
};

/* One attempt at a case. */
struct draw {
    const struct gemm_sources *sources;
    const struct gemm_cell *cell;
    const struct gemm_pick *pick;
    struct wf_rng rng;
    int attempt;
    struct gemm_want w;
    char note[96];
};

const char *gemm_kind_name(enum gemm_kind kind)
{
    return kinds[kind].name;
}

size_t gemm_kind_cases(enum gemm_kind kind,
                       const struct gemm_sources *s,
                       size_t reduced)
{
    return kind == GEMM_KIND_REDUCED ? reduced
           : kind == GEMM_KIND_FIVE  ? s->five.count
                                     : kinds[kind].cases;
}

static int64_t below(struct draw *d, int64_t n)
{
    return (int64_t)wf_rng_next_below(&d->rng, (uint64_t)n);
}

static int64_t between(struct draw *d, int64_t low, int64_t high)
{
    return low + below(d, high - low + 1);
}

static bool one_in(struct draw *d, int64_t n)
{
    return below(d, n) == 0;
}

/* FNV-1a over what a draw may depend on. */
static uint64_t stream_of(const struct gemm_pick *pick)
{
    char text[256];
    char label[64];
    uint64_t h = UINT64_C(14695981039346656037);
    gemm_cell_label(pick->cell, label, sizeof(label));
    snprintf(text, sizeof(text), "%s %s %s %zu %zu", pick->cell->kernel->name, label,
             gemm_kind_name(pick->kind), pick->list, pick->index);
    for (const char *c = text; *c != '\0'; c++) {
        h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return h;
}

/* --- parts of a case --- */

/* The later half of the draws is for kernels of few rows. */
static bool few_rows(const struct draw *d)
{
    return d->attempt >= TRIES / 2;
}

static int64_t draw_m(struct draw *d, int64_t m)
{
    const int64_t most = d->cell->tiles.m < 16 ? d->cell->tiles.m : 16;
    return few_rows(d) && m > most ? between(d, 1, most) : m;
}

/* Two tiles each way, the second one not full, and some k-steps. */
static struct gemm_shape draw_crossing(struct draw *d)
{
    const struct gemm_tiles *t = &d->cell->tiles;
    return (struct gemm_shape){ draw_m(d, t->m + between(d, 1, t->m)),
                                t->n + between(d, 1, t->n),
                                between(d, 1, 4 * t->k + 7) };
}

static struct gemm_shape draw_small(struct draw *d)
{
    int64_t size[3];
    for (int i = 0; i < 3; i++) {
        size[i] = one_in(d, 8) ? 1 : between(d, 1, 300);
    }
    return (struct gemm_shape){ draw_m(d, size[0]), size[1], size[2] };
}

/* Any of the cell's modes with this scale and activation; < 0: any. False: none. */
static bool draw_mode(struct draw *d, int scale, int activation)
{
    const struct gemm_mode *fits[GEMM_MODES_MAX];
    int64_t n = 0;
    for (size_t i = 0; i < d->cell->mode_count; i++) {
        const struct gemm_mode *m = &d->cell->mode[i];
        if ((scale < 0 || (int)m->scale == scale) &&
            (activation < 0 || (int)m->activation == activation)) {
            fits[n++] = m;
        }
    }
    if (n == 0) {
        return false;
    }
    const struct gemm_mode *m = fits[below(d, n)];
    d->w.d = d->w.c = m->d;
    d->w.bias_type = one_in(d, 2) ? WF_F32 : m->d;
    d->w.scale = m->scale;
    d->w.activation = m->activation;
    return true;
}

/* What the kernel does most plainly. */
static bool plain_mode(struct draw *d)
{
    return draw_mode(d, GEMM_SCALED_NONE, GEMM_ACT_NONE) || draw_mode(d, -1, -1);
}

static void draw_factors(struct draw *d)
{
    static const double alpha[] = { 1.0, -0.75, 0.3, 2.0 };
    static const double beta[] = { 1.0, 0.5, -1.25, -2.0 };
    static const double whole[] = { 1, -3, 2, 5 };
    const bool is_int = d->cell->a == WF_I8;
    d->w.alpha = is_int ? whole[below(d, 4)] : alpha[below(d, 4)];
    d->w.beta = d->w.activation == GEMM_ACT_GATE ? 0.0
                : is_int                         ? whole[below(d, 4)]
                                                 : beta[below(d, 4)];
}

static void draw_c_type(struct draw *d)
{
    static const enum wf_dtype real[] = { WF_F16, WF_BF16, WF_F32 };
    if (d->cell->a != WF_I8 && one_in(d, 3)) {
        d->w.c = real[below(d, 3)];
    }
}

static void draw_any_epilogue(struct draw *d)
{
    if (one_in(d, 3)) {
        draw_factors(d);
        draw_c_type(d);
    }
    d->w.bias = d->cell->a != WF_I8 && one_in(d, 3);
}

/* --- kinds: false means that the kernel has no such thing --- */
static bool make_reduced(struct draw *d)
{
    const struct gemm_list *list = &d->sources->list[d->pick->list];
    const struct gemm_shape full =
        list->shapes.at[below(d, (int64_t)list->shapes.count)];
    struct gemm_tiles tiles = d->cell->tiles;
    int64_t split = 1;
    bool takes = false;
    tiles.split = 0; /* not known yet */
    if (few_rows(d) && full.m > 64) {
        return true; /* drawn again */
    }
    if (!draw_mode(d, -1, -1)) {
        return false;
    }
    snprintf(d->note, sizeof(d->note), "%s %lldx%lldx%lld", list->name,
             (long long)full.m, (long long)full.n, (long long)full.k);
    const int64_t more = below(d, 3);
    const double half =
        d->sources->max_flops / (d->w.activation == GEMM_ACT_GATE ? 2.0 : 1.0);
    /* The split depends on the size, and the size on the split: first the full one's.
     */
    d->w.size = full;
    (void)gemm_cell_wants(d->cell, &d->w, &takes, &split, NULL);
    for (int round = 0; round < 3 && split != tiles.split; round++) {
        tiles.split = split;
        d->w.size = gemm_reduce(full, &tiles, more, half);
        (void)gemm_cell_wants(d->cell, &d->w, &takes, &split, NULL);
    }
    draw_any_epilogue(d);
    return true;
}

static bool make_edge(struct draw *d)
{
    const struct gemm_tiles *t = &d->cell->tiles;
    if (d->pick->index == 0) { /* the last group of rows of tiles is not a whole one */
        d->w.size = (struct gemm_shape){ draw_m(d, 8 * t->m + t->m * between(d, 1, 3)),
                                         t->n + 1, t->k + 1 };
        return draw_mode(d, -1, -1);
    }
    d->w.size =
        (struct gemm_shape){ draw_m(d, t->m * between(d, 1, 2) + between(d, -1, 1)),
                             t->n * between(d, 1, 2) + between(d, -1, 1),
                             t->k * between(d, 1, 5) + between(d, -1, 1) };
    return draw_mode(d, -1, -1);
}

static bool make_random(struct draw *d)
{
    d->w.size = draw_small(d);
    const bool good = draw_mode(d, -1, -1);
    draw_any_epilogue(d);
    return good;
}

static bool make_one(struct draw *d)
{
    d->w.size = (struct gemm_shape){ 1, 1, 1 };
    return plain_mode(d);
}

static bool make_k_zero(struct draw *d)
{
    d->w.size = draw_small(d);
    d->w.size.k = 0;
    const bool good = draw_mode(d, -1, -1);
    draw_factors(d);
    return good;
}

static bool make_alpha_zero(struct draw *d)
{
    d->w.size = draw_small(d);
    const bool good = draw_mode(d, -1, -1);
    draw_factors(d);
    d->w.alpha = 0.0;
    return good;
}

static bool make_beta(struct draw *d)
{
    d->w.size = one_in(d, 2) ? draw_small(d) : draw_crossing(d);
    if (!plain_mode(d) || d->w.activation == GEMM_ACT_GATE) {
        return false;
    }
    draw_factors(d);
    draw_c_type(d);
    /* Rows of C lie elsewhere than those of D, and so do its batches. */
    const int64_t aligned = (d->w.size.n + 15) / 16 * 16;
    d->w.ld[GEMM_OF_C] = aligned + 16 * between(d, 0, 2);
    d->w.ld[GEMM_OF_D] = aligned + 16 * between(d, 3, 5);
    d->w.batch = d->pick->index % 2 == 1 ? 2 : 1;
    return true;
}

/* Rows of one operand as far apart as the kernel takes: less with each attempt. Few of
 * them, so that the address space has room; enough that the last one is 2^31 elements
 * behind the first. */
static bool make_huge_ld(struct draw *d)
{
    static const int shift[] = { 29, 28, 27, 26, 24, 22, 21, 18, 16, 12 };
    const int64_t n = (int64_t)(sizeof(shift) / sizeof(shift[0]));
    const enum gemm_operand o =
        (enum gemm_operand)(d->pick->index % 3 == 2 ? GEMM_OF_D : d->pick->index % 3);
    const int64_t step = d->attempt % (TRIES / 2) / 2;
    const int64_t far = INT64_C(1) << shift[step < n ? step : n - 1];
    d->w.size = draw_small(d);
    if (o == GEMM_OF_D || (o == GEMM_OF_A && !d->w.trans_a)) {
        d->w.size.m = between(d, 5, 9);
    } else if (o == GEMM_OF_B && d->w.trans_b) {
        d->w.size.n = between(d, 5, 9);
    } else {
        d->w.size.k = between(d, 5, 9);
    }
    /* Odd first; then a multiple of 16 for kernels that want aligned rows. */
    d->w.ld[o] =
        far + (d->attempt % 2 == 0 ? 17 + 2 * below(d, 9) : 16 * between(d, 1, 5));
    snprintf(d->note, sizeof(d->note), "ld%c", "abcd"[o]);
    return plain_mode(d);
}

static bool make_offsets(struct draw *d)
{
    d->w.size = draw_small(d);
    for (int o = 0; o < GEMM_OPERANDS; o++) {
        d->w.offset[o] = below(d, 16) << (d->attempt / 8 < 4 ? d->attempt / 8 : 4);
    }
    const bool good = plain_mode(d);
    if (one_in(d, 3) && d->w.activation != GEMM_ACT_GATE) {
        draw_factors(d);
    }
    return good;
}

static bool make_batch(struct draw *d)
{
    d->w.size = draw_small(d);
    if (!draw_mode(d, -1, -1)) {
        return false;
    }
    draw_any_epilogue(d);
    d->w.batch = between(d, 2, 4);
    for (int o = 0; o < GEMM_OPERANDS; o++) {
        const int64_t whole = gemm_want_rows(&d->w, (enum gemm_operand)o) *
                              gemm_want_cols(&d->w, (enum gemm_operand)o);
        d->w.stride[o] = o != GEMM_OF_D && one_in(d, 4) ? 0
                         : one_in(d, 2)                 ? whole + 16 * below(d, 9)
                                                        : whole + below(d, 99);
    }
    return true;
}

/* Rows of one batch lie between those of another: stride < ld. */
static bool make_interleaved(struct draw *d)
{
    d->w.size = draw_small(d);
    if (!draw_mode(d, -1, -1)) {
        return false;
    }
    draw_any_epilogue(d);
    d->w.batch = between(d, 2, 3);
    for (int o = 0; o < GEMM_OPERANDS; o++) {
        const int64_t cols = gemm_want_cols(&d->w, (enum gemm_operand)o);
        const int64_t stride = d->attempt % 2 == 1 || one_in(d, 2)
                                   ? (cols + 15) / 16 * 16 + 16 * below(d, 3)
                                   : cols + below(d, 20);
        d->w.stride[o] = stride;
        d->w.ld[o] = d->w.batch * stride + 16 * below(d, 3);
    }
    return true;
}

/* Partial sums with this K (of one part too, where waves split it); 0: not taken. */
static int64_t split_of(const struct draw *d, int64_t k)
{
    struct gemm_want w = d->w;
    int64_t split = 1;
    bool takes = false;
    w.size.k = k;
    return gemm_cell_wants(d->cell, &w, &takes, &split, NULL) == WF_OK && takes ? split
                                                                                : 0;
}

/* What a list's size is reduced to has seldom more than two parts of K, and what is
 * wrong with the third or the last of them is not seen then. Grows K until there are
 * four, then a bit further, so that the parts are not all whole. */
static bool make_parts(struct draw *d)
{
    const struct gemm_tiles *t = &d->cell->tiles;
    d->w.size = (struct gemm_shape){ draw_m(d, between(d, 1, t->m)),
                                     between(d, 1, t->n + 4), t->k };
    if (!draw_mode(d, -1, -1)) {
        return false;
    }
    const int64_t one = split_of(d, t->k);
    int64_t k = t->k;
    while (one > 0 && k < MOST_K_OF_PARTS && split_of(d, k) < 4 * one) {
        k *= 2;
    }
    d->w.size.k = k + between(d, 0, k / 2);
    draw_any_epilogue(d);
    return k < MOST_K_OF_PARTS;
}

static bool make_far(struct draw *d)
{
    const enum gemm_operand o =
        (enum gemm_operand)(d->pick->index % 3 == 2 ? GEMM_OF_D : d->pick->index % 3);
    d->w.size = draw_small(d);
    if (!plain_mode(d)) {
        return false;
    }
    d->w.batch = 2;
    /* Neither bytes nor elements between the batches fit 32 bits, signed or not. */
    d->w.stride[o] =
        (INT64_C(1) << 32) +
        (d->attempt % 2 == 0 ? 1 + 2 * below(d, 500) : 16 * between(d, 1, 50));
    snprintf(d->note, sizeof(d->note), "stride_%c", "abcd"[o]);
    return true;
}

static bool make_feature(struct draw *d, int scale, int activation)
{
    d->w.size = one_in(d, 3) ? draw_small(d) : draw_crossing(d);
    const bool good = draw_mode(d, scale, activation);
    if (scale == GEMM_SCALED_BLOCK128) {
        d->w.size.k += 128 * between(d, 0, 3);
    }
    draw_any_epilogue(d);
    return good;
}

static bool make_bias(struct draw *d)
{
    const bool good = make_feature(d, -1, -1) && d->cell->a != WF_I8;
    d->w.bias = true;
    return good;
}

static bool make_scale_row(struct draw *d)
{
    return make_feature(d, GEMM_SCALED_ROW, -1);
}

static bool make_scale_128(struct draw *d)
{
    return make_feature(d, GEMM_SCALED_BLOCK128, -1);
}

static bool make_silu(struct draw *d)
{
    return make_feature(d, -1, GEMM_ACT_SILU);
}

static bool make_gate(struct draw *d)
{
    return make_feature(d, -1, GEMM_ACT_GATE);
}

static int64_t tile_m(const struct draw *d)
{
    int64_t m = d->cell->tiles.m;
    for (int i = 0; i < d->attempt / 4 && m > 1; i++) {
        m /= 2;
    }
    return m;
}

/* The second one with rows that begin anywhere. */
static bool make_loop(struct draw *d)
{
    d->w.size =
        (struct gemm_shape){ tile_m(d), d->cell->tiles.n, 4 * d->cell->tiles.k };
    const bool good = plain_mode(d);
    if (d->pick->index == 1) {
        d->w.ld[GEMM_OF_A] = 12 * d->cell->tiles.k + d->cell->tiles.m + 1;
        d->w.ld[GEMM_OF_B] = 12 * d->cell->tiles.k + gemm_want_b_cols(&d->w) + 1;
        d->w.offset[GEMM_OF_A] = d->w.offset[GEMM_OF_B] = 1;
    }
    return good;
}

static bool make_silu_cost(struct draw *d)
{
    d->w.size = (struct gemm_shape){ tile_m(d), d->cell->tiles.n, 4096 };
    return d->cell->a != WF_I8 && draw_mode(d, GEMM_SCALED_NONE, GEMM_ACT_NONE);
}

static bool make_five(struct draw *d)
{
    d->w.size = d->sources->five.at[d->pick->index];
    return plain_mode(d);
}

/* --- grouped products --- */
/* What a grouped product does not have: C, bias, batches of A and D. */
static bool fits_groups(const struct gemm_pick *pick)
{
    return pick->kind != GEMM_KIND_BETA && pick->kind != GEMM_KIND_BIAS &&
           pick->kind != GEMM_KIND_INTERLEAVED && pick->kind != GEMM_KIND_PARTS &&
           (pick->kind != GEMM_KIND_FAR || pick->index % 3 == GEMM_OF_B);
}

/* The rows become those of some groups, many of them empty or of one row. */
static void split_rows(struct draw *d)
{
    int64_t left = d->w.size.m;
    d->w.groups = (size_t)between(d, 1, GEMM_GROUPS_MAX);
    for (size_t i = 0; i + 1 < d->w.groups; i++) {
        const int64_t rows = one_in(d, 3) ? 0 : one_in(d, 4) ? 1 : below(d, left + 1);
        d->w.group[i] = rows < left ? rows : left;
        left -= d->w.group[i];
    }
    d->w.group[d->w.groups - 1] = left;
    d->w.batch = 1;
    d->w.beta = 0.0;
    d->w.bias = false;
}

typedef bool maker(struct draw *d);
static maker *const makers[] = {
    make_reduced,    make_edge,        make_random,  make_one,     make_k_zero,
    make_alpha_zero, make_beta,        make_huge_ld, make_offsets, make_batch,
    make_far,        make_interleaved, make_parts,   make_bias,    make_scale_row,
    make_scale_128,  make_silu,        make_gate,    make_loop,    make_silu_cost,
    make_five,
};
_Static_assert(sizeof(makers) / sizeof(makers[0]) == GEMM_KIND_COUNT, "one a kind");

/* The second of a pair. */
static void add_partner(const struct draw *d, struct gemm_made *m)
{
    if (d->pick->kind == GEMM_KIND_LOOP) {
        m->want[m->count] = m->want[0];
        m->want[m->count++].size.k *= 3;
    } else if (d->pick->kind == GEMM_KIND_SILU_COST) {
        m->want[m->count] = m->want[0];
        m->want[m->count++].activation = GEMM_ACT_SILU;
    }
}

static enum wf_status accept(const struct draw *d,
                             struct gemm_made *ret,
                             struct wf_error *err)
{
    int64_t split = 1;
    bool takes = true;
    enum wf_status status = WF_OK;
    ret->count = 1;
    ret->want[0] = d->w;
    ret->exact =
        d->pick->kind != GEMM_KIND_FIVE && d->pick->kind != GEMM_KIND_SILU_COST;
    snprintf(ret->note, sizeof(ret->note), "%s", d->note);
    add_partner(d, ret);
    for (size_t i = 0; status == WF_OK && takes && i < ret->count; i++) {
        status = gemm_cell_wants(d->cell, &ret->want[i], &takes, &split, err);
    }
    ret->count = takes ? ret->count : 0;
    return status;
}

static bool too_large(const struct draw *d)
{
    return d->pick->kind != GEMM_KIND_FIVE && d->pick->kind != GEMM_KIND_SILU_COST &&
           gemm_want_flops(&d->w) > d->sources->max_flops;
}

enum wf_status gemm_make(const struct gemm_sources *sources,
                         const struct gemm_pick *pick,
                         struct gemm_made *ret,
                         struct wf_error *err)
{
    struct draw d = { .sources = sources, .cell = pick->cell, .pick = pick };
    enum wf_status status = WF_OK;
    d.rng = (struct wf_rng){ sources->seed, stream_of(pick), 0 };
    *ret = (struct gemm_made){ 0 };
    if (pick->cell->grouped && !fits_groups(pick)) {
        return WF_OK;
    }
    for (; status == WF_OK && ret->count == 0 && d.attempt < TRIES; d.attempt++) {
        d.w = gemm_want_plain((struct gemm_shape){ 0, 0, 0 });
        d.w.a = pick->cell->a;
        d.w.b = pick->cell->b;
        d.w.trans_a = pick->cell->trans_a;
        d.w.trans_b = pick->cell->trans_b;
        d.w.seed = 1 + wf_rng_next_below(&d.rng, 1000000);
        d.note[0] = '\0';
        if (!makers[pick->kind](&d)) {
            return WF_OK;
        }
        if (pick->cell->grouped) {
            split_rows(&d);
        }
        if (d.w.size.m > 0 && !too_large(&d)) {
            status = accept(&d, ret, err);
        }
    }
    return status;
}
