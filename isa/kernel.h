/* One kernel's report, as the files of isa/ share it. */
#ifndef WF_ISA_KERNEL_H
#define WF_ISA_KERNEL_H

#include "isa/loops.h"
#include "isa/mca.h"
#include "isa/mix.h"
#include "isa/report.h"
#include "packs/code_object.h"

struct em_image;
struct em_kernel;

/* Why fewer waves are resident than 8 a SIMD. */
struct isa_occupancy {
    unsigned workgroup; /* work-items; 0: the object does not say */
    bool exact;         /* reqd_work_group_size, not the largest one allowed */
    double waves;       /* a SIMD, all limits together */
    const char *limit;  /* "vgprs", "sgprs", "lds", "workgroups", "waves" */
    double by_vgprs, by_sgprs, by_lds; /* each limit by itself */
};

/* A loop as it is listed. */
struct isa_loop_line {
    int64_t offset; /* of the header, bytes from the kernel's entry */
    uint32_t header_block;
    uint32_t parent, depth, children, blocks, back_edges;
    bool irreducible;
    bool matrix_inside; /* a loop within this one has matrix instructions */
    struct isa_mix mix; /* every instruction of the body once */
    char line[128];     /* "gemm.hip:42", "" where nothing says */
};

/* A hot loop: the same, with what is assumed to be jumped over left out. */
struct isa_hot {
    uint32_t loop;    /* index in lines */
    uint32_t skipped; /* instructions of blocks that are assumed to be jumped over */
    struct isa_mix mix;
    struct isa_tallies tally;
    struct isa_mca mca;
};

#define ISA_HOT_MAX 8

struct isa_kernel {
    char *name;
    /* From the descriptor, as allocated. */
    unsigned vgprs, agprs, accum_offset, sgprs;
    uint32_t lds_bytes, scratch_bytes;
    bool dynamic_stack;
    /* From the metadata. */
    bool has_metadata;
    uint32_t named_vgprs, named_agprs, named_sgprs, vgpr_spills, sgpr_spills;
    struct isa_occupancy occupancy;
    uint64_t code_bytes; /* the function's, or of what is reached */
    bool code_bytes_from_symbol;
    bool indirect, calls, loops_cut;
    struct isa_mix mix; /* the whole kernel */
    struct isa_loop_line *line;
    size_t line_count;
    struct isa_hot hot[ISA_HOT_MAX];
    size_t hot_count;
};

/* Fills everything but mca's figures. `bytes`: of the function by the symbol table, 0:
 * it does not say. */
enum wf_status isa_kernel_analyse(const struct em_image *image,
                                  const struct em_kernel *k,
                                  const struct wf_code_kernel *metadata,
                                  uint64_t bytes,
                                  struct isa_marks *marks,
                                  const struct isa_mca_tool *tool,
                                  int hot_max,
                                  struct isa_kernel *ret,
                                  struct wf_error *err);
void isa_kernel_fini(struct isa_kernel *k);

/* Which loops are hot, the hottest first: indices into line[]. Matrix work counts
 * first; a loop around others counts where those have no matrix instruction. Returns
 * how many. */
size_t isa_hot_choose(const struct isa_loop_line *line,
                      size_t count,
                      uint32_t ret[ISA_HOT_MAX],
                      size_t most);
/* A loop's instructions by address without blocks that only mask (a forward branch over
 * 16 vector instructions or more, and over no matrix and no memory instruction, is
 * taken to be taken). `op` has room for all; returns how many are left. */
size_t isa_hot_steady(const struct em_op *const *body,
                      size_t count,
                      const struct em_op **op,
                      uint32_t *ret_skipped);

/* --- figures --- */
size_t isa_figure_count(void);
struct wf_isa_figure isa_figure(const struct isa_kernel *k, size_t i);
const char *isa_figure_title(size_t i);
const char *isa_figure_words(size_t i);

#endif
