# What the layers are compiled with. Who links the installed ones gets the folders of the headers, the
# language and the sanitizers' flags of it: without these it does not link.
add_library(moonloop_options INTERFACE)
target_include_directories(moonloop_options INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/moonloop>)
target_compile_features(moonloop_options INTERFACE cxx_std_20)
function(moonloop_warnings)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<BUILD_INTERFACE:\\1>")
  target_compile_options(moonloop_options INTERFACE ${ARGN})
endfunction()
moonloop_warnings(-Wall -Wextra -Wpedantic)
target_compile_definitions(moonloop_options INTERFACE $<BUILD_INTERFACE:MOONLOOP_VERSION="${PROJECT_VERSION}">)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about std::string and std::vector themselves (GCC bugs 105329, 105651, 107852).
  moonloop_warnings(-Wno-restrict -Wno-array-bounds)
endif()
if(CMAKE_UNITY_BUILD)
  # What a file of several keeps for itself is not that of a header.
  moonloop_warnings(-Wno-subobject-linkage)
endif()
if(MOONLOOP_WERROR)
  moonloop_warnings(-Werror)
  # GCC 12 takes moved-from variants for uninitialized (GCC bug 105562), so that one stays a warning.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    moonloop_warnings(-Wno-error=maybe-uninitialized)
  else()
    # clang warns inside of GCC 12's library, whose std::stable_sort uses what C++17 deprecates, and
    # about members of templates that override in some of their instances alone.
    moonloop_warnings(-Wno-error=deprecated-declarations -Wno-error=inconsistent-missing-override)
  endif()
endif()
if(MOONLOOP_SANITIZE)
  set(sanitize -fsanitize=address,undefined)
  target_compile_options(moonloop_options INTERFACE ${sanitize} -fno-sanitize-recover=undefined
                                                   -fno-omit-frame-pointer -g1)
  target_link_options(moonloop_options INTERFACE ${sanitize})
endif()
if(MOONLOOP_STATIC)
  target_link_options(moonloop_options INTERFACE $<BUILD_INTERFACE:-static-libstdc++>
                      $<BUILD_INTERFACE:-static-libgcc> $<BUILD_INTERFACE:-s>)
endif()

# A static library of all sources below folder `name`.
function(moonloop_layer name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/flang_[a-z]+\\.cpp$")  # see flang.cmake
  if(NOT sources)
    add_library(moonloop_${name} INTERFACE)
    target_link_libraries(moonloop_${name} INTERFACE moonloop_options ${ARG_LIBRARIES})
    return()
  endif()
  add_library(moonloop_${name} STATIC ${sources})
  target_link_libraries(moonloop_${name} PUBLIC moonloop_options ${ARG_LIBRARIES})
endfunction()
