/* The graph of a kernel's instructions, and which registers are read again.
 *
 * A register is live behind an instruction when some path leads to a read without a
 * write before it. A write under EXEC ends the life of all lanes only where EXEC is
 * known to hold every lane that the wave has: where nothing on any path from the entry
 * wrote EXEC. Anything else lets the value live on: too much is called live, never too
 * little. */
#include "selftest/generate_flow.h"

#include "core/buf.h"
#include "emulator/exec/scalar_internal.h"

#include <stdlib.h>
#include <string.h>

void gen_set_add(struct gen_set *set, unsigned code, unsigned count)
{
    for (unsigned i = code; i < code + count && i < GEN_REGISTERS; i++) {
        set->w[i / 64] |= UINT64_C(1) << (i % 64);
    }
}

bool gen_set_has(const struct gen_set *set, unsigned code)
{
    return code < GEN_REGISTERS && (set->w[code / 64] >> (code % 64) & 1);
}

bool gen_set_meets(const struct gen_set *a, const struct gen_set *b)
{
    for (size_t i = 0; i < GEN_WORDS; i++) {
        if (a->w[i] & b->w[i]) {
            return true;
        }
    }
    return false;
}

static void add_operand(struct gen_set *set, struct em_operand o)
{
    if (o.code < EM_SCALARS || o.code == EM_SCC || em_is_vector(o.code)) {
        gen_set_add(set, o.code, o.dwords);
    } else if (o.code == EM_VCCZ || o.code == EM_EXECZ) {
        gen_set_add(set, o.code == EM_VCCZ ? EM_VCC : EM_EXEC, 2);
    }
}

static bool is_scalar(const struct em_inst *in)
{
    return in->encoding <= EM_SMEM;
}

/* A branch reads what it asks; its operands do not say so. */
static void add_condition(struct gen_use *use, const struct em_inst *in)
{
    switch (in->op) {
    case EM_s_cbranch_scc0:
    case EM_s_cbranch_scc1:
        gen_set_add(&use->read, EM_SCC, 1);
        break;
    case EM_s_cbranch_vccz:
    case EM_s_cbranch_vccnz:
        gen_set_add(&use->read, EM_VCC, 2);
        break;
    case EM_s_cbranch_execz:
    case EM_s_cbranch_execnz:
        gen_set_add(&use->read, EM_EXEC, 2);
        break;
    default:
        break;
    }
}

static void use_of_scalar(const struct em_op *op, struct gen_use *ret)
{
    if (op->flags & EM_READS_SCC) {
        gen_set_add(&ret->read, EM_SCC, 1);
    }
    if (op->flags & EM_WRITES_SCC) {
        gen_set_add(&ret->written, EM_SCC, 1);
    }
    const char *name = em_op_info((enum em_opcode)op->in.op)->name;
    if (strstr(name, "saveexec") || strstr(name, "wrexec")) {
        gen_set_add(&ret->read, EM_EXEC, 2);
        gen_set_add(&ret->written, EM_EXEC, 2);
    }
    add_condition(ret, &op->in);
    switch (op->in.op) {
    case EM_s_cmov_b32:
    case EM_s_cmov_b64:
    case EM_s_cmovk_i32:
    case EM_s_bitset0_b32:
    case EM_s_bitset1_b32:
    case EM_s_bitset0_b64:
    case EM_s_bitset1_b64:
    case EM_s_movreld_b32:
    case EM_s_movreld_b64:
        ret->keeps = true;
        break;
    default:
        break;
    }
}

static bool is_lane_access(const struct em_inst *in)
{
    return in->op == EM_v_readlane_b32 || in->op == EM_v_writelane_b32;
}

static void use_of_vector(const struct em_op *op, struct gen_use *ret)
{
    const struct em_inst *in = &op->in;
    bool matrix = op->class == EM_CLASS_MFMA;
    ret->every_lane =
        matrix && in->op != EM_v_accvgpr_read_b32 && in->op != EM_v_accvgpr_write_b32;
    ret->masked = !ret->every_lane;
    ret->keeps = in->extra != EM_PLAIN || in->op_sel != 0 || is_lane_access(in) ||
                 em_type_dwords((enum em_type)in->dst.type) == 0;
    if (ret->keeps && in->dst.code != EM_NONE) {
        add_operand(&ret->read, in->dst);
    }
    if (strncmp(em_op_info((enum em_opcode)in->op)->name, "v_cmpx", 6) == 0) {
        gen_set_add(&ret->written, EM_EXEC, 2);
    }
    if (!ret->every_lane && in->op != EM_v_readlane_b32) {
        gen_set_add(&ret->read, EM_EXEC, 2);
    }
}

static bool is_pure(const struct em_op *op)
{
    switch (op->class) {
    case EM_CLASS_SALU:
    case EM_CLASS_VALU:
    case EM_CLASS_TRANS:
    case EM_CLASS_F64:
    case EM_CLASS_MFMA:
        return op->in.encoding != EM_SOPP && op->in.op != EM_s_setreg_b32 &&
               op->in.op != EM_s_setreg_imm32_b32 && op->in.op != EM_s_getreg_b32 &&
               op->in.op != EM_s_set_gpr_idx_on && op->in.op != EM_s_setvskip;
    default:
        return false;
    }
}

void gen_use_of(const struct em_op *op, struct gen_use *ret)
{
    *ret = (struct gen_use){ .pure = is_pure(op) };
    for (unsigned i = 0; i < 4; i++) {
        add_operand(&ret->read, op->in.src[i]);
    }
    for (unsigned i = 0; i < op->reads; i++) {
        gen_set_add(&ret->read, op->read[i].first, op->read[i].count);
    }
    for (unsigned i = 0; i < op->writes; i++) {
        gen_set_add(&ret->written, op->written[i].first, op->written[i].count);
    }
    add_operand(&ret->written, op->in.dst);
    add_operand(&ret->written, op->in.sdst);
    if (is_scalar(&op->in)) {
        use_of_scalar(op, ret);
    } else {
        use_of_vector(op, ret);
    }
}

/* --- the graph --- */

enum way {
    WAY_ON,
    WAY_FORKS,
    WAY_TARGET,
    WAY_END,
    WAY_UNKNOWN
};

static enum way way_of(const struct em_op *op)
{
    switch (op->in.op) {
    case EM_s_branch:
        return WAY_TARGET;
    case EM_s_endpgm:
        return WAY_END;
    case EM_s_set_gpr_idx_on:
    case EM_s_set_gpr_idx_idx:
    case EM_s_set_gpr_idx_mode:
    case EM_s_movrels_b32:
    case EM_s_movrels_b64:
    case EM_s_movreld_b32:
    case EM_s_movreld_b64:
    case EM_s_setvskip:
    case EM_s_call_b64:
    case EM_s_setpc_b64:
    case EM_s_swappc_b64:
    case EM_s_cbranch_g_fork:
    case EM_s_cbranch_i_fork:
    case EM_s_cbranch_join:
    case EM_s_endpgm_saved:
    case EM_s_endpgm_ordered_ps_done:
        return WAY_UNKNOWN;
    default:
        return op->class == EM_CLASS_BRANCH ? WAY_FORKS : WAY_ON;
    }
}

struct walk {
    const struct em_code *code;
    struct gen_flow *flow;
    uint32_t *todo;
    size_t waiting;
};

/* A dword that control may come to; false: behind the end of the code. */
static bool come_to(struct walk *w, uint32_t at)
{
    if (at >= w->flow->dwords) {
        return false;
    }
    if (w->flow->of_dword[at] < 0) {
        w->flow->of_dword[at] = 0;
        w->todo[w->waiting++] = at;
        w->flow->count++;
    }
    return true;
}

static bool come_behind(struct walk *w, const struct em_op *op)
{
    enum way way = way_of(op);
    uint32_t target = op->next + (uint32_t)op->in.offset;
    if (way == WAY_UNKNOWN || !op->run) {
        return false;
    }
    bool good = true;
    if (way == WAY_ON || way == WAY_FORKS) {
        good = come_to(w, op->next);
    }
    if (way == WAY_TARGET || way == WAY_FORKS) {
        good = come_to(w, target) && good;
    }
    return good;
}

static void link_nodes(const struct em_code *code, struct gen_flow *flow)
{
    size_t n = 0;
    for (uint32_t i = 0; i < flow->dwords; i++) {
        if (flow->of_dword[i] >= 0) {
            flow->of_dword[i] = (int32_t)n;
            flow->node[n++] = (struct gen_node){ .at = i, .op = em_code_at(code, i) };
        }
    }
    for (n = 0; n < flow->count; n++) {
        struct gen_node *node = &flow->node[n];
        enum way way = way_of(node->op);
        uint32_t target = node->op->next + (uint32_t)node->op->in.offset;
        node->next[0] = node->next[1] = -1;
        if (way == WAY_ON || way == WAY_FORKS) {
            node->next[0] = flow->of_dword[node->op->next];
        }
        if (way == WAY_TARGET || way == WAY_FORKS) {
            node->next[1] = flow->of_dword[target];
        }
        gen_use_of(node->op, &node->use);
    }
}

/* --- EXEC and life --- */

static void find_entry_exec(struct gen_flow *flow)
{
    for (size_t i = 0; i < flow->count; i++) {
        flow->node[i].entry_exec = true;
    }
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < flow->count; i++) {
            const struct gen_node *n = &flow->node[i];
            bool kept = n->entry_exec && !gen_set_has(&n->use.written, EM_EXEC) &&
                        !gen_set_has(&n->use.written, EM_EXEC + 1);
            for (int k = 0; k < 2 && !kept; k++) {
                if (n->next[k] >= 0 && flow->node[n->next[k]].entry_exec) {
                    flow->node[n->next[k]].entry_exec = false;
                    changed = true;
                }
            }
        }
    }
}

/* What is surely overwritten, in all lanes. */
static void kills(const struct gen_node *n, struct gen_set *ret)
{
    *ret = n->use.written;
    bool whole = !n->use.keeps && (n->use.every_lane || n->entry_exec);
    if (n->use.keeps) {
        memset(ret, 0, sizeof(*ret));
    } else if (!whole) {
        for (size_t i = EM_VGPR0 / 64; i < GEN_WORDS; i++) {
            ret->w[i] = 0;
        }
    }
}

static bool flow_back(struct gen_flow *flow, size_t i)
{
    struct gen_node *n = &flow->node[i];
    struct gen_set live = { { 0 } };
    for (int k = 0; k < 2; k++) {
        if (n->next[k] < 0) {
            continue;
        }
        const struct gen_node *next = &flow->node[n->next[k]];
        struct gen_set gone;
        kills(next, &gone);
        for (size_t w = 0; w < GEN_WORDS; w++) {
            live.w[w] |= next->use.read.w[w] | (next->live.w[w] & ~gone.w[w]);
        }
    }
    bool changed = memcmp(&live, &n->live, sizeof(live)) != 0;
    n->live = live;
    return changed;
}

static void find_live(struct gen_flow *flow)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = flow->count; i-- > 0;) {
            changed = flow_back(flow, i) || changed;
        }
    }
}

enum wf_status gen_flow_create(const struct em_code *code,
                               uint32_t entry,
                               struct gen_flow *ret,
                               struct wf_error *err)
{
    struct gen_flow flow = { .dwords = em_code_count(code) };
    struct walk walk = { .code = code, .flow = &flow };
    enum wf_status st = WF_OK;
    flow.of_dword = wf_calloc(flow.dwords + 1, sizeof(*flow.of_dword));
    walk.todo = wf_calloc(flow.dwords + 1, sizeof(*walk.todo));
    if (!flow.of_dword || !walk.todo) {
        st = wf_errorf(err, WF_ENOMEM, "no memory for %zu dwords of code", flow.dwords);
        goto out;
    }
    memset(flow.of_dword, 0xff, flow.dwords * sizeof(*flow.of_dword));
    bool good = come_to(&walk, entry);
    while (good && walk.waiting > 0) {
        uint32_t at = walk.todo[--walk.waiting];
        good = come_behind(&walk, em_code_at(code, at));
        if (!good) {
            st = wf_errorf(err, WF_EUNSUPPORTED,
                           "where the code goes at dword %u cannot be told", at);
            goto out;
        }
    }
    flow.node = good ? wf_calloc(flow.count, sizeof(*flow.node)) : NULL;
    if (!flow.node) {
        st =
            wf_errorf(err, WF_ENOMEM, "no memory for a graph of %zu nodes", flow.count);
        goto out;
    }
    link_nodes(code, &flow);
    flow.entry = (size_t)flow.of_dword[entry];
    find_entry_exec(&flow);
    find_live(&flow);
    *ret = flow;
out:
    free(walk.todo);
    if (st != WF_OK) {
        gen_flow_free(&flow);
    }
    return st;
}

void gen_flow_free(struct gen_flow *flow)
{
    free(flow->node);
    free(flow->of_dword);
    *flow = (struct gen_flow){ 0 };
}

bool gen_flow_dead(const struct gen_flow *flow, size_t node, const struct gen_use *use)
{
    static const struct gen_set control = { .w[EM_EXEC / 64] = UINT64_C(3)
                                                               << (EM_EXEC % 64) };
    return use->pure && !gen_set_meets(&use->written, &flow->node[node].live) &&
           !gen_set_meets(&use->written, &control);
}
