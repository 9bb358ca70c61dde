# Sources of the gemm op, for target wf_ops. Included by kernels/CMakeLists.txt.
set(dir ${CMAKE_CURRENT_LIST_DIR})
target_sources(wf_ops PRIVATE
  ${dir}/gemm.c
  ${dir}/gemm_blas.c
  ${dir}/gemm_compare.c
  ${dir}/gemm_describe.c
  ${dir}/gemm_diagnose.c
  ${dir}/gemm_freivalds.c
  ${dir}/gemm_full.c
  ${dir}/gemm_inputs.c
  ${dir}/gemm_panel.c
  ${dir}/gemm_ref.c
  ${dir}/gemm_shape.c
  ${dir}/gemm_tolerance.c
  ${dir}/gemm_types.c
  ${dir}/gemm_work.c)
set_source_files_properties(${dir}/gemm_compare.c ${dir}/gemm_freivalds.c
  ${dir}/gemm_ref.c ${dir}/gemm_full.c PROPERTIES COMPILE_OPTIONS "-O3")
find_package(PkgConfig REQUIRED)
pkg_check_modules(WF_OPENBLAS REQUIRED IMPORTED_TARGET openblas)
target_link_libraries(wf_ops PRIVATE PkgConfig::WF_OPENBLAS)
