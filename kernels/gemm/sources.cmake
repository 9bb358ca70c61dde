# Sources of the gemm op, for target wf_ops. Included by kernels/CMakeLists.txt.
set(dir ${CMAKE_CURRENT_LIST_DIR})
target_sources(wf_ops PRIVATE
  ${dir}/gemm.c
  ${dir}/gemm_compare.c
  ${dir}/gemm_describe.c
  ${dir}/gemm_diagnose.c
  ${dir}/gemm_epilogue.c
  ${dir}/gemm_finish.c
  ${dir}/gemm_freivalds.c
  ${dir}/gemm_full.c
  ${dir}/gemm_inputs.c
  ${dir}/gemm_mistakes.c
  ${dir}/gemm_mistakes_epilogue.c
  ${dir}/gemm_mistakes_grouped.c
  ${dir}/gemm_naive_check.c
  ${dir}/gemm_noise.c
  ${dir}/gemm_panel.c
  ${dir}/gemm_places.c
  ${dir}/gemm_ref.c
  ${dir}/gemm_sampled.c
  ${dir}/gemm_scales.c
  ${dir}/gemm_shape.c
  ${dir}/gemm_tolerance.c
  ${dir}/gemm_types.c
  ${dir}/gemm_work.c
  ${dir}/grouped.c
  ${dir}/openblas.c)
set_source_files_properties(${dir}/gemm_compare.c ${dir}/gemm_freivalds.c
  ${dir}/gemm_ref.c ${dir}/gemm_full.c ${dir}/gemm_finish.c
  ${dir}/gemm_scales.c PROPERTIES COMPILE_OPTIONS "-O3")
# OpenBLAS: its header only, the library is loaded when it is needed.
find_package(PkgConfig REQUIRED)
pkg_check_modules(WF_OPENBLAS REQUIRED openblas)
set_property(SOURCE ${dir}/openblas.c APPEND PROPERTY
  INCLUDE_DIRECTORIES ${WF_OPENBLAS_INCLUDE_DIRS})
target_link_libraries(wf_ops PRIVATE ${CMAKE_DL_LIBS})

# The host library kernels: a shared object whose one exported name is the library entry;
# core's number formats are inside it.
add_library(wf_host_gemm SHARED
  ${dir}/gemm_host.c
  ${dir}/gemm_host_blas.c
  ${dir}/gemm_host_i8.c
  ${dir}/gemm_host_problem.c
  ${dir}/openblas.c
  ${CMAKE_CURRENT_SOURCE_DIR}/parallel.c)
wf_warnings(wf_host_gemm)
set_target_properties(wf_host_gemm PROPERTIES C_VISIBILITY_PRESET hidden)
target_link_libraries(wf_host_gemm PRIVATE wf_core m pthread ${CMAKE_DL_LIBS})
target_link_options(wf_host_gemm PRIVATE
  "LINKER:--as-needed" "LINKER:--exclude-libs,ALL")
set_source_files_properties(${dir}/gemm_host_i8.c PROPERTIES COMPILE_OPTIONS "-O3")
