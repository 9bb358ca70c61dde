/* The figures that are compared: one number each. */
#include "isa/kernel.h"

#include <math.h>

struct figure {
    double value;
    const char *why;
};

static struct figure known(double value)
{
    return (struct figure){ value, NULL };
}

static struct figure unknown(const char *why)
{
    return (struct figure){ (double)NAN, why };
}

/* PLAIN(name, expression over the kernel k) */
#define PLAIN(name, expression)                                 \
    static struct figure get_##name(const struct isa_kernel *k) \
    {                                                           \
        return known((double)(expression));                     \
    }
PLAIN(vgprs, k->vgprs)
PLAIN(agprs, k->agprs)
PLAIN(sgprs, k->sgprs)
PLAIN(scratch_bytes, k->scratch_bytes)
PLAIN(scratch_instructions, isa_mix_scratch(&k->mix))
PLAIN(lds_bytes, k->lds_bytes)
PLAIN(code_bytes, k->code_bytes)
PLAIN(instructions, k->mix.instructions)

static const char no_metadata[] = "the object has no metadata of this kernel";
static const char no_workgroup[] = "the object does not say the workgroup's size";
static const char no_loop[] = "the kernel has no loop";
static const char loops_cut[] = "too much code: its loops were not looked at";

static struct figure get_vgpr_spills(const struct isa_kernel *k)
{
    return k->has_metadata ? known(k->vgpr_spills) : unknown(no_metadata);
}

static struct figure get_sgpr_spills(const struct isa_kernel *k)
{
    return k->has_metadata ? known(k->sgpr_spills) : unknown(no_metadata);
}

static struct figure get_workgroup(const struct isa_kernel *k)
{
    return k->occupancy.workgroup ? known(k->occupancy.workgroup)
                                  : unknown(no_workgroup);
}

static struct figure get_waves_per_simd(const struct isa_kernel *k)
{
    return k->occupancy.workgroup ? known(k->occupancy.waves) : unknown(no_workgroup);
}

static struct figure get_loops(const struct isa_kernel *k)
{
    return k->loops_cut ? unknown(loops_cut) : known((double)k->line_count);
}

static struct figure without_loop(const struct isa_kernel *k)
{
    return unknown(k->loops_cut ? loops_cut : no_loop);
}

/* HOT(name, expression over the hot loop's mix m) */
#define HOT(name, expression)                                   \
    static struct figure get_##name(const struct isa_kernel *k) \
    {                                                           \
        if (k->hot_count == 0) {                                \
            return without_loop(k);                             \
        }                                                       \
        const struct isa_mix *m = &k->hot[0].mix;               \
        return known((double)(expression));                     \
    }
HOT(hot_instructions, m->instructions)
HOT(hot_mfma, m->kind[ISA_MFMA])
HOT(hot_mfma_passes, m->mfma_passes)
HOT(hot_valu_passes, m->valu_passes)
HOT(hot_accvgpr, m->kind[ISA_ACCVGPR])
HOT(hot_scratch, isa_mix_scratch(m))
HOT(hot_load_lds, m->kind[ISA_LOAD_LDS])
HOT(hot_vm_drains, m->vm_drains)
HOT(hot_vm_counted, m->vm_counted)
HOT(hot_lgkm_drains, m->lgkm_drains)
HOT(hot_barriers, m->kind[ISA_BARRIER])
HOT(hot_setprio, m->kind[ISA_PRIORITY])
HOT(hot_nops, m->kind[ISA_NOP])
HOT(hot_mfma_share, 100.0 * m->kind[ISA_MFMA] / m->instructions)

static struct figure ratio(const struct isa_kernel *k,
                           double above,
                           double below,
                           const char *why)
{
    if (k->hot_count == 0) {
        return without_loop(k);
    }
    return below > 0 ? known(above / below) : unknown(why);
}

static struct figure get_hot_valu_to_mfma(const struct isa_kernel *k)
{
    const struct isa_mix *m = &k->hot[0].mix;
    return ratio(k, (double)m->valu_passes, (double)m->mfma_passes,
                 "no matrix instruction in the hot loop");
}

static struct figure get_hot_load_bytes(const struct isa_kernel *k)
{
    const struct isa_mix *m = &k->hot[0].mix;
    return ratio(k, (double)m->load_bytes, m->kind[ISA_LOAD],
                 "no load to registers in the hot loop");
}

static struct figure get_hot_lds_read_bytes(const struct isa_kernel *k)
{
    const struct isa_mix *m = &k->hot[0].mix;
    return ratio(k, (double)m->lds_read_bytes, m->kind[ISA_LDS_READ],
                 "no ds_read in the hot loop");
}

static struct figure get_hot_lds_write_bytes(const struct isa_kernel *k)
{
    const struct isa_mix *m = &k->hot[0].mix;
    return ratio(k, (double)m->lds_write_bytes, m->kind[ISA_LDS_WRITE],
                 "no ds_write in the hot loop");
}

/* --- llvm-mca --- */

static struct figure mca_cycles(const struct isa_kernel *k, enum isa_mca_variant v)
{
    if (k->hot_count == 0) {
        return without_loop(k);
    }
    const struct isa_mca_run *r = &k->hot[0].mca.run[v];
    return isfinite(r->cycles) ? known(r->cycles) : unknown(r->why);
}

/* Percent of the time in which the matrix unit works: published passes by cycles. */
static struct figure mca_share(const struct isa_kernel *k, enum isa_mca_variant v)
{
    struct figure f = mca_cycles(k, v);
    if (k->hot_count == 0) {
        return f;
    }
    const struct isa_mix *m = &k->hot[0].mix;
    if (m->mfma_passes == 0) {
        return unknown("no matrix instruction in the hot loop");
    }
    return isfinite(f.value) ? known(100.0 * (double)m->mfma_passes / f.value) : f;
}

static struct figure get_mca(const struct isa_kernel *k)
{
    return mca_share(k, ISA_MCA_FULL);
}

static struct figure get_mca_nowait(const struct isa_kernel *k)
{
    return mca_share(k, ISA_MCA_NOWAIT);
}

static struct figure get_mca_nowait_trans(const struct isa_kernel *k)
{
    return mca_share(k, ISA_MCA_TRANS);
}

static struct figure get_mca_cycles(const struct isa_kernel *k)
{
    return mca_cycles(k, ISA_MCA_FULL);
}

static struct figure get_mca_nowait_cycles(const struct isa_kernel *k)
{
    return mca_cycles(k, ISA_MCA_NOWAIT);
}

static const struct {
    const char *name;
    int worse;
    struct figure (*get)(const struct isa_kernel *k);
    const char *words;
} figures[] = {
#define FIGURE(name, worse, function, words) { #name, worse, get_##function, words },
#include "isa/figures.def"
#undef FIGURE
};

size_t isa_figure_count(void)
{
    return sizeof(figures) / sizeof(figures[0]);
}

struct wf_isa_figure isa_figure(const struct isa_kernel *k, size_t i)
{
    struct figure f = figures[i].get(k);
    return (struct wf_isa_figure){ .name = figures[i].name,
                                   .value = f.value,
                                   .worse = figures[i].worse,
                                   .why = f.why };
}

const char *isa_figure_title(size_t i)
{
    return figures[i].name;
}

const char *isa_figure_words(size_t i)
{
    return figures[i].words;
}
