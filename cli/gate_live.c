#include "cli/gate_live.h"

#include "cli/output.h"
#include "core/buf.h"
#include "core/printable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MOST_ROWS 12u
#define LINE      512

struct gate_live {
    bool table;
    struct wf_progress progress;
    size_t lines; /* of the table that stands on the terminal */
    size_t open, decided;
    size_t verdict[WF_GATE_VERDICT_COUNT];
};

enum wf_status gate_live_create(bool table,
                                struct gate_live **ret,
                                struct wf_error *err)
{
    struct gate_live *l = wf_calloc(1, sizeof(*l));
    if (l == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the progress line");
    }
    l->table = table && isatty(STDERR_FILENO);
    wf_progress_start(&l->progress);
    *ret = l;
    return WF_OK;
}

static void erase(struct gate_live *l)
{
    wf_progress_end(&l->progress);
    if (l->lines > 0) {
        fprintf(stderr, "\x1b[%zuA\x1b[J", l->lines);
    }
    l->lines = 0;
}

void gate_live_free(struct gate_live *l)
{
    if (l != NULL) {
        erase(l);
        fflush(stderr);
        free(l);
    }
}

void gate_live_round(struct gate_live *l, int32_t round, size_t pairs)
{
    char note[160];
    (void)snprintf(note, sizeof note, "round %d: %zu pairs open", (int)round, pairs);
    wf_progress_show(&l->progress, 0, pairs, note);
}

void gate_live_pair(struct gate_live *l,
                    int32_t round,
                    size_t taken,
                    size_t pairs,
                    const char *key)
{
    char note[160];
    (void)snprintf(note, sizeof note, "round %d, %zu decided: %.100s", (int)round,
                   l->decided, key);
    wf_progress_show(&l->progress, taken, pairs, note);
}

static size_t columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : 80;
}

/* Cut to the terminal's width: a line that wraps could not be taken back. */
static void put_line(struct gate_live *l, char *line)
{
    const size_t width = columns();
    wf_make_printable(line);
    if (strlen(line) >= width) {
        line[width - 1] = '\0';
    }
    fprintf(stderr, "%s\n", line);
    l->lines++;
}

static double evidence(double log_w)
{
    return log_w > 0 ? log_w / log(10.0) : 0;
}

static void put_pair(struct gate_live *l, struct wf_gate_record *record, size_t i)
{
    char line[LINE];
    struct wf_gate_figures f;
    const struct wf_gate_pair *p = wf_gate_record_pair(record, i);
    wf_gate_figures(wf_gate_record_gate(record), i, &f);
    (void)snprintf(
        line, sizeof line,
        "  %-48.48s %3d blocks  %+6.2f %%  for slower 10^%.1f  for pass 10^%.1f",
        p->key, f.blocks, isnan(f.effect) ? 0.0 : 100 * expm1(f.effect),
        evidence(f.log_w_slower), evidence(f.log_w_pass));
    put_line(l, line);
}

static void count(struct gate_live *l, struct wf_gate_record *record)
{
    memset(l->verdict, 0, sizeof(l->verdict));
    l->open = l->decided = 0;
    for (size_t i = 0; i < wf_gate_record_count(record); i++) {
        const enum wf_gate_verdict v =
            wf_gate_verdict_of(wf_gate_record_gate(record), i, NULL);
        if (wf_gate_record_pair(record, i)->role == WF_GATE_CASE) {
            l->verdict[v]++;
            l->open += v == WF_GATE_VERDICT_OPEN;
            l->decided += v != WF_GATE_VERDICT_OPEN;
        }
    }
}

static void put_head(struct gate_live *l)
{
    char line[LINE] = "";
    for (int v = 0; v < WF_GATE_VERDICT_COUNT; v++) {
        const size_t used = strlen(line);
        if (l->verdict[v] > 0) {
            (void)snprintf(line + used, sizeof line - used, "%s%zu %s",
                           used > 0 ? ", " : "", l->verdict[v],
                           wf_gate_verdict_name((enum wf_gate_verdict)v));
        }
    }
    put_line(l, line);
}

void gate_live_decided(struct gate_live *l, struct wf_gate_record *record)
{
    size_t rows = 0;
    count(l, record);
    if (!l->table) {
        return;
    }
    erase(l);
    put_head(l);
    for (size_t i = 0; i < wf_gate_record_count(record) && rows < MOST_ROWS; i++) {
        if (wf_gate_record_pair(record, i)->role == WF_GATE_CASE &&
            wf_gate_verdict_of(wf_gate_record_gate(record), i, NULL) ==
                WF_GATE_VERDICT_OPEN) {
            put_pair(l, record, i);
            rows++;
        }
    }
    if (l->open > rows) {
        char line[LINE];
        (void)snprintf(line, sizeof line, "  and %zu more open ones", l->open - rows);
        put_line(l, line);
    }
    fflush(stderr);
}
