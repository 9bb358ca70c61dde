/* Whether a device's clock may be trusted, as `wavefarm selftest timing` found it: kept
 * in this machine's cache folder, keyed by device and driver. A device nobody has
 * calibrated is taken to be good: the two clocks of every measurement still check it.
 */
#ifndef WF_RUNNER_CALIBRATION_H
#define WF_RUNNER_CALIBRATION_H

#include "runner/device.h"

/* <cache>/<kind>-<hash of device, driver and `more`>.json. Caller frees; NULL with the
 * reason in err. */
char *wf_device_cache_file(const struct wf_device *device,
                           const char *kind,
                           const char *more,
                           struct wf_error *err);
/* `why` says what was wrong; usable: the mark is taken away. */
enum wf_status wf_calibration_store(const struct wf_device *device,
                                    bool usable,
                                    const char *why,
                                    struct wf_error *err);
/* True: marked unusable, with the reason. */
bool wf_calibration_failed(const struct wf_device *device, char *why, size_t n);

#endif
