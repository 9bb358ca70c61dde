/* AMD devices as the kernel driver shows them: the KFD topology and the partition modes
 * in sysfs. */
#ifndef WF_RUNNER_KFD_H
#define WF_RUNNER_KFD_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct kfd_node {
    unsigned domain, bus, device, function; /* PCI address */
    unsigned device_id;                     /* PCI */
    int render_minor;
    int xcc_count;
    int cu_count;
    uint64_t l2_bytes;
    uint64_t llc_bytes; /* Infinity Cache; 0: not told */
    char partition[16]; /* "SPX/NPS1"; "" when the driver has no modes */
};

/* GPU nodes in the topology's order; `root` is "/sys" outside tests. A partition whose
 * own file says N/A (or has none) gets the mode of its card. ENOTFOUND when there is no
 * topology. Caller frees *ret. */
enum wf_status kfd_read(const char *root,
                        struct kfd_node **ret,
                        size_t *ret_count,
                        struct wf_error *err);

/* The nth node (0: first) at a PCI address "0000:c1:00.0", the function ignored,
 * because the partitions of a card share the rest. NULL when there is none. */
const struct kfd_node *kfd_find(const struct kfd_node *nodes,
                                size_t count,
                                const char *pci_bus_id,
                                size_t nth);

#endif
