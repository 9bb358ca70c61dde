/* zlib's format; the only file that includes zlib.h. */
#include "emulator/load/decompress.h"

#include <zlib.h>

enum wf_status em_decompress_zlib(const uint8_t *data,
                                  size_t bytes,
                                  uint8_t *ret,
                                  size_t ret_bytes,
                                  struct wf_error *err)
{
    uLongf got = ret_bytes;
    if (uncompress(ret, &got, data, bytes) != Z_OK || got != ret_bytes) {
        return wf_errorf(err, WF_EPARSE, "its zlib data is damaged");
    }
    return WF_OK;
}
