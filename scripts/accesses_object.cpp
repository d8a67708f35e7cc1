#include "core/count/strides.h"
#include "core/count/trips.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "scripts/state.h"

/// `knl:accesses(params)`: which elements of arrays instructions access, and how far apart;
/// `knl:trips()`: how often loops run.
namespace moonloop::lua {
namespace {

void put_text(lua_State* L, const char* key, const std::string& text) {
  push_string(L, text);
  lua_setfield(L, -2, key);
}

/// `sizes`: values of parameters, by name.
void push_access(lua_State* L, const StridedAccess& a,
                 const std::map<std::string, std::int64_t>& sizes) {
  lua_createtable(L, 0, 8);
  put_text(L, "statement", a.instruction);
  put_text(L, "variable", a.variable);
  put_text(L, "type", a.type.str());
  lua_pushinteger(L, a.type.size());
  lua_setfield(L, -2, "size");
  lua_pushboolean(L, a.write);
  lua_setfield(L, -2, "write");
  push_strings(L, a.inames);
  lua_setfield(L, -2, "inames");
  std::vector<std::string> index;
  for (const Expr& e : a.index) index.push_back(to_string(e));
  push_strings(L, index);
  lua_setfield(L, -2, "index");
  lua_createtable(L, 0, static_cast<int>(a.strides.size()));
  for (const auto& [iname, stride] : a.strides) {
    const auto number = stride ? evaluate(stride, sizes) : std::nullopt;
    if (number)
      lua_pushinteger(L, *number);
    else
      push_string(L, stride ? to_string(stride) : "?");
    lua_setfield(L, -2, iname.c_str());
  }
  lua_setfield(L, -2, "strides");
}

}  // namespace

int accesses_method(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const std::map<std::string, std::int64_t> sizes = check_parameters(L, 2);
  const std::string within = luaL_optstring(L, 3, "");
  const State::Pause pause(s);
  if (!within.empty()) require_iname(k, within);
  const std::vector<StridedAccess> all = strided_accesses(k, within);
  luaL_checkstack(L, 8, nullptr);
  lua_createtable(L, static_cast<int>(all.size()), 0);
  lua_Integer n = 0;
  for (const StridedAccess& a : all) {
    push_access(L, a, sizes);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

int trips_method(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const std::map<std::string, std::int64_t> params = check_parameters(L, 2);
  const std::string only = luaL_optstring(L, 3, "");
  const State::Pause pause(s);
  if (!only.empty()) {
    require_iname(k, only);
    const std::map<std::string, std::int64_t> one = most_trips(k, params, {only});
    if (one.empty())
      lua_pushnil(L);
    else
      lua_pushinteger(L, one.begin()->second);
    return 1;
  }
  const std::map<std::string, std::int64_t> all = most_trips(k, params);
  lua_createtable(L, 0, static_cast<int>(all.size()));
  for (const auto& [iname, trips] : all) {
    lua_pushinteger(L, trips);
    lua_setfield(L, -2, iname.c_str());
  }
  return 1;
}

}  // namespace moonloop::lua
