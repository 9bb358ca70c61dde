# Sources of the attention op, for target wf_ops. Included by kernels/CMakeLists.txt.
set(dir ${CMAKE_CURRENT_LIST_DIR})
target_sources(wf_ops PRIVATE
  ${dir}/attention.c
  ${dir}/attention_check.c
  ${dir}/attention_describe.c
  ${dir}/attention_diagnose.c
  ${dir}/attention_gather.c
  ${dir}/attention_inputs.c
  ${dir}/attention_mistakes.c
  ${dir}/attention_naive_check.c
  ${dir}/attention_place.c
  ${dir}/attention_places.c
  ${dir}/attention_plan.c
  ${dir}/attention_ref.c
  ${dir}/attention_shape.c
  ${dir}/attention_table.c
  ${dir}/attention_tile.c
  ${dir}/attention_tolerance.c)
# Double-precision tiles: vectorised, multiply and add contracted. Neither changes what
# counts as right: the reference's own rounding is 2^-53, far inside every tolerance.
set_source_files_properties(${dir}/attention_tile.c PROPERTIES
  COMPILE_OPTIONS "-O3;-ffp-contract=fast")

# The host library kernel: a shared object whose one exported name is the library entry;
# core's number formats are inside it.
add_library(wf_host_attention SHARED
  ${dir}/attention_host.c
  ${dir}/attention_host_compute.c
  ${dir}/attention_host_pool.c
  ${dir}/attention_host_problem.c)
wf_warnings(wf_host_attention)
set_target_properties(wf_host_attention PROPERTIES C_VISIBILITY_PRESET hidden)
target_link_libraries(wf_host_attention PRIVATE wf_core m pthread)
target_link_options(wf_host_attention PRIVATE
  "LINKER:--as-needed" "LINKER:--exclude-libs,ALL")
set_source_files_properties(${dir}/attention_host_compute.c PROPERTIES
  COMPILE_OPTIONS "-O3;-ffp-contract=fast;-fno-math-errno")
