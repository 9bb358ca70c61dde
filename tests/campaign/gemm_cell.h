/* What a kernel of a pack does, asked from the kernel: for which pairs of operand types
 * and transposes its `supports` says yes, and with which epilogues; its tile, k-step
 * and split from its knobs. One (kernel x types x transposes) is a cell. */
#ifndef WF_TESTS_GEMM_CELL_H
#define WF_TESTS_GEMM_CELL_H

#include "packs/pack.h"
#include "runner/device.h"
#include "tests/campaign/gemm_reduce.h"
#include "tests/campaign/gemm_want.h"

/* What D is and what becomes of a sum. */
struct gemm_mode {
    enum wf_dtype d;
    enum gemm_scale scale;
    enum gemm_activation activation;
};

#define GEMM_MODES_MAX 27

struct gemm_cell {
    const struct wf_pack *pack;
    const struct wf_pack_kernel *kernel;
    const struct wf_device *device;
    struct gemm_tiles tiles; /* split 1: it depends on the case */
    enum wf_dtype a, b;
    bool trans_a, trans_b;
    bool grouped;                          /* the op is grouped_gemm */
    struct gemm_mode mode[GEMM_MODES_MAX]; /* that some size is supported with */
    size_t mode_count;
};

struct gemm_cells {
    struct gemm_cell *at;
    size_t count;
};

/* Appends the cells of all gemm and grouped_gemm kernels of the pack whose name fits
 * `glob` (NULL: all) and that the device can run. EINVAL where a kernel has no knobs
 * BLOCK_M and BLOCK_N, or does nothing that was asked. Pack and device must outlive the
 * cells. */
enum wf_status gemm_cells_find(const struct wf_pack *pack,
                               const char *glob,
                               const struct wf_device *device,
                               struct gemm_cells *ret,
                               struct wf_error *err);
void gemm_cells_free(struct gemm_cells *cells);

/* Does the kernel take this case? *ret_split: its partial sums there. An error is a
 * mistake in the kernel's entry or in the generator. */
enum wf_status gemm_cell_takes(const struct gemm_cell *cell,
                               const struct wf_case *c,
                               bool *ret,
                               int64_t *ret_split,
                               struct wf_error *err);
enum wf_status gemm_cell_wants(const struct gemm_cell *cell,
                               const struct gemm_want *w,
                               bool *ret,
                               int64_t *ret_split,
                               struct wf_error *err);

/* "f16 x f16 NT" */
void gemm_cell_label(const struct gemm_cell *cell, char *out, size_t n);

#endif
