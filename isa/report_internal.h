#ifndef WF_ISA_REPORT_INTERNAL_H
#define WF_ISA_REPORT_INTERNAL_H

#include "isa/kernel.h"

struct wf_isa_report {
    char *file;
    struct isa_mca_tool tool;
    struct isa_kernel *kernel;
    size_t count;
};

#endif
