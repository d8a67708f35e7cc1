# What Debian ships without a CMake package gets an imported target here.
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

if(MOONLOOP_STATIC)
  set(fmt_target fmt::fmt-header-only)  # Debian has no libfmt.a
else()
  set(fmt_target fmt::fmt)
endif()
list(APPEND CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR}/cmake)  # installed too, for who links the libraries
find_package(ISL REQUIRED)
find_package(LuaCxx REQUIRED)

# The tool makes and drops millions of small objects, most of them isl's and GMP's; jemalloc takes an
# eighth off its process time. For the program alone: a library leaves the choice to who links it.
find_library(JEMALLOC_LIBRARY NAMES libjemalloc_pic.a libjemalloc.a REQUIRED)
add_library(jemalloc::jemalloc INTERFACE IMPORTED)
target_link_libraries(jemalloc::jemalloc INTERFACE ${JEMALLOC_LIBRARY} ${CMAKE_DL_LIBS} m)

# The database of tuned values. As an archive it spares each start of the program a shared library.
find_library(SQLITE_LIBRARY NAMES libsqlite3.a sqlite3 REQUIRED)
find_path(SQLITE_INCLUDE sqlite3.h REQUIRED)
add_library(sqlite::sqlite INTERFACE IMPORTED)
target_include_directories(sqlite::sqlite INTERFACE ${SQLITE_INCLUDE})
target_link_libraries(sqlite::sqlite INTERFACE ${SQLITE_LIBRARY} ${CMAKE_DL_LIBS} m)

# Line editing of the REPL; without it the REPL reads plain lines. Archives, where they are there, spare
# each start of the program four shared libraries. Sanitizers know libedit's leaks by its shared one.
option(MOONLOOP_LIBEDIT "Edit lines of the REPL with libedit" ON)
set(edit_archives)
if(NOT MOONLOOP_SANITIZE)
  foreach(name edit tinfo bsd md)
    find_library(EDIT_ARCHIVE_${name} NAMES lib${name}.a)
    list(APPEND edit_archives ${EDIT_ARCHIVE_${name}})
  endforeach()
endif()
if(edit_archives AND NOT edit_archives MATCHES "NOTFOUND")
  set(EDIT_LIBRARY ${edit_archives})
elseif(NOT MOONLOOP_STATIC)
  find_library(EDIT_SHARED NAMES edit)
  set(EDIT_LIBRARY ${EDIT_SHARED})
endif()
find_path(EDIT_INCLUDE histedit.h)
if(MOONLOOP_LIBEDIT AND EDIT_LIBRARY AND EDIT_INCLUDE)
  add_library(edit::edit INTERFACE IMPORTED)
  target_include_directories(edit::edit INTERFACE ${EDIT_INCLUDE})
  target_link_libraries(edit::edit INTERFACE ${EDIT_LIBRARY})
  target_compile_definitions(edit::edit INTERFACE MOONLOOP_LIBEDIT)
else()
  message(NOTICE "moonloop: no libedit, so the REPL has no line editing, history and completion "
                 "(Debian: libedit-dev)")
endif()
