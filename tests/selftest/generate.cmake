# Generated mutants: the arguments by which one is left out, on code written by hand; the
# draw, on our own objects; and a program that measures the catch rate.
wf_unit_test(NAME test_selftest_generate_prove SOURCES test_generate_prove.c code.c
             LIBS wf_selftest LABELS selftest)
wf_unit_test(NAME test_selftest_generate SOURCES test_generate.c LIBS wf_selftest
             LABELS selftest)
if(TARGET test_selftest_generate)
  add_dependencies(test_selftest_generate pack-wavefarm-gfx942)
  target_compile_definitions(test_selftest_generate PRIVATE
    WF_GFX942_PACK="${CMAKE_BINARY_DIR}/packs/wavefarm-gfx942")
endif()

add_executable(generated_rate generated_rate.c)
wf_warnings(generated_rate)
target_link_libraries(generated_rate PRIVATE wf_selftest)
