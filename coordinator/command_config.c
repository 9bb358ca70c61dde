/* wavefarm-coordinator config check: every setting, its value and its origin; exit
 * status 2 where `serve` would not start with them. */
#include "coordinator/command.h"

#include <stdio.h>
#include <string.h>

int wf_command_config(int argc, char **argv)
{
    struct wf_config *config = NULL;
    struct wf_error err = { 0 };
    int code = 0;
    if (argc < 1 || strcmp(argv[0], "check") != 0) {
        return wf_command_usage("config");
    }
    if (wf_command_config_load(argc - 1, argv + 1, NULL, NULL, &config, &err) !=
        WF_OK) {
        return wf_command_fail(&err, WF_EXIT_USAGE);
    }
    wf_config_explain(config, stdout);
    if (!*wf_config_text(config, WF_SETTING_blobs)) {
        (void)wf_errorf(&err, WF_EINVAL,
                        "the required setting blobs is empty: --blobs FOLDER, "
                        "WAVEFARM_BLOBS or blobs = FOLDER in the file");
        (void)fflush(stdout);
        code = wf_command_fail(&err, WF_EXIT_USAGE);
    }
    wf_config_destroy(config);
    return code;
}
