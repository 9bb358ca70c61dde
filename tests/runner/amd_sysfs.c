#include "amd_sysfs.h"

#include "amd_metrics.h"
#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char sysfs[64];

void amd_sysfs_put(uint64_t reasons, uint16_t mhz)
{
    char path[300];
    struct amd_metrics_1_3 m;
    memset(&m, 0xff, sizeof(m));
    m.header = (struct amd_header){ sizeof(m), 1, 3 };
    m.temperature_hotspot = 61;
    m.average_socket_power = 480;
    m.current_gfxclk = mhz;
    m.indep_throttle_status = reasons;
    (void)snprintf(sysfs, sizeof(sysfs), "/tmp/wf-throttle-XXXXXX");
    cr_assert_not_null(mkdtemp(sysfs));
    (void)snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:c1:00.0", sysfs);
    cr_assert_eq(wf_mkdir_parents(path, NULL), WF_OK);
    (void)snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:c1:00.0/gpu_metrics",
                   sysfs);
    cr_assert_eq(wf_file_write_atomic(path, &m, sizeof(m), NULL), WF_OK);
    (void)setenv("WAVEFARM_SYSFS", sysfs, 1);
}

void amd_sysfs_remove(void)
{
    (void)unsetenv("WAVEFARM_SYSFS");
    cr_assert_eq(wf_remove_tree(sysfs, NULL), WF_OK);
}
