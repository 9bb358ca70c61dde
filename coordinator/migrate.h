/* Numbered, forward-only migrations (sql/NNNN_name.sql). */
#ifndef WF_COORDINATOR_MIGRATE_H
#define WF_COORDINATOR_MIGRATE_H

#include "coordinator/db.h"

/* Brings the database to this program's version; does nothing when it is there. Each
 * migration is one transaction, all under an advisory lock, so that several programs
 * may call this at once. Refuses a database that is newer, and one whose applied
 * migrations are not those of this program. *ret_applied: how many were run. */
enum wf_status wf_migrate(struct wf_db *db, int *ret_applied, struct wf_error *err);

/* Good when the database is exactly at this program's version; else says whether to
 * migrate or to use a newer program. */
enum wf_status wf_schema_check(struct wf_db *db, struct wf_error *err);

#endif
