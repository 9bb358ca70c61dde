/* Which operations take each other's place: a table, and names of compares. */
#include "selftest/generate_ops.h"

#include "emulator/isa/isa.h"

#include <stdbool.h>
#include <string.h>

struct pair {
    uint16_t a, b;
    bool one_way;
};

static size_t both_ways(const struct pair *pair,
                        size_t pairs,
                        uint16_t op,
                        uint16_t ret[GEN_OTHERS_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < pairs && n < GEN_OTHERS_MAX; i++) {
        if (pair[i].a == op) {
            ret[n++] = pair[i].b;
        } else if (pair[i].b == op && !pair[i].one_way) {
            ret[n++] = pair[i].a;
        }
    }
    return n;
}

size_t gen_other_operations(uint16_t op, uint16_t ret[GEN_OTHERS_MAX])
{
    static const struct pair pairs[] = {
#define SWAP(a, b) { EM_##a, EM_##b, false },
#define TURN(a, b) { EM_##a, EM_##b, true },
#include "selftest/generate_ops.def"
#undef SWAP
#undef TURN
    };
    return both_ways(pairs, sizeof(pairs) / sizeof(pairs[0]), op, ret);
}

size_t gen_other_branches(uint16_t op, uint16_t ret[GEN_OTHERS_MAX])
{
    static const struct pair pairs[] = {
        { EM_s_cbranch_scc0, EM_s_cbranch_scc1, false },
        { EM_s_cbranch_vccz, EM_s_cbranch_vccnz, false },
        { EM_s_cbranch_execz, EM_s_cbranch_execnz, false },
    };
    size_t n = both_ways(pairs, sizeof(pairs) / sizeof(pairs[0]), op, ret);
    if (n > 0) {
        ret[n++] = EM_s_branch;
    }
    return n;
}

size_t gen_other_exec(uint16_t op, uint16_t ret[GEN_OTHERS_MAX])
{
    static const struct pair pairs[] = {
        { EM_s_and_saveexec_b64, EM_s_or_saveexec_b64, false },
        { EM_s_and_saveexec_b64, EM_s_andn2_saveexec_b64, false },
        { EM_s_and_saveexec_b64, EM_s_xor_saveexec_b64, false },
        { EM_s_andn2_saveexec_b64, EM_s_or_saveexec_b64, false },
    };
    return both_ways(pairs, sizeof(pairs) / sizeof(pairs[0]), op, ret);
}

static uint16_t by_name(const char *name)
{
    for (unsigned i = 0; i < EM_OPCODES; i++) {
        if (strcmp(em_op_info((enum em_opcode)i)->name, name) == 0) {
            return (uint16_t)i;
        }
    }
    return EM_OPCODES;
}

/* "v_cmp_gt_i32": the part before the condition, the condition, the part behind. */
static const char *condition_of(const char *name)
{
    static const char *const starts[] = { "v_cmp_", "s_cmp_", "s_cmpk_" };
    for (size_t i = 0; i < 3; i++) {
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) {
            return name + strlen(starts[i]);
        }
    }
    return NULL;
}

size_t gen_other_conditions(uint16_t op, uint16_t ret[GEN_OTHERS_MAX])
{
    static const char *const conditions[] = { "lt", "le", "gt", "ge",
                                              "eq", "ne", "lg", "neq" };
    const char *name = em_op_info((enum em_opcode)op)->name;
    const char *condition = condition_of(name);
    const char *behind = condition ? strchr(condition, '_') : NULL;
    size_t n = 0;
    if (!behind) {
        return 0;
    }
    for (size_t i = 0; i < 8 && n < GEN_OTHERS_MAX; i++) {
        char other[48] = "";
        size_t start = (size_t)(condition - name);
        size_t length = strlen(conditions[i]);
        bool ordered = behind[1] == 'f' && strcmp(conditions[i], "lg") == 0;
        if (ordered || start + length + strlen(behind) >= sizeof(other)) {
            continue; /* "lg" of numbers is "neq" but for NaN */
        }
        memcpy(other, name, start);
        memcpy(other + start, conditions[i], length + 1);
        memcpy(other + start + length, behind, strlen(behind) + 1);
        uint16_t found = by_name(other);
        if (found != op && found != EM_OPCODES) {
            ret[n++] = found;
        }
    }
    return n;
}
