# Routines of a target's Fortran files, compiled through C by Moonloop; the rest of the build stays.
#
#     moonloop_replace(TARGET [CODE c|openmp] [KERNELS NAME...] [SCRIPTS FILE.lua...] [OPTIONS ...])
#
# Each Fortran file of TARGET is compiled by `moonloop fc`: the routines that the blocks in it
# transform, or that KERNELS names, become code of Moonloop's. OPTIONS go to `moonloop fc`.
function(moonloop_replace target)
  cmake_parse_arguments(PARSE_ARGV 1 x "" "CODE" "KERNELS;SCRIPTS;OPTIONS")
  if(x_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "moonloop_replace: unknown arguments ${x_UNPARSED_ARGUMENTS}")
  endif()
  find_program(MOONLOOP moonloop REQUIRED)
  get_filename_component(tool "${MOONLOOP}" ABSOLUTE)
  set(launcher ${tool} fc --cc ${CMAKE_C_COMPILER})
  if(x_CODE)
    list(APPEND launcher --target ${x_CODE})
  endif()
  foreach(kernel IN LISTS x_KERNELS)
    list(APPEND launcher --kernel ${kernel})
  endforeach()
  foreach(script IN LISTS x_SCRIPTS)
    get_filename_component(script "${script}" ABSOLUTE)
    list(APPEND launcher -t ${script})
  endforeach()
  set_property(TARGET ${target} PROPERTY Fortran_COMPILER_LAUNCHER ${launcher} ${x_OPTIONS} --)
endfunction()
