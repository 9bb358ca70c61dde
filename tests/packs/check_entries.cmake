# Every .hip has an entry and every entry its sources: configure stops with the name
# otherwise. Run as a script: cmake -DROOT=<tree> -P check_entries.cmake
string(RANDOM LENGTH 8 name)
set(dir $ENV{WF_BINARY_DIR}/check-entries-${name})
set(entry "{\"schema\":\"wavefarm.kernel-entry/1\"@MORE@}")

function(fresh)
  file(REMOVE_RECURSE ${dir})
  file(MAKE_DIRECTORY ${dir}/kernels/gemm)
  file(WRITE ${dir}/CMakeLists.txt
    "cmake_minimum_required(VERSION 3.25)\n"
    "project(check NONE)\n"
    "include(${ROOT}/cmake/packs.cmake)\n"
    "wf_find_device_entries(entries)\n"
    "list(LENGTH entries count)\n"
    "message(STATUS \"\${count} entries\")\n")
endfunction()

function(write_entry file more)
  string(REPLACE "@MORE@" "${more}" text "${entry}")
  file(WRITE ${dir}/kernels/gemm/${file} "${text}")
endfunction()

function(expect good text)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${dir} -B ${dir}/build
    RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE out)
  string(REGEX REPLACE "[ \n]+" " " out "${out}")
  string(FIND "${out}" "${text}" at)
  if(at LESS 0 OR (good AND NOT result EQUAL 0) OR (NOT good AND result EQUAL 0))
    file(REMOVE_RECURSE ${dir})
    message(FATAL_ERROR "expected '${text}', got ${result}: ${out}")
  endif()
endfunction()

fresh()
file(WRITE ${dir}/kernels/gemm/a.hip "")
expect(FALSE "kernels/gemm/a.hip has no kernel entry")
write_entry(a.json "")
expect(TRUE "1 entries")
write_entry(b.json ",\"source\":\"a.hip\"")
expect(TRUE "2 entries")
write_entry(c.json "")
expect(FALSE "kernels/gemm/c.json needs")
expect(FALSE "kernels/gemm/c.hip, which is not there")
write_entry(c.json ",\"kind\":\"library\"")
expect(TRUE "2 entries")
write_entry(d.json ",\"code\":{\"main\":\"a.hip\",\"tail\":\"d.hip\"}")
expect(FALSE "kernels/gemm/d.hip, which is not there")
file(WRITE ${dir}/kernels/gemm/d.hip "")
expect(TRUE "3 entries")
file(WRITE ${dir}/kernels/gemm/data.json "{\"schema\":\"something.else/1\"}")
expect(TRUE "3 entries")
file(REMOVE_RECURSE ${dir})
