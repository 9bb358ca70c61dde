/* wavefarm-coordinator config check: every setting, its value and its origin. */
#include "coordinator/command.h"

#include <stdio.h>
#include <string.h>

int wf_command_config(int argc, char **argv)
{
    struct wf_config *config = NULL;
    struct wf_error err = { 0 };
    if (argc < 1 || strcmp(argv[0], "check") != 0) {
        fputs("usage: wavefarm-coordinator config check [--config FILE] [settings]\n",
              stderr);
        return WF_EXIT_USAGE;
    }
    if (wf_command_config_load(argc - 1, argv + 1, NULL, NULL, &config, &err) !=
        WF_OK) {
        return wf_command_fail(&err, WF_EXIT_USAGE);
    }
    wf_config_explain(config, stdout);
    wf_config_destroy(config);
    return 0;
}
