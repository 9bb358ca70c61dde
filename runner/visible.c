/* Rules for the variables that hide devices. The runtimes themselves disagree about odd
 * values (an empty one hides nothing on some), so odd values are refused here. Pure. */
#include "runner/visible.h"

#include <stdbool.h>
#include <string.h>

static bool is_number(const char *text, size_t n)
{
    return n > 0 && n <= 4 && strspn(text, "0123456789") >= n;
}

static bool is_uuid(const char *text, size_t n)
{
    static const char letters[] = "0123456789abcdefABCDEF-";
    return n > 4 && strncmp(text, "GPU-", 4) == 0 && strspn(text + 4, letters) >= n - 4;
}

/* Whether the item text[0..n) stands in the list before it. */
static bool seen_before(const char *list, const char *text, size_t n)
{
    for (const char *at = list; at < text; at += strcspn(at, ",") + 1) {
        if (strcspn(at, ",") == n && strncmp(at, text, n) == 0) {
            return true;
        }
    }
    return false;
}

enum wf_status visible_devices_check(const char *variable,
                                     const char *value,
                                     struct wf_error *err)
{
    if (!value) {
        return WF_OK;
    }
    if (value[0] == '\0') {
        return wf_errorf(err, WF_ENOTFOUND,
                         "no device (%s is empty; unset it to see all devices)",
                         variable);
    }
    for (const char *at = value;;) {
        size_t n = strcspn(at, ",");
        if (!is_number(at, n) && !is_uuid(at, n)) {
            return wf_errorf(err, WF_EINVAL,
                             "%s='%s': "
                             "at column %zu: '%.*s' is not a device number or "
                             "GPU-<uuid>",
                             variable, value, (size_t)(at - value) + 1, (int)n, at);
        }
        if (seen_before(value, at, n)) {
            return wf_errorf(err, WF_EINVAL, "%s='%s': %.*s stands in it twice",
                             variable, value, (int)n, at);
        }
        if (at[n] == '\0') {
            return WF_OK;
        }
        at += n + 1;
    }
}
