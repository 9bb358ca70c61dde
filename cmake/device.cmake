# Device compilers. clang-19 is required (gfx942 code objects, sm_90 PTX); nvcc is
# used for cubins where it is present.
find_program(WF_CLANG NAMES clang-19 REQUIRED
             DOC "clang that compiles the device kernels")
find_program(WF_NVCC NAMES nvcc PATHS /usr/local/cuda/bin
             DOC "NVIDIA's compiler, optional")
