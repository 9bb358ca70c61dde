# The HIP runtime's ABI: ordinary HIP programs, built as their authors build them and run
# with LD_LIBRARY_PATH alone.

# Debian's device libraries know nothing of gfx942: a folder of links to them, with the
# nearest one in its place.
set(WF_DEVICE_LIBS ${CMAKE_CURRENT_BINARY_DIR}/device-libs)
file(GLOB bitcode /usr/lib/*/amdgcn/bitcode/*.bc)
file(MAKE_DIRECTORY ${WF_DEVICE_LIBS})
foreach(from IN LISTS bitcode)
  get_filename_component(name ${from} NAME)
  string(REPLACE "isa_version_90a" "isa_version_942" as_gfx942 ${name})
  string(REPLACE "abi_version_500" "abi_version_600" as_v6 ${name})
  foreach(link IN ITEMS ${name} ${as_gfx942} ${as_v6})
    file(CREATE_LINK ${from} ${WF_DEVICE_LIBS}/${link} SYMBOLIC)
  endforeach()
endforeach()

set(WF_HIP_PROGRAMS ${CMAKE_CURRENT_SOURCE_DIR}/programs)
string(REPLACE "clang-" "clang++-" WF_CLANGXX ${WF_CLANG})
find_program(WF_CLANGXX_22 NAMES clang++-22)

# wf_hip_program(name source compiler [flags...])
function(wf_hip_program name source compiler)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/programs/${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/programs
    COMMAND ${compiler} -x hip --offload-arch=gfx942
            --rocm-device-lib-path=${WF_DEVICE_LIBS} --rocm-path=/usr -O3 -g ${ARGN}
            ${WF_HIP_PROGRAMS}/${source}.hip -o ${program} -lamdhip64
    DEPENDS ${WF_HIP_PROGRAMS}/${source}.hip ${WF_HIP_PROGRAMS}/check.h
    COMMENT "Compiling the HIP program ${name}" VERBATIM)
  add_custom_target(hip-${name} ALL DEPENDS ${program})
  add_dependencies(hip-${name} wavefarm_emulator)
endfunction()

# wf_hip_test(name program [WAVEFARM_EMULATOR_...=value...]): ctest hip_<name>. Programs
# are not built with a sanitizer, so a library that is cannot be loaded by them.
function(wf_hip_test name program)
  if(WF_SANITIZE)
    return()
  endif()
  wf_script_test(NAME hip_${name} LABELS emulator COMMAND
    env LD_LIBRARY_PATH=${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/hip ${ARGN}
        ${CMAKE_CURRENT_BINARY_DIR}/programs/${program})
endfunction()

if(NOT WF_SANITIZE)
  foreach(name basic matrix control variables streams faults)
    wf_hip_program(${name} ${name} ${WF_CLANGXX})
    wf_hip_test(${name} ${name} WAVEFARM_EMULATOR_BUDGET=20000000)
  endforeach()
  wf_hip_test(matrix_exact matrix WAVEFARM_EMULATOR_MFMA=exact)
  wf_hip_test(basic_unchecked basic WAVEFARM_EMULATOR_CHECKS=off
              WAVEFARM_EMULATOR_COUNTERS=off WAVEFARM_EMULATOR_THREADS=1)
  wf_script_test(NAME hip_report LABELS emulator
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/hip_report.sh ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}
            ${CMAKE_CURRENT_BINARY_DIR}/programs)
  if(WF_CLANGXX_22)
    foreach(name basic matrix control)
      # Later than Debian's headers and libraries: what it no longer links by itself.
      wf_hip_program(${name}-22 ${name} ${WF_CLANGXX_22} -D__AMDGCN_WAVEFRONT_SIZE=64
        -Xclang -mlink-builtin-bitcode -Xclang ${WF_DEVICE_LIBS}/hip.bc
        -Wno-linker-warnings)
      wf_hip_test(${name}_22 ${name}-22)
    endforeach()
  endif()
endif()

find_path(WF_HIP_HEADERS hip/hip_runtime_api.h)
if(WF_HIP_HEADERS)
  wf_unit_test(NAME test_emulator_hip_layout SOURCES test_hip_layout.c hip_theirs.c
               LIBS wf_core)
endif()

wf_script_test(NAME emulator_amd_path LABELS emulator TIMEOUT 180
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/amd_path.sh $<TARGET_FILE_DIR:wavefarm>
          $<TARGET_FILE_DIR:wavefarm_emulator> ${CMAKE_BINARY_DIR}/packs/wavefarm-gfx942)
