# Floating-point row functions against a fixed-point reference and long double.
foreach(part arithmetic convert divide run special)
  wf_unit_test(NAME test_valu_float_${part}
    SOURCES test_valu_float_${part}.c valu_float_case.c valu_float_reference.c valu_case.c
    LIBS wf_emulator m)
endforeach()
