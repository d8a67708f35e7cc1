# isl and the GMP that it computes with: isl::isl.
include(FindPackageHandleStandardArgs)

# isl as an archive: called through the linkage table it takes a twentieth longer.
find_library(ISL_LIBRARY NAMES libisl.a isl)
find_library(GMP_LIBRARY NAMES libgmp.a gmp)
find_package_handle_standard_args(ISL REQUIRED_VARS ISL_LIBRARY GMP_LIBRARY)

# What is called instead is in core/sets/isl.cpp and, of GMP, in core/sets/small_integers.cpp, with the
# reasons. The latter is an object that nothing else needs, so the linker is told that it is needed.
set(isl_wrap_options -Wl,--undefined=__wrap___gmpz_add -Wl,--wrap=isl_seq_gcd
    -Wl,--wrap=isl_tab_extend_cons)
foreach(function add addmul clear cmp cmpabs divexact fdiv_q gcd mul realloc set set_si sub submul)
  list(APPEND isl_wrap_options -Wl,--wrap=__gmpz_${function})
endforeach()

if(ISL_FOUND AND NOT TARGET isl::isl)
  add_library(isl::isl INTERFACE IMPORTED)
  target_link_libraries(isl::isl INTERFACE ${ISL_LIBRARY} ${GMP_LIBRARY})
  target_link_options(isl::isl INTERFACE ${isl_wrap_options})
endif()
