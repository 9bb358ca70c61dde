# Scalar instructions, decoded code, launches.
wf_unit_test(NAME test_emulator_scalar
             SOURCES test_scalar.c scalar_reference.c valu_case.c LIBS wf_emulator)

wf_gfx942_object(co launch-programs launch_programs.s)
wf_gfx942_object(ids launch-ids launch_ids.hip)
wf_unit_test(NAME test_emulator_launch SOURCES test_launch.c program.c LIBS wf_emulator)
if(TARGET test_emulator_launch)
  add_dependencies(test_emulator_launch gfx942-launch-programs gfx942-launch-ids)
  target_compile_definitions(test_emulator_launch PRIVATE
    WF_TEST_LAUNCH_CO="${co}" WF_TEST_IDS_CO="${ids}")
endif()
wf_unit_test(NAME test_emulator_code SOURCES test_code.c program.c LIBS wf_emulator)
wf_plain_test(NAME test_emulator_launch_threads SOURCES launch_threads.c program.c
              LIBS wf_emulator)
foreach(test code launch_threads)
  if(TARGET test_emulator_${test})
    add_dependencies(test_emulator_${test} gfx942-launch-programs)
    target_compile_definitions(test_emulator_${test} PRIVATE WF_TEST_LAUNCH_CO="${co}")
  endif()
endforeach()
