/* Known bits on all paths.
 *
 * Of a vector register two things are kept: the bits known in the lanes that EXEC has
 * now (`now`), and those known in all lanes (`all`). A write changes the first; the
 * second becomes what was known in the old and in the new value. When EXEC may have
 * got lanes back, only the second is left. */
#include "selftest/generate_values.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

#define ALL UINT32_MAX

struct gen_state {
    struct gen_bits s[EM_SCALARS];
    struct gen_bits now[256], all[256];
    bool reached;
};

struct gen_values {
    const struct gen_flow *flow;
    struct gen_launch launch;
    int32_t *leader_of;      /* [nodes] state that the node's block starts with */
    struct gen_state *state; /* [blocks] */
    size_t blocks;
    struct gen_state scratch;
    struct gen_argument *argument;
};

static const struct gen_bits unknown = { 0, 0 };
/* The sign of a floating-point number that is not negative, a NaN's left aside: what
 * has a sign of 0 keeps it where such are added and multiplied. */
static const struct gen_bits not_negative = { UINT32_C(0x80000000), 0 };

/* A pair with the arguments' address is marked by bits that no value has: known both
 * ways. It stays so where all paths agree, and is forgotten by a write. */
static bool is_address(struct gen_bits bits)
{
    return bits.zero == ALL && bits.one == ALL;
}

/* --- sources and results of one instruction --- */

struct gen_bits gen_source(const struct gen_state *s,
                           const struct em_inst *in,
                           unsigned i,
                           unsigned half)
{
    struct em_operand o = in->src[i];
    unsigned code = o.code + (o.dwords > 1 ? half : 0);
    if (in->extra != EM_PLAIN || (in->neg | in->abs | in->op_sel) != 0) {
        return unknown;
    }
    if (o.code == EM_LITERAL) {
        return gen_constant(half ? 0 : in->literal);
    }
    if (o.code >= EM_INT_0 && o.code <= EM_INT_0 + 80) {
        int value =
            o.code <= EM_INT_0 + 64 ? o.code - EM_INT_0 : EM_INT_0 + 64 - o.code;
        return gen_constant(half ? (value < 0 ? ALL : 0) : (uint32_t)value);
    }
    if (o.code >= EM_FLOAT_HALF && o.code <= EM_FLOAT_INV_2PI && o.type == EM_F32) {
        bool negative = (o.code - EM_FLOAT_HALF) % 2 != 0;
        return negative ? unknown : not_negative;
    }
    if (code < EM_SCALARS) {
        return is_address(s->s[code]) ? unknown : s->s[code];
    }
    if (code >= EM_VGPR0 && code < EM_AGPR0) {
        return s->now[code - EM_VGPR0];
    }
    return unknown;
}

static struct gen_bits bit_field(struct gen_bits a,
                                 struct gen_bits from,
                                 struct gen_bits n)
{
    if (!gen_is_constant(from) || !gen_is_constant(n) || (n.one & 31) == 0) {
        return unknown;
    }
    struct gen_bits r = gen_shift_right(a, from, false);
    return gen_and(r, gen_constant((UINT32_C(1) << (n.one & 31)) - 1));
}

/* Of two, without knowing which. */
static struct gen_bits least_of(struct gen_bits a, struct gen_bits b, bool of_signed)
{
    struct gen_bits r = gen_either(a, b);
    bool positive = (a.zero & b.zero) >> 31;
    if (!of_signed || positive) {
        uint32_t most = gen_most(a) < gen_most(b) ? gen_most(a) : gen_most(b);
        r.zero |= gen_up_to(most).zero;
    }
    return r;
}

static struct gen_bits greatest_of(struct gen_bits a, struct gen_bits b)
{
    struct gen_bits r = gen_either(a, b);
    /* a signed maximum with a number that is not negative is none either */
    r.zero |= (a.zero | b.zero) & UINT32_C(0x80000000);
    return r;
}

static struct gen_bits absolute(struct gen_bits a)
{
    return a.zero >> 31 ? a : unknown;
}

static struct gen_bits positive_if(struct gen_bits a)
{
    return a.zero >> 31 ? not_negative : unknown;
}

/* The operations of both units, by what they compute: a table. */
/* NOLINTNEXTLINE(readability-function-size) */
static struct gen_bits compute(uint16_t op, const struct gen_bits x[3])
{
    switch (op) {
    case EM_s_mov_b32:
    case EM_s_mov_b64:
    case EM_v_mov_b32:
    case EM_v_mov_b64:
    case EM_v_readfirstlane_b32:
        return x[0];
    case EM_s_and_b32:
    case EM_s_and_b64:
    case EM_v_and_b32:
        return gen_and(x[0], x[1]);
    case EM_s_or_b32:
    case EM_s_or_b64:
    case EM_v_or_b32:
        return gen_or(x[0], x[1]);
    case EM_s_xor_b32:
    case EM_s_xor_b64:
    case EM_v_xor_b32:
        return gen_xor(x[0], x[1]);
    case EM_s_andn2_b32:
    case EM_s_andn2_b64:
        return gen_and(x[0], gen_not(x[1]));
    case EM_s_not_b32:
    case EM_s_not_b64:
    case EM_v_not_b32:
        return gen_not(x[0]);
    case EM_s_add_u32:
    case EM_s_add_i32:
    case EM_v_add_u32:
    case EM_v_add_co_u32:
        return gen_add(x[0], x[1], false);
    case EM_s_sub_u32:
    case EM_s_sub_i32:
    case EM_v_sub_u32:
    case EM_v_sub_co_u32:
        return gen_add(x[0], gen_not(x[1]), true);
    case EM_v_subrev_u32:
        return gen_add(x[1], gen_not(x[0]), true);
    case EM_s_lshl_b32:
        return gen_shift_left(x[0], x[1]);
    case EM_v_lshlrev_b32:
        return gen_shift_left(x[1], x[0]);
    case EM_s_lshr_b32:
        return gen_shift_right(x[0], x[1], false);
    case EM_v_lshrrev_b32:
        return gen_shift_right(x[1], x[0], false);
    case EM_s_ashr_i32:
        return gen_shift_right(x[0], x[1], true);
    case EM_v_ashrrev_i32:
        return gen_shift_right(x[1], x[0], true);
    case EM_s_mul_i32:
    case EM_v_mul_lo_u32:
    case EM_v_mul_u32_u24:
        return gen_mul(x[0], x[1]);
    case EM_s_min_i32:
    case EM_v_min_i32:
        return least_of(x[0], x[1], true);
    case EM_s_min_u32:
    case EM_v_min_u32:
        return least_of(x[0], x[1], false);
    case EM_s_max_i32:
    case EM_v_max_i32:
        return greatest_of(x[0], x[1]);
    case EM_s_abs_i32:
        return absolute(x[0]);
    case EM_s_cselect_b32:
    case EM_s_cselect_b64:
    case EM_v_cndmask_b32:
        return gen_either(x[0], x[1]);
    case EM_v_lshl_add_u32:
        return gen_add(gen_shift_left(x[0], x[1]), x[2], false);
    case EM_v_add_lshl_u32:
        return gen_shift_left(gen_add(x[0], x[1], false), x[2]);
    case EM_v_add3_u32:
        return gen_add(gen_add(x[0], x[1], false), x[2], false);
    case EM_v_lshl_or_b32:
        return gen_or(gen_shift_left(x[0], x[1]), x[2]);
    case EM_v_and_or_b32:
        return gen_or(gen_and(x[0], x[1]), x[2]);
    case EM_v_or3_b32:
        return gen_or(gen_or(x[0], x[1]), x[2]);
    case EM_v_exp_f32:
        return not_negative;
    case EM_v_rcp_f32:
        return positive_if(x[0]);
    case EM_v_add_f32:
    case EM_v_mul_f32:
        return positive_if(gen_or(x[0], x[1]));
    case EM_v_fma_f32:
        return positive_if(gen_or(gen_or(x[0], x[1]), x[2]));
    case EM_v_max_f32:
        return (x[0].zero | x[1].zero) >> 31 ? not_negative : unknown;
    case EM_v_bfe_u32:
        return bit_field(x[0], x[1], x[2]);
    case EM_v_mbcnt_lo_u32_b32:
    case EM_v_mbcnt_hi_u32_b32:
        return gen_most(x[1]) <= 32 ? gen_up_to(gen_most(x[1]) + 32) : unknown;
    default:
        return unknown;
    }
}

struct gen_bits gen_result(const struct gen_state *s,
                           const struct em_inst *in,
                           unsigned half)
{
    struct gen_bits x[3];
    if (in->extra != EM_PLAIN || in->clamp || in->op_sel) {
        return unknown;
    }
    for (unsigned i = 0; i < 3; i++) {
        x[i] = gen_source(s, in, i, half);
    }
    switch (in->op) {
    case EM_s_movk_i32:
        return gen_constant((uint32_t)(int32_t)(int16_t)in->simm16);
    case EM_s_addk_i32:
        return gen_add(x[0], gen_constant((uint32_t)(int32_t)(int16_t)in->simm16),
                       false);
    case EM_s_and_saveexec_b64:
    case EM_s_or_saveexec_b64:
        return s->s[EM_EXEC + half];
    case EM_global_load_ushort:
    case EM_ds_read_u16:
        return gen_up_to(0xffff);
    default:
        return compute(in->op, x);
    }
}

/* --- running an instruction --- */

static bool exec_is_full(const struct gen_state *s)
{
    return s->s[EM_EXEC].one == ALL && s->s[EM_EXEC + 1].one == ALL;
}

static void put(struct gen_state *s, unsigned code, struct gen_bits bits)
{
    if (code < EM_SCALARS) {
        s->s[code] = bits;
    } else if (code >= EM_VGPR0 && code < EM_AGPR0) {
        unsigned r = code - EM_VGPR0;
        s->all[r] = exec_is_full(s) ? bits : gen_either(s->all[r], bits);
        s->now[r] = bits;
    }
}

static void forget(struct gen_state *s, const struct gen_set *written)
{
    for (unsigned code = 0; code < EM_AGPR0; code++) {
        if (gen_set_has(written, code)) {
            put(s, code, unknown);
        }
    }
}

/* Lanes may only go away: what is known of those that are there stays. */
static bool only_narrows(const struct em_inst *in)
{
    bool self = in->src[0].code == EM_EXEC || in->src[1].code == EM_EXEC;
    return in->op == EM_s_and_saveexec_b64 ||
           ((in->op == EM_s_and_b64) && in->dst.code == EM_EXEC && self) ||
           (in->op == EM_s_andn2_b64 && in->dst.code == EM_EXEC &&
            in->src[0].code == EM_EXEC);
}

static void change_exec(struct gen_state *s, const struct em_inst *in)
{
    if (in->op == EM_s_and_saveexec_b64) {
        for (unsigned half = 0; half < 2; half++) {
            struct gen_bits mask = gen_source(s, in, 0, half);
            s->s[EM_EXEC + half] = gen_and(s->s[EM_EXEC + half], mask);
        }
    } else if (in->dst.code != EM_EXEC) {
        s->s[EM_EXEC] = s->s[EM_EXEC + 1] = unknown;
    }
    if (!only_narrows(in)) {
        memcpy(s->now, s->all, sizeof(s->now));
    }
}

static void load_arguments(const struct gen_values *v,
                           struct gen_state *s,
                           const struct em_inst *in)
{
    if (in->src[0].code != v->launch.kernarg || in->src[1].code != EM_NONE) {
        return;
    }
    for (unsigned d = 0; d < in->dst.dwords; d++) {
        for (size_t i = 0; i < v->launch.arguments; i++) {
            if (v->argument[i].offset == (uint32_t)in->offset + 4 * d) {
                put(s, in->dst.code + d, v->argument[i].bits);
            }
        }
    }
}

static void run(const struct gen_values *v,
                struct gen_state *s,
                const struct gen_node *n)
{
    const struct em_inst *in = &n->op->in;
    struct gen_bits result[2];
    bool exec = gen_set_has(&n->use.written, EM_EXEC);
    bool arguments = in->encoding == EM_SMEM && in->dst.code != EM_NONE &&
                     in->src[0].code == v->launch.kernarg &&
                     is_address(s->s[v->launch.kernarg]);
    for (unsigned half = 0; half < 2; half++) {
        result[half] = gen_result(s, in, half);
    }
    if (in->op == EM_v_readfirstlane_b32 && in->src[0].code >= EM_VGPR0 &&
        in->src[0].code < EM_AGPR0) {
        result[0] = s->all[in->src[0].code - EM_VGPR0]; /* lane 0 where EXEC is 0 */
    }
    struct gen_state before;
    if (exec) {
        before = *s;
        change_exec(&before, in);
    }
    forget(s, &n->use.written);
    if (in->dst.dwords <= 2 && in->dst.code != EM_NONE) {
        for (unsigned half = 0; half < in->dst.dwords; half++) {
            put(s, in->dst.code + half, result[half]);
        }
    }
    if (exec && in->dst.code != EM_EXEC) {
        s->s[EM_EXEC] = before.s[EM_EXEC];
        s->s[EM_EXEC + 1] = before.s[EM_EXEC + 1];
    }
    if (exec && !only_narrows(in)) {
        memcpy(s->now, s->all, sizeof(s->now));
    }
    if (arguments) {
        load_arguments(v, s, in);
    }
}

/* --- all paths --- */

static bool join(struct gen_state *into, const struct gen_state *from)
{
    if (!into->reached) {
        *into = *from;
        into->reached = true;
        return true;
    }
    bool changed = false;
    struct gen_bits *to = into->s;
    const struct gen_bits *of = from->s;
    for (size_t i = 0; i < EM_SCALARS + 512; i++) {
        struct gen_bits met = gen_either(to[i], of[i]);
        changed = changed || met.zero != to[i].zero || met.one != to[i].one;
        to[i] = met;
    }
    return changed;
}

static void start(const struct gen_values *v, struct gen_state *s)
{
    const struct gen_launch *l = &v->launch;
    memset(s, 0, sizeof(*s));
    if (l->whole_waves) {
        s->s[EM_EXEC] = s->s[EM_EXEC + 1] = gen_constant(ALL);
    }
    if (l->block_x) {
        s->now[0] = s->all[0] = gen_up_to(l->block_x - 1);
    }
    for (unsigned i = 0; i < l->workgroups; i++) {
        s->s[l->workgroup + i] = gen_up_to(INT32_MAX);
    }
    if (l->kernarg < EM_SCALARS - 1) {
        s->s[l->kernarg] = s->s[l->kernarg + 1] = (struct gen_bits){ ALL, ALL };
    }
}

static void find_blocks(struct gen_values *v)
{
    const struct gen_flow *f = v->flow;
    int32_t *mark = v->leader_of;
    mark[0] = mark[f->entry] = 1;
    for (size_t i = 0; i < f->count; i++) {
        const struct gen_node *n = &f->node[i];
        bool straight = n->next[1] < 0 && n->next[0] == (int32_t)(i + 1);
        for (int k = 0; k < 2 && !straight; k++) {
            if (n->next[k] >= 0) {
                mark[n->next[k]] = 1;
            }
        }
    }
    for (size_t i = 0; i < f->count; i++) {
        v->blocks += mark[i] != 0;
        mark[i] = (int32_t)v->blocks - 1;
    }
}

static size_t end_of_block(const struct gen_values *v, size_t first)
{
    size_t i = first;
    while (i + 1 < v->flow->count && v->leader_of[i + 1] == v->leader_of[first]) {
        i++;
    }
    return i;
}

static void run_all(struct gen_values *v)
{
    const struct gen_flow *f = v->flow;
    start(v, &v->scratch);
    (void)join(&v->state[v->leader_of[f->entry]], &v->scratch);
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t first = 0; first < f->count;) {
            size_t last = end_of_block(v, first);
            const struct gen_state *in = &v->state[v->leader_of[first]];
            if (in->reached) {
                v->scratch = *in;
                for (size_t i = first; i <= last; i++) {
                    run(v, &v->scratch, &f->node[i]);
                }
                for (int k = 0; k < 2; k++) {
                    int32_t next = f->node[last].next[k];
                    changed = (next >= 0 &&
                               join(&v->state[v->leader_of[next]], &v->scratch)) ||
                              changed;
                }
            }
            first = last + 1;
        }
    }
}

enum wf_status gen_values_create(const struct gen_flow *flow,
                                 const struct gen_launch *launch,
                                 struct gen_values **ret,
                                 struct wf_error *err)
{
    struct gen_values *v = wf_calloc(1, sizeof(*v));
    if (v) {
        v->flow = flow;
        v->launch = *launch;
        v->leader_of = wf_calloc(flow->count + 1, sizeof(*v->leader_of));
        v->argument = wf_calloc(launch->arguments + 1, sizeof(*v->argument));
    }
    if (v && v->leader_of && v->argument) {
        memcpy(v->argument, launch->argument, launch->arguments * sizeof(*v->argument));
        find_blocks(v);
        v->state = wf_calloc(v->blocks + 1, sizeof(*v->state));
    }
    if (!v || !v->leader_of || !v->state) {
        gen_values_destroy(v);
        return wf_errorf(err, WF_ENOMEM, "no memory for the values of %zu instructions",
                         flow->count);
    }
    run_all(v);
    *ret = v;
    return WF_OK;
}

void gen_values_destroy(struct gen_values *v)
{
    if (v) {
        free(v->leader_of);
        free(v->state);
        free(v->argument);
        free(v);
    }
}

const struct gen_state *gen_values_at(struct gen_values *v, size_t node)
{
    size_t first = node;
    while (first > 0 && v->leader_of[first - 1] == v->leader_of[node]) {
        first--;
    }
    v->scratch = v->state[v->leader_of[node]];
    for (size_t i = first; i < node; i++) {
        run(v, &v->scratch, &v->flow->node[i]);
    }
    return &v->scratch;
}

const struct gen_node *gen_values_node(const struct gen_values *v, size_t node)
{
    return &v->flow->node[node];
}
