/* Core modules that several threads use at a time; a plain program, so that it also
 * runs under ThreadSanitizer. Exit status 0 is success. */
#include "core/clock.h"
#include "core/json.h"
#include "core/log.h"
#include "core/parse.h"
#include "core/sha256.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    THREADS = 4,
    ITEMS = 2000,
    ROUNDS = 20
};

struct job {
    const struct wf_json *shared;
    bool good;
    pthread_t thread;
};

/* All threads ask the same fresh array for its items: the first ones make the index. */
static bool read_shared_tree(const struct wf_json *array)
{
    int64_t v = -1;

    for (size_t i = ITEMS; i-- > 0;) {
        if (!wf_json_as_i64(wf_json_at(array, i), &v) || v != (int64_t)i) {
            return false;
        }
    }
    return wf_json_at(array, ITEMS) == NULL;
}

static bool use_the_rest(void)
{
    char hex[WF_SHA256_HEX];
    char text[32];
    double v = 0;

    if (strcmp(wf_format_f64(0.1 + 0.2, text, sizeof text), "0.30000000000000004") !=
            0 ||
        wf_parse_f64("2.5000000000000000000001", "v", 0, 3, &v, NULL) != WF_OK ||
        v != 2.5) {
        return false;
    }
    wf_sha256_hex("abc", 3, hex);
    wf_log(WF_LOG_INFO, "digest=%.8s", hex);
    return memcmp(hex, "ba7816bf", 8) == 0;
}

static void *run(void *ctx)
{
    struct job *job = ctx;

    job->good = read_shared_tree(job->shared) && use_the_rest();
    return NULL;
}

static bool one_round(void)
{
    struct wf_json *array = wf_json_array();
    struct job jobs[THREADS] = { 0 };
    bool good = true;

    for (int i = 0; i < ITEMS; i++) {
        good = good && wf_json_push_i64(array, i, NULL) == WF_OK;
    }
    for (int i = 0; good && i < THREADS; i++) {
        jobs[i].shared = array;
        if (pthread_create(&jobs[i].thread, NULL, run, &jobs[i]) != 0) {
            return false;
        }
    }
    for (int i = 0; good && i < THREADS; i++) {
        (void)pthread_join(jobs[i].thread, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        good = good && jobs[i].good;
    }
    wf_json_free(array);
    return good;
}

int main(void)
{
    wf_log_init("test_core_threads", WF_LOG_INFO);
    for (int i = 0; i < ROUNDS; i++) {
        if (!one_round()) {
            (void)fprintf(stderr, "round %d went wrong\n", i);
            return 1;
        }
    }
    return 0;
}
