#include <cstdio>
#include <cstring>

#include "runtime/file.h"
#include "scripts/library.h"
#include "scripts/state.h"

/// The libraries that scripts see. Without trust a script cannot start programs, write files, load
/// machine code or bytecode, end the process, or look into other functions.
namespace moonloop::lua {
namespace {

void remove_fields(lua_State* L, const char* library, std::initializer_list<const char*> names) {
  lua_getglobal(L, library);
  for (const char* name : names) {
    lua_pushnil(L);
    lua_setfield(L, -2, name);
  }
  lua_pop(L, 1);
}

/// Compiles a file next to the script; leaves the function on the stack.
void load_file(lua_State* L, State& s, const std::string& path) {
  std::string text = read_for_script(s, path);
  s.spend(L, kCompile * static_cast<std::int64_t>(text.size()));
  if (text.starts_with("#")) text.insert(0, "--");
  const Source* source = add_source(path, text);
  s.add_chunk(source);
  if (luaL_loadbufferx(L, text.data(), text.size(), ("@" + path).c_str(), "t") == LUA_OK) return;
  Diagnostic d = diagnostics_of(L, s, LUA_ERRSYNTAX).front();
  d.code = "script-syntax";
  throw Error(std::move(d));
}

int dofile_function(lua_State* L, State& s) {
  const std::string path = beside_script(s, luaL_checkstring(L, 1));
  lua_settop(L, 0);
  load_file(L, s, path);
  lua_call(L, 0, LUA_MULTRET);
  return lua_gettop(L);
}

int loadfile_function(lua_State* L, State& s) {
  const std::string path = beside_script(s, luaL_checkstring(L, 1));
  const bool environment = lua_gettop(L) >= 3;
  load_file(L, s, path);
  if (environment) {
    lua_pushvalue(L, 3);
    if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
  }
  return 1;
}

/// The searcher of `require`: `a.b` is a/b.lua or a/b/init.lua in the script's folder.
int search_module(lua_State* L, State& s) {
  const std::string name = luaL_checkstring(L, 1);
  std::string file = name;
  for (char& c : file)
    if (c == '.') c = '/';
  std::string tried;
  for (const char* end : {".lua", "/init.lua"}) {
    const std::string path = beside_script(s, file + end);
    if (std::FILE* f = std::fopen(path.c_str(), "r")) {
      std::fclose(f);
      load_file(L, s, path);
      push_string(L, path);
      return 2;
    }
    tried += (tried.empty() ? "no file '" : "\n\tno file '") + path + "'";
  }
  push_string(L, tried);
  return 1;
}

/// Runs a file of the library when it is first required. Its chunk is not a source of the script,
/// so places in it are skipped: its errors are shown where the script called it.
int load_library_file(lua_State* L, State&) {
  const auto& file = *static_cast<const LibraryFile*>(lua_touserdata(L, lua_upvalueindex(1)));
  const std::string chunk = fmt::format("={}{}", kLibrary, file.name);
  if (luaL_loadbufferx(L, file.text.data(), file.text.size(), chunk.c_str(), "t") != LUA_OK)
    lua_error(L);
  lua_call(L, 0, 1);
  return 1;
}

void preload_library(lua_State* L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  for (const LibraryFile& file : library_files()) {
    lua_pushlightuserdata(L, const_cast<LibraryFile*>(&file));
    lua_pushcclosure(L, guarded<load_library_file>, 1);
    lua_setfield(L, -2, fmt::format("{}{}", kLibrary, file.name).c_str());
  }
  lua_pop(L, 1);
}

/// `io.open` only for reading.
int open_for_reading(lua_State* L, State&) {
  const std::string_view mode = luaL_optstring(L, 2, "r");
  if (mode != "r" && mode != "rb") needs_trust(L, fmt::format("io.open with mode `{}`", mode));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/// The handler of `xpcall`: the script's own one, unless a limit is reached. Lua calls handlers of
/// errors that come from the limit without any further check, so one might run for ever.
int call_handler(lua_State* L) {
  if (const ErrorBox* box = to_error(L, 1); box && box->fatal) return 1;
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

int all_results(lua_State* L, int, lua_KContext) { return lua_gettop(L); }

int xpcall_function(lua_State* L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, call_handler, 1);
  lua_replace(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, all_results);
  return lua_gettop(L);
}

/// A sandboxed script's replacement for a function that it must not call.
int forbidden(lua_State* L, State&) { needs_trust(L, lua_tostring(L, lua_upvalueindex(1))); }

void forbid(lua_State* L, const char* library, std::initializer_list<const char*> names) {
  lua_getglobal(L, library);
  for (const char* name : names) {
    lua_pushfstring(L, "%s.%s", library, name);
    lua_pushcclosure(L, guarded<forbidden>, 1);
    lua_setfield(L, -2, name);
  }
  lua_pop(L, 1);
}

/// `print` to the script's output (`io.output()`): standard output is for results.
int print_function(lua_State* L, State& s) {
  std::string line;
  const int n = lua_gettop(L);
  for (int i = 1; i <= n; ++i) {
    std::size_t size = 0;
    const char* text = luaL_tolstring(L, i, &size);
    if (i > 1) line += '\t';
    line.append(text, size);
    lua_pop(L, 1);
  }
  line += '\n';
  std::FILE* out = s.options().print_to_stdout ? stdout : stderr;
  std::fwrite(line.data(), 1, line.size(), out);
  std::fflush(out);
  return 0;
}

/// Makes `require` look next to the script, after loaded modules.
void set_searchers(lua_State* L, bool trust) {
  lua_getglobal(L, LUA_LOADLIBNAME);
  lua_getfield(L, -1, "searchers");
  if (trust) {  // in front of Lua's own paths
    for (lua_Integer i = static_cast<lua_Integer>(lua_rawlen(L, -1)); i >= 2; --i) {
      lua_rawgeti(L, -1, i);
      lua_rawseti(L, -2, i + 1);
    }
  } else {
    for (lua_Integer i = static_cast<lua_Integer>(lua_rawlen(L, -1)); i >= 3; --i) {
      lua_pushnil(L);
      lua_rawseti(L, -2, i);
    }
  }
  lua_pushcfunction(L, guarded<search_module>);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}

}  // namespace

void wrap(lua_State* L, const char* library, const char* name, lua_CFunction f) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, name);
  lua_pushcclosure(L, f, 1);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

void needs_trust(lua_State* L, const std::string& what) {
  raise(L, "sandbox", what + " needs --trust");
}

void open_libraries(lua_State* L, bool trust) {
  const luaL_Reg libraries[] = {
      {LUA_GNAME, luaopen_base},          {LUA_LOADLIBNAME, luaopen_package},
      {LUA_COLIBNAME, luaopen_coroutine}, {LUA_TABLIBNAME, luaopen_table},
      {LUA_IOLIBNAME, luaopen_io},        {LUA_OSLIBNAME, luaopen_os},
      {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
      {LUA_UTF8LIBNAME, luaopen_utf8},
  };
  for (const luaL_Reg& library : libraries) {
    luaL_requiref(L, library.name, library.func, 1);
    lua_pop(L, 1);
  }
  if (trust) {
    luaL_requiref(L, LUA_DBLIBNAME, luaopen_debug, 1);
    lua_pop(L, 1);
  } else {
    forbid(L, LUA_OSLIBNAME,
           {"execute", "exit", "getenv", "remove", "rename", "setlocale", "tmpname"});
    forbid(L, LUA_IOLIBNAME, {"output", "popen", "tmpfile"});
    forbid(L, LUA_LOADLIBNAME, {"loadlib"});
    forbid(L, LUA_STRLIBNAME, {"dump"});
    remove_fields(L, LUA_LOADLIBNAME, {"cpath", "path", "searchpath"});
    wrap(L, LUA_IOLIBNAME, "open", guarded<open_for_reading>);
    wrap(L, LUA_GNAME, "xpcall", xpcall_function);
    limit_libraries(L);
    install_patterns(L);
  }
  lua_register(L, "dofile", guarded<dofile_function>);
  lua_register(L, "loadfile", guarded<loadfile_function>);
  lua_register(L, "print", guarded<print_function>);
  set_searchers(L, trust);
  preload_library(L);
  if (!State::of(L).options().print_to_stdout) {  // io.write goes where print goes
    lua_getglobal(L, LUA_IOLIBNAME);
    lua_getfield(L, -1, "stderr");
    if (!trust) {
      lua_pushvalue(L, -1);
      lua_setfield(L, -3, "stdout");
    }
    lua_setfield(L, LUA_REGISTRYINDEX, "_IO_output");
    lua_pop(L, 1);
  }
}

}  // namespace moonloop::lua
