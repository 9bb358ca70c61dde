/* From a kernel's code to its report. */
#include "isa/kernel.h"

#include "core/buf.h"
#include "emulator/count/model.h"
#include "emulator/load/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct analysis {
    const struct em_image *image;
    const struct em_code *code;
    uint32_t entry;
    struct isa_flow flow;
    struct isa_loops loops;
    const struct em_op **body;   /* instructions of the loop at hand */
    const struct em_op **steady; /* of these, what is not jumped over */
};

/* --- registers, occupancy --- */

static double waves(const struct em_kernel *k, unsigned work_items, uint32_t lds_bytes)
{
    struct em_occupancy o;
    em_occupancy(k, work_items, lds_bytes, &o);
    return o.waves_of_simd;
}

static void fill_occupancy(const struct em_kernel *k, struct isa_occupancy *ret)
{
    struct em_occupancy o;
    const uint32_t *r = k->required_workgroup;
    uint64_t required = (uint64_t)r[0] * r[1] * r[2];
    ret->exact = required > 0 && required <= 1024;
    ret->workgroup = ret->exact ? (unsigned)required : k->max_workgroup;
    unsigned items = ret->workgroup;
    if (items == 0 || items > 1024) {
        ret->workgroup = 0;
        ret->waves = ret->by_vgprs = ret->by_sgprs = ret->by_lds = (double)NAN;
        ret->limit = "";
        return;
    }
    struct em_kernel only = { .vgprs = k->vgprs, .agprs = k->agprs };
    em_occupancy(k, items, k->lds_bytes, &o);
    ret->waves = o.waves_of_simd;
    ret->limit = o.limit;
    ret->by_vgprs = waves(&only, items, 0);
    only = (struct em_kernel){ .sgprs = k->sgprs };
    ret->by_sgprs = waves(&only, items, 0);
    only = (struct em_kernel){ .sgprs = 0 };
    ret->by_lds = waves(&only, items, k->lds_bytes);
}

static void fill_registers(const struct em_kernel *k,
                           const struct wf_code_kernel *metadata,
                           struct isa_kernel *ret)
{
    ret->vgprs = k->vgprs;
    ret->agprs = k->agprs;
    ret->accum_offset = k->accum_offset;
    ret->sgprs = k->sgprs;
    ret->lds_bytes = k->lds_bytes;
    ret->scratch_bytes = k->private_bytes;
    ret->dynamic_stack = k->dynamic_stack;
    ret->has_metadata = metadata != NULL && metadata->has_layout;
    if (ret->has_metadata) {
        ret->named_vgprs = metadata->vgprs;
        ret->named_agprs = metadata->agprs;
        ret->named_sgprs = metadata->sgprs;
        ret->vgpr_spills = metadata->vgpr_spills;
        ret->sgpr_spills = metadata->sgpr_spills;
    }
    fill_occupancy(k, &ret->occupancy);
}

/* --- the whole kernel --- */

static void count_all(const struct analysis *a, struct isa_kernel *ret)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < a->flow.block_count; i++) {
        const struct isa_block *b = &a->flow.block[i];
        const struct em_op *op;
        uint32_t at = b->first;
        while ((op = isa_flow_next(&a->flow, b, &at)) != NULL) {
            isa_mix_add(&ret->mix, op);
            bytes += op->in.bytes;
        }
    }
    if (!ret->code_bytes_from_symbol) {
        ret->code_bytes = bytes;
    }
    ret->indirect = a->flow.indirect;
    ret->calls = a->flow.calls;
    ret->loops_cut = a->loops.cut;
}

/* --- loops --- */

static size_t gather(const struct analysis *a, const struct isa_loop *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->block_count; i++) {
        const struct isa_block *b = &a->flow.block[l->block[i]];
        const struct em_op *op;
        uint32_t at = b->first;
        while ((op = isa_flow_next(&a->flow, b, &at)) != NULL) {
            a->body[n++] = op;
        }
    }
    return n;
}

static void fill_line(const struct analysis *a, uint32_t i, struct isa_loop_line *ret)
{
    const struct isa_loop *l = &a->loops.loop[i];
    uint32_t first = a->flow.block[l->header].first;
    size_t n = gather(a, l);
    *ret = (struct isa_loop_line){ .offset = 4 * ((int64_t)first - (int64_t)a->entry),
                                   .header_block = l->header,
                                   .parent = l->parent,
                                   .depth = l->depth,
                                   .children = l->children,
                                   .blocks = (uint32_t)l->block_count,
                                   .back_edges = l->back_edges,
                                   .irreducible = l->irreducible };
    for (size_t k = 0; k < n; k++) {
        isa_mix_add(&ret->mix, a->body[k]);
    }
    if (!em_image_line(a->image, first, ret->line, sizeof(ret->line))) {
        ret->line[0] = '\0';
    }
}

/* Says of each loop whether one within it has matrix instructions. */
static void mark_matrix(struct isa_loop_line *line, size_t count)
{
    for (size_t i = count; i-- > 0;) { /* parents come first */
        bool any = line[i].mix.mfma_passes > 0 || line[i].matrix_inside;
        if (any && line[i].parent != ISA_NO_LOOP) {
            line[line[i].parent].matrix_inside = true;
        }
    }
}

static enum wf_status fill_lines(const struct analysis *a,
                                 struct isa_kernel *ret,
                                 struct wf_error *err)
{
    ret->line = wf_calloc(a->loops.count + 1, sizeof(*ret->line));
    if (ret->line == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %zu loops", a->loops.count);
    }
    ret->line_count = a->loops.count;
    for (uint32_t i = 0; i < ret->line_count; i++) {
        fill_line(a, i, &ret->line[i]);
    }
    mark_matrix(ret->line, ret->line_count);
    return WF_OK;
}

static enum wf_status fill_hot(const struct analysis *a,
                               uint32_t i,
                               const struct isa_mca_tool *tool,
                               struct isa_hot *ret,
                               struct wf_error *err)
{
    size_t n = gather(a, &a->loops.loop[i]);
    ret->loop = i;
    n = isa_hot_steady(a->body, n, a->steady, &ret->skipped);
    for (size_t k = 0; k < n; k++) {
        isa_mix_add(&ret->mix, a->steady[k]);
    }
    enum wf_status st = isa_tallies_make(a->steady, n, &ret->tally, err);
    if (st == WF_OK) {
        st = isa_mca_ask(tool, a->steady, n, ret->mix.kind[ISA_TRANS] > 0, &ret->mca,
                         err);
    }
    return st;
}

static enum wf_status fill_hots(const struct analysis *a,
                                const struct isa_mca_tool *tool,
                                int hot_max,
                                struct isa_kernel *ret,
                                struct wf_error *err)
{
    uint32_t chosen[ISA_HOT_MAX];
    size_t n = isa_hot_choose(ret->line, ret->line_count, chosen,
                              hot_max > 0 ? (size_t)hot_max : 1);
    enum wf_status st = WF_OK;
    for (size_t i = 0; i < n && st == WF_OK; i++) {
        ret->hot_count = i + 1;
        st = fill_hot(a, chosen[i], tool, &ret->hot[i], err);
    }
    return st;
}

/* --- all of it --- */

static enum wf_status analyse(struct analysis *a,
                              const struct isa_mca_tool *tool,
                              int hot_max,
                              struct isa_kernel *ret,
                              struct wf_error *err)
{
    enum wf_status st = isa_loops_find(&a->flow, &a->loops, err);
    if (st != WF_OK) {
        return st;
    }
    a->body = wf_calloc((size_t)a->flow.instructions + 1, sizeof(*a->body));
    a->steady = wf_calloc((size_t)a->flow.instructions + 1, sizeof(*a->steady));
    if (a->body == NULL || a->steady == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for %u instructions",
                         a->flow.instructions);
    }
    count_all(a, ret);
    st = fill_lines(a, ret, err);
    return st == WF_OK ? fill_hots(a, tool, hot_max, ret, err) : st;
}

enum wf_status isa_kernel_analyse(const struct em_image *image,
                                  const struct em_kernel *k,
                                  const struct wf_code_kernel *metadata,
                                  uint64_t bytes,
                                  struct isa_marks *marks,
                                  const struct isa_mca_tool *tool,
                                  int hot_max,
                                  struct isa_kernel *ret,
                                  struct wf_error *err)
{
    struct analysis a = { .image = image,
                          .code = em_image_code(image),
                          .entry = k->entry };
    struct isa_kernel r = { .code_bytes = bytes, .code_bytes_from_symbol = bytes > 0 };
    uint64_t end = k->entry + bytes / 4;
    uint64_t count = em_code_count(a.code);
    end = end < count ? end : count;
    r.name = wf_strdup(k->name);
    fill_registers(k, metadata, &r);
    enum wf_status st =
        r.name == NULL ? wf_errorf(err, WF_ENOMEM, "no memory")
                       : isa_flow_build(marks, k->entry, (uint32_t)end, &a.flow, err);
    if (st == WF_OK) {
        st = analyse(&a, tool, hot_max, &r, err);
    }
    free(a.body);
    free(a.steady);
    isa_loops_fini(&a.loops);
    isa_flow_fini(&a.flow);
    if (st == WF_OK) {
        *ret = r;
    } else {
        isa_kernel_fini(&r);
    }
    return st;
}

void isa_kernel_fini(struct isa_kernel *k)
{
    for (size_t i = 0; i < k->hot_count; i++) {
        free(k->hot[i].tally.item);
    }
    free(k->line);
    free(k->name);
    *k = (struct isa_kernel){ .name = NULL };
}
