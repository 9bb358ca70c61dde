/* A gate on a farm as the command line sees it: its record and its progress. */
#ifndef WF_CLI_GATE_FARM_H
#define WF_CLI_GATE_FARM_H

#include "cli/api.h"
#include "gate/record.h"
#include "runner/device.h"

#include <stdio.h>

/* A device of the farm's live runners that fits --runtime, --arch, --model and --label:
 * one of the model that has most, without those in quarantine. EREFUSED: there is none,
 * or all that fit are in quarantine; the text says which and how to end it. */
enum wf_status gate_farm_device(struct wf_api *api,
                                const struct wf_args *args,
                                struct wf_device *ret,
                                struct wf_error *err);
/* Shows progress until the gate has its verdict. ECANCELLED after an interrupt; the
 * gate itself goes on. */
enum wf_status gate_farm_wait(struct wf_api *api, const char *id, struct wf_error *err);
/* The record so far, line by line. `out` NULL: no file is written. `ret` may be NULL;
 * *ret NULL: nothing was planned yet. */
enum wf_status gate_farm_record(struct wf_api *api,
                                const char *id,
                                FILE *out,
                                struct wf_gate_record **ret,
                                struct wf_error *err);
/* EINVAL when `id` is no gate's number. */
enum wf_status gate_farm_id_check(const char *id, struct wf_error *err);

/* Fetches and prints as the options ask (WF_OPTS_GATE_REPORT); `out` as above, a path.
 */
enum wf_status gate_farm_report(struct wf_api *api,
                                const struct wf_args *args,
                                const char *id,
                                const char *out,
                                int *ret_exit,
                                struct wf_error *err);
/* Waits, then that with --out. */
enum wf_status gate_farm_finish(struct wf_api *api,
                                const struct wf_args *args,
                                const char *id,
                                int *ret_exit,
                                struct wf_error *err);

#endif
