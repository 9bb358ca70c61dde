# Vector arithmetic but its floating-point functions: integers, comparisons, how sources
# are fetched and results are stored.
wf_unit_test(NAME test_valu_int
  SOURCES test_valu_int.c valu_int_reference.c valu_case.c LIBS wf_emulator m)
wf_unit_test(NAME test_valu_run SOURCES test_valu_run.c valu_case.c LIBS wf_emulator)
wf_unit_test(NAME test_valu_store SOURCES test_valu_store.c valu_case.c LIBS wf_emulator)
