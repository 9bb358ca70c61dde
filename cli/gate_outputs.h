/* A gate's report in the forms that the command line asks for. Shared by `gate`, `gate
 * show`, `gate replay` and the farm's commands. */
#ifndef WF_CLI_GATE_OUTPUTS_H
#define WF_CLI_GATE_OUTPUTS_H

#include "cli/args.h"
#include "gate/report.h"

/* clang-format off */
#define WF_OPTS_GATE_REPORT                                                            \
    { "format", WF_OPT_STRING, "FORMAT", "text", NULL,                                 \
      "on stdout: text, json, markdown or junit" },                                    \
    { "json", WF_OPT_FLAG, NULL, NULL, NULL, "as --format json" },                     \
    { "markdown", WF_OPT_FILE, "FILE", NULL, NULL,                                     \
      "also write one comment for a pull request" },                                   \
    { "junit", WF_OPT_FILE, "FILE", NULL, NULL, "also write JUnit XML" },              \
    { "json-file", WF_OPT_FILE, "FILE", NULL, NULL, "also write the JSON report" },    \
    { "link", WF_OPT_STRING, "URL", NULL, NULL,                                        \
      "where the whole record lies, for the comment" },                                \
    { "strict", WF_OPT_FLAG, NULL, NULL, NULL,                                         \
      "inconclusive is no good end (4), a removed kernel is red (1)" },                \
    { "all", WF_OPT_FLAG, NULL, NULL, NULL,                                            \
      "list unchanged and unsupported pairs, too" }
/* clang-format on */

/* Formats and files are good, and none is the record's own file (NULL: there is none):
 * to be asked before long work. */
enum wf_status gate_outputs_check(const struct wf_args *args,
                                  const char *record,
                                  struct wf_error *err);
/* Prints and writes all that is asked for; *ret_exit is the gate's exit status. */
enum wf_status gate_outputs(const struct wf_args *args,
                            struct wf_gate_record *record,
                            int *ret_exit,
                            struct wf_error *err);

#endif
