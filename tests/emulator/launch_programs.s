// Small kernels for the tests of launches and scalar instructions. Arguments: out (a
// pointer), value (32 bits), 32 bits that are 0, in (a pointer). In s[0:1]: where they
// are; in s2: the workgroup.
    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"

    .macro begin name
    .globl \name
    .p2align 8
    .type \name,@function
\name:
    .endm

    .text
    .p2align 8
twice:
    s_lshl_b32 s20, s20, 1
    s_setpc_b64 s[30:31]

// out[workgroup] = 40 * value, through two kinds of calls and a loop.
    begin calls
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // s[4:5] out, s6 value
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s20, s6
    s_getpc_b64 s[8:9]
    s_add_u32 s8, s8, twice@rel32@lo+4
    s_addc_u32 s9, s9, twice@rel32@hi+12
    s_swappc_b64 s[30:31], s[8:9]
    s_call_b64 s[30:31], twice              // 4 * value
    s_mov_b32 s21, 0
    s_mov_b32 s22, 10
1:  s_add_u32 s21, s21, s20                 // ten times
    s_sub_u32 s22, s22, 1
    s_cmp_lg_u32 s22, 0
    s_cbranch_scc1 1b
    s_lshl_b32 s23, s2, 2
    s_add_u32 s4, s4, s23
    s_addc_u32 s5, s5, 0
    s_store_dword s21, s[4:5], 0x0
    s_endpgm

// out[0] = 6: scalar instructions run while vector ones are passed over.
    begin skip
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_mov_b32_e32 v1, 1
    v_mov_b32_e32 v2, 0
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s8, 4
    s_mov_b32 s9, 0
    s_setvskip s8, 2                        // bit 2 of 4: on
    v_mov_b32_e32 v1, 2
    s_add_u32 s9, s9, 5
    v_readfirstlane_b32 s9, v2
    global_store_dword v2, v1, s[4:5]
    s_setvskip s8, 0                        // off
    v_add_u32_e32 v1, s9, v1
    global_store_dword v2, v1, s[4:5]
    s_endpgm

// out[0] = v[2 + value], and 9 more with value = 1.
    begin index
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // s6: which register
    v_mov_b32_e32 v2, 20
    v_mov_b32_e32 v3, 30
    v_mov_b32_e32 v4, 40
    v_mov_b32_e32 v6, 0
    v_mov_b32_e32 v7, 0
    s_waitcnt lgkmcnt(0)
    s_set_gpr_idx_on s6, gpr_idx(SRC0)
    v_mov_b32_e32 v5, v2                    // v[2 + index]
    s_set_gpr_idx_mode gpr_idx(DST)
    v_mov_b32_e32 v6, 9                     // v[6 + index]
    s_set_gpr_idx_off
    v_add_u32_e32 v5, v5, v7
    v_mov_b32_e32 v1, 0
    global_store_dword v1, v5, s[4:5]
    s_endpgm

// out[i] = i ^ 64, of two waves.
    begin exchange
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0             // a wave writes its dwords
    ds_write_b32 v1, v0
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_xor_b32_e32 v2, 0x100, v1             // and reads another wave's
    ds_read_b32 v3, v2
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v3, s[4:5]
    s_endpgm

// Waves but the first have nothing to do and end: no fault.
    begin early_exit
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_readfirstlane_b32 s8, v0
    s_waitcnt lgkmcnt(0)
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 1f
    s_barrier
    s_barrier
    s_store_dword s6, s[4:5], 0x0
1:  s_endpgm

// Wave 0 leaves out the second barrier.
    begin diverge
    v_readfirstlane_b32 s8, v0
    s_barrier
    s_cmp_eq_u32 s8, 0
    s_cbranch_scc1 1f
    s_barrier
1:  s_endpgm

// Waves meet at different barriers of the same number: no fault.
    begin ping_pong
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_readfirstlane_b32 s8, v0
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s8, 0
    s_cbranch_scc1 1f
    s_barrier
    s_nop 0
    s_barrier
    s_endpgm
1:  s_barrier
    s_store_dword s6, s[4:5], 0x0
    s_barrier
    s_endpgm

// Wave 0 never ends, the others wait for it at a barrier.
    begin endless
    v_readfirstlane_b32 s8, v0
    s_cmp_eq_u32 s8, 0
    s_cbranch_scc1 1f
    s_barrier
    s_endpgm
1:  s_branch 1b

// All wait until the last workgroup has set out[0]; out[1] counts them.
    begin wait_for_last
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // s6: the last workgroup
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s2, s6
    s_cbranch_scc1 2f
1:  s_sleep 1
    s_mov_b32 s8, 0
    s_atomic_or s8, s[4:5], 0x0 glc
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s8, 0
    s_cbranch_scc1 1b
    s_mov_b32 s9, 1
    s_atomic_add s9, s[4:5], 0x4
    s_endpgm
2:  s_mov_b32 s8, 1
    s_atomic_add s8, s[4:5], 0x0
    s_endpgm

// As before, but the last workgroup traps.
    begin wait_in_vain
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // s6: the last workgroup
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s2, s6
    s_cbranch_scc1 2f
1:  s_sleep 1
    s_mov_b32 s8, 0
    s_atomic_or s8, s[4:5], 0x0 glc
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s8, 0
    s_cbranch_scc1 1b
    s_endpgm
2:  s_trap 2
    s_endpgm

// A grid barrier by an atomic: out[0] = out[1] = workgroups.
    begin grid_barrier
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // s6: workgroups
    s_mov_b32 s8, 1
    s_waitcnt lgkmcnt(0)
    s_atomic_add s8, s[4:5], 0x0 glc
1:  s_mov_b32 s9, 0
    s_atomic_or s9, s[4:5], 0x0 glc
    s_waitcnt lgkmcnt(0)
    s_cmp_lt_u32 s9, s6
    s_cbranch_scc1 1b
    s_atomic_umax s9, s[4:5], 0x4
    s_endpgm

// out[lane] = 2 where lane < 48, else 1.
    begin fork
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    v_mov_b32_e32 v2, 0
    v_cmp_gt_u32_e64 s[20:21], 48, v0       // 48 lanes take the branch
    s_waitcnt lgkmcnt(0)
    s_mov_b64 s[26:27], s[4:5]              // s[0:3]: the stack
    s_mov_b32 s28, 0
    s_mov_b64 s[22:23], exec
    s_cbranch_i_fork s[20:21], 1f
    v_add_u32_e32 v2, 1, v2                 // 16 lanes, first
    s_branch 2f
1:  v_add_u32_e32 v2, 2, v2
2:  s_cbranch_join s28
    s_mov_b64 exec, s[22:23]
    global_store_dword v1, v2, s[26:27]
    s_endpgm

// out[4 * workgroup ...] = XCC, blocks of LDS, MODE before and after.
    begin registers
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_getreg_b32 s8, hwreg(20, 0, 4)        // XCC_ID
    s_getreg_b32 s9, hwreg(HW_REG_LDS_ALLOC, 12, 9)
    s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 5
    s_getreg_b32 s10, hwreg(HW_REG_MODE, 0, 8)
    s_mov_b32 s11, 3
    s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s11
    s_getreg_b32 s11, hwreg(HW_REG_MODE, 0, 8)
    s_waitcnt lgkmcnt(0)
    s_lshl_b32 s12, s2, 4
    s_add_u32 s4, s4, s12
    s_addc_u32 s5, s5, 0
    s_store_dwordx4 s[8:11], s[4:5], 0x0
    s_endpgm

// A register that the kernel does not have.
    begin beyond
    v_mov_b32_e32 v12, 0
    v_mov_b32_e32 v40, 0                    // 16 are allocated
    s_endpgm

// As beyond, but only where value is not 0.
    begin beyond_unreached
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s6, 0
    s_cbranch_scc1 1f
    v_mov_b32_e32 v40, 0
1:  s_endpgm

// All 32 VGPRs by their own names: out[0] = 7.
    begin past_accum_offset
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_mov_b32_e32 v20, 7                    // 16 is where the others begin
    v_mov_b32_e32 v1, 0
    s_waitcnt lgkmcnt(0)
    global_store_dword v1, v20, s[4:5]
    s_endpgm

// Accumulation VGPRs, and one of them by its other name.
    begin both_names
    v_accvgpr_write_b32 a4, 0
    v_mov_b32_e32 v20, 7                    // the same register
    s_endpgm

// A jump out of the code.
    begin bad_jump
    s_mov_b64 s[4:5], 0x1234
    s_setpc_b64 s[4:5]

// A jump between dwords.
    begin misaligned_jump
    s_getpc_b64 s[4:5]
    s_add_u32 s4, s4, 2
    s_addc_u32 s5, s5, 0
    s_setpc_b64 s[4:5]

// A trap.
    begin trap
    s_trap 3                                // a breakpoint: passed over
    s_trap 2
    s_endpgm

// No instruction.
    begin unknown
    s_nop 0
    .long 0xffffffff
    s_endpgm

// A jump to an instruction's second dword, which is one too: out[0] = 7.
    begin second_dword
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_getpc_b64 s[8:9]
    s_add_u32 s8, s8, 16                    // the literal of s_mov below
    s_addc_u32 s9, s9, 0
    s_setpc_b64 s[8:9]
    s_mov_b32 s6, 0xbe860080                // s_mov_b32 s6, 0
    s_add_u32 s6, s6, 7
    s_store_dword s6, s[4:5], 0x0
    s_endpgm

// A branch on a register that nobody wrote.
    begin uninitialised_branch
    s_cmp_eq_u32 s40, 0
    s_cbranch_scc1 1f
1:  s_endpgm

// A scalar load that is not waited for.
    begin missing_wait
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_add_u32 s8, s6, 1
    s_endpgm

// Two clocks, the second one later.
    begin clocks
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_memtime s[8:9]
    s_waitcnt lgkmcnt(0)
    s_nop 0
    s_memtime s[10:11]
    s_waitcnt lgkmcnt(0)
    s_store_dwordx4 s[8:11], s[4:5], 0x0
    s_endpgm

// Loads and stores through SGPRs, with offsets and resources.
    begin scalar_memory
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_load_dwordx2 s[8:9], s[0:1], 0x10     // in
    s_waitcnt lgkmcnt(0)
    s_load_dwordx16 s[16:31], s[8:9], 0x0
    s_mov_b32 s32, 64
    s_load_dwordx2 s[34:35], s[8:9], s32 offset:0x8
    s_waitcnt lgkmcnt(0)
    s_store_dwordx4 s[28:31], s[4:5], 0x0   // in[12..15]
    s_store_dwordx2 s[34:35], s[4:5], 0x10  // in[18..19]
    s_mov_b32 s40, s8                       // a resource of 24 bytes
    s_and_b32 s41, s9, 0xffff
    s_mov_b32 s42, 24
    s_mov_b32 s43, 0
    s_buffer_load_dwordx4 s[44:47], s[40:43], 0x10
    s_waitcnt lgkmcnt(0)
    s_store_dwordx4 s[44:47], s[4:5], 0x20  // in[4], in[5], 0, 0
    s_mov_b32 s40, s4
    s_and_b32 s41, s5, 0xffff
    s_mov_b32 s42, 0x38
    s_buffer_store_dwordx4 s[16:19], s[40:43], 0x30 // in[0], in[1], then nothing
    s_endpgm

// Scalar atomics; old values behind.
    begin scalar_atomics
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_mov_b32 s8, 5
    s_atomic_add s8, s[4:5], 0x0 glc        // old value
    s_mov_b64 s[10:11], -1
    s_atomic_add_x2 s[10:11], s[4:5], 0x8 glc
    s_mov_b32 s12, 77
    s_mov_b32 s13, 15
    s_waitcnt lgkmcnt(0)
    s_atomic_cmpswap s[12:13], s[4:5], 0x0 glc
    s_mov_b32 s14, 3
    s_atomic_inc s14, s[4:5], 0x10
    s_mov_b32 s15, 3
    s_atomic_dec s15, s[4:5], 0x14
    s_mov_b32 s16, -1
    s_atomic_smax s16, s[4:5], 0x18
    s_waitcnt lgkmcnt(0)
    s_store_dword s8, s[4:5], 0x20
    s_store_dwordx2 s[10:11], s[4:5], 0x28
    s_store_dword s12, s[4:5], 0x30
    s_endpgm

// Reads 8 bytes behind a buffer of 64.
    begin outside
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_load_dwordx4 s[8:11], s[4:5], 0x38
    s_waitcnt lgkmcnt(0)
    s_endpgm

// A scalar load at a multiple of 2.
    begin misaligned
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_load_dword s8, s[4:5], 0x2
    s_waitcnt lgkmcnt(0)
    s_endpgm

// Writes to its own arguments.
    begin arguments_written
    s_mov_b32 s4, 0
    s_store_dword s4, s[0:1], 0x0
    s_endpgm

// Arguments in SGPRs.
    begin preloaded
    s_trap 1                                // for firmware that does not preload
    .fill 63, 4, 0xbf800000
    s_store_dword s5, s[2:3], 0x0           // s[2:3] out, s4 value, s5 behind it
    s_store_dword s4, s[2:3], 0x4
    s_endpgm

// out[0] = work-items in x.
    begin packet
    s_load_dword s8, s[0:1], 0xc            // grid size x of the dispatch packet
    s_load_dwordx4 s[4:7], s[2:3], 0x0
    s_waitcnt lgkmcnt(0)
    s_store_dword s8, s[4:5], 0x0
    s_mov_b32 s9, s6
    s_endpgm

// out[workgroup] = a random number after `value` rounds.
    begin work
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // rounds in s6
    s_waitcnt lgkmcnt(0)
    s_add_u32 s8, s2, 1
    s_mov_b32 s9, s6
1:  s_mul_i32 s8, s8, 0x19660d
    s_add_u32 s8, s8, 0x3c6ef35f
    s_sub_u32 s9, s9, 1
    s_cmp_lg_u32 s9, 0
    s_cbranch_scc1 1b
    s_lshl_b32 s10, s2, 2
    s_add_u32 s4, s4, s10
    s_addc_u32 s5, s5, 0
    s_store_dword s8, s[4:5], 0x0
    s_endpgm

// Workgroups from `value` on trap.
    begin fault_from
    s_load_dwordx4 s[4:7], s[0:1], 0x0      // s6: the first workgroup that traps
    s_mov_b32 s9, 3000
    s_sub_u32 s9, s9, s2
    s_waitcnt lgkmcnt(0)
1:  s_sub_u32 s9, s9, 1                     // the later ones are sooner there
    s_cmp_gt_i32 s9, 0
    s_cbranch_scc1 1b
    s_cmp_lt_u32 s2, s6
    s_cbranch_scc1 2f
    s_trap 2
2:  s_endpgm

// Nothing behind it: runs out of the code.
    begin off_the_end
    s_nop 0

    .macro descriptor name vgprs=16 dispatch=0 preload=0 accum=16
    .amdhsa_kernel \name
    .amdhsa_group_segment_fixed_size 1024
    .amdhsa_kernarg_size 24
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_system_sgpr_workgroup_id_x 1
    .amdhsa_next_free_vgpr \vgprs
    .amdhsa_accum_offset \accum
    .amdhsa_next_free_sgpr 64
    .amdhsa_user_sgpr_dispatch_ptr \dispatch
    .amdhsa_user_sgpr_kernarg_preload_length \preload
    .end_amdhsa_kernel
    .endm

    .rodata
    .p2align 6
    descriptor calls
    descriptor skip
    descriptor index
    descriptor exchange
    descriptor early_exit
    descriptor diverge
    descriptor ping_pong
    descriptor endless
    descriptor wait_for_last
    descriptor wait_in_vain
    descriptor grid_barrier
    descriptor fork
    descriptor registers
    descriptor beyond
    descriptor beyond_unreached
    descriptor past_accum_offset, vgprs=32
    descriptor both_names, vgprs=32
    descriptor bad_jump
    descriptor misaligned_jump
    descriptor trap
    descriptor unknown
    descriptor second_dword
    descriptor uninitialised_branch
    descriptor missing_wait
    descriptor clocks
    descriptor scalar_memory
    descriptor scalar_atomics
    descriptor outside
    descriptor misaligned
    descriptor arguments_written
    descriptor preloaded, preload=4
    descriptor packet, dispatch=1
    descriptor work
    descriptor fault_from
    descriptor off_the_end

    .amdgpu_metadata
---
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - { .name: calls, .symbol: calls.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: skip, .symbol: skip.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: index, .symbol: index.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: exchange, .symbol: exchange.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: early_exit, .symbol: early_exit.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: diverge, .symbol: diverge.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: ping_pong, .symbol: ping_pong.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: endless, .symbol: endless.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: wait_for_last, .symbol: wait_for_last.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: wait_in_vain, .symbol: wait_in_vain.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: grid_barrier, .symbol: grid_barrier.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: fork, .symbol: fork.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: registers, .symbol: registers.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: beyond, .symbol: beyond.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: beyond_unreached, .symbol: beyond_unreached.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: past_accum_offset, .symbol: past_accum_offset.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: both_names, .symbol: both_names.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: bad_jump, .symbol: bad_jump.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: misaligned_jump, .symbol: misaligned_jump.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: trap, .symbol: trap.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unknown, .symbol: unknown.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: second_dword, .symbol: second_dword.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: uninitialised_branch, .symbol: uninitialised_branch.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: missing_wait, .symbol: missing_wait.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: clocks, .symbol: clocks.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: scalar_memory, .symbol: scalar_memory.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: scalar_atomics, .symbol: scalar_atomics.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: outside, .symbol: outside.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: misaligned, .symbol: misaligned.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: arguments_written, .symbol: arguments_written.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: preloaded, .symbol: preloaded.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: packet, .symbol: packet.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: work, .symbol: work.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: fault_from, .symbol: fault_from.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: off_the_end, .symbol: off_the_end.kd, .kernarg_segment_size: 24,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 1024,
      .private_segment_fixed_size: 0, .wavefront_size: 64, .sgpr_count: 64,
      .vgpr_count: 16, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 4, .value_kind: by_value },
      { .offset: 16, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
...
    .end_amdgpu_metadata
