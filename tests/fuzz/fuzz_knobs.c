/* Fuzzes names of kernels: knobs have keys, once each, and everything is freed. */
#include "isa/knobs.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_isa_knobs k = { .knob = NULL };
    enum wf_isa_scheme scheme;
    char *name = malloc(size + 1);
    if (name == NULL) {
        return 0;
    }
    memcpy(name, data, size);
    name[size] = '\0';
    if (wf_isa_knobs_of_name(name, &k, &scheme, NULL) != WF_OK ||
        (scheme == WF_ISA_NO_SCHEME && k.count > 0)) {
        abort();
    }
    for (size_t i = 0; i < k.count; i++) {
        if (k.knob[i].key[0] == '\0' ||
            wf_isa_knobs_value(&k, k.knob[i].key) != k.knob[i].value) {
            abort();
        }
    }
    wf_isa_knobs_free(&k);
    free(name);
    return 0;
}
