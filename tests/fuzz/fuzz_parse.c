/* Fuzzes the strict number readers with one text: what one accepts must agree with the
 * others, and a double must survive being written and read. */
#include "core/buf.h"
#include "core/parse.h"

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good)
{
    if (!good) {
        abort();
    }
}

static void check_double(const char *text)
{
    char shown[32];
    double v;
    double back;

    if (wf_parse_f64(text, "v", -DBL_MAX, DBL_MAX, &v, NULL) != WF_OK) {
        return;
    }
    wf_format_f64(v, shown, sizeof shown);
    must(wf_parse_f64(shown, "v", -DBL_MAX, DBL_MAX, &back, NULL) == WF_OK);
    must(memcmp(&v, &back, sizeof v) == 0);
}

static void check_integers(const char *text)
{
    int64_t i = 0;
    uint64_t u = 0;
    enum wf_status is_i = wf_parse_i64(text, "v", INT64_MIN, INT64_MAX, &i, NULL);
    enum wf_status is_u = wf_parse_u64(text, "v", 0, UINT64_MAX, &u, NULL);

    if (is_i == WF_OK && text[0] != '-') {
        must(is_u == WF_OK && u == (uint64_t)i);
    }
    if (is_u == WF_OK && u <= INT64_MAX) {
        must(is_i == WF_OK && (uint64_t)i == u);
    }
}

static void check_units(const char *text)
{
    int64_t ns = 0;
    uint64_t bytes = 0;

    if (wf_parse_duration_ns(text, "v", &ns, NULL) == WF_OK) {
        must(ns >= 0 && wf_parse_bytes(text, "v", &bytes, NULL) == WF_EPARSE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = wf_strndup((const char *)data, size);

    must(text != NULL);
    check_double(text);
    check_integers(text);
    check_units(text);
    must(wf_glob_match("*", text));
    (void)wf_glob_match(text, "gemm/openblas/f32");
    free(text);
    return 0;
}
