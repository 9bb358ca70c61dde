# Tests of cases and the gemm op. Included by tests/kernels/CMakeLists.txt.
wf_unit_test(NAME test_case SOURCES test_case.c gemm_fixture.c LIBS wf_ops)
wf_unit_test(NAME test_gemm_problem SOURCES test_gemm_problem.c gemm_fixture.c LIBS wf_ops)
wf_unit_test(NAME test_gemm_check SOURCES test_gemm_check.c gemm_fixture.c LIBS wf_ops m)
