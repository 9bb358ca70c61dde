/* Proof, once a device, that cold measurements are cold: runs the reading kernel of the
 * pack wavefarm-probe-<arch> as any task (runner/execute.h) over sets of growing size,
 * and keeps the outcome in this machine's cache folder for 30 days (one hour what is
 * not proven), keyed by device, driver and sizes. */
#ifndef WF_RUNNER_COLD_PROBE_H
#define WF_RUNNER_COLD_PROBE_H

#include "runner/cold_proof.h"

/* Folder of the probe pack for the device: $WAVEFARM_PACKS or <exe>/../packs, then
 * wavefarm-probe-<arch or host>. Caller frees *ret. ENOTFOUND says where it should be.
 */
enum wf_status wf_probe_pack(const struct wf_device *device,
                             char **ret,
                             struct wf_error *err);

/* Measures. EUNSUPPORTED on a runtime whose times are modelled; ENOTFOUND without a
 * probe pack; ECANCELLED. `progress` may be NULL. */
enum wf_status wf_cold_probe_run(const struct wf_device *device,
                                 const volatile int *cancel,
                                 void (*progress)(void *ctx, size_t done, size_t of),
                                 void *ctx,
                                 struct cold_proof *ret,
                                 struct wf_error *err);
/* As JSON: {verdict, text, ratio, when, target_bytes, hot_gb_per_s, cold_gb_per_s,
 * doubled_gb_per_s, points}, `points` on wish. */
enum wf_status wf_cold_probe_to_json(const struct cold_proof *p,
                                     bool points,
                                     struct wf_json **ret,
                                     struct wf_error *err);
/* Where it is kept. Caller frees; NULL with the reason in err. */
char *wf_cold_probe_file(const struct wf_device *device, struct wf_error *err);
/* Keeps it in the cache folder. */
enum wf_status wf_cold_probe_store(const struct wf_device *device,
                                   const struct cold_proof *p,
                                   struct wf_error *err);
/* The stored one, else a new one that is stored, as the text that a request carries
 * (without points). A probe that cannot be run gives verdict "unknown" with the reason,
 * which is not stored. ECANCELLED and ENOMEM only. Caller frees *ret. */
enum wf_status wf_cold_probe_text(const struct wf_device *device,
                                  const volatile int *cancel,
                                  char **ret,
                                  struct wf_error *err);

#endif
