# Kernels that cheat: native code on the host, commands, code objects. docs/isolation.md
# says how each kind is seen. tests/mutants/cheats.json is their manifest.
wf_mutant_library(wf_cheats
  cheats/cheats.c cheats/cheats_answer.c cheats/cheats_reach.c cheats/cheats_replay.c
  cheats/cheats_time.c)
# A GEMM of a tenth of a millisecond, whatever the build type.
target_compile_options(wf_cheats PRIVATE -O2 -fno-omit-frame-pointer)
target_link_libraries(wf_cheats PRIVATE pthread ${CMAKE_DL_LIBS})
wf_library_pack(NAME cheats-host FOLDER ${WF_MUTANTS}
  TARGETS wf_cheats ENTRIES tests/mutants/cheats_host.json)
wf_mutant_manifest(cheats.json)
