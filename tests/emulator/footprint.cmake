# Memory beside the program's own; sanitizers have memory of their own.
if(NOT WF_SANITIZE)
  wf_gfx942_object(footprint footprint footprint.hip)
  wf_plain_test(NAME test_emulator_footprint SOURCES footprint.c program.c
                LIBS wf_emulator)
  add_dependencies(test_emulator_footprint gfx942-footprint)
  target_compile_definitions(test_emulator_footprint PRIVATE
    WF_FOOTPRINT_CO="${footprint}")
endif()
