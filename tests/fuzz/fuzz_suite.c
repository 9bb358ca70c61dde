/* Fuzzes the suite reader, with the ops' parsers and the recipe reader behind it. There
 * is no dataset store, so that no recipe runs. */
#include "datasets/suite.h"

#include "tests/fuzz/fuzz_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wf_suite *suite = NULL;
    struct wf_error err = { .text = "" };
    const char *path = fuzz_file("S.json", data, size);

    if (wf_suite_load(path, "/nonexistent", NULL, &suite, &err) != WF_OK) {
        must(suite == NULL && strstr(err.text, "S.json") != NULL);
        return 0;
    }
    must(wf_suite_count(suite) > 0 && wf_suite_name(suite) != NULL);
    for (size_t i = 0; i < wf_suite_count(suite); i++) {
        must(wf_suite_case_name(suite, i)[0] != '\0');
        must(strlen(wf_case_id(wf_suite_case(suite, i))) == 64);
    }
    wf_suite_free(suite);
    return 0;
}
