/* Running PostgreSQL's programs as an unprivileged user. Used by cluster.c. */
#ifndef WF_COORDINATOR_CLUSTER_PROCESS_H
#define WF_COORDINATOR_CLUSTER_PROCESS_H

#include "core/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct wf_os_user {
    char name[64];
    uid_t uid;
    gid_t gid;
    bool switch_to; /* we are root and must become it */
};

/* Who the cluster belongs to. As root: `wanted`, or "postgres"; EREFUSED when that is
 * root or not there. Else ourselves; EREFUSED when `wanted` is somebody else. */
enum wf_status wf_cluster_user(const char *wanted,
                               struct wf_os_user *ret,
                               struct wf_error *err);

typedef enum wf_status (*wf_user_fn)(void *ctx, struct wf_error *err);
/* Runs fn as that user: directly, or in a child process that has given up root. What fn
 * writes to *ctx stays in the child; *ret_value carries one number back. */
enum wf_status wf_as_user(const struct wf_os_user *user,
                          wf_user_fn fn,
                          void *ctx,
                          int *ret_value,
                          struct wf_error *err);
/* Sets the number that wf_as_user returns. */
void wf_user_value(int value);

/* Runs a program and waits. *ret_exit: its exit status. Its output is part of the error
 * when `must_succeed` and the status is not 0. */
enum wf_status wf_run_program(const char *const *argv,
                              bool must_succeed,
                              int *ret_exit,
                              struct wf_error *err);

#endif
