/* wavefarm-coordinator db init|start|stop|status|url FOLDER; migrate. */
#include "coordinator/command.h"

#include "coordinator/cluster.h"
#include "coordinator/db.h"
#include "coordinator/migrate.h"
#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse(int argc, char **argv, struct wf_cluster_options *ret)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--user") == 0 && i + 1 < argc) {
            ret->user = argv[++i];
        } else if (strcmp(argv[i], "--pg-bin") == 0 && i + 1 < argc) {
            ret->bin_dir = argv[++i];
        } else if (argv[i][0] != '-' && !ret->folder) {
            ret->folder = argv[i];
        } else {
            return false;
        }
    }
    return ret->folder != NULL;
}

/* As init scripts do: 0 running, 3 not running. */
static int show_status(const struct wf_cluster_options *o, struct wf_error *err)
{
    static const char *const names[] = { "absent", "stopped", "running" };
    enum wf_cluster_state state = WF_CLUSTER_ABSENT;
    if (wf_cluster_status(o, &state, err) != WF_OK) {
        return wf_command_fail(err, WF_EXIT_INFRA);
    }
    puts(names[state]);
    return state == WF_CLUSTER_RUNNING ? 0 : 3;
}

int wf_command_db(int argc, char **argv)
{
    struct wf_cluster_options o = { 0 };
    struct wf_error err = { 0 };
    char *url = NULL;
    if (argc < 1 || !parse(argc, argv, &o)) {
        return wf_command_usage("db");
    }
    /* Before anything changes the working folder. */
    enum wf_status status = wf_cluster_url(&o, &url, &err);
    bool print = false;
    int code = 0;
    if (status != WF_OK) {
        return wf_command_fail(&err, WF_EXIT_USAGE);
    }
    if (strcmp(argv[0], "init") == 0) {
        status = wf_cluster_init(&o, &err);
    } else if (strcmp(argv[0], "start") == 0) {
        status = wf_cluster_start(&o, &err);
        print = true;
    } else if (strcmp(argv[0], "stop") == 0) {
        status = wf_cluster_stop(&o, &err);
    } else if (strcmp(argv[0], "url") == 0) {
        print = true;
    } else if (strcmp(argv[0], "status") == 0) {
        code = show_status(&o, &err);
    } else {
        code = wf_command_usage("db");
    }
    if (status != WF_OK) {
        code = wf_command_fail(&err, WF_EXIT_INFRA);
    } else if (print && code == 0) {
        puts(url);
    }
    free(url);
    return code;
}

int wf_command_migrate(int argc, char **argv)
{
    struct wf_config *config = NULL;
    struct wf_db *db = NULL;
    struct wf_error err = { 0 };
    int applied = 0;
    enum wf_status status =
        wf_command_config_load(argc, argv, NULL, NULL, &config, &err);
    if (status != WF_OK) {
        return wf_command_fail(&err, WF_EXIT_USAGE);
    }
    status = wf_db_open(wf_config_text(config, WF_SETTING_db), "wavefarm-migrate", &db,
                        &err);
    if (status == WF_OK) {
        status = wf_migrate(db, &applied, &err);
    }
    wf_db_close(db);
    wf_config_destroy(config);
    if (status != WF_OK) {
        return wf_command_fail(&err, WF_EXIT_INFRA);
    }
    fprintf(stderr, "%d migration%s applied\n", applied, applied == 1 ? "" : "s");
    return 0;
}
