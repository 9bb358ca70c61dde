/* The two compressions of offload bundles. Exactly `ret_bytes` must come out. */
#ifndef WF_EMULATOR_LOAD_DECOMPRESS_H
#define WF_EMULATOR_LOAD_DECOMPRESS_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

enum wf_status em_decompress_zlib(const uint8_t *data,
                                  size_t bytes,
                                  uint8_t *ret,
                                  size_t ret_bytes,
                                  struct wf_error *err);
enum wf_status em_decompress_zstd(const uint8_t *data,
                                  size_t bytes,
                                  uint8_t *ret,
                                  size_t ret_bytes,
                                  struct wf_error *err);

#endif
