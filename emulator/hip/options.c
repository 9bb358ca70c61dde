/* Options of launches: from the environment, and from a host of ours. Strict: a value
 * that is not understood is an error, never a default. */
#include "emulator/hip/runtime.h"

#include "core/parse.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEVICES 2
#define MAX_THREADS     1024
#define PREFIX          "WAVEFARM_EMULATOR_"

static enum wf_status parse_switch(const char *name,
                                   const char *value,
                                   const char *on,
                                   const char *off,
                                   bool *ret,
                                   struct wf_error *err)
{
    bool is_on = strcmp(value, on) == 0;
    if (!is_on && strcmp(value, off) != 0) {
        return wf_errorf(err, WF_EINVAL, "%s: '%.60s' is neither \"%s\" nor \"%s\"",
                         name, value, on, off);
    }
    *ret = is_on;
    return WF_OK;
}

enum wf_status em_hip_set_option(struct em_options *options,
                                 const char *name,
                                 const char *value,
                                 struct wf_error *err)
{
    uint64_t number = 0;
    enum wf_status st;
    if (strcmp(name, "mfma") == 0) {
        return parse_switch(name, value, "exact", "fast", &options->exact, err);
    }
    if (strcmp(name, "checks") == 0) {
        return parse_switch(name, value, "on", "off", &options->check, err);
    }
    if (strcmp(name, "counters") == 0) {
        return parse_switch(name, value, "on", "off", &options->count, err);
    }
    if (strcmp(name, "threads") == 0) {
        st = wf_parse_u64(value, name, 1, MAX_THREADS, &number, err);
        options->threads = st == WF_OK ? (unsigned)number : options->threads;
        return st;
    }
    if (strcmp(name, "budget") == 0) {
        st = wf_parse_u64(value, name, 1, UINT64_MAX, &number, err);
        options->budget = st == WF_OK ? number : options->budget;
        return st;
    }
    return wf_errorf(err, WF_EINVAL,
                     "no option '%.60s' (there are mfma, checks, counters, threads, "
                     "budget)",
                     name);
}

enum wf_status em_hip_read_environment(struct em_hip *hip, struct wf_error *err)
{
    static const struct {
        const char *variable, *option;
    } known[] = {
        { PREFIX "MFMA", "mfma" },         { PREFIX "CHECKS", "checks" },
        { PREFIX "COUNTERS", "counters" }, { PREFIX "THREADS", "threads" },
        { PREFIX "BUDGET", "budget" },
    };
    uint64_t devices = DEFAULT_DEVICES;
    const char *text = getenv(PREFIX "DEVICES");
    enum wf_status st = WF_OK;
    if (text != NULL) {
        st = wf_parse_u64(text, PREFIX "DEVICES", 1, EM_MAX_DEVICES, &devices, err);
    }
    for (size_t i = 0; st == WF_OK && i < sizeof(known) / sizeof(known[0]); i++) {
        text = getenv(known[i].variable);
        if (text != NULL) {
            st = em_hip_set_option(&hip->options, known[i].option, text, err);
            st = st == WF_OK ? st : wf_error_prefix(err, PREFIX "...");
        }
    }
    if (st != WF_OK) {
        return st;
    }
    hip->report_path = getenv(PREFIX "REPORT");
    if (hip->report_path != NULL && hip->report_path[0] == '\0') {
        return wf_errorf(err, WF_EINVAL, PREFIX "REPORT: it names no file");
    }
    hip->devices = (int)devices;
    return WF_OK;
}
