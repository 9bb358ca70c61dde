/* A gate on the farm: from stored rows to the rule's state, and from there to the next
 * rounds or the verdict. All state is in the database; what is held here is a function
 * of the rows up to a round (`seq`), made anew whenever it is not there.
 *
 * Functions with a `db` run inside the caller's transaction, which holds the gate's row
 * (GATE_LOCK). */
#ifndef WF_COORDINATOR_FARM_GATE_H
#define WF_COORDINATOR_FARM_GATE_H

#include "coordinator/db.h"
#include "gate/header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keys of the rows that a pair's tasks point to. */
struct wf_farm_pair {
    int64_t run_case, case_key, kernel_key;
};

struct wf_farm_gate {
    int64_t run;
    char run_day[16], gate[20];
    int priority, groups;
    struct wf_gate_record *record; /* header and state; its lines are in the database */
    struct wf_farm_pair *pair;
    struct wf_farm_pair *round_case; /* of each group's round facts */
    int seq;                         /* rounds that the state knows */
    int64_t lines;                   /* of the record */
    int64_t decide_ns; /* processor time of the last step's decision and draw: no
                        * reading, no storing */
};

/* From the rows; `head` is GATE_LOCK's. */
enum wf_status wf_farm_gate_load(struct wf_db *db,
                                 int64_t run,
                                 const struct wf_rows *head,
                                 struct wf_farm_gate **ret,
                                 struct wf_error *err);
void wf_farm_gate_free(struct wf_farm_gate *f);
/* Rounds whose tasks are all through: stores what their verdicts rest on and the
 * round's line, and decides after each. `cut`: why they end early, NULL: they do not.
 */
enum wf_status wf_farm_gate_end_rounds(struct wf_db *db,
                                       struct wf_farm_gate *f,
                                       const char *cut,
                                       struct wf_error *err);
/* The next round of every group that has none under way and pairs left. */
struct wf_farm_next {
    int64_t tasks;   /* made */
    int open_rounds; /* under way now */
};
enum wf_status wf_farm_gate_next(struct wf_db *db,
                                 struct wf_farm_gate *f,
                                 struct wf_farm_next *ret,
                                 struct wf_error *err);
/* Stores verdicts and the record's last line; the run ends. `cancelled`: what is open
 * becomes INCONCLUSIVE by a line that says so. `quarantine_ms`: as below. */
enum wf_status wf_farm_gate_finish(struct wf_db *db,
                                   struct wf_farm_gate *f,
                                   bool cancelled,
                                   int64_t quarantine_ms,
                                   struct wf_error *err);
/* Devices whose sentinels failed get no new gates for so long; 0: nothing is done. A
 * group that moved has its last device blamed. */
enum wf_status wf_farm_gate_quarantine(struct wf_db *db,
                                       const struct wf_farm_gate *f,
                                       int64_t quarantine_ms,
                                       struct wf_error *err);
/* {"PASS":3,"OPEN":2,...} of the cases. */
enum wf_status wf_farm_gate_progress(const struct wf_farm_gate *f,
                                     char **ret,
                                     struct wf_error *err);

#endif
