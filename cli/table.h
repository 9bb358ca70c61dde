/* Tables of text on stdout: columns as wide as their widest cell. */
#ifndef WF_CLI_TABLE_H
#define WF_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define WF_TABLE_COLUMNS 12

struct wf_table; /* opaque */

/* Headers that begin with '>' are right-aligned. NULL: no memory. */
struct wf_table *wf_table_create(const char *const *header, size_t columns);
/* Cells are copied; missing memory ends the row early and is told by wf_table_print. */
void wf_table_row(struct wf_table *t, const char *const *cell);
/* False when a row was lost to a lack of memory. */
bool wf_table_print(const struct wf_table *t);
void wf_table_free(struct wf_table *t);

#endif
