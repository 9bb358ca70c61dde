# Copies the device kernels' sources and makes each kernel do PERCENT % more work, for
# candidates of a gate whose answer is known. PERCENT 0 changes the code and not its work.
#
#   cmake -DROOT=<source tree> -DTREE=<folder to make> -DPERCENT=3 -P inject.cmake
#
# Every kernel begins with an object whose destructor waits for that share of the time which
# the workgroup took. (Repeating a share of the matrix instructions instead costs what the
# compiler makes of the changed loop: 2.6 to 24 % on an H200 for 3 % of them.)
#
# A source in which the places are not found any more stops the build: adapt this file.
foreach(name ROOT TREE PERCENT)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "inject.cmake needs -D${name}=")
  endif()
endforeach()

set(timer [=[
/* Waits at its end for a share of the time since its beginning. */
struct injected_timer {
    wf_u64 start;
    WF_DEVICE_MEMBER injected_timer() : start(wf_clocks())
    {
    }
    WF_DEVICE_MEMBER ~injected_timer()
    {
        const wf_u64 took = wf_clocks() - start;
        const wf_u64 until = took + took * INJECTED_PERCENT / 100;
        while (wf_clocks() - start < until) {
        }
    }
};

#endif
]=])

function(inject_timer path)
  file(READ ${path} text)
  string(REGEX REPLACE "(WF_KERNEL\\([^)]*\\)[ \n]+wf_[a-z0-9_]+\\([A-Z_()]+\\)\n{\n)"
         "\\1    const injected_timer injected;\n" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${path}: no kernel begins as tests/gate/injected/inject.cmake "
                        "expects it: adapt that file")
  endif()
  file(WRITE ${path} "${changed}")
endfunction()

file(REMOVE_RECURSE ${TREE})
foreach(folder device gemm attention)
  file(GLOB files ${ROOT}/kernels/${folder}/*.hip ${ROOT}/kernels/${folder}/*device*.h
       ${ROOT}/kernels/${folder}/wf_naive.h ${ROOT}/kernels/${folder}/*_mfma*.json
       ${ROOT}/kernels/${folder}/*_mma*.json)
  list(FILTER files EXCLUDE REGEX "_naive[.]hip$")
  file(COPY ${files} DESTINATION ${TREE}/kernels/${folder})
endforeach()
set(device ${TREE}/kernels/device/wf_device.h)
file(READ ${device} text)
string(REGEX REPLACE "\n#endif\n$" "\n#define INJECTED_PERCENT ${PERCENT}\n${timer}" text "${text}")
if(NOT text MATCHES "injected_timer")
  message(FATAL_ERROR "${device} does not end as expected: adapt tests/gate/injected/inject.cmake")
endif()
file(WRITE ${device} "${text}")
foreach(file gemm/gemm_mma gemm/gemm_mfma attention/paged_decode_mfma attention/paged_decode_mma)
  inject_timer(${TREE}/kernels/${file}.hip)
endforeach()
