/* wavefarm-coordinator: picks the subcommand. */
#include "coordinator/command.h"

#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
#define COMMAND(name, settings, summary, usage, details) { #name, wf_command_##name },
#include "coordinator/commands.def"
#undef COMMAND
};

int wf_command_fail(const struct wf_error *err, int code)
{
    fprintf(stderr, "wavefarm-coordinator: %s\n", err->text);
    return code;
}

/* --config first: whatever its place, flags and variables win over the file. */
static enum wf_status config_file_arg(int argc,
                                      char **argv,
                                      struct wf_config *config,
                                      struct wf_error *err)
{
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--config=", 9) == 0) {
            return wf_config_file(config, argv[i] + 9, err);
        }
        if (strcmp(argv[i], "--config") == 0) {
            return i + 1 < argc ? wf_config_file(config, argv[i + 1], err)
                                : wf_errorf(err, WF_EINVAL, "--config needs a file");
        }
    }
    const char *file = getenv("WAVEFARM_COORDINATOR_CONFIG");
    return file ? wf_config_file(config, file, err) : WF_OK;
}

static enum wf_status one_argument(int argc,
                                   char **argv,
                                   int *at,
                                   wf_other_arg_fn other,
                                   void *ctx,
                                   struct wf_config *config,
                                   struct wf_error *err)
{
    bool taken = false;
    if (strcmp(argv[*at], "--config") == 0) {
        *at += 2;
        return WF_OK;
    }
    if (strncmp(argv[*at], "--config=", 9) == 0) {
        *at += 1;
        return WF_OK;
    }
    enum wf_status status = wf_config_flag(config, argc, argv, at, &taken, err);
    if (status != WF_OK || taken) {
        return status;
    }
    int n = other ? other(ctx, argc, argv, *at) : 0;
    if (n <= 0) {
        return wf_errorf(err, WF_EINVAL, "unknown argument '%s'; see --help",
                         argv[*at]);
    }
    *at += n;
    return WF_OK;
}

enum wf_status wf_command_config_load(int argc,
                                      char **argv,
                                      wf_other_arg_fn other,
                                      void *ctx,
                                      struct wf_config **ret,
                                      struct wf_error *err)
{
    struct wf_config *config = NULL;
    enum wf_status status = wf_config_create(&config, err);
    if (status == WF_OK) {
        status = config_file_arg(argc, argv, config, err);
    }
    if (status == WF_OK) {
        status = wf_config_environment(config, err);
    }
    for (int at = 0; status == WF_OK && at < argc;) {
        status = one_argument(argc, argv, &at, other, ctx, config, err);
    }
    if (status == WF_OK) {
        status = wf_config_check(config, err);
    }
    if (status != WF_OK) {
        wf_config_destroy(config);
        return status;
    }
    *ret = config;
    return WF_OK;
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0;
}

static int unknown(const char *name)
{
    fprintf(stderr, "wavefarm-coordinator: unknown command '%s'\n", name);
    wf_command_overview(stderr);
    return WF_EXIT_USAGE;
}

/* "help [COMMAND]", "--help", "COMMAND ... --help". */
static bool wants_help(int argc, char **argv, const char **ret_command)
{
    if (is_help(argv[1]) || strcmp(argv[1], "help") == 0) {
        *ret_command = argc > 2 && !is_help(argv[2]) ? argv[2] : NULL;
        return true;
    }
    *ret_command = argv[1];
    for (int i = 2; i < argc; i++) {
        if (is_help(argv[i])) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    const char *name = NULL;
    if (argc < 2) {
        wf_command_overview(stderr);
        return WF_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("wavefarm-coordinator " WF_VERSION);
        return 0;
    }
    if (wants_help(argc, argv, &name)) {
        if (name) {
            return wf_command_help(name) ? 0 : unknown(name);
        }
        wf_command_overview(stdout);
        return 0;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, argv[1]) == 0) {
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    return unknown(argv[1]);
}
