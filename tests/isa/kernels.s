// Kernels with known figures, for test_report.c. They are never run.
    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"

    .macro begin name
    .globl \name
    .p2align 8
    .type \name,@function
\name:
    .endm

    .macro finish name, vgprs, accum, sgprs, lds, scratch
    .size \name, .-\name
    .section .rodata,"a"
    .p2align 6
    .amdhsa_kernel \name
        .amdhsa_next_free_vgpr \vgprs
        .amdhsa_accum_offset \accum
        .amdhsa_next_free_sgpr \sgprs
        .amdhsa_reserve_vcc 0
        .amdhsa_group_segment_fixed_size \lds
        .amdhsa_private_segment_fixed_size \scratch
    .end_amdhsa_kernel
    .text
    .endm

    .text
    .p2align 8
helper:
    v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
    s_setpc_b64 s[30:31]

// A matrix loop as hand-written ones are: 8 MFMA of 8 passes, counted waits.
    begin eight
    s_mov_b32 s4, 16
1:  s_setprio 1
    global_load_dwordx4 v[32:35], v[2:3], off
    global_load_dwordx4 v[36:39], v[2:3], off offset:16
    ds_read_b128 v[40:43], v4
    ds_read_b128 v[44:47], v4 offset:1024
    s_waitcnt lgkmcnt(0)
    .rept 8
    v_mfma_f32_32x32x8_f16 a[0:15], v[40:41], v[44:45], a[0:15]
    .endr
    s_waitcnt vmcnt(1)
    ds_write_b128 v5, v[32:35]
    s_waitcnt vmcnt(0)
    ds_write_b128 v5, v[36:39] offset:1024
    s_barrier
    s_setprio 0
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish eight, 160, 128, 32, 32768, 0

// Scratch in and outside of its loop; an accumulator that is moved about.
    begin spilled
    scratch_store_dwordx4 off, v[8:11], off offset:16
    s_mov_b32 s4, 8
1:  scratch_load_dword v12, off, off offset:4
    s_waitcnt vmcnt(0)
    v_mfma_f32_16x16x16_f16 v[16:19], v[0:1], v[2:3], v[16:19]
    v_accvgpr_write_b32 a0, v12
    v_accvgpr_read_b32 v13, a0
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish spilled, 64, 64, 32, 0, 64

// Two loops in one; the second one has the matrix work.
    begin nested
    s_mov_b32 s4, 4
1:  s_mov_b32 s5, 4
2:  v_add_u32_e32 v1, 1, v1
    v_add_u32_e32 v2, 1, v2
    s_sub_u32 s5, s5, 1
    s_cmp_lg_u32 s5, 0
    s_cbranch_scc1 2b
    s_mov_b32 s5, 4
3:  v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
    v_add_u32_e32 v1, 1, v1
    s_sub_u32 s5, s5, 1
    s_cmp_lg_u32 s5, 0
    s_cbranch_scc1 3b
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish nested, 64, 32, 32, 0, 0

// The loop of labels 1 and 2 is entered at both.
    begin irreducible
    s_cmp_lg_u32 s2, 0
    s_cbranch_scc1 2f
1:  v_add_u32_e32 v1, 1, v1
    s_nop 0
2:  v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
    s_sub_u32 s5, s5, 1
    s_cmp_lg_u32 s5, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish irreducible, 64, 32, 32, 0, 0

// 20 instructions that mask, jumped over when the tile is whole.
    begin masked
    s_mov_b32 s5, 4
1:  v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], a[0:15]
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 2f
    .rept 20
    v_cndmask_b32_e32 v8, v9, v10, vcc
    .endr
2:  s_sub_u32 s5, s5, 1
    s_cmp_lg_u32 s5, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish masked, 64, 32, 32, 0, 0

// No loop; filler behind the end, which is not counted.
    begin straight
    v_mov_b32_e32 v0, 0
    s_endpgm
    .fill 8, 4, 0xbf800000
    finish straight, 8, 8, 16, 0, 0

// Only a jump through a register leads to the loop.
    begin indirect
    s_load_dwordx2 s[8:9], s[0:1], 0x0
    s_waitcnt lgkmcnt(0)
    s_setpc_b64 s[8:9]
1:  v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
    s_sub_u32 s5, s5, 1
    s_cmp_lg_u32 s5, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish indirect, 64, 32, 32, 0, 0

// A loop that is closed by a jump through a register, as over long distances.
    begin resolved
    s_mov_b32 s5, 4
1:  v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]
    s_sub_u32 s5, s5, 1
    s_cmp_eq_u32 s5, 0
    s_cbranch_scc1 3f
    s_getpc_b64 s[8:9]
2:  s_add_i32 s10, 1b-2b, 0
    s_add_u32 s8, s8, s10
    s_addc_u32 s9, s9, -1
    s_setpc_b64 s[8:9]
3:  s_endpgm
    finish resolved, 64, 32, 32, 0, 0

// Calls a function as compilers do.
    begin far_call
    s_getpc_b64 s[8:9]
    s_add_u32 s8, s8, helper@rel32@lo+4
    s_addc_u32 s9, s9, helper@rel32@hi+12
    s_swappc_b64 s[30:31], s[8:9]
    s_endpgm
    finish far_call, 64, 32, 40, 0, 0

// Calls a function that lies outside of it.
    begin called
    s_call_b64 s[30:31], helper
    s_endpgm
    finish called, 64, 32, 40, 0, 0

// A word that is no instruction.
    begin broken
    v_mov_b32_e32 v0, 0
    .long 0xffffffff
    s_endpgm
    finish broken, 8, 8, 16, 0, 0

// Accesses of every width, with and without registers.
    begin widths
    s_mov_b32 s4, 4
1:  global_load_ubyte v8, v[2:3], off
    global_load_ushort v9, v[2:3], off
    global_load_dwordx4 v[12:15], v[2:3], off
    buffer_load_dwordx2 v[16:17], v4, s[8:11], 0 offen
    buffer_load_dword v4, s[8:11], 0 offen lds
    global_store_dwordx3 v[2:3], v[12:14], off
    ds_read2_b32 v[20:21], v4 offset0:1 offset1:2
    ds_read_u16 v22, v4
    ds_write2_b64 v4, v[24:25], v[26:27] offset0:0 offset1:1
    ds_write_b8 v4, v22
    ds_bpermute_b32 v23, v4, v22
    s_waitcnt vmcnt(3) lgkmcnt(2)
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish widths, 64, 64, 32, 1024, 0

// No matrix instruction: 3 plain ones, 1 transcendental, 1 multiplication of 32 bits.
    begin vector
    s_mov_b32 s4, 4
1:  v_add_f32_e32 v1, v2, v3
    v_add_f32_e32 v4, v2, v3
    v_add_f32_e32 v5, v2, v3
    v_exp_f32_e32 v6, v7
    v_mul_lo_u32 v8, v9, v10
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 1b
    s_endpgm
    finish vector, 64, 64, 32, 0, 0

// A loop without an end, and nothing in it.
    begin forever
1:  s_branch 1b
    finish forever, 8, 8, 16, 0, 0

    .amdgpu_metadata
amdhsa.version: [ 1, 2 ]
amdhsa.kernels:
  - .name: eight
    .symbol: eight.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 32768
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 160
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 256
    .reqd_workgroup_size: [ 256, 1, 1 ]
    .args: []
  - .name: spilled
    .symbol: spilled.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 64
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 0
    .sgpr_spill_count: 3
    .vgpr_spill_count: 12
    .max_flat_workgroup_size: 256
    .args: []
  - .name: nested
    .symbol: nested.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: irreducible
    .symbol: irreducible.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: masked
    .symbol: masked.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: straight
    .symbol: straight.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .agpr_count: 0
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 1024
    .args: []
  - .name: indirect
    .symbol: indirect.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: resolved
    .symbol: resolved.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: far_call
    .symbol: far_call.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 40
    .vgpr_count: 64
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: called
    .symbol: called.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 40
    .vgpr_count: 64
    .agpr_count: 32
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: broken
    .symbol: broken.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .agpr_count: 0
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: widths
    .symbol: widths.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 0
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: vector
    .symbol: vector.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 64
    .agpr_count: 0
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
  - .name: forever
    .symbol: forever.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 8
    .agpr_count: 0
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .max_flat_workgroup_size: 64
    .args: []
    .end_amdgpu_metadata
