#include <algorithm>

#include "core/base/memory.h"
#include "scripts/state.h"

namespace moonloop::lua {
namespace {

constexpr int kDeepestTable = 20;

Value convert(lua_State* L, int index, int depth) {
  luaL_checkstack(L, 8, "table nested too deeply");
  // A table may hold another one many times, but values share nothing.
  State::of(L).spend(L, 2);
  memory::check();
  switch (lua_type(L, index)) {
    case LUA_TNIL:
    case LUA_TNONE: return {};
    case LUA_TBOOLEAN: return {lua_toboolean(L, index) != 0};
    case LUA_TNUMBER:
      if (lua_isinteger(L, index)) return {static_cast<std::int64_t>(lua_tointeger(L, index))};
      return {static_cast<double>(lua_tonumber(L, index))};
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* s = lua_tolstring(L, index, &size);
      return {std::string(s, size)};
    }
    case LUA_TTABLE: break;
    default: fail("bad-argument", {}, "a {} is not a value that it takes", luaL_typename(L, index));
  }
  if (depth >= kDeepestTable)
    fail("bad-argument", {}, "a table nested deeper than {} levels", kDeepestTable);
  const int table = lua_absindex(L, index);
  const auto n = static_cast<lua_Integer>(lua_rawlen(L, table));
  ValueList list;
  for (lua_Integer i = 1; i <= n; ++i) {
    lua_rawgeti(L, table, i);
    list.push_back(convert(L, -1, depth + 1));
    lua_pop(L, 1);
  }
  ValueDict dict;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    if (lua_type(L, -2) == LUA_TNUMBER && lua_isinteger(L, -2)) {
      const lua_Integer i = lua_tointeger(L, -2);
      if (i >= 1 && i <= n) continue;
    }
    if (lua_type(L, -2) != LUA_TSTRING)
      fail("bad-argument", {}, "a table key that is not a name: {}", luaL_typename(L, -2));
    std::size_t size = 0;
    const char* key = lua_tolstring(L, -2, &size);
    std::string name(key, size);
    dict.emplace_back(std::move(name), convert(L, -1, depth + 1));
  }
  if (dict.empty()) return {std::move(list)};
  if (!list.empty()) fail("bad-argument", {}, "a table with both positions and names");
  std::sort(dict.begin(), dict.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return {std::move(dict)};
}

}  // namespace

Value to_value(lua_State* L, int index) { return convert(L, index, 0); }

void push_string(lua_State* L, std::string_view s) { lua_pushlstring(L, s.data(), s.size()); }

void push_strings(lua_State* L, const std::vector<std::string>& all) {
  lua_createtable(L, static_cast<int>(all.size()), 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    push_string(L, all[i]);
    lua_rawseti(L, -2, static_cast<lua_Integer>(i) + 1);
  }
}

void push_value(lua_State* L, const Value& v) {
  luaL_checkstack(L, 8, "value nested too deeply");
  std::visit(
      overload{[&](std::monostate) { lua_pushnil(L); }, [&](bool b) { lua_pushboolean(L, b); },
               [&](std::int64_t n) { lua_pushinteger(L, n); },
               [&](double d) { lua_pushnumber(L, d); },
               [&](const std::string& s) { push_string(L, s); },
               [&](const ValueList& l) {
                 lua_createtable(L, static_cast<int>(l.size()), 0);
                 for (std::size_t i = 0; i < l.size(); ++i) {
                   push_value(L, l[i]);
                   lua_rawseti(L, -2, static_cast<lua_Integer>(i) + 1);
                 }
               },
               [&](const ValueDict& d) {
                 lua_createtable(L, 0, static_cast<int>(d.size()));
                 for (const auto& [name, e] : d) {
                   push_string(L, name);
                   push_value(L, e);
                   lua_rawset(L, -3);
                 }
               }},
      v.v);
}

std::vector<std::string> split_top_level(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  std::string part;
  const auto flush = [&] {
    const auto from = part.find_first_not_of(" \t\n");
    if (from != std::string::npos)
      out.push_back(part.substr(from, part.find_last_not_of(" \t\n") - from + 1));
    part.clear();
  };
  for (char c : text) {
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    if (c == ',' && depth <= 0)
      flush();
    else
      part += c;
  }
  flush();
  return out;
}

}  // namespace moonloop::lua
