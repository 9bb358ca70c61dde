# Tests of cases and the gemm op. Included by tests/kernels/CMakeLists.txt.
set(dir ${CMAKE_CURRENT_LIST_DIR})
foreach(name case gemm_problem gemm_check gemm_diagnose)
  wf_unit_test(NAME test_${name}
    SOURCES ${dir}/test_${name}.c ${dir}/gemm_fixture.c
    LIBS wf_ops m)
endforeach()
foreach(name epilogue epilogue_diagnose epilogue_models)
  wf_unit_test(NAME test_gemm_${name}
    SOURCES ${dir}/test_gemm_${name}.c ${dir}/gemm_fixture.c
    LIBS wf_ops m)
endforeach()
wf_unit_test(NAME test_gemm_host
  SOURCES ${dir}/test_gemm_host.c ${dir}/gemm_fixture.c ${dir}/library_fixture.c
  LIBS wf_ops wf_host_gemm)
wf_unit_test(NAME test_grouped_gemm
  SOURCES ${dir}/test_grouped_gemm.c ${dir}/test_grouped_host.c ${dir}/test_grouped_diagnose.c
    ${dir}/grouped_fixture.c
    ${dir}/gemm_fixture.c ${dir}/library_fixture.c
  LIBS wf_ops wf_host_gemm m)
wf_plain_test(NAME test_parallel_threads
  SOURCES ${dir}/test_parallel_threads.c LIBS wf_ops)
wf_unit_test(NAME test_error_models
  SOURCES ${dir}/test_error_models.c ${dir}/gemm_fixture.c
    ${dir}/attention_fixture.c ${dir}/attention_model.c
  LIBS wf_ops wf_host_attention m dl)
