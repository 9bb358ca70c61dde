/* Where the program's own files lie: beside the executable in a build tree
 * (bin/../share, bin/../packs) and after installation alike. */
#ifndef WF_CLI_PATHS_H
#define WF_CLI_PATHS_H

#include "core/error.h"

/* Built-in suites: $WAVEFARM_SUITES or <exe>/../share/wavefarm/suites. Caller frees. */
enum wf_status wf_suites_folder(char **ret, struct wf_error *err);
/* Folder of packs: $WAVEFARM_PACKS or <exe>/../packs. Caller frees. */
enum wf_status wf_packs_folder(char **ret, struct wf_error *err);
/* Packs and manifests of `selftest mutants`: $WAVEFARM_MUTANTS or
 * <exe>/../share/wavefarm/mutants. Caller frees. */
enum wf_status wf_mutants_folder(char **ret, struct wf_error *err);
/* Built-in selection tables: $WAVEFARM_SELECTIONS or
 * <exe>/../share/wavefarm/selections. Caller frees. */
enum wf_status wf_selections_folder(char **ret, struct wf_error *err);
/* <cache>/datasets. Caller frees. */
enum wf_status wf_datasets_folder(char **ret, struct wf_error *err);

#endif
