/* The reference and the host kernel with more threads than work needs, for
 * ThreadSanitizer: a plain program. */
#include "attention_fixture.h"

#include "core/buf.h"

#include <stdio.h>

static int run(const char *json, int threads)
{
    static const int64_t LENS[] = { 100, 7, 0, 64, 33 };
    struct wf_check_report r;
    struct fx f;

    fx_open_paged(&f, json, 16, LENS, NULL, 5);
    if (fx_host(&f, threads) != 0) {
        fx_close(&f);
        return 1;
    }
    fx_check(&f, &r);
    fx_close(&f);
    if (r.answer != WF_ANSWER_PASS) {
        (void)fprintf(stderr, "%s, %d threads: %s %s\n", json, threads,
                      wf_answer_name(r.answer), r.diagnosis);
        return 1;
    }
    return 0;
}

int main(void)
{
    int bad = 0;

    for (int threads = 1; threads <= 8; threads++) {
        bad += run("{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":4,\"head_dim\":32,"
                   "\"lse\":true}",
                   threads);
        bad += run("{\"layout\":\"paged\",\"q_heads\":1,\"head_dim\":8}", threads);
    }
    return bad == 0 ? 0 : 1;
}
