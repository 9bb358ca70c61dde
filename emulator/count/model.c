/* The cycles that an MI300X needs at least for what a launch executed: 304 compute
 * units of 4 SIMDs, each pipe apart, with the tail of the last round of workgroups. It
 * takes the workgroups to do equal work and everything else to cost nothing: no
 * latency, no cache miss, no dependency. */
#include "emulator/count/model.h"

#include "emulator/launch/launch.h"

enum {
    CU_WAVES = EM_CU_SIMDS * EM_SIMD_WAVES,
    CU_BARRIERS = 16, /* workgroups of more than a wave that a compute unit keeps */
    LDS_GRANULE = 512,
    SIMD_VGPRS = 512,
    VGPR_GRANULE = 8,
    SIMD_SGPRS = 800,
    SGPR_GRANULE = 16,
    LINE_BYTES = 128,
    L1_BYTES_A_CYCLE = 64,
    HBM_BYTES_A_CYCLE = 2523 /* 5.3 TB/s at 2.1 GHz */
};

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return b == 0 ? 0 : a / b + (a % b != 0);
}

static unsigned up_to(unsigned value, unsigned granule)
{
    return (value + granule - 1) / granule * granule;
}

const char *em_pipe_name(enum em_pipe pipe)
{
    static const char *const names[] = {
#define X(name, words) #name,
        EM_PIPES(X)
#undef X
    };
    return (unsigned)pipe < EM_PIPE_COUNT ? names[pipe] : "none";
}

static void limit(struct em_occupancy *o, unsigned workgroups, const char *why)
{
    if (workgroups < o->workgroups_of_cu) {
        o->workgroups_of_cu = workgroups;
        o->limit = why;
    }
}

/* Workgroups of `waves` waves where a SIMD keeps `of_simd` of them. */
static unsigned by_waves(unsigned of_simd, unsigned waves)
{
    of_simd = of_simd < EM_SIMD_WAVES ? of_simd : EM_SIMD_WAVES;
    return of_simd * EM_CU_SIMDS / waves;
}

void em_occupancy(const struct em_kernel *kernel,
                  unsigned work_items,
                  uint32_t lds_bytes,
                  struct em_occupancy *ret)
{
    unsigned waves = (unsigned)divide_up(work_items, EM_LANES);
    waves = waves ? waves : 1;
    *ret = (struct em_occupancy){ .waves_of_workgroup = waves,
                                  .workgroups_of_cu = CU_WAVES / waves,
                                  .limit = "waves" };
    if (waves > 1) {
        limit(ret, CU_BARRIERS, "workgroups");
    }
    unsigned vgprs = up_to(kernel->vgprs + kernel->agprs, VGPR_GRANULE);
    unsigned sgprs = up_to(kernel->sgprs, SGPR_GRANULE);
    if (vgprs) {
        limit(ret, by_waves(SIMD_VGPRS / vgprs, waves), "vgprs");
    }
    if (sgprs) {
        limit(ret, by_waves(SIMD_SGPRS / sgprs, waves), "sgprs");
    }
    if (lds_bytes) {
        limit(ret, EM_MAX_LDS_BYTES / up_to(lds_bytes, LDS_GRANULE), "lds");
    }
    ret->waves_of_simd = (double)(ret->workgroups_of_cu * waves) / (double)EM_CU_SIMDS;
}

/* The share of the compute unit that has most workgroups, of a pipe that a unit has one
 * of; and of the SIMD that has most of that unit's waves. */
struct share {
    uint64_t workgroups, of_cu;
    uint64_t waves, of_simd;
};

static uint64_t scale(uint64_t total, uint64_t part, uint64_t whole)
{
    return (uint64_t)(((unsigned __int128)total * part + whole - 1) / whole);
}

void em_model(const struct em_report *report,
              const struct em_launch *launch,
              struct em_model *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!report->counted || report->workgroups == 0 || report->waves == 0) {
        return;
    }
    em_totals(&report->counts, em_image_code(launch->image), &ret->totals);
    const struct em_totals *t = &ret->totals;
    struct share s = { .workgroups = report->workgroups, .waves = report->waves };
    s.of_cu = divide_up(s.workgroups, EM_DEVICE_CUS);
    s.of_simd = divide_up(s.of_cu * divide_up(s.waves, s.workgroups), EM_CU_SIMDS);
    const struct em_counts *c = &report->counts;
    uint64_t salu = t->by_class[EM_CLASS_SALU] + t->by_class[EM_CLASS_SMEM];
    uint64_t vmem = t->by_class[EM_CLASS_VMEM_LOAD] + t->by_class[EM_CLASS_VMEM_STORE] +
                    t->by_class[EM_CLASS_VMEM_ATOMIC];
    uint64_t issued = t->instructions - t->by_class[EM_CLASS_WAIT] -
                      t->by_class[EM_CLASS_BARRIER] - t->by_class[EM_CLASS_OTHER];
    uint64_t l1 =
        divide_up(c->global_read_bytes + c->global_write_bytes, L1_BYTES_A_CYCLE);
    ret->pipe[EM_PIPE_mfma] = scale(4 * t->mfma_passes, s.of_simd, s.waves);
    ret->pipe[EM_PIPE_valu] = scale(t->valu_cycles, s.of_simd, s.waves);
    ret->pipe[EM_PIPE_salu] = scale(salu, s.of_cu, s.workgroups);
    ret->pipe[EM_PIPE_lds] = scale(c->lds_cycles, s.of_cu, s.workgroups);
    ret->pipe[EM_PIPE_vmem] = scale(4 * vmem, s.of_cu, s.workgroups);
    ret->pipe[EM_PIPE_l1] = scale(l1, s.of_cu, s.workgroups);
    ret->pipe[EM_PIPE_issue] = scale(4 * issued, 1, s.waves);
    for (unsigned i = 0; i < EM_PIPE_COUNT; i++) {
        if (ret->pipe[i] > ret->cycles) {
            ret->cycles = ret->pipe[i];
            ret->bound = (enum em_pipe)i;
        }
    }
    ret->hbm_cycles_without_caches =
        divide_up(c->global_lines * LINE_BYTES, HBM_BYTES_A_CYCLE);
}

uint64_t em_model_cycles(const struct em_report *report, const struct em_launch *launch)
{
    struct em_model model;
    em_model(report, launch, &model);
    return model.cycles;
}

uint64_t em_model_ns(uint64_t cycles)
{
    return scale(cycles, 1000, EM_CLOCK_MHZ);
}
