# Sources of the probe op, for target wf_ops. Included by kernels/CMakeLists.txt.
set(dir ${CMAKE_CURRENT_LIST_DIR})
target_sources(wf_ops PRIVATE ${dir}/probe.c ${dir}/probe_ref.c ${dir}/sentinel_ref.c)
set_source_files_properties(${dir}/probe_ref.c ${dir}/sentinel_ref.c PROPERTIES COMPILE_OPTIONS "-O3")

# The host library kernels: a shared object whose one exported name is the library entry.
add_library(wf_host_probe SHARED ${dir}/probe_host.c)
wf_warnings(wf_host_probe)
set_target_properties(wf_host_probe PROPERTIES C_VISIBILITY_PRESET hidden)
set_source_files_properties(${dir}/probe_host.c PROPERTIES COMPILE_OPTIONS "-O3")

add_library(wf_host_sentinel SHARED ${dir}/sentinel_host.c)
wf_warnings(wf_host_sentinel)
set_target_properties(wf_host_sentinel PROPERTIES C_VISIBILITY_PRESET hidden)
set_source_files_properties(${dir}/sentinel_host.c PROPERTIES COMPILE_OPTIONS "-O3")
