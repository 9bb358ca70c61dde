# Packs of the device kernels. The PTX pack is made wherever clang is, so that the NVIDIA
# source compiles in every build; cubins of all of them, which take nvcc minutes, where it
# is found and WF_CUBINS says so (the release preset does).
include(packs)
wf_device_pack(NAME wavefarm-gfx942 ARCH gfx942 FORMAT co)
wf_device_pack(NAME wavefarm-sm_90-ptx ARCH sm_90 FORMAT ptx)
option(WF_CUBINS "Compile the kernels for sm_90 with nvcc too, where it is found" ON)
if(WF_NVCC AND WF_CUBINS)
  wf_device_pack(NAME wavefarm-sm_90 ARCH sm_90 FORMAT cubin)
endif()

# The probes are packs of their own: what measures the measuring stays small and fixed.
set(probes read.json spin_amd.json spin_nvidia.json clocks.json code.json)
list(TRANSFORM probes PREPEND kernels/probe/probe_)
wf_device_pack(NAME wavefarm-probe-gfx942 ARCH gfx942 FORMAT co ENTRIES ${probes})
wf_device_pack(NAME wavefarm-probe-sm_90 ARCH sm_90 ENTRIES ${probes})

# So are a gate's sentinels: equal work on both arms, or 3 % more on one.
set(sentinels alu.json hbm.json lds.json)
list(TRANSFORM sentinels PREPEND kernels/probe/sentinel_)
wf_device_pack(NAME wavefarm-sentinel-gfx942 ARCH gfx942 FORMAT co ENTRIES ${sentinels})
wf_device_pack(NAME wavefarm-sentinel-sm_90 ARCH sm_90 ENTRIES ${sentinels})

# The naive kernels, by which the judge checks every element of large problems: in a folder
# of their own, so that no run takes them for kernels to measure unless they are named.
set(naive kernels/gemm/gemm_naive.json kernels/attention/attention_naive.json)
wf_device_pack(NAME wavefarm-naive-gfx942 ARCH gfx942 FORMAT co ENTRIES ${naive}
               FOLDER reference-packs)
wf_device_pack(NAME wavefarm-naive-sm_90 ARCH sm_90 ENTRIES ${naive} FOLDER reference-packs)
wf_device_pack(NAME wavefarm-naive-sm_90-ptx ARCH sm_90 FORMAT ptx ENTRIES ${naive}
               FOLDER reference-packs)
