foreach(part layout numeric behaviour)
  wf_unit_test(NAME test_emulator_mfma_${part}
               SOURCES test_mfma_${part}.c mfma_case.c mfma_model.c LIBS wf_emulator)
endforeach()
