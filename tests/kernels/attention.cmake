# Tests of kernels/attention. Included by tests/kernels/CMakeLists.txt.
set(dir ${CMAKE_CURRENT_LIST_DIR})
set(fixture ${dir}/attention_fixture.c ${dir}/attention_model.c)
foreach(name problem table semantics host mutants diagnose large sampling)
  wf_unit_test(NAME test_attention_${name}
    SOURCES ${dir}/test_attention_${name}.c ${fixture}
    LIBS wf_ops wf_host_attention dl TIMEOUT 120)
endforeach()
wf_plain_test(NAME test_attention_threads
  SOURCES ${dir}/test_attention_threads.c ${fixture}
  LIBS wf_ops wf_host_attention)
