#include "cli/condition_view.h"

#include "cli/output.h"

#include <stdbool.h>
#include <string.h>

static const char *text(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = obj != NULL ? wf_json_find(obj, key) : NULL;
    const char *s = v != NULL ? wf_json_string(v) : NULL;
    return s != NULL ? s : "";
}

static const struct wf_json *member(const struct wf_json *obj, const char *key)
{
    return obj != NULL ? wf_json_find(obj, key) : NULL;
}

static bool is_timed(const struct wf_json *r)
{
    return wf_json_type(member(r, "timing")) == WF_JSON_OBJECT;
}

static bool is_cold(const struct wf_json *r, const char *what)
{
    return is_timed(r) && strcmp(text(member(r, "mode"), what), "cold") == 0;
}

static const struct wf_json *probe(const struct wf_json *r)
{
    return member(member(r, "details"), "cold_probe");
}

/* Results of one device and one verdict are one line. */
static bool same_proof(const struct wf_json *a, const struct wf_json *b)
{
    return is_cold(b, "temperature") &&
           strcmp(text(member(a, "device"), "id"), text(member(b, "device"), "id")) ==
               0 &&
           strcmp(text(probe(a), "verdict"), text(probe(b), "verdict")) == 0;
}

static void print_cold(const struct wf_json *const *result, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = 0;
        bool said = !is_cold(result[i], "temperature");
        for (size_t k = 0; k < count; k++) {
            const bool same = !said && same_proof(result[i], result[k]);
            said = said || (same && k < i);
            n += same;
        }
        if (said) {
            continue;
        }
        const char *verdict = text(probe(result[i]), "verdict");
        const char *why = text(probe(result[i]), "text");
        wf_say("cold: %zu times of %s; %s%s%s", n,
               text(member(result[i], "device"), "id"),
               verdict[0] != '\0' ? verdict : "no probe was run, so nothing proves it",
               why[0] != '\0' ? ": " : "", why);
    }
}

/* A right answer whose time was asked for and cannot be used. */
static bool lacks_time(const struct wf_json *r)
{
    static const char *const times[] = { "NOT_MEASURED", "THROTTLED", "IMPLAUSIBLE" };
    const bool asked =
        wf_json_type(member(member(r, "details"), "asked")) == WF_JSON_OBJECT;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        if (strcmp(text(r, "time"), times[i]) == 0) {
            return asked && strcmp(text(r, "answer"), "PASS") == 0 &&
                   text(r, "time_text")[0] != '\0';
        }
    }
    return false;
}

/* Why there is no time, each reason once, with the first result that has it. */
static void print_lacking(const struct wf_json *const *result, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool said = !lacks_time(result[i]);
        for (size_t k = 0; k < i && !said; k++) {
            said = lacks_time(result[k]) && strcmp(text(result[i], "time_text"),
                                                   text(result[k], "time_text")) == 0;
        }
        if (!said) {
            wf_say("%s / %s: %s: %s", text(member(result[i], "task"), "case_name"),
                   text(member(result[i], "task"), "kernel"), text(result[i], "time"),
                   text(result[i], "time_text"));
        }
    }
}

void wf_print_conditions(const struct wf_json *const *result, size_t count)
{
    size_t icache = 0;
    size_t noisy = 0;
    print_lacking(result, count);
    print_cold(result, count);
    for (size_t i = 0; i < count; i++) {
        icache += is_cold(result[i], "icache");
        noisy += strcmp(text(result[i], "time"), "NOISY") == 0;
    }
    if (icache > 0) {
        wf_say("instruction caches cold: %zu times", icache);
    }
    if (noisy > 0) {
        wf_say(
            "NOISY: the median's interval was wider than asked for when the budget or "
            "the samples ended; a longer --budget, a larger --ci or a machine without other "
            "work helps");
    }
}
