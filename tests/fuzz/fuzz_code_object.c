/* Fuzzes the readers of code objects: ELF, its notes, and PTX. An input that starts
 * with 'A' or 'C' gets an ELF header of that vendor, so that not every run must find
 * it. */
#include "packs/code_object.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_header(uint8_t *p, size_t size)
{
    if (size < 64 || (p[0] != 'A' && p[0] != 'C')) {
        return;
    }
    const bool amd = p[0] == 'A';
    memcpy(p, "\177ELF\2\1\1", 7);
    p[18] = amd ? 224 : 190;
    p[19] = 0;
    p[48] = amd ? 0x4c : 90;
    p[54] = 56;
    p[55] = 0;
    p[58] = 64;
    p[59] = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_code_object *c = NULL;
    struct wf_error err = { .text = "" };
    uint8_t *copy = malloc(size + 1);
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    add_header(copy, size);
    enum wf_status st = wf_code_object_parse(copy, size, "fuzz", &c, &err);
    free(copy);
    if (st != WF_OK) {
        if (strncmp(err.text, "fuzz: ", 6) != 0) {
            abort();
        }
        return 0;
    }
    for (size_t i = 0; i < wf_code_object_count(c); i++) {
        if (wf_code_object_find(c, wf_code_object_at(c, i)->name) == NULL) {
            abort();
        }
    }
    (void)wf_code_object_runs_on(c, "gfx942");
    (void)wf_code_object_runs_on(c, "sm_90");
    wf_code_object_free(c);
    return 0;
}
