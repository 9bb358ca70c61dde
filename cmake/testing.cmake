# Test helpers.
#   wf_unit_test(NAME name SOURCES ... LIBS ... [LABELS ...] [TIMEOUT s] [SERIAL])
#       a Criterion program
#   wf_plain_test(...)
#       a program with its own main (runs under ThreadSanitizer, which Criterion
#       cannot; exit status 0 is success)
#   wf_script_test(NAME name COMMAND ... [LABELS ...] [TIMEOUT s] [SERIAL])
#   wf_fuzz_target(NAME name SOURCES ... LIBS ...)
#       a libFuzzer program, only in the fuzz preset
# A leak or an undefined-behaviour report fails the test although Criterion's own
# exit status would not.
set(WF_FAIL_PATTERN
    "LeakSanitizer|AddressSanitizer|ThreadSanitizer|runtime error:")

# `ctest -j5` runs two tests that compute and one of a data base beside them: those of a
# data base (label db) wait for most of their time (5 s of processor time in 30 s), so
# they are one stream of one slot, and the others take two slots each. What may take
# longest begins first. Tests without a program of ours are not for the sanitizers:
# LABELS script.
function(wf_test_properties name)
  cmake_parse_arguments(T "SERIAL" "TIMEOUT" "LABELS" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 60)
  endif()
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}"
    FAIL_REGULAR_EXPRESSION "${WF_FAIL_PATTERN}"
    SKIP_RETURN_CODE 77
    COST ${T_TIMEOUT} PROCESSORS 2
    ENVIRONMENT "WF_SOURCE_DIR=${CMAKE_SOURCE_DIR};WF_BINARY_DIR=${CMAKE_BINARY_DIR};OPENBLAS_NUM_THREADS=2")
  if(T_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  elseif("db" IN_LIST T_LABELS)
    set_tests_properties(${name} PROPERTIES COST 1000 PROCESSORS 1
      RESOURCE_LOCK data_base)
  endif()
endfunction()

function(wf_unit_test)
  cmake_parse_arguments(T "SERIAL" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(WF_SANITIZE STREQUAL "thread" OR WF_SANITIZE STREQUAL "fuzz")
    return()
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  wf_warnings(${T_NAME})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} criterion)
  set(extra "")
  if(T_SERIAL)
    set(extra -j1)
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_NAME} ${extra})
  if(T_SERIAL)
    wf_test_properties(${T_NAME} SERIAL TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS})
  else()
    wf_test_properties(${T_NAME} TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS})
  endif()
endfunction()

function(wf_plain_test)
  cmake_parse_arguments(T "SERIAL" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS" ${ARGN})
  if(WF_SANITIZE STREQUAL "fuzz")
    return()
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  wf_warnings(${T_NAME})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS})
  add_test(NAME ${T_NAME} COMMAND ${T_NAME})
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  if(NOT TARGET tsan_tests)
    add_custom_target(tsan_tests)
  endif()
  add_dependencies(tsan_tests ${T_NAME})
  if(T_SERIAL)
    wf_test_properties(${T_NAME} SERIAL TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS} tsan)
  else()
    wf_test_properties(${T_NAME} TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS} tsan)
  endif()
endfunction()

function(wf_script_test)
  cmake_parse_arguments(T "SERIAL" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(WF_SANITIZE STREQUAL "thread" OR WF_SANITIZE STREQUAL "fuzz")
    return()
  endif()
  add_test(NAME ${T_NAME} COMMAND ${T_COMMAND})
  if(T_SERIAL)
    wf_test_properties(${T_NAME} SERIAL TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS})
  else()
    wf_test_properties(${T_NAME} TIMEOUT "${T_TIMEOUT}" LABELS ${T_LABELS})
  endif()
endfunction()

function(wf_fuzz_target)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBS" ${ARGN})
  if(NOT WF_SANITIZE STREQUAL "fuzz")
    return()
  endif()
  add_executable(${T_NAME} ${T_SOURCES})
  wf_warnings(${T_NAME})
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS})
  target_link_options(${T_NAME} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzz_targets)
    add_custom_target(fuzz_targets)
  endif()
  add_dependencies(fuzz_targets ${T_NAME})
endfunction()
