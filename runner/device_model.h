/* Which model a device is, and what it can do at best. */
#ifndef WF_RUNNER_DEVICE_MODEL_H
#define WF_RUNNER_DEVICE_MODEL_H

#include "runner/device.h"

/* Sets model and peak_bytes_per_s from the PCI device id (0: unknown), the name,
 * compute units, memory and partition mode. A GPU that is not in the table has its name
 * as model and unknown peaks. */
void device_model_fill(struct wf_device *device, unsigned pci_device_id);

#endif
