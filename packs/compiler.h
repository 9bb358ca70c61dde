/* Compilers of device code: what they are, and running them. */
#ifndef WF_PACKS_COMPILER_H
#define WF_PACKS_COMPILER_H

#include "core/buf.h"
#include "core/error.h"
#include "core/sha256.h"

#include <stdbool.h>

struct compiler {
    char *name;                   /* as it was asked for: a name in PATH, or a path */
    char *path;                   /* of the program */
    char *version;                /* the telling line of --version */
    char identity[WF_SHA256_HEX]; /* of everything that may decide about its output; ""
                                     where it was not asked for */
};

/* ENOTFOUND when the program is not there. `memo`: a folder in which the hashes of
 * programs are kept between runs; NULL: the identity is left out. */
enum wf_status compiler_open(const char *name,
                             const char *memo,
                             struct compiler *ret,
                             struct wf_error *err);
void compiler_fini(struct compiler *c);

/* Runs a program by its path in `folder` with the environment of this process and no
 * input, and appends what it prints on both outputs. It gets a process group of its
 * own, which is killed when it has run for timeout_ms (0: no limit; ETIMEOUT), and in
 * any case when it has ended, so that nothing of it stays. It ends with the thread that
 * started it. A program that ends by a signal has the exit status 128 + signal. */
enum wf_status compiler_run(const char *path,
                            const char *const *argv,
                            const char *folder,
                            int timeout_ms,
                            struct wf_buf *out,
                            int *ret_exit,
                            struct wf_error *err);

#endif
