/* Lists of knobs, and which scheme a name follows. */
#include "isa/knobs_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

const char *wf_isa_scheme_name(enum wf_isa_scheme s)
{
    return s == WF_ISA_TENSILE ? "tensile" : s == WF_ISA_AITER ? "aiter" : "";
}

static enum wf_status no_memory(struct wf_error *err)
{
    return wf_errorf(err, WF_ENOMEM, "no memory for the knobs of a name");
}

static struct wf_isa_knob *find(const struct wf_isa_knobs *k, const char *key)
{
    for (size_t i = 0; i < k->count; i++) {
        if (strcmp(k->knob[i].key, key) == 0) {
            return &k->knob[i];
        }
    }
    return NULL;
}

/* Is the value among those that '|' joins? */
static bool has_value(const struct wf_isa_knob *knob, const char *value)
{
    const size_t n = strlen(value);
    for (const char *at = knob->value;; at = strchr(at, '|') + 1) {
        if (strcspn(at, "|") == n && strncmp(at, value, n) == 0) {
            return true;
        }
        if (strchr(at, '|') == NULL) {
            return false;
        }
    }
}

static enum wf_status join(struct wf_isa_knob *knob,
                           const char *value,
                           struct wf_error *err)
{
    if (has_value(knob, value)) {
        return WF_OK;
    }
    char *both = wf_asprintf("%s|%s", knob->value, value);
    if (both == NULL) {
        return no_memory(err);
    }
    free(knob->value);
    knob->value = both;
    return WF_OK;
}

enum wf_status wf_isa_knobs_add(struct wf_isa_knobs *k,
                                const char *key,
                                const char *value,
                                const char *meaning,
                                struct wf_error *err)
{
    struct wf_isa_knob *there = find(k, key);
    if (there != NULL) {
        return join(there, value, err);
    }
    struct wf_isa_knob *grown =
        wf_realloc_array(k->knob, k->count + 1, sizeof(*k->knob));
    if (grown == NULL) {
        return no_memory(err);
    }
    k->knob = grown;
    struct wf_isa_knob knob = { wf_strdup(key), wf_strdup(value), meaning };
    if (knob.key == NULL || knob.value == NULL) {
        free(knob.key);
        free(knob.value);
        return no_memory(err);
    }
    k->knob[k->count++] = knob;
    return WF_OK;
}

const char *wf_isa_knobs_value(const struct wf_isa_knobs *k, const char *key)
{
    const struct wf_isa_knob *knob = find(k, key);
    return knob != NULL ? knob->value : NULL;
}

void wf_isa_knobs_free(struct wf_isa_knobs *k)
{
    for (size_t i = 0; i < k->count; i++) {
        free(k->knob[i].key);
        free(k->knob[i].value);
    }
    free(k->knob);
    *k = (struct wf_isa_knobs){ .knob = NULL };
}

enum wf_status wf_isa_knobs_of_name(const char *name,
                                    struct wf_isa_knobs *k,
                                    enum wf_isa_scheme *ret_scheme,
                                    struct wf_error *err)
{
    *ret_scheme = WF_ISA_NO_SCHEME;
    if (isa_is_tensile_name(name)) {
        *ret_scheme = WF_ISA_TENSILE;
        return isa_tensile_decode(name, k, err);
    }
    if (isa_is_aiter_name(name)) {
        *ret_scheme = WF_ISA_AITER;
        return isa_aiter_decode(name, k, err);
    }
    return WF_OK;
}
