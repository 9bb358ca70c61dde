/* Two files' static reports side by side. */
#ifndef WF_CLI_ISA_COMPARE_H
#define WF_CLI_ISA_COMPARE_H

#include "core/error.h"
#include "isa/report.h"

#include <stdbool.h>

/* Kernels of equal names are compared; where each file has one kernel, these two,
 * whatever they are called. What only one of the files has is said. Files or packs. */
enum wf_status wf_isa_compare(const char *a,
                              const char *b,
                              const struct wf_isa_options *options,
                              bool json,
                              bool all,
                              struct wf_error *err);

#endif
