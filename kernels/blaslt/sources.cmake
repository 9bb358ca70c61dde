# The library packs of cuBLASLt and hipBLASLt: one source, a thin file a vendor, no header
# of theirs. Included by kernels/CMakeLists.txt; built everywhere.
set(dir ${CMAKE_CURRENT_LIST_DIR})
foreach(vendor cublaslt hipblaslt)
  add_library(wf_${vendor} SHARED
    ${dir}/best.c ${dir}/kernel.c ${dir}/load.c ${dir}/plan.c ${dir}/problem.c
    ${dir}/${vendor}.c)
  wf_warnings(wf_${vendor})
  target_compile_definitions(wf_${vendor} PRIVATE BLASLT_KERNEL="${vendor}_gemm")
  set_target_properties(wf_${vendor} PROPERTIES C_VISIBILITY_PRESET hidden)
  target_link_libraries(wf_${vendor} PRIVATE wf_core m pthread ${CMAKE_DL_LIBS})
  target_link_options(wf_${vendor} PRIVATE "LINKER:--as-needed" "LINKER:--exclude-libs,ALL")
endforeach()
