/* Which loops are hot, and what of them runs in the steady state. */
#include "isa/kernel.h"

#include <stdlib.h>

enum {
    MASK_INSTRUCTIONS = 16 /* vector instructions that make a block one that masks */
};

/* A loop's weight: matrix passes, else what the vector unit and memory have to do. */
static uint64_t weight(const struct isa_loop_line *l, bool matrix)
{
    const struct isa_mix *m = &l->mix;
    if (matrix) {
        return m->mfma_passes;
    }
    uint64_t memory = 0;
    for (unsigned k = 0; k < ISA_KIND_COUNT; k++) {
        memory += isa_is_memory((enum isa_kind)k) ? m->kind[k] : 0;
    }
    return m->valu_passes + 4 * memory;
}

static bool is_candidate(const struct isa_loop_line *l, bool matrix)
{
    return matrix ? l->mix.mfma_passes > 0 && !l->matrix_inside : l->children == 0;
}

size_t isa_hot_choose(const struct isa_loop_line *line,
                      size_t count,
                      uint32_t ret[ISA_HOT_MAX],
                      size_t most)
{
    bool matrix = false;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        matrix = matrix || line[i].mix.mfma_passes > 0;
    }
    most = most < ISA_HOT_MAX ? most : ISA_HOT_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_candidate(&line[i], matrix)) {
            continue;
        }
        size_t at = n < most ? n++ : most; /* insertion: equal weights by address */
        while (at > 0) {
            const struct isa_loop_line *other = &line[ret[at - 1]];
            uint64_t mine = weight(&line[i], matrix);
            uint64_t theirs = weight(other, matrix);
            if (mine < theirs || (mine == theirs && line[i].offset >= other->offset)) {
                break;
            }
            if (at < most) {
                ret[at] = ret[at - 1];
            }
            at--;
        }
        if (at < most) {
            ret[at] = i;
        }
    }
    return n;
}

/* How many instructions from body[i] on lie before `target`; 0: it is not a block that
 * only masks. */
static size_t masking(const struct em_op *const *body,
                      size_t i,
                      size_t count,
                      uint32_t target)
{
    size_t n = 0;
    uint32_t vector = 0;
    for (; i + n < count && body[i + n]->index < target; n++) {
        enum isa_kind kind = isa_classify(body[i + n]);
        if (kind == ISA_MFMA || kind == ISA_BARRIER || isa_is_memory(kind)) {
            return 0;
        }
        vector += kind == ISA_VALU || kind == ISA_TRANS;
    }
    return vector >= MASK_INSTRUCTIONS ? n : 0;
}

/* Whether the loop goes on at that dword. */
static bool lands_inside(const struct em_op *const *body, size_t count, uint32_t target)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (body[middle]->index < target) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && body[low]->index == target;
}

size_t isa_hot_steady(const struct em_op *const *body,
                      size_t count,
                      const struct em_op **op,
                      uint32_t *ret_skipped)
{
    size_t kept = 0;
    *ret_skipped = 0;
    for (size_t i = 0; i < count; i++) {
        const struct em_op *at = body[i];
        op[kept++] = at;
        bool conditional = isa_classify(at) == ISA_BRANCH &&
                           at->in.op >= EM_s_cbranch_scc0 &&
                           at->in.op <= EM_s_cbranch_execnz;
        uint32_t target = at->next + (uint32_t)at->in.offset;
        if (conditional && at->in.offset > 0 && lands_inside(body, count, target)) {
            size_t n = masking(body, i + 1, count, target);
            *ret_skipped += (uint32_t)n;
            i += n;
        }
    }
    return kept;
}
