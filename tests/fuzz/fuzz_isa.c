/* Fuzzes the decoder and the printer of instructions: any words, and what decodes must
 * print completely and be encoded again to what decodes to the same. */
#include "emulator/isa/encode.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct em_inst *in)
{
    char text[256];
    char half[16];
    uint32_t words[2];
    size_t count = 0;
    struct em_inst again;
    const size_t length = em_print(in, text, sizeof(text));
    if (length >= sizeof(text) || strlen(text) != length || strchr(text, '?') != NULL ||
        em_print(in, half, sizeof(half)) != length) {
        abort();
    }
    if (!em_encode(in, words, &count) || count * 4 != in->bytes ||
        em_decode(words, count, &again) != EM_DECODED ||
        memcmp(in, &again, sizeof(again)) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t words[64];
    size_t count = size / sizeof(words[0]);
    if (count > 64) {
        count = 64;
    }
    memcpy(words, data, count * sizeof(words[0]));
    for (size_t i = 0; i < count;) {
        struct em_inst in;
        const enum em_decode_status status = em_decode(&words[i], count - i, &in);
        if (in.bytes != 4 && in.bytes != 8) {
            abort();
        }
        if (status == EM_DECODED) {
            check(&in);
        }
        i += in.bytes / sizeof(words[0]);
    }
    return 0;
}
