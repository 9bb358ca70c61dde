/* Runs a program (compiler, git) and takes what it prints. */
#ifndef WF_PACKS_COMMAND_H
#define WF_PACKS_COMMAND_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>

#define COMMAND_MAX_OUTPUT (4u << 20)

/* argv is NULL-terminated; argv[0] is looked up in PATH. `folder` NULL: the current
 * one. Standard output is appended to `out`; standard error too when `with_errors`,
 * else it is dropped. Standard input is empty. ENOTFOUND when the program is not there;
 * a program that ends by a signal has the exit status 128 + signal, as in a shell. */
enum wf_status command_run(const char *const *argv,
                           const char *folder,
                           bool with_errors,
                           struct wf_buf *out,
                           int *ret_exit,
                           struct wf_error *err);

/* "a b 'c d'" for people to copy. */
enum wf_status command_text(const char *const *argv,
                            struct wf_buf *out,
                            struct wf_error *err);

#endif
