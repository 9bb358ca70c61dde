/* Finds llvm-mca, runs it and reads its report. */
#include "isa/mca.h"

#include "core/parse.h"
#include "isa/child.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ITERATIONS         20
#define DEFAULT_TIMEOUT_NS 20000000000LL

/* --- the program --- */

static char *on_path(const char *name)
{
    const char *at = getenv("PATH");
    while (at != NULL && *at != '\0') {
        size_t n = strcspn(at, ":");
        char *full = wf_asprintf("%.*s/%s", (int)n, at, name);
        if (full != NULL && n > 0 && access(full, X_OK) == 0) {
            return full;
        }
        free(full);
        at += n + (at[n] == ':');
    }
    return NULL;
}

static char *search(void)
{
    static const char *const names[] = { "llvm-mca-22", "llvm-mca-19", "llvm-mca" };
    char *found = NULL;
    for (size_t i = 0; found == NULL && i < sizeof(names) / sizeof(names[0]); i++) {
        found = on_path(names[i]);
    }
    return found;
}

/* "LLVM 22.1.8" of what --version prints; "" where it says nothing like it. */
static enum wf_status ask_version(struct isa_mca_tool *t, struct wf_error *err)
{
    const char *const argv[] = { t->program, "--version", NULL };
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error why = { .text = "" };
    int code = 0;
    enum wf_status st = isa_child_run(argv, "", 0, t->timeout_ns, &out, &code, &why);
    const char *at = st == WF_OK ? strstr(wf_buf_cstr(&out), "LLVM version ") : NULL;
    if (at != NULL) {
        at += strlen("LLVM version ");
        t->version = wf_asprintf("LLVM %.*s", (int)strcspn(at, " \n"), at);
    } else {
        t->version = wf_strdup("");
    }
    if (st != WF_OK) { /* it cannot be started, or hangs: then nothing is asked of it */
        t->why = wf_strdup(why.text);
        free(t->program);
        t->program = NULL;
    }
    wf_buf_free(&out);
    bool lost = t->version == NULL || (st != WF_OK && t->why == NULL);
    return lost ? wf_errorf(err, WF_ENOMEM, "no memory for llvm-mca") : WF_OK;
}

enum wf_status isa_mca_find(const char *program,
                            int64_t timeout_ns,
                            struct isa_mca_tool *ret,
                            struct wf_error *err)
{
    struct isa_mca_tool t = { .timeout_ns =
                                  timeout_ns > 0 ? timeout_ns : DEFAULT_TIMEOUT_NS };
    if (program != NULL && strchr(program, '/') != NULL) {
        t.program = wf_strdup(program);
    } else {
        t.program = program != NULL ? on_path(program) : search();
    }
    enum wf_status st = WF_OK;
    if (t.program == NULL) {
        t.why =
            program != NULL
                ? wf_asprintf("there is no program %.64s on PATH", program)
                : wf_strdup("llvm-mca is not installed (package llvm-22 or llvm-19)");
        st =
            t.why == NULL ? wf_errorf(err, WF_ENOMEM, "no memory for llvm-mca") : WF_OK;
    } else {
        st = ask_version(&t, err);
    }
    if (st == WF_OK) {
        *ret = t;
    } else {
        isa_mca_tool_fini(&t);
    }
    return st;
}

void isa_mca_tool_fini(struct isa_mca_tool *t)
{
    free(t->program);
    free(t->version);
    free(t->why);
    *t = (struct isa_mca_tool){ .program = NULL };
}

/* --- its report --- */

/* The number of column `index` in a line of columns; "-" is 0. */
static bool column(const char *line, unsigned index, double *ret)
{
    for (unsigned i = 0;; i++) {
        line += strspn(line, " \t");
        size_t n = strcspn(line, " \t\n");
        char word[32];
        if (n == 0 || n >= sizeof(word)) {
            return false;
        }
        if (i == index) {
            memcpy(word, line, n);
            word[n] = '\0';
            *ret = 0;
            return strcmp(word, "-") == 0 ||
                   wf_parse_f64(word, "pressure", 0, 1e9, ret, NULL) == WF_OK;
        }
        line += n;
    }
}

/* "[6]   - HWXDL" -> 6 */
static bool resource_index(const char *output, const char *name, unsigned *ret)
{
    const char *at = strstr(output, name);
    while (at != NULL && at > output && *at != '[' && *at != '\n') {
        at--;
    }
    if (at == NULL || *at != '[' || at[1] < '0' || at[1] > '9') {
        return false;
    }
    *ret = (unsigned)(at[1] - '0');
    if (at[2] >= '0' && at[2] <= '9') {
        *ret = *ret * 10 + (unsigned)(at[2] - '0');
    }
    return true;
}

static bool total_cycles(const char *output, double *ret)
{
    static const char key[] = "Total Cycles:";
    const char *at = strstr(output, key);
    return at != NULL && column(at + strlen(key), 0, ret) && *ret > 0;
}

/* The second line behind the title holds the numbers. */
static bool matrix_pressure(const char *output, double *ret)
{
    unsigned index;
    const char *at = strstr(output, "Resource pressure per iteration:");
    for (int i = 0; at != NULL && i < 2; i++) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    return at != NULL && resource_index(output, "HWXDL", &index) &&
           column(at, index, ret);
}

/* The first line that tells of an error, in one line. */
static void complain(const char *output, int exit_status, struct isa_mca_run *r)
{
    const char *at = strstr(output, "error:");
    at = at != NULL ? at : strstr(output, "LLVM ERROR");
    at = at != NULL ? at : output;
    size_t n = strcspn(at, "\n");
    if (strstr(output, "is not a recognized processor") != NULL) {
        (void)snprintf(r->why, sizeof(r->why),
                       "this llvm-mca does not know gfx942 (LLVM 19 does)");
    } else if (n > 0) {
        (void)snprintf(r->why, sizeof(r->why), "llvm-mca (status %d): %.*s",
                       exit_status, (int)(n < 200 ? n : 200), at);
    } else {
        (void)snprintf(r->why, sizeof(r->why), "llvm-mca says nothing (status %d)",
                       exit_status);
    }
}

bool isa_mca_parse(const char *output,
                   int exit_status,
                   unsigned iterations,
                   struct isa_mca_run *ret)
{
    double cycles = 0;
    double xdl = 0;
    bool good = exit_status == 0 &&
                strstr(output, "is not a recognized processor") == NULL &&
                total_cycles(output, &cycles) && matrix_pressure(output, &xdl);
    ret->why[0] = '\0';
    ret->cycles = good ? cycles / iterations : (double)NAN;
    ret->xdl = good ? xdl : (double)NAN;
    if (!good) {
        complain(output, exit_status, ret);
    }
    return good;
}

/* --- running it --- */

static enum wf_status run_text(const struct isa_mca_tool *tool,
                               const struct wf_buf *text,
                               struct isa_mca_run *ret,
                               struct wf_error *err)
{
    char iterations[32];
    struct wf_buf out = WF_BUF_INIT;
    struct wf_error why = { .text = "" };
    int code = 0;
    (void)snprintf(iterations, sizeof(iterations), "-iterations=%d", ITERATIONS);
    const char *const argv[] = { tool->program, "-mtriple=amdgcn",     "-mcpu=gfx942",
                                 iterations,    "-instruction-info=0", "-",
                                 NULL };
    enum wf_status st = isa_child_run(argv, wf_buf_cstr(text), text->len,
                                      tool->timeout_ns, &out, &code, &why);
    if (st == WF_OK) {
        (void)isa_mca_parse(wf_buf_cstr(&out), code, ITERATIONS, ret);
    } else if (st == WF_ENOMEM) {
        st = wf_errorf(err, WF_ENOMEM, "%s", why.text);
    } else {
        (void)snprintf(ret->why, sizeof(ret->why), "%.240s", why.text);
        st = WF_OK;
    }
    wf_buf_free(&out);
    return st;
}

static void unknown(struct isa_mca *m, int from, const char *why)
{
    for (int v = from; v < ISA_MCA_VARIANT_COUNT; v++) {
        m->run[v].cycles = m->run[v].xdl = (double)NAN;
        (void)snprintf(m->run[v].why, sizeof(m->run[v].why), "%.250s", why);
    }
}

/* Where one variant hangs or fails, the others are not tried: each would cost its whole
 * time-out. */
enum wf_status isa_mca_ask(const struct isa_mca_tool *tool,
                           const struct em_op *const *op,
                           size_t count,
                           bool has_trans,
                           struct isa_mca *ret,
                           struct wf_error *err)
{
    struct isa_mca m = { .asked = true };
    enum wf_status st = WF_OK;
    unknown(&m, 0, tool->why != NULL ? tool->why : "llvm-mca was not asked");
    m.asked = tool->program != NULL;
    for (int v = 0; m.asked && st == WF_OK && v < ISA_MCA_VARIANT_COUNT; v++) {
        struct isa_mca counted = { .asked = true };
        struct wf_buf text = WF_BUF_INIT;
        if (v == ISA_MCA_TRANS && !has_trans) {
            m.run[v] = m.run[ISA_MCA_NOWAIT];
            break;
        }
        st = isa_mca_text(op, count, (enum isa_mca_variant)v, &text, &counted, err);
        if (st == WF_OK) {
            st = run_text(tool, &text, &m.run[v], err);
        }
        wf_buf_free(&text);
        if (v == ISA_MCA_FULL) {
            m.instructions = counted.instructions;
            m.rewritten = counted.rewritten;
            m.branches = counted.branches;
            m.dropped = counted.dropped;
        }
        if (st == WF_OK && !isfinite(m.run[v].cycles)) {
            char why[sizeof(m.run[v].why)];
            (void)snprintf(why, sizeof(why), "%s", m.run[v].why);
            unknown(&m, v, why);
            break;
        }
        if (st == WF_OK) {
            m.run[v].why[0] = '\0';
        }
    }
    if (st == WF_OK) {
        *ret = m;
    }
    return st;
}
