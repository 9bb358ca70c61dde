# Device compilers. clang-19 is required (gfx942 code objects, sm_90 PTX); nvcc is
# used for cubins where it is present.
find_program(WF_CLANG NAMES clang-19 REQUIRED
             DOC "clang that compiles the device kernels")
find_program(WF_NVCC NAMES nvcc PATHS /usr/local/cuda/bin
             DOC "NVIDIA's compiler, optional")

# Code for devices, and device sources compiled for the lockstep tests, are the same in
# every configuration of one source tree: one compiles them, the others may take its files.
# Its target wf_device_code makes all of them, and is built first wherever they are taken.
set(WF_DEVICE_FROM "" CACHE PATH
    "a configured build folder whose device code is taken; empty: compile it here")
if(WF_DEVICE_FROM)
  get_filename_component(WF_DEVICE_FROM ${WF_DEVICE_FROM} ABSOLUTE
                         BASE_DIR ${CMAKE_SOURCE_DIR})
  if(NOT EXISTS ${WF_DEVICE_FROM}/build.ninja)
    message(FATAL_ERROR "WF_DEVICE_FROM: ${WF_DEVICE_FROM} is not configured for Ninja: "
                        "cmake --preset dev, then -DWF_DEVICE_FROM=build/dev")
  endif()
endif()
add_custom_target(wf_device_code)
# wf-packgen compiles as many kernels at once as there are processors: one of it at a time.
set_property(GLOBAL APPEND PROPERTY JOB_POOLS wf_device=1)

# wf_device_output(TARGET name OUTPUT file [FOLDER] COMMAND ... [DEPENDS ...] [DEPFILE f]
#                  [POOL] COMMENT text)
#     target `name` makes OUTPUT, a path in the build folder, by COMMAND, or copies it (with
#     FOLDER the folder that it is in) from WF_DEVICE_FROM. POOL: COMMAND is wf-packgen.
function(wf_device_output)
  cmake_parse_arguments(D "FOLDER;POOL" "TARGET;OUTPUT;DEPFILE;COMMENT" "COMMAND;DEPENDS" ${ARGN})
  set(depfile "")
  set(pool "")
  if(D_POOL AND NOT WF_DEVICE_FROM)
    set(pool JOB_POOL wf_device)
  endif()
  if(WF_DEVICE_FROM)
    cmake_path(RELATIVE_PATH D_OUTPUT BASE_DIRECTORY ${CMAKE_BINARY_DIR}
               OUTPUT_VARIABLE path)
    set(from ${WF_DEVICE_FROM}/${path})
    set_property(GLOBAL APPEND PROPERTY WF_DEVICE_TAKEN ${from})
    set(D_DEPENDS wf_device_code_from ${from})
    set(D_COMMENT "Copying ${path}")
    set(D_COMMAND ${CMAKE_COMMAND} -E copy ${from} ${D_OUTPUT})
    if(D_FOLDER)
      get_filename_component(from ${from} DIRECTORY)
      get_filename_component(out ${D_OUTPUT} DIRECTORY)
      set(D_COMMAND ${CMAKE_COMMAND} -E rm -rf ${out}
          COMMAND ${CMAKE_COMMAND} -E copy_directory ${from} ${out}
          COMMAND ${CMAKE_COMMAND} -E touch ${D_OUTPUT})
    endif()
  elseif(D_DEPFILE)
    set(depfile DEPFILE ${D_DEPFILE})
  endif()
  add_custom_command(OUTPUT ${D_OUTPUT} COMMAND ${D_COMMAND} DEPENDS ${D_DEPENDS}
                     ${depfile} ${pool} COMMENT "${D_COMMENT}" VERBATIM)
  add_custom_target(${D_TARGET} ALL DEPENDS ${D_OUTPUT})
  add_dependencies(wf_device_code ${D_TARGET})
endfunction()

# After all of the above: what is taken is made first.
function(wf_device_taken)
  if(NOT WF_DEVICE_FROM)
    return()
  endif()
  get_property(taken GLOBAL PROPERTY WF_DEVICE_TAKEN)
  add_custom_target(wf_device_code_from
    COMMAND ${CMAKE_COMMAND} --build ${WF_DEVICE_FROM} --target wf_device_code
    BYPRODUCTS ${taken} COMMENT "Device code of ${WF_DEVICE_FROM}" VERBATIM)
endfunction()
