# Packs of our own kernels, made at build time by wf-packgen in
# ${CMAKE_BINARY_DIR}/<FOLDER>/<name>/, FOLDER being packs (where the programs look) unless
# it is given.
#
#   wf_device_pack(NAME wavefarm-gfx942 ARCH gfx942 [FORMAT co|cubin|ptx] [ENTRIES ...]
#                  [FOLDER test-packs])
#       compiles the kernel entries (kernels/<op>/<name>.json) whose "arch" holds ARCH,
#       or the ENTRIES named. FORMAT: co for gfx*; for sm_* cubin where nvcc is found,
#       else ptx.
#   wf_library_pack(NAME wavefarm-host TARGETS lib... ENTRIES kernels/gemm/x.json...
#                   [FOLDER ...])
#       copies shared libraries and makes a pack of the library entries.
#
# Configure fails when a .hip has no entry beside it, or an entry's source is not there.

# The sources that an entry names: its own name with .hip, "source", or those of "code".
function(wf_entry_sources entry out_kind out_sources)
  file(READ ${entry} text)
  string(JSON schema ERROR_VARIABLE failed GET "${text}" schema)
  if(failed OR NOT schema STREQUAL "wavefarm.kernel-entry/1")
    set(${out_kind} "" PARENT_SCOPE)
    set(${out_sources} "" PARENT_SCOPE)
    return()
  endif()
  string(JSON kind ERROR_VARIABLE failed GET "${text}" kind)
  if(failed)
    set(kind code-object)
  endif()
  get_filename_component(folder ${entry} DIRECTORY)
  get_filename_component(stem ${entry} NAME_WLE)
  set(sources "")
  if(kind STREQUAL "code-object")
    string(JSON count ERROR_VARIABLE no_code LENGTH "${text}" code)
    string(JSON source ERROR_VARIABLE no_source GET "${text}" source)
    if(NOT no_code)
      math(EXPR last "${count} - 1")
      foreach(i RANGE ${last})
        string(JSON label MEMBER "${text}" code ${i})
        string(JSON file GET "${text}" code ${label})
        list(APPEND sources ${folder}/${file})
      endforeach()
    elseif(NOT no_source)
      list(APPEND sources ${folder}/${source})
    else()
      list(APPEND sources ${folder}/${stem}.hip)
    endif()
  endif()
  set(${out_kind} ${kind} PARENT_SCOPE)
  set(${out_sources} "${sources}" PARENT_SCOPE)
endfunction()

# Every .hip belongs to an entry and every entry has its sources; *out: device entries.
function(wf_find_device_entries out)
  file(GLOB_RECURSE entries CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.json)
  list(FILTER entries EXCLUDE REGEX "[.](space|selection)[.]json$") # docs/tuning.md
  file(GLOB_RECURSE hips CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.hip)
  set(named "")
  set(found "")
  foreach(entry IN LISTS entries)
    # What an entry names may change: configure again when it does.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${entry})
    wf_entry_sources(${entry} kind sources)
    if(kind STREQUAL "code-object")
      list(APPEND found ${entry})
    endif()
    foreach(source IN LISTS sources)
      if(NOT EXISTS ${source})
        message(FATAL_ERROR "kernel entry ${entry} needs ${source}, which is not there")
      endif()
      list(APPEND named ${source})
    endforeach()
  endforeach()
  foreach(hip IN LISTS hips)
    if(NOT hip IN_LIST named)
      message(FATAL_ERROR "${hip} has no kernel entry: write a .json of the same name "
                          "beside it (docs/adding-a-kernel.md)")
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

function(wf_relative_to_source out)
  set(list "")
  foreach(path IN LISTS ARGN)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    list(APPEND list ${path})
  endforeach()
  set(${out} "${list}" PARENT_SCOPE)
endfunction()

function(wf_device_pack)
  cmake_parse_arguments(P "" "NAME;ARCH;FORMAT;FOLDER" "ENTRIES" ${ARGN})
  if(NOT P_NAME OR NOT P_ARCH)
    message(FATAL_ERROR "wf_device_pack needs NAME and ARCH")
  endif()
  if(NOT P_FORMAT)
    if(P_ARCH MATCHES "^gfx")
      set(P_FORMAT co)
    elseif(WF_NVCC)
      set(P_FORMAT cubin)
    else()
      set(P_FORMAT ptx)
    endif()
  endif()
  if(P_ENTRIES)
    list(TRANSFORM P_ENTRIES PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE entries)
  else()
    wf_find_device_entries(entries)
    list(FILTER entries EXCLUDE REGEX "/kernels/probe/|_naive[.]json$") # packs of their own
  endif()
  wf_relative_to_source(words ${entries})
  if(NOT P_FOLDER)
    set(P_FOLDER packs)
  endif()
  set(out ${CMAKE_BINARY_DIR}/${P_FOLDER}/${P_NAME})
  set(nvcc "")
  if(P_FORMAT STREQUAL "cubin")
    set(nvcc --nvcc ${WF_NVCC})
  endif()
  wf_device_output(TARGET pack-${P_NAME} OUTPUT ${out}/pack.json FOLDER
    COMMAND wf-packgen device --name ${P_NAME} --arch ${P_ARCH} --format ${P_FORMAT}
            --clang ${WF_CLANG} ${nvcc} --root ${CMAKE_SOURCE_DIR} --out ${out}
            --depfile ${out}.d ${words}
    DEPENDS wf-packgen ${entries}
    DEPFILE ${out}.d
    POOL
    COMMENT "Compiling kernels for ${P_ARCH} into ${P_FOLDER}/${P_NAME}")
  if(P_FOLDER STREQUAL "packs")
    set_property(GLOBAL APPEND PROPERTY WF_PACKS ${out})
  elseif(P_FOLDER STREQUAL "reference-packs")
    set_property(GLOBAL APPEND PROPERTY WF_REFERENCE_PACKS ${out})
  endif()
endfunction()

function(wf_library_pack)
  cmake_parse_arguments(P "" "NAME;FOLDER" "TARGETS;ENTRIES" ${ARGN})
  if(NOT P_NAME OR NOT P_TARGETS OR NOT P_ENTRIES)
    message(FATAL_ERROR "wf_library_pack needs NAME, TARGETS and ENTRIES")
  endif()
  if(NOT P_FOLDER)
    set(P_FOLDER packs)
  endif()
  set(out ${CMAKE_BINARY_DIR}/${P_FOLDER}/${P_NAME})
  set(files "")
  foreach(target IN LISTS P_TARGETS)
    list(APPEND files --file $<TARGET_FILE:${target}>)
  endforeach()
  set(entries "")
  foreach(entry IN LISTS P_ENTRIES)
    if(NOT EXISTS ${CMAKE_SOURCE_DIR}/${entry})
      message(FATAL_ERROR "pack ${P_NAME}: kernel entry ${entry} is not there")
    endif()
    list(APPEND entries ${CMAKE_SOURCE_DIR}/${entry})
  endforeach()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}}")
  set(recorded "")
  foreach(flag IN LISTS flags)
    list(APPEND recorded --flag ${flag})
  endforeach()
  get_filename_component(compiler ${CMAKE_C_COMPILER} NAME)
  add_custom_command(
    OUTPUT ${out}/pack.json
    COMMAND wf-packgen library --name ${P_NAME} --root ${CMAKE_SOURCE_DIR} --out ${out}
            --compiler ${compiler}
            --compiler-version "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}"
            ${recorded} ${files} --depfile ${out}.d ${P_ENTRIES}
    DEPENDS wf-packgen ${P_TARGETS} ${entries}
    DEPFILE ${out}.d
    COMMENT "Making ${P_FOLDER}/${P_NAME}"
    VERBATIM)
  add_custom_target(pack-${P_NAME} ALL DEPENDS ${out}/pack.json)
  if(P_FOLDER STREQUAL "packs")
    set_property(GLOBAL APPEND PROPERTY WF_PACKS ${out})
  endif()
endfunction()
