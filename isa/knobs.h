/* The knobs a kernel was made with, as its name or its library's files tell them:
 * Tensile and hipBLASLt (tensile.def), AITER (aiter.def). Names are texts by which
 * others keep records; nothing in them is dropped: what no table knows is kept with no
 * meaning. */
#ifndef WF_ISA_KNOBS_H
#define WF_ISA_KNOBS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wf_isa_knob {
    char *key, *value;   /* "PGR", "2" */
    const char *meaning; /* NULL: not known */
};

struct wf_isa_knobs {
    struct wf_isa_knob *knob; /* each key once */
    size_t count;
};

enum wf_isa_scheme {
    WF_ISA_NO_SCHEME,
    WF_ISA_TENSILE,
    WF_ISA_AITER
};
const char *wf_isa_scheme_name(enum wf_isa_scheme s); /* "", "tensile", "aiter" */

/* Copies. A key that is there with another value keeps both, joined by '|'. */
enum wf_status wf_isa_knobs_add(struct wf_isa_knobs *k,
                                const char *key,
                                const char *value,
                                const char *meaning,
                                struct wf_error *err);
const char *wf_isa_knobs_value(const struct wf_isa_knobs *k, const char *key);
void wf_isa_knobs_free(struct wf_isa_knobs *k); /* leaves it empty */

/* Decodes a kernel's or a file's name ("Cijk_Alik_Bljk_HHS_BH_MT256x256x64_...",
 * "_ZN5aiter39bf16gemm_...E", "bf16gemm_fp32bf16_tn_128x64.co"). A name of neither kind
 * is WF_ISA_NO_SCHEME and no knobs. ENOMEM only. */
enum wf_status wf_isa_knobs_of_name(const char *name,
                                    struct wf_isa_knobs *k,
                                    enum wf_isa_scheme *ret_scheme,
                                    struct wf_error *err);
/* Key of a Tensile parameter ("PGR" of "PrefetchGlobalRead"), its meaning in
 * *ret_meaning; NULL: a parameter that is no knob of the table. */
const char *wf_isa_tensile_key(const char *parameter, const char **ret_meaning);

/* --- hipBLASLt logic files: solutions, and which shape takes which --- */

struct wf_isa_solution {
    int64_t index; /* "SolutionIndex" */
    char *name;    /* "SolutionNameMin", else "CustomKernelName"; "" when neither */
    struct wf_isa_knobs knobs;
};

/* Column-major as hipBLASLt: its M is our N. */
struct wf_isa_selection {
    int64_t m, n, batch, k;
    int64_t solution; /* index */
    double rating; /* as the file has it: GFLOP/s or an efficiency; 0: not measured */
};

struct wf_isa_logic {
    struct wf_isa_solution *solution;
    size_t solution_count;
    struct wf_isa_selection *selection;
    size_t selection_count;
    size_t
        skipped_sizes; /* entries of sizes in a form other than [M, N, batch, K, ...] */
};

/* Reads a file line by line, whatever its size. EPARSE names line and what is wrong:
 * not a logic file, a selection of a solution that the file does not have. */
enum wf_status wf_isa_logic_read(const char *path,
                                 struct wf_isa_logic *ret,
                                 struct wf_error *err);
void wf_isa_logic_free(struct wf_isa_logic *l);

#endif
