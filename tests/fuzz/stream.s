; A kernel whose body fuzz_stream overwrites: first registers with something in them, then
; 256 dwords of room, then the end.
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl stream
.p2align 8
.type stream,@function
stream:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  s_movk_i32 s10, 0x1000
  s_mov_b32 s11, 0x27000
  s_mov_b32 m0, 0
  v_and_b32_e32 v0, 0x3ff, v0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, s4
  v_mov_b32_e32 v3, s5
  v_cvt_f32_u32_e32 v4, v0
  v_cvt_f16_f32_e32 v5, v4
  v_mov_b32_e32 v6, v5
  v_mov_b32_e32 v7, v4
.globl stream_room
stream_room:
  .fill 256, 4, 0xbf800000
  s_endpgm
  .fill 64, 4, 0xbf800000
.Lend:
.size stream, .Lend-stream

.rodata
.p2align 6
.amdhsa_kernel stream
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 96
  .amdhsa_accum_offset 64
  .amdhsa_next_free_sgpr 96
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_private_segment_fixed_size 64
  .amdhsa_enable_private_segment 1
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: stream
    .symbol: stream.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 4096
    .private_segment_fixed_size: 64
    .wavefront_size: 64
    .sgpr_count: 96
    .vgpr_count: 96
    .agpr_count: 32
    .max_flat_workgroup_size: 1024
    .args:
      - {.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}
      - {.offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
