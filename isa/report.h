/* The static report of gfx942 code objects, anybody's: what the compiler or the hand
 * made of a kernel, without running it. From the emulator's decoder; llvm-mca's figures
 * where one is installed (isa/mca.h). docs/isa.md explains each figure. */
#ifndef WF_ISA_REPORT_H
#define WF_ISA_REPORT_H

#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>
#include <stddef.h>

struct wf_isa_options {
    bool mca;                /* ask llvm-mca about the hot loops */
    const char *mca_program; /* NULL: llvm-mca-22, llvm-mca-19, llvm-mca on PATH */
    int64_t mca_timeout_ns;  /* of one call; 0: 20 s */
    const char *kernel;      /* glob over kernel names, NULL: all */
    int hot_loops;           /* that are looked into, 1 to 8; 0: 1 */
};

/* A figure of a kernel. `worse`: +1 a larger value is worse (spills), -1 a smaller one
 * is (occupancy, mca's share), 0 neither. */
struct wf_isa_figure {
    const char *name; /* "vgpr_spills", "hot_mfma_share", ... */
    double value;     /* NAN: not known here, `why` says so */
    int worse;
    const char *why;
};

struct wf_isa_report; /* opaque */

/* Code objects and (compressed) bundles; several kernels each. EINVAL, EPARSE,
 * EUNSUPPORTED (no gfx942 code): what is wrong with the file and where. llvm-mca that
 * is missing, fails or hangs is no error: its figures are NAN with the reason. */
enum wf_status wf_isa_report_read(const char *path,
                                  const struct wf_isa_options *options,
                                  struct wf_isa_report **ret,
                                  struct wf_error *err);
/* The same of bytes; `source` names them in errors and is the report's "file". */
enum wf_status wf_isa_report_parse(const void *data,
                                   size_t bytes,
                                   const char *source,
                                   const struct wf_isa_options *options,
                                   struct wf_isa_report **ret,
                                   struct wf_error *err);
void wf_isa_report_free(struct wf_isa_report *r);
size_t wf_isa_report_count(const struct wf_isa_report *r); /* kernels */
const char *wf_isa_report_kernel(const struct wf_isa_report *r, size_t kernel);
size_t wf_isa_figure_count(const struct wf_isa_report *r, size_t kernel);
struct wf_isa_figure wf_isa_figure_at(const struct wf_isa_report *r,
                                      size_t kernel,
                                      size_t i);
/* The figures' names, the same of every kernel, and what they are in words. */
size_t wf_isa_figure_names(void);
const char *wf_isa_figure_name(size_t i);
const char *wf_isa_figure_words(size_t i);
/* Everything: metadata, loops, figures; docs/schemas/isa-report.schema.json. */
enum wf_status wf_isa_report_json(const struct wf_isa_report *r,
                                  struct wf_json **ret,
                                  struct wf_error *err);

#endif
