# The one list of compiler flags. `wf_warnings(target)` applies it.
set(WF_WARNINGS
  -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
  -Wconversion -Wformat=2 -Wundef -Wvla -Wcast-qual -Wimplicit-fallthrough
  -Wswitch-enum -Wwrite-strings)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND WF_WARNINGS -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
  if(WF_SANITIZE) # with -O1 ranges are guessed; the other builds know them
    list(APPEND WF_WARNINGS -Wno-format-truncation -Wno-maybe-uninitialized)
  endif()
endif()

function(wf_warnings target)
  target_compile_options(${target} PRIVATE ${WF_WARNINGS})
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
