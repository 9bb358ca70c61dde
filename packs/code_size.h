/* How many bytes of machine code a function of a code object has. */
#ifndef WF_PACKS_CODE_SIZE_H
#define WF_PACKS_CODE_SIZE_H

#include "core/error.h"

#include <stdint.h>

/* From the symbol table. EUNSUPPORTED: PTX, whose machine code is the driver's;
 * ENOTFOUND: no function of that name with a size. */
enum wf_status wf_code_function_bytes(const char *path,
                                      const char *function,
                                      uint64_t *ret,
                                      struct wf_error *err);

#endif
