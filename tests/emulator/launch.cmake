# Scalar instructions, decoded code, launches.
wf_unit_test(NAME test_emulator_scalar
             SOURCES test_scalar.c scalar_reference.c valu_case.c LIBS wf_emulator)
