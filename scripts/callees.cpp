#include "core/base/diagnostic.h"
#include "scripts/state.h"
#include "transforms/callee_code.h"

/// `lp.callee(knl, name)` and `lp.transform_callee(knl, name, steps)`: kernels that a kernel calls.
namespace moonloop::lua {
namespace {

const Kernel& kernel_at(lua_State* L, int index) {
  const Kernel* k = to_kernel(L, index);
  if (k) return *k;
  luaL_argerror(L, index, fmt::format("kernel expected, got {}", luaL_typename(L, index)).c_str());
  throw InternalError("luaL_argerror returned");
}

/// The callee as it is generated now.
const Kernel& callee_at(lua_State* L, const Kernel& k, const std::string& name) {
  const auto it = k.callees.find(name);
  if (it == k.callees.end()) {
    std::vector<std::string> all;
    for (const auto& [n, called] : k.callees) all.push_back(n);
    raise(L, "no-match",
          fmt::format("`{}` calls no kernel `{}`{}", k.name, name,
                      all.empty() ? "" : "; it calls " + quoted_list(all)),
          name);
  }
  return it->second->code ? *it->second->code : *it->second->meaning;
}

}  // namespace

int callee_function(lua_State* L, State&) {
  push_kernel(L, callee_at(L, kernel_at(L, 1), luaL_checkstring(L, 2)));
  return 1;
}

int transform_callee_function(lua_State* L, State& s) {
  const Kernel k = kernel_at(L, 1);
  const std::string name = luaL_checkstring(L, 2);
  const Kernel before = callee_at(L, k, name);
  const Span at = where(L, 0, "transform_callee");
  std::optional<Kernel> after;
  if (lua_type(L, 3) == LUA_TSTRING) {
    const std::string code = lua_tostring(L, 3);
    const State::Pause pause(s);
    after = run_transform_script(add_source("<steps of " + name + ">", code), {before}, s.options())
                .front();
  } else {
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_pushvalue(L, 3);
    push_kernel(L, before);
    lua_call(L, 1, 1);
    const Kernel* result = to_kernel(L, -1);
    if (!result)
      luaL_argerror(L, 3, fmt::format("it returns a {}, no kernel", luaL_typename(L, -1)).c_str());
    after = *result;
  }
  const State::Pause pause(s);
  Kernel out = with_callee_code(k, name, *after);
  out.trace.push_back({"transform_callee",
                       {Value{name}, Value{replay_script(*after, before.trace.size())}},
                       {},
                       at});
  if (s.options().on_step) s.options().on_step({k, out.trace.back(), nullptr});
  push_kernel(L, std::move(out));
  return 1;
}

}  // namespace moonloop::lua
