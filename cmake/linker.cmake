# lld links the many test programs in a sixth of the processor time that GNU ld takes
# (0.07 s for 0.48 s, AddressSanitizer). Release builds, which are what is installed, keep
# the system's linker.
find_path(WF_LLD_FOLDER ld.lld PATHS /usr/lib/llvm-19/bin NO_DEFAULT_PATH
          DOC "folder of ld.lld, for builds that are not Release; optional")
if(WF_LLD_FOLDER AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  add_link_options(-fuse-ld=lld -B${WF_LLD_FOLDER})
endif()
