# Flang's parser and semantics, from Debian's libflang-22-dev. Its headers are so heavy that the files
# which include them (frontends/fortran/flang_*.cpp) are compiled one after the other.
find_program(LLVM_CONFIG NAMES llvm-config-22 REQUIRED)
execute_process(COMMAND ${LLVM_CONFIG} --includedir OUTPUT_VARIABLE flang_include
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE flang_folder
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs --system-libs
                        support frontendopenmp frontendopenacc targetparser
                OUTPUT_VARIABLE llvm_libraries OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "[ \n]+" ";" llvm_libraries "${llvm_libraries}")
list(FILTER llvm_libraries EXCLUDE REGEX "xml2|z3")  # of parts of LLVM that are not used
set(quadmath quadmath)
if(MOONLOOP_STATIC)
  list(TRANSFORM llvm_libraries REPLACE "^-l(z|zstd)$" "-l:lib\\1.a")
  set(quadmath -l:libquadmath.a)
endif()

set(MOONLOOP_FLANG_LIBRARY "" CACHE FILEPATH
    "libmoonloop_flang.a of another build: clang does not compile Flang's headers as C++20")
if(MOONLOOP_FLANG_LIBRARY)
  # One with nothing in it, over which that one is copied: it is linked and installed as if made here.
  set(nothing ${CMAKE_BINARY_DIR}/flang_of_another_build.cpp)
  file(CONFIGURE OUTPUT ${nothing} CONTENT "// The objects are those of ${MOONLOOP_FLANG_LIBRARY}.\n")
  set_property(SOURCE ${nothing} PROPERTY OBJECT_DEPENDS ${MOONLOOP_FLANG_LIBRARY})
  add_library(moonloop_flang STATIC ${nothing})
  add_custom_command(TARGET moonloop_flang POST_BUILD VERBATIM
                     COMMAND ${CMAKE_COMMAND} -E copy ${MOONLOOP_FLANG_LIBRARY} $<TARGET_FILE:moonloop_flang>)
  target_link_libraries(moonloop_flang PUBLIC moonloop_frontends)
else()
  file(GLOB flang_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/frontends/fortran/flang_*.cpp)
  add_library(moonloop_flang STATIC ${flang_sources})
  target_include_directories(moonloop_flang SYSTEM PRIVATE ${flang_include})
  target_compile_definitions(moonloop_flang PRIVATE MOONLOOP_FLANG_MODULES="${flang_include}/flang")
  # Nothing of it is in a hot loop, and the sanitizers would take twice the memory. Their flags come
  # after those of the target, and after them those of the files.
  target_compile_options(moonloop_flang PRIVATE -O1 -g0 -fno-sanitize=all)
  # It is compiled before the layers below it where another build wants it alone.
  # Two unity files, however many there are: each of them reads the headers for a minute.
  list(LENGTH flang_sources flang_count)
  math(EXPR flang_half "(${flang_count} + 1)/2")
  set_target_properties(moonloop_flang PROPERTIES OPTIMIZE_DEPENDENCIES ON UNITY_BUILD_BATCH_SIZE ${flang_half})
  if(MOONLOOP_SANITIZE)
    set_source_files_properties(${flang_sources} PROPERTIES COMPILE_OPTIONS "-g0;-fno-sanitize=all")
  endif()
  target_link_libraries(moonloop_flang PUBLIC moonloop_frontends)
  set_property(GLOBAL APPEND PROPERTY JOB_POOLS flang=1)
  set_target_properties(moonloop_flang PROPERTIES JOB_POOL_COMPILE flang)
endif()
target_link_directories(moonloop_flang INTERFACE ${flang_folder})
set(flang_libraries FortranSemantics FortranEvaluate FortranParser FortranDecimal FortranSupport
                    ${llvm_libraries} ${quadmath})
target_link_libraries(moonloop_flang INTERFACE ${flang_libraries})

target_compile_definitions(moonloop_frontends PRIVATE MOONLOOP_FORTRAN)
target_link_libraries(moonloop_frontends PUBLIC moonloop_flang)
