/* What a library kernel's process may no longer do, from before its code is loaded on.
 */
#ifndef WF_RUNNER_SUBJECT_JAIL_H
#define WF_RUNNER_SUBJECT_JAIL_H

#include <stdbool.h>

/* What is in force: what the kernel of this machine does not offer is false. */
struct subject_jail {
    bool no_new_privileges;
    bool system_call_filter;
    bool capabilities_dropped; /* true as well when there were none */
};

/* For the whole process, all its threads and children; cannot be undone. */
struct subject_jail subject_jail_enter(void);

#endif
