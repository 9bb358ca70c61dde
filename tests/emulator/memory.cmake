# Address space, vector memory, LDS, atomics.
set(memory_support memory_fixture.c memory_reference.c)
wf_unit_test(NAME test_emulator_vmem SOURCES test_vmem.c ${memory_support}
             LIBS wf_emulator m)
wf_unit_test(NAME test_emulator_lds SOURCES test_lds.c ${memory_support}
             LIBS wf_emulator m)
wf_unit_test(NAME test_emulator_vmem_atomic SOURCES test_vmem_atomic.c ${memory_support}
             LIBS wf_emulator m)
wf_unit_test(NAME test_emulator_space SOURCES test_space.c ${memory_support}
             LIBS wf_emulator m)
wf_plain_test(NAME emulator_memory_threads SOURCES memory_threads.c memory_fixture.c
              LIBS wf_emulator pthread)
wf_unit_test(NAME test_emulator_memory_checks SOURCES test_memory_checks.c memory_fixture.c
             LIBS wf_emulator)
