# The C++ build of Lua, whose errors unwind C++ frames: lua::lua.
include(FindPackageHandleStandardArgs)

find_library(LUA_LIBRARY NAMES liblua5.4-c++.a)
find_path(LUA_INCLUDE lua.hpp PATH_SUFFIXES lua5.4)
find_package_handle_standard_args(LuaCxx REQUIRED_VARS LUA_LIBRARY LUA_INCLUDE)
if(LuaCxx_FOUND AND NOT TARGET lua::lua)
  add_library(lua::lua INTERFACE IMPORTED)
  target_include_directories(lua::lua INTERFACE ${LUA_INCLUDE})
  target_link_libraries(lua::lua INTERFACE ${LUA_LIBRARY} ${CMAKE_DL_LIBS} m)
endif()
