/* The base's lineage: git is asked where it is at hand; what it does not know stays
 * unknown and is said so. Never fails for git's sake. */
#include "cli/gate_packs.h"
#include "core/clock.h"
#include "core/parse.h"
#include "gate/baseline.h"
#include "packs/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DAY_S 86400.0

static const char *text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

/* One line of git's in the folder; returns its exit status, -1: there is no git. */
static int ask(const char *folder, const char *const *words, char *ret, size_t n)
{
    const char *argv[16] = { "git", "--no-optional-locks", "-C", folder };
    size_t count = 4;
    int code = -1;
    struct wf_buf out = WF_BUF_INIT;
    for (; *words != NULL && count + 1 < sizeof argv / sizeof argv[0]; words++) {
        argv[count++] = *words;
    }
    argv[count] = NULL;
    if (command_run(argv, NULL, false, &out, &code, NULL) != WF_OK) {
        code = -1;
    }
    const char *line = wf_buf_cstr(&out);
    (void)snprintf(ret, n, "%.*s", (int)strcspn(line, "\n"), line);
    wf_buf_free(&out);
    return code;
}

static bool knows(const char *folder, const char *base, const char *cand)
{
    char line[128], b[96], c[96];
    (void)snprintf(b, sizeof b, "%.64s^{commit}", base);
    (void)snprintf(c, sizeof c, "%.64s^{commit}", cand);
    const char *const ask_base[] = { "cat-file", "-e", b, NULL };
    const char *const ask_cand[] = { "cat-file", "-e", c, NULL };
    return ask(folder, ask_base, line, sizeof line) == 0 &&
           ask(folder, ask_cand, line, sizeof line) == 0;
}

/* What git printed as a number; NAN where it is none: not known. */
static double number(const char *digits)
{
    double v = 0;
    return wf_parse_f64(digits, "git", 0, 1e12, &v, NULL) == WF_OK ? v : (double)NAN;
}

static enum wf_status put_number(struct wf_json *o,
                                 const char *key,
                                 double v,
                                 struct wf_error *err)
{
    return isfinite(v) ? wf_json_set_f64(o, key, v, err) : WF_OK;
}

static enum wf_status ask_git(const char *folder,
                              const char *base,
                              const char *cand,
                              struct wf_json *o,
                              enum wf_gate_lineage *l,
                              struct wf_error *err)
{
    char line[128], range[160];
    (void)snprintf(range, sizeof range, "%.64s..%.64s", base, cand);
    const char *const is_ancestor[] = { "merge-base", "--is-ancestor", base, cand,
                                        NULL };
    const char *const fork[] = { "merge-base", base, cand, NULL };
    const char *const count[] = { "rev-list", "--count", range, NULL };
    const char *const date[] = { "show", "-s", "--format=%ct", base, NULL };
    enum wf_status status = WF_OK;
    const int code = ask(folder, is_ancestor, line, sizeof line);
    if (code == 0 && *l != WF_GATE_LINEAGE_PARENT && *l != WF_GATE_LINEAGE_SAME) {
        *l = WF_GATE_LINEAGE_ANCESTOR;
    } else if (code == 1) {
        *l = WF_GATE_LINEAGE_NOT_ANCESTOR;
        if (ask(folder, fork, line, sizeof line) == 0 && line[0] != '\0') {
            status = wf_json_set_string(o, "fork_point", line, err);
        }
    }
    if (status == WF_OK && ask(folder, count, line, sizeof line) == 0) {
        status = put_number(o, "commits_between", number(line), err);
    }
    if (status == WF_OK && ask(folder, date, line, sizeof line) == 0) {
        const double age_s = (double)wf_realtime_ns() / 1e9 - number(line);
        status = put_number(o, "age_days", age_s > 0 ? age_s / DAY_S : 0, err);
    }
    return status;
}

enum wf_status gate_baseline(const struct gate_pack *base,
                             const struct gate_pack *cand,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    const char *b = text(base->provenance, "commit");
    const char *c = text(cand->provenance, "commit");
    const char *const folders[] = { wf_pack_folder(cand->pack), "." };
    enum wf_gate_lineage l = wf_gate_lineage_of(base->provenance, cand->provenance);
    struct wf_json *o = wf_json_object();
    enum wf_status status = WF_OK;
    bool asked = l == WF_GATE_LINEAGE_UNKNOWN;
    for (size_t i = 0; i < 2 && !asked && status == WF_OK; i++) {
        if (knows(folders[i], b, c)) {
            status = ask_git(folders[i], b, c, o, &l, err);
            asked = true;
        }
    }
    if (status == WF_OK) {
        status = wf_json_set_string(o, "lineage", wf_gate_lineage_name(l), err);
    }
    if (status != WF_OK) {
        wf_json_free(o);
        return status;
    }
    *ret = o;
    return WF_OK;
}
