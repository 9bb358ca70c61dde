/* Whether a device's clock may be trusted, as a spin of known length found it: kept in
 * this machine's cache folder, keyed by device and driver. A device nobody has
 * calibrated is taken to be good: the two clocks of every measurement still check it.
 *
 * A mark is no sentence for life. Ten minutes later the next measurement spins again,
 * and takes the mark away or renews it: a machine that was too busy, or a file that
 * somebody damaged, stops no farm from measuring. */
#ifndef WF_RUNNER_CALIBRATION_H
#define WF_RUNNER_CALIBRATION_H

#include "core/json.h"
#include "runner/device.h"

#include <stdbool.h>
#include <stdint.h>

#define WF_CALIBRATION_NS       5000000 /* asked for */
#define WF_CALIBRATION_LIMIT    0.1     /* relative */
#define WF_CALIBRATION_RETRY_NS ((int64_t)600 * 1000000000)

/* <cache>/<kind>-<hash of device, driver and `more`>.json. Caller frees; NULL with the
 * reason in err. */
char *wf_device_cache_file(const struct wf_device *device,
                           const char *kind,
                           const char *more,
                           struct wf_error *err);
/* Reads such a file. The folder belongs to the user, and so to every kernel that he
 * runs: only a plain file of at most 64 KiB that holds an object is taken, links are
 * not followed, and nothing there makes the caller wait. ENOTFOUND, else EINVAL. */
enum wf_status wf_device_cache_read(const char *path,
                                    struct wf_json **ret,
                                    struct wf_error *err);

/* Does a spin of WF_CALIBRATION_NS that read `least_ns` at least speak for the clock?
 * Less than asked is impossible. More may be work beside it, which the host's clock has
 * seen as well; host_ratio is timing.host_ratio, host time over the events'. */
bool wf_calibration_good(double least_ns, double host_ratio);

/* `why` says what was wrong; usable: the mark is taken away. */
enum wf_status wf_calibration_store(const struct wf_device *device,
                                    bool usable,
                                    const char *why,
                                    struct wf_error *err);
enum wf_calibration {
    WF_CALIBRATION_GOOD,   /* no mark */
    WF_CALIBRATION_FAILED, /* marked */
    WF_CALIBRATION_DUE     /* marked, or a mark that makes no sense: to be spun again */
};

/* What is stored, with the reason in `why`, "" when it is good. Runs nothing. */
enum wf_calibration wf_calibration_state(const struct wf_device *device,
                                         char *why,
                                         size_t n);
/* False, and `why` "", where the device's times may be believed. A mark that is due is
 * measured again first (about two seconds), unless *cancel is set. */
bool wf_calibration_refuses(const struct wf_device *device,
                            const volatile int *cancel,
                            char *why,
                            size_t n);

#endif
