/* Exit statuses, the same for every command. */
#ifndef WF_CLI_EXIT_CODE_H
#define WF_CLI_EXIT_CODE_H

#include "core/error.h"

enum wf_exit {
    WF_EXIT_GOOD = 0,
    WF_EXIT_BAD = 1,        /* the verdict is bad: a wrong answer */
    WF_EXIT_USAGE = 2,      /* bad command line or bad input file */
    WF_EXIT_INFRA = 3,      /* refused, or the infrastructure failed */
    WF_EXIT_NO_VERDICT = 4, /* incomplete */
    WF_EXIT_INTERRUPTED = 130
};

/* Bad input is usage, ECANCELLED is an interrupt, the rest is infrastructure. */
int wf_exit_of(enum wf_status status);
/* Prints "wavefarm: text" on stderr and returns wf_exit_of(err->status). */
int wf_exit_error(const struct wf_error *err);

#endif
