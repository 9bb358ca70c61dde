# The rules of catching, the manifests, and that the selftest itself cannot lie.
wf_unit_test(NAME test_selftest_tally SOURCES test_tally.c LIBS wf_selftest wf_core LABELS unit)
wf_unit_test(NAME test_selftest_right_cases SOURCES test_right_cases.c LIBS wf_selftest wf_ops)
wf_script_test(NAME selftest_mutants LABELS selftest TIMEOUT 240
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mutants.sh $<TARGET_FILE_DIR:wavefarm>)
wf_script_test(NAME selftest_honesty LABELS selftest TIMEOUT 60
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/honesty.sh $<TARGET_FILE_DIR:wavefarm>)
