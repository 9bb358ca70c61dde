# The loader: code objects, bundles, lines.
wf_gfx942_object(load_object load_object load_object.hip -g)
wf_gfx942_object(load_object_plain load_object_plain load_object.hip)
wf_unit_test(NAME test_emulator_load SOURCES test_load.c LIBS wf_emulator)
wf_unit_test(NAME test_emulator_bundle SOURCES test_bundle.c
             LIBS wf_emulator PkgConfig::WF_ZSTD PkgConfig::WF_ZLIB)
foreach(test test_emulator_load test_emulator_bundle)
  if(TARGET ${test})
    add_dependencies(${test} gfx942-load_object gfx942-load_object_plain)
    target_compile_definitions(${test} PRIVATE LOAD_OBJECT="${load_object}"
      LOAD_OBJECT_PLAIN="${load_object_plain}")
  endif()
endforeach()
