#include "scripts/automatic.h"

#include "scripts/state.h"

namespace moonloop {
namespace lua {

namespace {

/// Puts the function of the bundled library on the stack, which is loaded when it is first needed.
void push_chooser(lua_State* L) {
  constexpr const char* kModule = "moonloop.auto";
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, kModule) == LUA_TNIL) {
    lua_pop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_getfield(L, -1, kModule);
    lua_call(L, 0, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, kModule);
  }
}

}  // namespace

/// Tells of the steps of the schedule, not of those that were tried on the way.
int auto_function(lua_State* L, State& s) {
  lua_settop(L, 2);
  push_chooser(L);
  const int chooser = lua_gettop(L);
  {
    const State::Silence silence(s);
    lua_pushvalue(L, chooser);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    push_string(L, s.options().target);
    lua_call(L, 3, 2);
  }
  if (s.options().on_step) {
    const Kernel &before = check_kernel(L, 1), &after = check_kernel(L, -2);
    for (std::size_t n = before.trace.size(); n < after.trace.size(); ++n)
      s.options().on_step({before, after.trace[n], nullptr});
  }
  return 2;
}

}  // namespace lua

Automatic automatic(const Kernel& k, Target target, const AutomaticOptions& how,
                    const ScriptOptions& options) {
  lua::State state(options, options.directory);
  Automatic out;
  state.protect([&](lua_State* L) {
    lua_pushcfunction(L, lua::guarded<lua::auto_function>);
    lua::push_kernel(L, k);
    lua_createtable(L, 0, 4);
    lua::push_string(L, to_string(target));
    lua_setfield(L, -2, "target");
    lua::push_string(L, how.prefix);
    lua_setfield(L, -2, "prefix");
    lua_pushboolean(L, how.called);
    lua_setfield(L, -2, "called");
    lua_createtable(L, 0, static_cast<int>(how.params.size()));
    for (const auto& [name, value] : how.params) {
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
