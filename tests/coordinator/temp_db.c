#include "tests/coordinator/temp_db.h"

#include "coordinator/cluster.h"
#include "core/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct wf_cluster_options options(const struct temp_db *t,
                                         char *folder,
                                         size_t n)
{
    snprintf(folder, n, "%s/pg", t->folder);
    return (struct wf_cluster_options){ .folder = folder };
}

void temp_db_start(struct temp_db *t)
{
    char folder[80];
    struct wf_error err = { 0 };
    snprintf(t->folder, sizeof t->folder, "/tmp/wf-test-db-XXXXXX");
    /* The server's user is another one when the tests run as root. */
    if (!mkdtemp(t->folder) || chmod(t->folder, 0755) != 0) {
        perror(t->folder);
        exit(1);
    }
    struct wf_cluster_options o = options(t, folder, sizeof folder);
    if (wf_cluster_url(&o, &t->url, &err) != WF_OK ||
        wf_cluster_start(&o, &err) != WF_OK) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
}

void temp_db_stop(struct temp_db *t)
{
    char folder[80];
    struct wf_error err = { 0 };
    struct wf_cluster_options o = options(t, folder, sizeof folder);
    if (wf_cluster_stop(&o, &err) != WF_OK) {
        fprintf(stderr, "%s\n", err.text);
    }
    (void)wf_remove_tree(t->folder, NULL);
    free(t->url);
}
