/* Fuzzes the identity of code: ELF, metadata notes, cubins, PTX, bundles. An input that
 * starts with 'A', 'C' or 'X' gets an ELF header of that kind. Equal bytes have equal
 * identities, and errors name their source. */
#include "packs/identity.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_header(uint8_t *p, size_t size)
{
    static const char KINDS[] = "ACX";
    static const uint8_t MACHINES[] = { 224, 190, 62 };
    const char *kind = size < 64 || p[0] == 0 ? NULL : strchr(KINDS, p[0]);
    if (kind == NULL) {
        return;
    }
    memcpy(p, "\177ELF\2\1\1", 7);
    p[18] = MACHINES[kind - KINDS];
    p[19] = 0;
    p[54] = 56;
    p[55] = 0;
    p[58] = 64;
    p[59] = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char id[2][WF_SHA256_HEX] = { "", "" };
    struct wf_error err = { .text = "" };
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    add_header(copy, size);
    enum wf_status st = wf_code_identity(copy, size, "fuzz", id[0], &err);
    if (st != WF_OK && strncmp(err.text, "fuzz: ", 6) != 0) {
        abort();
    }
    if (wf_code_identity(copy, size, "fuzz", id[1], &err) != st ||
        strcmp(id[0], id[1]) != 0) {
        abort();
    }
    free(copy);
    return 0;
}
