# Faults, outstanding loads, races, counters, and kernels with an instruction taken out.
wf_gfx942_object(fault_kernels fault-kernels fault_kernels.hip -g -O1)
wf_gfx942_object(fault_waves fault-waves fault_waves.s)
wf_unit_test(NAME test_emulator_fault SOURCES test_fault.c program.c LIBS wf_emulator)
if(TARGET test_emulator_fault)
  add_dependencies(test_emulator_fault gfx942-fault-kernels gfx942-fault-waves)
  target_compile_definitions(test_emulator_fault PRIVATE
    FAULT_KERNELS="${fault_kernels}" FAULT_WAVES="${fault_waves}"
    FAULT_SOURCE="${CMAKE_CURRENT_SOURCE_DIR}/fault_kernels.hip")
endif()
