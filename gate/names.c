/* Names of roles, verdicts and reasons. */
#include "gate/gate.h"

#include <string.h>

static const char *const role_names[] = {
#define X(name, text) text,
    WF_GATE_ROLES(X)
#undef X
};
static const char *const verdict_names[] = {
#define X(name, text) text,
    WF_GATE_VERDICTS(X)
#undef X
};
static const struct {
    const char *text;
    bool infrastructure;
} reasons[] = {
#define X(name, text, infra) { text, infra },
    WF_GATE_REASONS(X)
#undef X
};

static bool find(const char *const *names, size_t n, const char *text, int *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], text) == 0) {
            *ret = (int)i;
            return true;
        }
    }
    return false;
}

const char *wf_gate_role_name(enum wf_gate_role r)
{
    return role_names[r];
}

bool wf_gate_role_parse(const char *text, enum wf_gate_role *ret)
{
    int i = 0;
    bool found = find(role_names, WF_GATE_ROLE_COUNT, text, &i);
    *ret = found ? (enum wf_gate_role)i : *ret;
    return found;
}

const char *wf_gate_verdict_name(enum wf_gate_verdict v)
{
    return verdict_names[v];
}

bool wf_gate_verdict_parse(const char *text, enum wf_gate_verdict *ret)
{
    int i = 0;
    bool found = find(verdict_names, WF_GATE_VERDICT_COUNT, text, &i);
    *ret = found ? (enum wf_gate_verdict)i : *ret;
    return found;
}

const char *wf_gate_reason_name(enum wf_gate_reason r)
{
    return reasons[r].text;
}

bool wf_gate_reason_parse(const char *text, enum wf_gate_reason *ret)
{
    for (int i = 0; i < WF_GATE_REASON_COUNT; i++) {
        if (strcmp(reasons[i].text, text) == 0) {
            *ret = (enum wf_gate_reason)i;
            return true;
        }
    }
    return false;
}

bool wf_gate_reason_is_infrastructure(enum wf_gate_reason r)
{
    return reasons[r].infrastructure;
}
