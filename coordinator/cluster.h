/* A private PostgreSQL cluster in a folder: made, started and stopped by
 * `wavefarm-coordinator db`. It listens on a unix socket in the folder only, never runs
 * as root, and admits by the operating system's user (peer): its owner and root. */
#ifndef WF_COORDINATOR_CLUSTER_H
#define WF_COORDINATOR_CLUSTER_H

#include "core/error.h"

struct wf_cluster_options {
    const char *folder;  /* absolute after wf_cluster_* returns its URL */
    const char *user;    /* owner when started by root; NULL: "postgres" */
    const char *bin_dir; /* of initdb and pg_ctl; NULL: found */
};

enum wf_cluster_state {
    WF_CLUSTER_ABSENT,
    WF_CLUSTER_STOPPED,
    WF_CLUSTER_RUNNING
};

/* Each is idempotent. init makes the cluster; start makes it if absent, starts it, and
 * makes roles and database; stop waits until the server has gone. */
enum wf_status wf_cluster_init(const struct wf_cluster_options *o,
                               struct wf_error *err);
enum wf_status wf_cluster_start(const struct wf_cluster_options *o,
                                struct wf_error *err);
enum wf_status wf_cluster_stop(const struct wf_cluster_options *o,
                               struct wf_error *err);
enum wf_status wf_cluster_status(const struct wf_cluster_options *o,
                                 enum wf_cluster_state *ret,
                                 struct wf_error *err);
/* "host=FOLDER/socket dbname=wavefarm user=wavefarm"; caller frees. */
enum wf_status wf_cluster_url(const struct wf_cluster_options *o,
                              char **ret,
                              struct wf_error *err);

#endif
