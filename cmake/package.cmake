# The packages of `./dev package`: an archive of all, and for Debian the tool and what is for programs
# with Moonloop in them, each by itself.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_VENDOR Moonloop)
set(CPACK_PACKAGE_CONTACT "Moonloop developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tool development)
string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_ARCHIVE_FILE_NAME moonloop-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_FILE_NAME ${CPACK_ARCHIVE_FILE_NAME})

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOL_PACKAGE_NAME moonloop)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME moonloop-dev)
set(CPACK_DEBIAN_TOOL_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS gcc)  # `moonloop run` compiles
set(development_needs "moonloop (= ${PROJECT_VERSION})" libfmt-dev libisl-dev libgmp-dev liblua5.4-dev)
if(MOONLOOP_FORTRAN)
  # Flang's intrinsic modules, which it reads where the program was built.
  string(APPEND CPACK_DEBIAN_TOOL_PACKAGE_RECOMMENDS ", libflang-22-dev")
  list(APPEND development_needs libflang-22-dev llvm-22-dev libzstd-dev zlib1g-dev)
endif()
list(JOIN development_needs ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
include(CPack)
cpack_add_component(tool DESCRIPTION "The program moonloop, with its documentation, manual pages, completions for\
 shells and declarations for editors.")
cpack_add_component(development DEPENDS tool DESCRIPTION "Static libraries, headers and files for CMake and\
 pkg-config, for C++ programs that have Moonloop in them.")
