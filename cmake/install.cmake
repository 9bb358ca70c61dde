# cmake --install BUILD --prefix P: the layout of the build folder, so that programs find
# each other, the packs and the suites wherever P is moved to. Components: node (what a
# runner needs), coordinator, tools.

# Man pages and completions are what the programs print.
set(WF_SHARE ${CMAKE_BINARY_DIR}/share)
function(wf_printed program out)
  get_filename_component(folder ${out} DIRECTORY)
  add_custom_command(
    OUTPUT ${WF_SHARE}/${out}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${WF_SHARE}/${folder}
    COMMAND ${program} ${ARGN} > ${WF_SHARE}/${out}
    DEPENDS ${program} COMMENT "Printing share/${out}" VERBATIM)
  set(WF_PRINTED ${WF_PRINTED} ${WF_SHARE}/${out} PARENT_SCOPE)
endfunction()
set(WF_PRINTED "")
wf_printed(wavefarm man/man1/wavefarm.1 man)
wf_printed(wavefarm bash-completion/completions/wavefarm completion bash)
wf_printed(wavefarm zsh/site-functions/_wavefarm completion zsh)
wf_printed(wavefarm fish/vendor_completions.d/wavefarm.fish completion fish)
wf_printed(wavefarm-coordinator man/man1/wavefarm-coordinator.1 man)
add_custom_target(wavefarm_manual ALL DEPENDS ${WF_PRINTED})

install(TARGETS wavefarm wavefarm-judge wavefarm-subject
  RUNTIME DESTINATION bin COMPONENT node)
install(TARGETS wavefarm_host wavefarm_cuda wavefarm_emulator
  LIBRARY DESTINATION lib COMPONENT node)
install(DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/hip DESTINATION lib COMPONENT node)
install(TARGETS wavefarm-coordinator RUNTIME DESTINATION bin COMPONENT coordinator)
install(TARGETS wf-packgen RUNTIME DESTINATION bin COMPONENT tools)
get_property(packs GLOBAL PROPERTY WF_PACKS)
foreach(pack IN LISTS packs)
  install(DIRECTORY ${pack} DESTINATION packs COMPONENT node)
endforeach()
get_property(packs GLOBAL PROPERTY WF_REFERENCE_PACKS)
foreach(pack IN LISTS packs)
  install(DIRECTORY ${pack} DESTINATION reference-packs COMPONENT node)
endforeach()
install(DIRECTORY ${WF_SHARE}/wavefarm/suites ${WF_SHARE}/wavefarm/selections DESTINATION share/wavefarm
        COMPONENT node)
# What `wavefarm selftest mutants` runs; beside the suites, so that nothing else finds it.
install(DIRECTORY ${WF_SHARE}/wavefarm/mutants DESTINATION share/wavefarm COMPONENT node
  PATTERN "*.d" EXCLUDE)
install(DIRECTORY ${WF_SHARE}/wavefarm/pages DESTINATION share/wavefarm
  COMPONENT coordinator)
install(FILES ${WF_SHARE}/man/man1/wavefarm.1 DESTINATION share/man/man1 COMPONENT node)
install(FILES ${WF_SHARE}/man/man1/wavefarm-coordinator.1 DESTINATION share/man/man1
  COMPONENT coordinator)
install(DIRECTORY ${WF_SHARE}/bash-completion ${WF_SHARE}/zsh ${WF_SHARE}/fish
  DESTINATION share COMPONENT node)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/wavefarm COMPONENT node)
