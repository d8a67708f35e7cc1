#include "scripts/automatic.h"

#include "scripts/state.h"

namespace moonloop {
namespace lua {

/// The function of the bundled library, which it loads when it is first needed.
int auto_function(lua_State* L, State&) {
  constexpr const char* kModule = "moonloop.auto";
  const int arguments = lua_gettop(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, kModule) == LUA_TNIL) {
    lua_pop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_getfield(L, -1, kModule);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, kModule);
  }
  lua_insert(L, 1);
  lua_settop(L, arguments + 1);
  lua_call(L, arguments, 2);
  return 2;
}

}  // namespace lua

Automatic automatic(const Kernel& k, Target target,
                    const std::map<std::string, std::int64_t>& params, const std::string& prefix,
                    const ScriptOptions& options) {
  lua::State state(options, options.directory);
  Automatic out;
  state.protect([&](lua_State* L) {
    lua_pushcfunction(L, lua::guarded<lua::auto_function>);
    lua::push_kernel(L, k);
    lua_createtable(L, 0, 3);
    lua::push_string(L, to_string(target));
    lua_setfield(L, -2, "target");
    lua::push_string(L, prefix);
    lua_setfield(L, -2, "prefix");
    lua_createtable(L, 0, static_cast<int>(params.size()));
    for (const auto& [name, value] : params) {
      lua_pushinteger(L, value);
      lua_setfield(L, -2, name.c_str());
    }
    lua_setfield(L, -2, "params");
    state.call(L, 2, 2);
    out.kernel = *lua::to_kernel(L, -2);
    out.script = lua_tostring(L, -1);
  });
  return out;
}

}  // namespace moonloop
