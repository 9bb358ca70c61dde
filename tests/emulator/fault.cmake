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

set(kernel_words -I${CMAKE_SOURCE_DIR} -DWF_DEVICE_AMD)
set(gemm_words ${kernel_words} -DWAVES_M=2 -DWAVES_N=2 -DA_K_CONTIGUOUS=1
  -DANY_ALIGNMENT=1)
set(gemm gemm_f16.hip)
wf_gfx942_object(gemm_nt mutant-gemm-nt ${gemm} ${gemm_words} -DBLOCK_M=128
  -DBLOCK_N=128 -DWAVES_PER_SIMD=2 -DB_K_CONTIGUOUS=1 -DSPLIT_K=0)
wf_gfx942_object(gemm_nn mutant-gemm-nn ${gemm} ${gemm_words} -DBLOCK_M=128
  -DBLOCK_N=128 -DWAVES_PER_SIMD=2 -DB_K_CONTIGUOUS=0 -DSPLIT_K=0)
wf_gfx942_object(gemm_split mutant-gemm-split ${gemm} ${gemm_words} -DBLOCK_M=64
  -DBLOCK_N=64 -DWAVES_PER_SIMD=4 -DB_K_CONTIGUOUS=1 -DSPLIT_K=1)
wf_gfx942_object(decode mutant-decode ../../kernels/attention/paged_decode_mfma.hip
  ${kernel_words} -DHEAD_DIM=64 -DWAVES=4 -DWAVES_PER_SIMD=2)
wf_unit_test(NAME test_emulator_mutant SOURCES test_mutant.c mutant.c program.c
             LIBS wf_emulator)
if(TARGET test_emulator_mutant)
  add_dependencies(test_emulator_mutant gfx942-mutant-gemm-nt gfx942-mutant-gemm-nn
    gfx942-mutant-gemm-split gfx942-mutant-decode)
  target_compile_definitions(test_emulator_mutant PRIVATE GEMM_NT="${gemm_nt}"
    GEMM_NN="${gemm_nn}" GEMM_SPLIT="${gemm_split}" DECODE="${decode}")
endif()

wf_unit_test(NAME test_emulator_race SOURCES test_race.c LIBS wf_emulator)
wf_unit_test(NAME test_emulator_count SOURCES test_count.c program.c LIBS wf_emulator)
if(TARGET test_emulator_count)
  add_dependencies(test_emulator_count gfx942-fault-kernels)
  target_compile_definitions(test_emulator_count PRIVATE
    FAULT_KERNELS="${fault_kernels}")
endif()
wf_unit_test(NAME test_emulator_shadow SOURCES test_shadow.c LIBS wf_emulator)

# Reports against docs/schemas/emulator-report.schema.json; skipped (77) without
# python3-jsonschema.
if(TARGET test_emulator_fault)
  add_executable(fault_reports fault_reports.c program.c)
  wf_warnings(fault_reports)
  target_link_libraries(fault_reports PRIVATE wf_emulator)
  target_compile_definitions(fault_reports PRIVATE FAULT_KERNELS="${fault_kernels}")
  add_dependencies(fault_reports gfx942-fault-kernels)
  wf_script_test(NAME test_emulator_report_schema
    COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/fault_schema.py $<TARGET_FILE:fault_reports>)
endif()
