# The instruction set: the decoder and the printer by hand, and against LLVM's.
wf_unit_test(NAME test_isa SOURCES test_isa.c LIBS wf_emulator)

add_executable(isa_sweep isa_sweep.c)
wf_warnings(isa_sweep)
target_link_libraries(isa_sweep PRIVATE wf_emulator wf_core)

set(isa_compare python3 ${CMAKE_CURRENT_SOURCE_DIR}/isa_compare.py)
wf_script_test(NAME isa_sweep_equals_llvm
  COMMAND ${isa_compare} sweep $<TARGET_FILE:isa_sweep> 8 llvm-mc-19 llvm-mc-22
  LABELS emulator TIMEOUT 180)
wf_script_test(NAME isa_objects_equal_llvm
  COMMAND ${isa_compare} objects $<TARGET_FILE:isa_sweep> ${CMAKE_BINARY_DIR}
          llvm-objdump-19 llvm-objdump-22
  LABELS emulator TIMEOUT 180)
