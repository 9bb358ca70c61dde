/* Runs a program on a text, under a time-out. */
#ifndef WF_ISA_CHILD_H
#define WF_ISA_CHILD_H

#include "core/buf.h"
#include "core/error.h"

#include <stdint.h>

#define ISA_CHILD_MAX_OUTPUT ((size_t)8 << 20)

/* argv is NULL-terminated, argv[0] a path; `input` is its standard input; what it
 * prints on standard output and error goes to `out` (more than ISA_CHILD_MAX_OUTPUT is
 * dropped). ETIMEOUT: it and what it started were killed. A program that ends by a
 * signal has the exit status 128 + signal, as in a shell. */
enum wf_status isa_child_run(const char *const *argv,
                             const char *input,
                             size_t input_bytes,
                             int64_t timeout_ns,
                             struct wf_buf *out,
                             int *ret_exit,
                             struct wf_error *err);

#endif
