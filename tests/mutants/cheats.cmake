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

# Commands need no build: a copy, and its hash in the description.
set(out ${CMAKE_BINARY_DIR}/${WF_MUTANTS}/cheats-process)
file(SHA256 ${CMAKE_CURRENT_SOURCE_DIR}/cheats/process/cheat.py CHEAT_SHA256)
configure_file(cheats/process/cheat.py ${out}/cheat.py COPYONLY)
configure_file(cheats/process/pack.json.in ${out}/pack.json @ONLY)

wf_mutant_manifest(cheats.json)
