/* Fills a small file system through the spool: each entry is there whole or not at all,
 * the error says why, and room made by an acknowledgement is used again.
 * Usage: spool_full FOLDER-ON-A-SMALL-FILE-SYSTEM */
#include "runner/spool.h"

#include <stdio.h>
#include <string.h>

#define CHECK(x)                                                     \
    do {                                                             \
        if (!(x)) {                                                  \
            fprintf(stderr, "line %d: %s is false\n", __LINE__, #x); \
            return 1;                                                \
        }                                                            \
    } while (0)

int main(int argc, char **argv)
{
    static char text[16384];
    char first[WF_SPOOL_NAME] = "", name[WF_SPOOL_NAME];
    struct wf_error err = { 0 };
    struct wf_spool *s = NULL;
    struct wf_buf back = WF_BUF_INIT;
    CHECK(argc == 2);
    memset(text, 'x', sizeof(text));
    CHECK(wf_spool_open(argv[1], &s, &err) == WF_OK);
    enum wf_status status = WF_OK;
    size_t stored = 0;
    for (int i = 0; i < 1000 && status == WF_OK; i++) {
        status = wf_spool_put(s, text, sizeof(text), name, &err);
        stored += status == WF_OK;
        if (i == 0) {
            memcpy(first, name, sizeof(first));
        }
    }
    CHECK(status == WF_ENOSPC);
    CHECK(strstr(err.text, "No space left") != NULL);
    CHECK(stored > 2 && wf_spool_count(s) == stored);
    CHECK(wf_spool_read(s, first, &back, &err) == WF_OK);
    CHECK(back.len == sizeof(text));
    CHECK(wf_spool_done(s, first, &err) == WF_OK);
    CHECK(wf_spool_put(s, text, sizeof(text), name, &err) == WF_OK);
    wf_spool_close(s);
    /* What a new process sees is what was acknowledged as stored. */
    CHECK(wf_spool_open(argv[1], &s, &err) == WF_OK);
    CHECK(wf_spool_count(s) == stored);
    wf_spool_close(s);
    wf_buf_free(&back);
    return 0;
}
