/* zstd's format; the only file that includes zstd.h. */
#include "emulator/load/decompress.h"

#include <zstd.h>

enum wf_status em_decompress_zstd(const uint8_t *data,
                                  size_t bytes,
                                  uint8_t *ret,
                                  size_t ret_bytes,
                                  struct wf_error *err)
{
    size_t got = ZSTD_decompress(ret, ret_bytes, data, bytes);
    if (ZSTD_isError(got) != 0 || got != ret_bytes) {
        return wf_errorf(err, WF_EPARSE, "its zstd data is damaged");
    }
    return WF_OK;
}
