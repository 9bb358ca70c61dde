/* What a search has found so far, one JSON object a line, on disk before the next step:
 * with --resume nothing of it is done again. */
#ifndef WF_CLI_TUNE_JOURNAL_H
#define WF_CLI_TUNE_JOURNAL_H

#include "core/error.h"
#include "core/json.h"

#include <stdbool.h>

struct tune_journal; /* opaque */

/* `header` (copied) says what the search is of. resume: the file's header must be the
 * same, member by member; without, the file must not be there. A torn last line is left
 * out. */
enum wf_status tune_journal_open(const char *path,
                                 const struct wf_json *header,
                                 bool resume,
                                 struct tune_journal **ret,
                                 struct wf_error *err);
enum wf_status tune_journal_close(struct tune_journal *j, struct wf_error *err);
/* The line of this kind and key, or NULL. */
const struct wf_json *tune_journal_find(const struct tune_journal *j,
                                        const char *kind,
                                        const char *key);
/* Takes `line`; sets its members kind and key. */
enum wf_status tune_journal_add(struct tune_journal *j,
                                const char *kind,
                                const char *key,
                                struct wf_json *line,
                                struct wf_error *err);

#endif
