/* The packs of a gate: folders, or archives that are unpacked for its time. */
#ifndef WF_CLI_GATE_PACKS_H
#define WF_CLI_GATE_PACKS_H

#include "core/error.h"
#include "core/json.h"
#include "packs/pack.h"

struct gate_pack {
    struct wf_pack *pack;
    char *unpacked;             /* folder that is removed at the end; NULL: none */
    char *provenance_file;      /* NULL: none */
    struct wf_json *provenance; /* NULL: none */
};

/* `what` names the option in errors: "--base". A record of provenance that does not
 * belong to the pack is an error. `ret` may be closed after an error, too. */
enum wf_status gate_pack_open(const char *path,
                              const char *what,
                              struct gate_pack *ret,
                              struct wf_error *err);
void gate_pack_close(struct gate_pack *p);

/* What is known of the base's lineage, to be freed (gate/baseline.h): from the records
 * alone, and from git where the candidate's pack or the present folder lies in a work
 * tree that knows both commits. */
enum wf_status gate_baseline(const struct gate_pack *base,
                             const struct gate_pack *cand,
                             struct wf_json **ret,
                             struct wf_error *err);

#endif
