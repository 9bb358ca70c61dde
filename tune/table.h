/* Tuning tables: what a search found, case by case, and all that it rests on.
 * docs/tuning.md, docs/schemas/tuning.schema.json. */
#ifndef WF_TUNE_TABLE_H
#define WF_TUNE_TABLE_H

#include "core/error.h"
#include "core/json.h"

#include <stddef.h>

#define WF_TUNING_SCHEMA "wavefarm.tuning/1"

/* Strict; the caller frees *ret. Errors name file and member. */
enum wf_status wf_tuning_read(const char *path,
                              struct wf_json **ret,
                              struct wf_error *err);
enum wf_status wf_tuning_check(const struct wf_json *table, struct wf_error *err);

/* Decides anew from the evidence in the table and compares: modelled cycles from the
 * models and problems, the winner from these; of a measured table the tournament from
 * its gates' outcomes, and each outcome from the gate's record where `folder` (NULL:
 * not looked at) has it, which is replayed bit by bit. *ret_differences: how many
 * things differ; each is told to `say`, and what could not be looked at, too. */
enum wf_status wf_tuning_replay(const struct wf_json *table,
                                const char *folder,
                                void (*say)(void *ctx, const char *line),
                                void *ctx,
                                size_t *ret_differences,
                                struct wf_error *err);

/* What a gate's record says of champion (base) and challenger (candidate): the outcome
 * for the tournament, and the pair's figures for people. EINVAL: it is no record of one
 * case. */
struct wf_gate_record;
struct wf_tune_heard {
    int outcome; /* enum wf_tune_outcome */
    char verdict[64];
    double effect, low, high, d0; /* logarithms; NAN, infinite: not known */
    int blocks;
};
enum wf_status wf_tune_hear(struct wf_gate_record *record,
                            struct wf_tune_heard *ret,
                            struct wf_error *err);

#endif
