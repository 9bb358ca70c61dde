#include "cli/exit_code.h"

#include <stdio.h>

int wf_exit_of(enum wf_status status)
{
    switch (status) {
    case WF_OK:
        return WF_EXIT_GOOD;
    case WF_EINVAL:
    case WF_EPARSE:
    case WF_ERANGE:
    case WF_ENOTFOUND:
    case WF_EEXIST:
    case WF_EUNSUPPORTED:
        return WF_EXIT_USAGE;
    case WF_ECANCELLED:
        return WF_EXIT_INTERRUPTED;
    case WF_ENOMEM:
    case WF_EIO:
    case WF_ENOSPC:
    case WF_ETIMEOUT:
    case WF_EREFUSED:
    case WF_ECONFLICT:
    case WF_ENETWORK:
    case WF_EDB:
    case WF_EDEVICE:
    case WF_EINTERNAL:
        break;
    }
    return WF_EXIT_INFRA;
}

int wf_exit_error(const struct wf_error *err)
{
    fprintf(stderr, "wavefarm: %s\n", err->text);
    return wf_exit_of(err->status);
}
