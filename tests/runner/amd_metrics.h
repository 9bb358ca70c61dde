/* amdgpu's gpu_metrics as structs, for tests that make such files: member for member as
 * the kernel's kgd_pp_interface.h lays them out, written apart from the offsets that
 * the reader uses. Members that nothing reads are kept in groups. */
#ifndef WF_TESTS_AMD_METRICS_H
#define WF_TESTS_AMD_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct amd_header {
    uint16_t structure_size;
    uint8_t format_revision, content_revision;
};

#define AMD_HEAD                                                      \
    struct amd_header header;                                         \
    uint16_t temperature_hotspot, temperature_mem, temperature_vrsoc; \
    uint16_t curr_socket_power, average_gfx_activity, average_umc_activity;
#define AMD_ENERGY uint64_t energy_accumulator, system_clock_counter;
#define AMD_RESIDENCY                                                        \
    uint32_t accumulation_counter, prochot_residency_acc, ppt_residency_acc; \
    uint32_t socket_thm_residency_acc, vr_thm_residency_acc, hbm_thm_residency_acc;
#define AMD_LINKS                                                                 \
    uint16_t pcie_link_width, pcie_link_speed, xgmi_link_width, xgmi_link_speed;  \
    uint32_t gfx_activity_acc, mem_activity_acc;                                  \
    uint64_t pcie_bandwidth_acc, pcie_bandwidth_inst, pcie_l0_to_recov_count_acc; \
    uint64_t pcie_replay_count_acc, pcie_replay_rover_count_acc;
#define AMD_NAK  uint32_t pcie_nak_sent_count_acc, pcie_nak_rcvd_count_acc;
#define AMD_XGMI uint64_t xgmi_read_data_acc[8], xgmi_write_data_acc[8];
#define AMD_CLOCKS                                                                     \
    uint64_t firmware_timestamp;                                                       \
    uint16_t current_gfxclk[8], current_socclk[4], current_vclk0[4], current_dclk0[4]; \
    uint16_t current_uclk;

struct amd_metrics_1_3 {
    struct amd_header header;
    uint16_t temperature_edge, temperature_hotspot, temperature_mem;
    uint16_t temperature_vrgfx, temperature_vrsoc, temperature_vrmem;
    uint16_t average_gfx_activity, average_umc_activity, average_mm_activity;
    uint16_t average_socket_power;
    uint64_t energy_accumulator, system_clock_counter;
    uint16_t average_gfxclk, average_socclk, average_uclk, average_vclk0;
    uint16_t average_dclk0, average_vclk1, average_dclk1;
    uint16_t current_gfxclk, current_socclk, current_uclk, current_vclk0;
    uint16_t current_dclk0, current_vclk1, current_dclk1;
    uint32_t throttle_status;
    uint16_t current_fan_speed, pcie_link_width, pcie_link_speed, padding;
    uint32_t gfx_activity_acc, mem_activity_acc;
    uint16_t temperature_hbm[4];
    uint64_t firmware_timestamp;
    uint16_t voltage_soc, voltage_gfx, voltage_mem, padding1;
    uint64_t indep_throttle_status;
};

struct amd_metrics_1_4 {
    AMD_HEAD uint16_t vcn_activity[4];
    AMD_ENERGY uint32_t throttle_status, gfxclk_lock_status;
    AMD_LINKS AMD_XGMI AMD_CLOCKS uint16_t padding;
};

struct amd_metrics_1_5 {
    AMD_HEAD uint16_t vcn_activity[4], jpeg_activity[32];
    AMD_ENERGY uint32_t throttle_status, gfxclk_lock_status;
    AMD_LINKS AMD_NAK AMD_XGMI AMD_CLOCKS uint16_t padding;
};

/* The first form of content 6. */
struct amd_metrics_1_6_first {
    AMD_HEAD uint16_t vcn_activity[4], jpeg_activity[32];
    AMD_ENERGY AMD_RESIDENCY uint32_t throttle_status, gfxclk_lock_status;
    AMD_LINKS AMD_NAK AMD_XGMI AMD_CLOCKS uint16_t padding;
};

struct amd_partition {
    uint32_t gfx_busy_inst[8];
    uint16_t jpeg_busy[32], vcn_busy[4];
    uint64_t gfx_busy_acc[8];
};

struct amd_partition_1_1 {
    uint32_t gfx_busy_inst[8];
    uint16_t jpeg_busy[32], vcn_busy[4];
    uint64_t gfx_busy_acc[8], gfx_below_host_limit_acc[8];
};

struct amd_partition_1_2 {
    uint32_t gfx_busy_inst[8];
    uint16_t jpeg_busy[40], vcn_busy[4];
    uint64_t gfx_busy_acc[8], gfx_below_host_limit_ppt_acc[8];
    uint64_t gfx_below_host_limit_thm_acc[8], gfx_low_utilization_acc[8];
    uint64_t gfx_below_host_limit_total_acc[8];
};

struct amd_metrics_1_6 {
    AMD_HEAD AMD_ENERGY AMD_RESIDENCY uint32_t gfxclk_lock_status;
    AMD_LINKS AMD_NAK AMD_XGMI AMD_CLOCKS uint16_t num_partition;
    struct amd_partition xcp_stats[8];
    uint32_t pcie_lc_perf_other_end_recovery;
};

struct amd_metrics_1_7 {
    AMD_HEAD uint64_t mem_max_bandwidth;
    AMD_ENERGY AMD_RESIDENCY uint32_t gfxclk_lock_status;
    AMD_LINKS AMD_NAK AMD_XGMI uint16_t xgmi_link_status[8], padding;
    AMD_CLOCKS uint16_t num_partition;
    struct amd_partition_1_1 xcp_stats[8];
    uint32_t pcie_lc_perf_other_end_recovery;
};

struct amd_metrics_1_8 {
    AMD_HEAD uint64_t mem_max_bandwidth;
    AMD_ENERGY AMD_RESIDENCY uint32_t gfxclk_lock_status;
    AMD_LINKS AMD_NAK AMD_XGMI uint16_t xgmi_link_status[8], padding;
    AMD_CLOCKS uint16_t num_partition;
    struct amd_partition_1_2 xcp_stats[8];
    uint32_t pcie_lc_perf_other_end_recovery;
};

#endif
