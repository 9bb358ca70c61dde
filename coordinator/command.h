/* Subcommands of wavefarm-coordinator, one file each. A command gets the arguments
 * after its name and returns the exit status: 0 good, 2 usage, 3 refused or
 * infrastructure. */
#ifndef WF_COORDINATOR_COMMAND_H
#define WF_COORDINATOR_COMMAND_H

#include "coordinator/config.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdio.h>

#define WF_EXIT_USAGE 2
#define WF_EXIT_INFRA 3

#define COMMAND(name, settings, summary, usage, details) \
    int wf_command_##name(int argc, char **argv);
#include "coordinator/commands.def"
#undef COMMAND

/* One command's help on stdout; false: there is no such command. */
bool wf_command_help(const char *name);
void wf_command_overview(FILE *out);
/* One command's usage on stderr; returns WF_EXIT_USAGE. */
int wf_command_usage(const char *name);

/* Prints "wavefarm-coordinator: text" and returns `code`. */
int wf_command_fail(const struct wf_error *err, int code);
/* Settings from --config FILE, the environment and the flags in argv. Arguments that
 * are no settings are handed to `other` (returns how many it took, 0: unknown); NULL:
 * none is allowed. The caller destroys *ret. */
typedef int (*wf_other_arg_fn)(void *ctx, int argc, char **argv, int at);
enum wf_status wf_command_config_load(int argc,
                                      char **argv,
                                      wf_other_arg_fn other,
                                      void *ctx,
                                      struct wf_config **ret,
                                      struct wf_error *err);

#endif
