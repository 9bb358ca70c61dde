/* Modelled cycles of a kernel on a case: what the emulator counted on a small problem,
 * carried over to the whole one. An order of candidates, never a time.
 *
 * The emulator gives, for each pipe of a compute unit, the cycles of one workgroup
 * (docs/emulator.md, Counters). Work inside a workgroup grows linearly with its length
 * of K: two small problems with different K, everything else equal, give
 *
 *   work(pipe) = fixed + slope * length          length = K / split
 *
 * The plan of the whole problem says how many workgroups each launch has. The busiest
 * compute unit gets load = ceil(workgroups / CUs) of them: that is wave quantisation,
 * MNK / (padded MNK) x tiles / (ceil(tiles / CUs) CUs) in other words, and edge tiles
 * cost as much as whole ones. `resident` of them run at a time.
 *
 *   busy    = load * max over pipes of work(pipe)                pipes overlap
 *   matrix  = load * work(mfma) / mca_nowait                     several waves a SIMD
 *   alone   = ceil(load / resident) * max(work(issue), work(mfma) / mca)
 *   cycles of a launch = max(busy, matrix, alone)
 *   cycles = max(sum over launches, bytes / HBM) + launches * WF_TUNE_LAUNCH_CYCLES
 *
 * mca and mca_nowait: llvm-mca's shares of the hot loop (docs/isa.md); unknown: 1.
 * A second launch (the sum of a split) has work in proportion to the split. */
#ifndef WF_TUNE_MODEL_H
#define WF_TUNE_MODEL_H

#include "core/error.h"
#include "core/json.h"

#include <stddef.h>
#include <stdint.h>

/* X(name): pipes of a compute unit in the emulator's report. */
#define WF_TUNE_PIPES(X) X(mfma) X(valu) X(salu) X(lds) X(vmem) X(l1) X(issue)

enum wf_tune_pipe {
#define X(name) WF_TUNE_PIPE_##name,
    WF_TUNE_PIPES(X)
#undef X
    WF_TUNE_PIPE_COUNT
};
const char *wf_tune_pipe_name(size_t i);

#define WF_TUNE_LAUNCHES          8
#define WF_TUNE_SYMBOL            128
/* MI300X: 5.3 TB/s at 2100 MHz. */
#define WF_TUNE_HBM_BYTES_A_CYCLE (5.3e12 / 2.1e9)
/* An estimate, about 4 us at 2100 MHz: what a launch costs that waits for the one
 * before it. Without it every split of K looks free. */
#define WF_TUNE_LAUNCH_CYCLES     8000.0

struct wf_tune_model {
    size_t launches;
    struct {
        char symbol[WF_TUNE_SYMBOL];
        double fixed[WF_TUNE_PIPE_COUNT], slope[WF_TUNE_PIPE_COUNT];
        double resident; /* workgroups of a compute unit */
    } launch[WF_TUNE_LAUNCHES];
    double mca, mca_nowait; /* shares, 0 to 1; NAN: not known */
};

/* One emulated small problem. */
struct wf_tune_counted {
    size_t launches;
    struct {
        char symbol[WF_TUNE_SYMBOL];
        double pipe[WF_TUNE_PIPE_COUNT]; /* cycles of one workgroup */
        double resident;
    } launch[WF_TUNE_LAUNCHES];
    double length, split; /* K / split; split */
};

/* From a result's details.emulation.launches, of a problem whose launches have at most
 * as many workgroups as the device has CUs. EINVAL: something is missing there. */
enum wf_status wf_tune_counted_read(const struct wf_json *launches,
                                    double length,
                                    double split,
                                    struct wf_tune_counted *ret,
                                    struct wf_error *err);
/* `b` NULL: there is no second one, all work is fixed. EINVAL: they do not have the
 * same launches, or the same length. */
enum wf_status wf_tune_model_fit(const struct wf_tune_counted *a,
                                 const struct wf_tune_counted *b,
                                 double mca,
                                 double mca_nowait,
                                 struct wf_tune_model *ret,
                                 struct wf_error *err);

struct wf_tune_problem {
    size_t launches;
    const char *symbol[WF_TUNE_LAUNCHES]; /* borrowed */
    double workgroups[WF_TUNE_LAUNCHES];
    double length, split; /* as above */
    double bytes;         /* least traffic with main memory */
    double cu_count;
};

/* NAN where the launches (by their symbols) are not those that the model begins with: a
 * problem that is not split leaves out the sum that the small problem had. */
double wf_tune_cycles(const struct wf_tune_model *m, const struct wf_tune_problem *p);
/* Part of the compute units' rounds that have work, and of the tiles that are inside
 * the problem: what wave quantisation and padding leave, 0 to 1. `tile_m`, `tile_n` 0:
 * not known, 1. */
double wf_tune_fill(double m,
                    double n,
                    double tile_m,
                    double tile_n,
                    double workgroups,
                    double cu_count);

enum wf_status wf_tune_model_json(const struct wf_tune_model *m,
                                  struct wf_json **ret,
                                  struct wf_error *err);
enum wf_status wf_tune_model_parse(const struct wf_json *json,
                                   struct wf_tune_model *ret,
                                   struct wf_error *err);

#endif
