#include "core/order/affine_schedule.h"
#include "scripts/state.h"

/// `lp.affine_schedule(knl, [within])`: isl's schedule tree as a table.
namespace moonloop::lua {
namespace {

void put_string(lua_State* L, const char* key, const std::string& text) {
  push_string(L, text);
  lua_setfield(L, -2, key);
}

void push_schedule(lua_State* L, const AffineSchedule& node) {
  luaL_checkstack(L, 12, nullptr);
  lua_createtable(L, 0, 5);
  put_string(L, "kind", to_string(node.kind));
  push_strings(L, node.statements);
  lua_setfield(L, -2, "statements");
  if (node.kind == AffineSchedule::Kind::Band) {
    lua_pushboolean(L, node.permutable);
    lua_setfield(L, -2, "permutable");
    lua_createtable(L, static_cast<int>(node.members.size()), 0);
    lua_Integer n = 0;
    for (const AffineSchedule::Member& m : node.members) {
      lua_createtable(L, 0, 2);
      lua_pushboolean(L, m.parallel);
      lua_setfield(L, -2, "parallel");
      lua_createtable(L, 0, static_cast<int>(m.values.size()));
      for (const auto& [id, value] : m.values) put_string(L, id.c_str(), to_string(value));
      lua_setfield(L, -2, "values");
      lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "members");
  }
  lua_createtable(L, static_cast<int>(node.children.size()), 0);
  lua_Integer n = 0;
  for (const AffineSchedule& child : node.children) {
    push_schedule(L, child);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "children");
}

}  // namespace

int affine_schedule_function(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const std::string within = luaL_optstring(L, 2, "");
  const State::Pause pause(s);
  push_schedule(L, affine_schedule(k, within));
  return 1;
}

}  // namespace moonloop::lua
