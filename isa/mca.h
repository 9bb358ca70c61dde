/* llvm-mca's view of a loop: how long an iteration takes if nothing but the loop's own
 * dependencies, waits and ports held it up. A model of one wave alone on its SIMD. */
#ifndef WF_ISA_MCA_H
#define WF_ISA_MCA_H

#include "core/buf.h"
#include "emulator/exec/wave.h"

#include <stddef.h>

/* X(NAME, name, words): which instructions are handed over. */
#define ISA_MCA_VARIANTS(X)                                                    \
    X(FULL, mca, "as it is")                                                   \
    X(NOWAIT, mca_nowait, "without s_waitcnt, s_barrier, s_nop and s_setprio") \
    X(TRANS, mca_nowait_trans, "without waits, transcendentals taking 4 passes")

enum isa_mca_variant {
#define X(NAME, name, words) ISA_MCA_##NAME,
    ISA_MCA_VARIANTS(X)
#undef X
    ISA_MCA_VARIANT_COUNT
};

struct isa_mca_tool {
    char *program; /* NULL: there is none, or it is not wanted */
    char *version; /* "LLVM 22.1.8" */
    char *why;     /* why there is none */
    int64_t timeout_ns;
};
/* `program` NULL: llvm-mca-22, llvm-mca-19, llvm-mca on PATH. A tool that is missing is
 * no error: `why` says what to do. */
enum wf_status isa_mca_find(const char *program,
                            int64_t timeout_ns,
                            struct isa_mca_tool *ret,
                            struct wf_error *err);
void isa_mca_tool_fini(struct isa_mca_tool *t);

struct isa_mca_run {
    double cycles; /* of 4 clocks, an iteration; NAN: not known */
    double xdl;    /* passes that llvm-mca puts on the matrix unit */
    char why[256]; /* why not known */
};
struct isa_mca {
    bool asked;
    struct isa_mca_run run[ISA_MCA_VARIANT_COUNT];
    uint32_t instructions; /* handed over, as they are */
    uint32_t rewritten;    /* buffer and direct-to-LDS accesses as global ones */
    uint32_t branches;     /* left out: the loop is one straight piece */
    uint32_t dropped;      /* left out: what llvm-mca does not take */
};

/* The text for llvm-mca. Counters of *ret are set. */
enum wf_status isa_mca_text(const struct em_op *const *op,
                            size_t count,
                            enum isa_mca_variant variant,
                            struct wf_buf *text,
                            struct isa_mca *ret,
                            struct wf_error *err);
/* What llvm-mca printed. False: it is none of its reports; `why` says so. */
bool isa_mca_parse(const char *output,
                   int exit_status,
                   unsigned iterations,
                   struct isa_mca_run *ret);
/* All variants of a loop. A failure of llvm-mca is said in `why`; an error is ours. */
enum wf_status isa_mca_ask(const struct isa_mca_tool *tool,
                           const struct em_op *const *op,
                           size_t count,
                           bool has_trans,
                           struct isa_mca *ret,
                           struct wf_error *err);

#endif
