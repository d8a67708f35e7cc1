# isl and the GMP that it computes with: isl::isl.
include(FindPackageHandleStandardArgs)

# isl as an archive: called through the linkage table it takes a twentieth longer.
find_library(ISL_LIBRARY NAMES libisl.a isl)
find_library(GMP_LIBRARY NAMES libgmp.a gmp)
find_package_handle_standard_args(ISL REQUIRED_VARS ISL_LIBRARY GMP_LIBRARY)
if(ISL_FOUND AND NOT TARGET isl::isl)
  add_library(isl::isl INTERFACE IMPORTED)
  target_link_libraries(isl::isl INTERFACE ${ISL_LIBRARY} ${GMP_LIBRARY})
  # core/sets/isl.cpp has what is called instead, and says why.
  target_link_options(isl::isl INTERFACE LINKER:--wrap=isl_tab_extend_cons)
endif()
