# Copies the device kernels' sources and makes each kernel do PERCENT % more work, for
# candidates of a gate whose answer is known. PERCENT 0 changes the code and not its work.
#
#   cmake -DROOT=<source tree> -DTREE=<folder to make> -DPERCENT=3 -P inject.cmake
#
# The GEMM for NVIDIA repeats that share of its matrix instructions, with an operand that is
# 0 and of which no compiler knows: bits of D stay. Every other kernel begins with an object
# whose destructor waits for that share of the time which the workgroup took.
#
# A source in which the places are not found any more stops the build: adapt this file.
foreach(name ROOT TREE PERCENT)
  if(NOT DEFINED ${name})
    message(FATAL_ERROR "inject.cmake needs -D${name}=")
  endif()
endforeach()

function(replace_all text_variable file from to)
  string(FIND "${${text_variable}}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${file} has no '${from}' any more: adapt "
                        "tests/gate/injected/inject.cmake")
  endif()
  string(REPLACE "${from}" "${to}" text "${${text_variable}}")
  set(${text_variable} "${text}" PARENT_SCOPE)
endfunction()

# One step's instructions again behind a tile t for which STEPS * t * PERCENT passes a half
# hundred: at the loop's end, so that the schedule of its body stays as it is.
set(helper [=[
/* The matrix instructions of a step once more, with A zero: adds nothing to the sums. */
WF_DEVICE void injected_multiply(float acc[WM][2 * WN][4], const fragments &f, unsigned zero)
{
    const unsigned a[4] = { zero, zero, zero, zero };
    WF_UNROLL
    for (int i = 0; i < WM; i++) {
        WF_UNROLL
        for (int j = 0; j < WN; j++) {
            wf_mma_16x8x16(acc[i][2 * j], a, f.b[j][0], f.b[j][1]);
            wf_mma_16x8x16(acc[i][2 * j + 1], a, f.b[j][2], f.b[j][3]);
        }
    }
}

/* Two neighbouring results]=])
set(step [=[            multiply(acc, f[i & 1]);
        }
        if (INJECTED_PERCENT > 0) {
            const unsigned share = BLOCK_K / 16 * INJECTED_PERCENT; /* hundredths of a step */
            const unsigned before = (unsigned)t * share + 50;
            if ((before + share) / 100 != before / 100) {
                injected_multiply(acc, f[(BLOCK_K / 16 - 1) & 1], (unsigned)(p.k >> 31));
            }
        }
    }
]=])
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

function(inject_mma_gemm path)
  file(READ ${path} text)
  replace_all(text ${path} "\n/* Two neighbouring results" "${helper}")
  replace_all(text ${path} "            multiply(acc, f[i & 1]);\n        }\n    }\n" "${step}")
  foreach(aligned true false)
    replace_all(text ${path} "    gemm_workgroup<${aligned}>(p);\n"
      "    gemm_workgroup<${aligned}>(p);\n    if (p.k < 0) { /* never */\n        p.d[wf_thread()] = 0;\n    }\n")
  endforeach()
  file(WRITE ${path} "${text}")
endfunction()

function(inject_timer path)
  file(READ ${path} text)
  string(REGEX REPLACE "(WF_KERNEL\\([^)]*\\)[ \n]+wf_[a-z0-9_]+\\([A-Z_]+\\)\n{\n)"
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
inject_mma_gemm(${TREE}/kernels/gemm/gemm_f16_mma.hip)
foreach(file gemm/gemm_f16_mfma attention/paged_decode_mfma attention/paged_decode_mma)
  inject_timer(${TREE}/kernels/${file}.hip)
endforeach()
