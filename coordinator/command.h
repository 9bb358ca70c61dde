/* Subcommands of wavefarm-coordinator, one file each. A command gets the arguments
 * after its name and returns the exit status: 0 good, 2 usage, 3 refused or
 * infrastructure. */
#ifndef WF_COORDINATOR_COMMAND_H
#define WF_COORDINATOR_COMMAND_H

#include "coordinator/config.h"
#include "core/error.h"

#define WF_EXIT_USAGE 2
#define WF_EXIT_INFRA 3

int wf_command_serve(int argc, char **argv);
int wf_command_migrate(int argc, char **argv);
int wf_command_token(int argc, char **argv);
int wf_command_db(int argc, char **argv);
int wf_command_config(int argc, char **argv);

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
