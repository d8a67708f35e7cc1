# What `cmake --install` puts where, in two parts: the tool with its documentation, and what a program
# with Moonloop in it is built from (docs/packaging.md).
include(CMakePackageConfigHelpers)

set(libraries moonloop_scripts moonloop_reports moonloop_runtime moonloop_cost moonloop_codegen moonloop_transforms moonloop_frontends)
if(MOONLOOP_FORTRAN)
  list(APPEND libraries moonloop_flang)
endif()
list(APPEND libraries moonloop_core)

# moonloop::moonloop is all layers; one of them alone is moonloop::core and so on.
add_library(moonloop_all INTERFACE)
target_link_libraries(moonloop_all INTERFACE moonloop_scripts)
set_target_properties(moonloop_all PROPERTIES EXPORT_NAME moonloop)
foreach(library IN LISTS libraries ITEMS moonloop_options)
  string(REPLACE moonloop_ "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS moonloop_all moonloop_options ${libraries} EXPORT moonloopTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/moonloop)
install(EXPORT moonloopTargets NAMESPACE moonloop:: DESTINATION ${config_folder} COMPONENT development)
configure_package_config_file(cmake/moonloopConfig.cmake.in ${CMAKE_BINARY_DIR}/moonloopConfig.cmake
                              INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/moonloopConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/moonloopConfig.cmake ${CMAKE_BINARY_DIR}/moonloopConfigVersion.cmake
              cmake/FindISL.cmake cmake/FindLuaCxx.cmake
        DESTINATION ${config_folder} COMPONENT development)

# For builds that need no more than the tool: include(MoonloopFortran).
install(FILES cmake/MoonloopFortran.cmake DESTINATION ${config_folder} COMPONENT tool)

# Public headers: moonloop.h, each transform's own, the Fortran reader's, the interpreter's, the
# runner's, and what these include, by `layer/name.h`. All others stay inside.
install(FILES include/moonloop/moonloop.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/moonloop COMPONENT development)
set(unread include/moonloop/moonloop.h core/interpreter/interpreter.h frontends/fortran/fortran.h runtime/runner.h)
file(STRINGS transforms/table.def rows REGEX "^OP")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^OP\\((.+)\\)" "transforms/\\1.h" header ${row})
  if(EXISTS ${CMAKE_SOURCE_DIR}/${header})
    list(APPEND unread ${header})
  endif()
endforeach()
set(public ${unread})
while(unread)
  list(POP_FRONT unread header)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(STRINGS ${header} includes REGEX "^#include \"")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" include ${include})
    if(NOT include IN_LIST public)
      list(APPEND public ${include})
      list(APPEND unread ${include})
    endif()
  endforeach()
endwhile()
list(REMOVE_ITEM public include/moonloop/moonloop.h)
foreach(header IN LISTS public)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/moonloop/${folder} COMPONENT development)
endforeach()

# pkg-config: all that has to be linked, in an order that static libraries need.
set(pc_libraries ${libraries})
list(TRANSFORM pc_libraries PREPEND -l)
set(pc_flang ${flang_libraries})
list(TRANSFORM pc_flang PREPEND -l REGEX "^[^-]")
if(MOONLOOP_FORTRAN)
  list(PREPEND pc_flang -L${flang_folder})
endif()
set(pc_isl ${isl_wrap_options})
foreach(list IN ITEMS pc_libraries pc_flang pc_isl)
  list(JOIN ${list} " " ${list})
endforeach()
if(MOONLOOP_SANITIZE)
  set(pc_sanitize " ${sanitize}")
endif()
file(RELATIVE_PATH pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
configure_file(cmake/moonloop.pc.in ${CMAKE_BINARY_DIR}/moonloop.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/moonloop.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(TARGETS moonloop RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tool)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool)

# What the tool says of itself.
install(CODE "set(MOONLOOP \"$<TARGET_FILE:moonloop>\")
set(FOLDER \"${CMAKE_BINARY_DIR}/documentation\")
set(DATA \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
set(MAN \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}\")
include(\"${CMAKE_SOURCE_DIR}/cmake/documentation.cmake\")" COMPONENT tool)
