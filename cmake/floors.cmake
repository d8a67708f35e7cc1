add_library(moonloop_options INTERFACE)
target_include_directories(moonloop_options INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(moonloop_options INTERFACE -Wall -Wextra -Wpedantic)
target_compile_definitions(moonloop_options INTERFACE MOONLOOP_VERSION="${PROJECT_VERSION}")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 warns about std::string and std::vector themselves (GCC bugs 105329, 105651, 107852).
  target_compile_options(moonloop_options INTERFACE -Wno-restrict -Wno-array-bounds)
endif()
if(MOONLOOP_WERROR)
  # GCC 12 takes moved-from variants for uninitialized (GCC bug 105562), so that one stays a warning.
  target_compile_options(moonloop_options INTERFACE -Werror -Wno-error=maybe-uninitialized)
endif()
if(MOONLOOP_SANITIZE)
  target_compile_options(moonloop_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined
                                                   -fno-omit-frame-pointer -g1)
  target_link_options(moonloop_options INTERFACE -fsanitize=address,undefined)
endif()
if(MOONLOOP_STATIC)
  target_link_options(moonloop_options INTERFACE -static-libstdc++ -static-libgcc -s)
endif()

# A static library of all sources below folder `name`.
function(moonloop_floor name)
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
