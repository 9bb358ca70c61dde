/* The table of commands. */
#ifndef WF_CLI_COMMANDS_H
#define WF_CLI_COMMANDS_H

#include "cli/args.h"

#define COMMAND(id) extern const struct wf_command wf_command_##id;
#include "cli/commands.def"
#undef COMMAND

size_t wf_command_count(void);
const struct wf_command *wf_command_at(size_t i);
/* The command whose words are the longest match of argv; *ret_words is how many. */
const struct wf_command *wf_command_find(int argc, char **argv, int *ret_words);

/* Non-zero after SIGINT or SIGTERM; 2 and more after further ones. */
extern volatile int wf_interrupted;

#endif
