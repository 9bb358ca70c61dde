// Kernels that no compiler makes: registers that nothing wrote, waits that are not there.
// Arguments: two pointers, s[0:1] -> s[4:7].
	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"

.macro KERNEL name
	.globl	\name
	.p2align	8
	.type	\name,@function
\name:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
.endm

.macro END name
	s_endpgm
\name\()_end:
	.size	\name, \name\()_end-\name
.endm

	KERNEL unwritten_address
	global_load_dword v2, v9, s[4:5]
	END unwritten_address

	KERNEL unwritten_store
	s_mov_b64 exec, 0xff
	v_mov_b32_e32 v9, 1
	s_mov_b64 exec, -1
	global_store_dword v1, v9, s[4:5]
	END unwritten_store

// Moved and computed with, but not used: no fault.
	KERNEL unwritten_unused
	v_mov_b32_e32 v10, v9
	v_add_u32_e32 v10, v10, v1
	s_mov_b32 s20, s21
	global_store_dword v1, v1, s[4:5]
	END unwritten_unused

// A lane mask is written lane by lane: lane 8 and up of the compared register are not.
	KERNEL unwritten_mask_lanes
	s_mov_b64 exec, 0xff
	v_mov_b32_e32 v9, v0
	s_mov_b64 exec, -1
	v_cmp_eq_u32_e64 s[20:21], v9, 3
	v_cndmask_b32_e64 v10, v1, v0, s[20:21]
	s_mov_b64 exec, 0xff
	global_store_dword v1, v10, s[4:5]
	END unwritten_mask_lanes

	KERNEL unwritten_mask_lane_8
	s_mov_b64 exec, 0xff
	v_mov_b32_e32 v9, v0
	s_mov_b64 exec, -1
	v_cmp_eq_u32_e64 s[20:21], v9, 3
	v_cndmask_b32_e64 v10, v1, v0, s[20:21]
	s_mov_b64 exec, 0x1ff
	global_store_dword v1, v10, s[4:5]
	END unwritten_mask_lane_8

// A buffer of eight dwords: what the lanes behind them would store goes nowhere.
	KERNEL unwritten_out_of_range
	s_mov_b64 exec, 0xff
	v_mov_b32_e32 v9, v0
	v_mov_b32_e32 v10, v0
	v_mov_b32_e32 v11, v0
	s_mov_b64 exec, -1
	s_mov_b32 s6, 32
	s_mov_b32 s7, 0x20000
	buffer_store_dword v9, v1, s[4:7], 0 offen
	v_lshlrev_b32_e32 v2, 3, v0
	buffer_store_dwordx2 v[10:11], v2, s[4:7], 0 offen
	END unwritten_out_of_range

	KERNEL unwritten_in_range
	s_mov_b64 exec, 0xff
	v_mov_b32_e32 v9, v0
	s_mov_b64 exec, -1
	s_mov_b32 s6, 36
	s_mov_b32 s7, 0x20000
	buffer_store_dword v9, v1, s[4:7], 0 offen
	END unwritten_in_range

	KERNEL unwritten_branch
	s_cmp_eq_u32 s40, 0
	s_cbranch_scc1 .Lunwritten_branch
	v_mov_b32_e32 v2, 0
.Lunwritten_branch:
	END unwritten_branch

	KERNEL unwritten_base
	global_load_dword v2, v1, s[40:41]
	END unwritten_base

// A sum's low dword is made of low dwords.
	KERNEL written_by_halves
	v_mov_b32_e32 v2, v1
	v_mov_b32_e32 v4, 0
	v_mad_u64_u32 v[6:7], s[8:9], v4, 4, v[2:3]
	global_store_dword v6, v1, s[4:5]
	v_mov_b64_e32 v[10:11], v[2:3]
	global_store_dword v10, v1, s[4:5]
	v_pk_mul_f32 v[12:13], v[2:3], v[4:5] op_sel_hi:[0,0]
	global_store_dword v1, v13, s[4:5]
	END written_by_halves

	KERNEL unwritten_half
	v_mov_b32_e32 v2, v1
	v_mov_b32_e32 v4, 0
	v_mad_u64_u32 v[6:7], s[8:9], v4, 4, v[2:3]
	global_store_dword v1, v7, s[4:5]
	END unwritten_half

	KERNEL no_wait_load
	global_load_dword v2, v1, s[4:5]
	v_add_u32_e32 v3, 1, v2
	END no_wait_load

	KERNEL no_wait_scalar
	s_load_dword s20, s[4:5], 0x0
	s_add_u32 s21, s20, 1
	END no_wait_scalar

	KERNEL no_wait_lds
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v2, v1
	global_store_dword v1, v2, s[4:5]
	END no_wait_lds

	KERNEL overwritten_load
	global_load_dword v2, v1, s[4:5]
	v_mov_b32_e32 v2, 0
	s_waitcnt vmcnt(0)
	END overwritten_load

// Loads of one counter return in their order.
	KERNEL waits_in_order
	global_load_dword v2, v1, s[4:5]
	global_load_dword v3, v1, s[4:5] offset:256
	global_load_dword v2, v1, s[4:5] offset:512
	s_waitcnt vmcnt(1)
	v_add_u32_e32 v4, 1, v3
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v4, 1, v2
	END waits_in_order

// Scalar loads do not: the first may still be on its way.
	KERNEL scalar_out_of_order
	s_load_dword s20, s[4:5], 0x0
	s_load_dword s21, s[4:5], 0x4
	s_waitcnt lgkmcnt(1)
	s_add_u32 s22, s20, 1
	END scalar_out_of_order

// A direct load to LDS, read by its own wave without a wait.
	KERNEL no_wait_direct
	s_mov_b32 m0, 0
	global_load_lds_dword v1, s[4:5]
	ds_read_b32 v2, v1
	s_waitcnt vmcnt(0) lgkmcnt(0)
	END no_wait_direct

// The first wave's direct load, waited for before the barrier, read by the second.
	KERNEL direct_ordered
	s_mov_b32 m0, 0
	v_cmp_gt_u32_e32 vcc, 64, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .Ldirect_ordered
	global_load_lds_dword v1, s[4:5]
	s_waitcnt vmcnt(0)
.Ldirect_ordered:
	s_mov_b64 exec, s[10:11]
	s_barrier
	v_and_b32_e32 v3, 63, v0
	v_lshlrev_b32_e32 v3, 2, v3
	ds_read_b32 v2, v3
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[6:7]
	END direct_ordered

// Both waves load the same dwords to the same LDS; each waits for its own and reads.
	KERNEL direct_twice
	s_mov_b32 m0, 0
	v_and_b32_e32 v1, 0xff, v1
	global_load_lds_dword v1, s[4:5]
	s_waitcnt vmcnt(0)
	ds_read_b32 v2, v1
	global_load_lds_dword v1, s[4:5]
	s_barrier
	s_waitcnt vmcnt(0) lgkmcnt(0)
	ds_read_b32 v3, v1
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[6:7]
	END direct_twice

// Not the same dwords: the second wave's load is not what the first one reads.
	KERNEL direct_twice_others
	s_mov_b32 m0, 0
	v_add_u32_e32 v3, 4, v1
	global_store_dword v1, v3, s[4:5]
	s_waitcnt vmcnt(0)
	global_load_lds_dword v1, s[4:5]
	s_waitcnt vmcnt(0)
	END direct_twice_others

// The same without the wait.
	KERNEL direct_race
	s_mov_b32 m0, 0
	v_cmp_gt_u32_e32 vcc, 64, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz .Ldirect_race
	global_load_lds_dword v1, s[4:5]
.Ldirect_race:
	s_mov_b64 exec, s[10:11]
	s_barrier
	v_and_b32_e32 v3, 63, v0
	v_lshlrev_b32_e32 v3, 2, v3
	v_cmp_lt_u32_e32 vcc, 63, v0
	s_and_saveexec_b64 s[10:11], vcc
	ds_read_b32 v2, v3
	s_waitcnt lgkmcnt(0)
	END direct_race

// Each wave reads what the other one wrote, and soon writes over its own: a race that
// waves which keep pace do not lose.
	KERNEL keeping_pace
	ds_write_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_barrier
	v_xor_b32_e32 v2, 0x100, v1
	ds_read_b32 v3, v2
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v4, 0
	s_nop 0
	s_nop 0
	s_nop 0
	s_nop 0
	ds_write_b32 v1, v4
	global_store_dword v1, v3, s[4:5]
	END keeping_pace

	KERNEL bad_instruction
	.long 0x00000000
	.long 0xffffffff
	END bad_instruction

	KERNEL bad_jump
	s_mov_b64 s[8:9], 0x1000
	s_setpc_b64 s[8:9]
	END bad_jump

	KERNEL bad_register
	v_mov_b32_e32 v200, 0
	END bad_register

	KERNEL scratch_beyond
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, 0x100000
	scratch_store_dword v3, v2, off
	END scratch_beyond

	.macro DESCRIBE name
	.amdhsa_kernel \name
		.amdhsa_group_segment_fixed_size 4096
		.amdhsa_private_segment_fixed_size 64
		.amdhsa_kernarg_size 16
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_enable_private_segment 1
		.amdhsa_next_free_vgpr 64
		.amdhsa_next_free_sgpr 48
		.amdhsa_accum_offset 64
	.end_amdhsa_kernel
	.endm

	.rodata
	.p2align	6
	.irp name, unwritten_address, unwritten_store, unwritten_unused, unwritten_branch
	DESCRIBE \name
	.endr
	.irp name, unwritten_base, written_by_halves, unwritten_half, no_wait_load
	DESCRIBE \name
	.endr
	.irp name, no_wait_scalar, no_wait_lds, overwritten_load, waits_in_order
	DESCRIBE \name
	.endr
	.irp name, scalar_out_of_order, no_wait_direct, direct_ordered, direct_race
	DESCRIBE \name
	.endr
	.irp name, unwritten_mask_lanes, unwritten_mask_lane_8
	DESCRIBE \name
	.endr
	.irp name, direct_twice, direct_twice_others, keeping_pace
	DESCRIBE \name
	.endr
	.irp name, unwritten_out_of_range, unwritten_in_range
	DESCRIBE \name
	.endr
	.irp name, bad_instruction, bad_jump, bad_register, scratch_beyond
	DESCRIBE \name
	.endr

	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - { .name: unwritten_address, .symbol: unwritten_address.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_store, .symbol: unwritten_store.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_unused, .symbol: unwritten_unused.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_branch, .symbol: unwritten_branch.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_base, .symbol: unwritten_base.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: written_by_halves, .symbol: written_by_halves.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_half, .symbol: unwritten_half.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: no_wait_load, .symbol: no_wait_load.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: no_wait_scalar, .symbol: no_wait_scalar.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: no_wait_lds, .symbol: no_wait_lds.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: overwritten_load, .symbol: overwritten_load.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: waits_in_order, .symbol: waits_in_order.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: scalar_out_of_order, .symbol: scalar_out_of_order.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: no_wait_direct, .symbol: no_wait_direct.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: direct_ordered, .symbol: direct_ordered.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: direct_race, .symbol: direct_race.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: bad_instruction, .symbol: bad_instruction.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: bad_jump, .symbol: bad_jump.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_mask_lanes, .symbol: unwritten_mask_lanes.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_mask_lane_8, .symbol: unwritten_mask_lane_8.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_out_of_range, .symbol: unwritten_out_of_range.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: unwritten_in_range, .symbol: unwritten_in_range.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: direct_twice, .symbol: direct_twice.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: direct_twice_others, .symbol: direct_twice_others.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: keeping_pace, .symbol: keeping_pace.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: bad_register, .symbol: bad_register.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
  - { .name: scratch_beyond, .symbol: scratch_beyond.kd, .kernarg_segment_size: 16,
      .kernarg_segment_align: 8, .group_segment_fixed_size: 4096,
      .private_segment_fixed_size: 64, .wavefront_size: 64, .sgpr_count: 48,
      .vgpr_count: 64, .max_flat_workgroup_size: 1024, .args: [
      { .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global },
      { .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global } ] }
...
	.end_amdgpu_metadata
