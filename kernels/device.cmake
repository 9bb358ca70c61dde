# Packs of the device kernels. The PTX pack is made wherever clang is, so that the NVIDIA
# source compiles in every build; cubins where nvcc is found.
include(packs)
wf_device_pack(NAME wavefarm-gfx942 ARCH gfx942 FORMAT co)
wf_device_pack(NAME wavefarm-sm_90-ptx ARCH sm_90 FORMAT ptx)
if(WF_NVCC)
  wf_device_pack(NAME wavefarm-sm_90 ARCH sm_90 FORMAT cubin)
endif()
