#include <algorithm>

#include "codegen/lower.h"
#include "codegen/plan/sync_counts.h"
#include "core/count/mem_counts.h"
#include "core/count/op_counts.h"
#include "core/infer/infer.h"
#include "core/order/check_kernel.h"
#include "core/order/shared_storage.h"
#include "scripts/box.h"

/// Counts as Lua values: `Count`, a function of the parameters, and `CountMap`, many of them by
/// keys.
namespace moonloop::lua {
namespace {

constexpr const char* kCount = "moonloop.count";
constexpr const char* kMap = "moonloop.count_map";

void push_count(lua_State* L, Count c) { push_box(L, kCount, std::move(c), kIslBytes); }
void push_map(lua_State* L, CountMap m) {
  const auto formulas = static_cast<std::int64_t>(m.entries().size()) + 1;
  push_box(L, kMap, std::move(m), formulas * kIslBytes);
}
const Count& check_count(lua_State* L, int index) { return check_box<Count>(L, index, kCount); }
const CountMap& check_map(lua_State* L, int index) { return check_box<CountMap>(L, index, kMap); }

/// The table `{n = 10, m = 20}` at `index`, or nothing.
ValueDict check_dict(lua_State* L, int index) {
  if (lua_isnoneornil(L, index)) return {};
  luaL_checktype(L, index, LUA_TTABLE);
  const Value v = to_value(L, index);
  if (const auto* dict = v.as<ValueDict>()) return *dict;
  if (const auto* list = v.as<ValueList>(); list && list->empty()) return {};
  luaL_argerror(L, index, "a table with names expected");
  return {};
}

// ---- Count --------------------------------------------------------------------------------------

int count_eval(lua_State* L, State&) {
  const Count& c = check_count(L, 1);
  lua_pushinteger(L, c.number_at(check_parameters(L, 2)));
  return 1;
}

int count_tostring(lua_State* L, State&) {
  push_string(L, check_count(L, 1).str());
  return 1;
}

/// A count, or an integer as one.
Count operand(lua_State* L, int index) {
  if (lua_isinteger(L, index)) return Count(lua_tointeger(L, index));
  return check_count(L, index);
}
int count_add(lua_State* L, State&) {
  push_count(L, operand(L, 1) + operand(L, 2));
  return 1;
}
int count_mul(lua_State* L, State&) {
  push_count(L, operand(L, 1) * operand(L, 2));
  return 1;
}

const luaL_Reg kCountMethods[] = {{"eval", guarded<count_eval>}, {nullptr, nullptr}};

[[noreturn]] void unknown_name(lua_State* L, const char* what, const std::string& key,
                               const luaL_Reg* methods, std::vector<std::string> known) {
  for (const luaL_Reg* m = methods; m->name; ++m) known.emplace_back(m->name);
  raise(L, "unknown-name",
        fmt::format("{} has no field or method `{}`; it has {}", what, key, quoted_list(known)),
        key);
}

int count_index(lua_State* L, State&) {
  const Count& c = check_count(L, 1);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const std::string key = luaL_tolstring(L, 2, nullptr);
  if (key == "exact")
    lua_pushboolean(L, c.exact());
  else if (key == "params")
    push_strings(L, c.parameters());
  else
    unknown_name(L, "a count", key, kCountMethods, {"exact", "params"});
  return 1;
}

// ---- CountMap -----------------------------------------------------------------------------------

/// A field's value as keys have it: types under their own names.
std::string key_text(const std::string& field, const Value& v) {
  const auto* text = v.as<std::string>();
  if (!text) fail("bad-argument", {}, "`{}` is {}, which is not a text", field, to_lua(v));
  const auto type = field == "dtype" ? parse_scalar(*text) : std::nullopt;
  return type ? Type(*type).str() : *text;
}

int map_filter_by(lua_State* L, State&) {
  CountMap m = check_map(L, 1);
  for (const auto& [field, wanted] : check_dict(L, 2)) {
    std::vector<std::string> values;
    if (const auto* list = wanted.as<ValueList>()) {
      for (const Value& v : *list) values.push_back(key_text(field, v));
    } else {
      values.push_back(key_text(field, wanted));
    }
    m = m.filter(field, values);
  }
  push_map(L, std::move(m));
  return 1;
}

int map_group_by(lua_State* L, State&) {
  const CountMap& m = check_map(L, 1);
  std::vector<std::string> fields;
  for (int i = 2; i <= lua_gettop(L); ++i)
    for (std::string& f : split_top_level(luaL_checkstring(L, i))) fields.push_back(std::move(f));
  push_map(L, m.group(fields));
  return 1;
}

int map_sum(lua_State* L, State& s) {
  const CountMap& m = check_map(L, 1);
  const State::Pause pause(s);
  push_count(L, m.sum());
  return 1;
}

int map_eval(lua_State* L, State&) {
  const CountMap& m = check_map(L, 1);
  push_map(L, m.eval(check_parameters(L, 2)));
  return 1;
}

int map_eval_and_sum(lua_State* L, State&) {
  const CountMap& m = check_map(L, 1);
  lua_pushinteger(L, m.sum().number_at(check_parameters(L, 2)));
  return 1;
}

int map_to_bytes(lua_State* L, State&) {
  push_map(L, check_map(L, 1).to_bytes());
  return 1;
}

int map_tostring(lua_State* L, State&) {
  push_string(L, check_map(L, 1).str());
  return 1;
}

int map_len(lua_State* L, State&) {
  lua_pushinteger(L, static_cast<lua_Integer>(check_map(L, 1).entries().size()));
  return 1;
}

/// Pushes the fields of entry `i` as a table.
void push_key(lua_State* L, const CountMap& m, std::size_t i) {
  lua_createtable(L, 0, static_cast<int>(m.fields().size()) + 1);
  for (std::size_t f = 0; f < m.fields().size(); ++f) {
    push_string(L, m.entries()[i].key[f]);
    lua_setfield(L, -2, m.fields()[f].c_str());
  }
}

/// Called for each round of `for key, count in pairs(map)`: the map and a position are upvalues.
int map_next(lua_State* L, State&) {
  const CountMap& m = check_map(L, lua_upvalueindex(1));
  const auto i = static_cast<std::size_t>(lua_tointeger(L, lua_upvalueindex(2)));
  if (i >= m.entries().size()) return 0;
  lua_pushinteger(L, static_cast<lua_Integer>(i) + 1);
  lua_replace(L, lua_upvalueindex(2));
  push_key(L, m, i);
  push_count(L, m.entries()[i].count);
  return 2;
}
int map_pairs(lua_State* L, State&) {
  check_map(L, 1);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, guarded<map_next>, 2);
  return 1;
}

const luaL_Reg kMapMethods[] = {
    {"eval", guarded<map_eval>},
    {"eval_and_sum", guarded<map_eval_and_sum>},
    {"filter_by", guarded<map_filter_by>},
    {"group_by", guarded<map_group_by>},
    {"sum", guarded<map_sum>},
    {"to_bytes", guarded<map_to_bytes>},
    {nullptr, nullptr},
};

int map_index(lua_State* L, State&) {
  const CountMap& m = check_map(L, 1);
  if (lua_isinteger(L, 2)) {
    const lua_Integer i = lua_tointeger(L, 2);
    if (i < 1 || i > static_cast<lua_Integer>(m.entries().size())) return 0;
    push_key(L, m, static_cast<std::size_t>(i) - 1);
    push_count(L, m.entries()[static_cast<std::size_t>(i) - 1].count);
    lua_setfield(L, -2, "count");
    return 1;
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const std::string key = luaL_tolstring(L, 2, nullptr);
  if (key == "fields")
    push_strings(L, m.fields());
  else
    unknown_name(L, "a map of counts", key, kMapMethods, {"fields"});
  return 1;
}

// ---- Types --------------------------------------------------------------------------------------

struct MetaMethod {
  const char* name;
  lua_CFunction function;
};
void install_type(lua_State* L, const char* type, const char* shown, const luaL_Reg* methods,
                  lua_CFunction index, std::initializer_list<MetaMethod> others) {
  luaL_newmetatable(L, type);
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_pushcclosure(L, index, 1);
  lua_setfield(L, -2, "__index");
  for (const MetaMethod& m : others) {
    lua_pushcfunction(L, m.function);
    lua_setfield(L, -2, m.name);
  }
  for (const char* field : {"__name", "__metatable"}) {
    lua_pushstring(L, shown);
    lua_setfield(L, -2, field);
  }
  lua_pop(L, 1);
}

// ---- The kernel's methods -----------------------------------------------------------------------

CountOptions check_options(lua_State* L, int index) {
  CountOptions out;
  for (const auto& [name, v] : check_dict(L, index)) {
    const auto* n = v.as<std::int64_t>();
    if (name != "subgroup_size")
      fail("unknown-option", {}, "option `{}` is unknown; there is `subgroup_size`", name);
    if (!n || *n < 1)
      fail("bad-argument", {}, "`subgroup_size` is {}, which is not a positive integer", to_lua(v));
    out.subgroup_size = *n;
  }
  return out;
}

template <CountMap (*F)(const Kernel&, const CountOptions&)>
int counts(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const CountOptions options = check_options(L, 2);
  const State::Pause pause(s);
  push_map(L, F(k, options));
  return 1;
}

int footprints_of(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const State::Pause pause(s);
  push_map(L, footprints(k));
  return 1;
}

}  // namespace

std::map<std::string, std::int64_t> check_parameters(lua_State* L, int index) {
  std::map<std::string, std::int64_t> out;
  for (const auto& [name, v] : check_dict(L, index)) {
    const auto* n = v.as<std::int64_t>();
    if (!n) fail("bad-argument", {}, "`{}` is {}, which is not an integer", name, to_lua(v));
    out.emplace(name, *n);
  }
  return out;
}

int sync_counts_of(lua_State* L, const Kernel& k, Target target) {
  const State::Pause pause(State::of(L));
  push_map(L, sync_counts(make_plan(merge_shared_storage(complete(k)), target)));
  return 1;
}

const luaL_Reg* count_methods() {
  static const luaL_Reg kMethods[] = {{"footprints", guarded<footprints_of>},
                                      {"mem_counts", guarded<counts<mem_counts>>},
                                      {"op_counts", guarded<counts<op_counts>>},
                                      {nullptr, nullptr}};
  return kMethods;
}

void install_count_types(lua_State* L) {
  install_type(L, kCount, "count", kCountMethods, guarded<count_index>,
               {{"__add", guarded<count_add>},
                {"__mul", guarded<count_mul>},
                {"__tostring", guarded<count_tostring>},
                {"__gc", collect_box<Count>}});
  install_type(L, kMap, "map of counts", kMapMethods, guarded<map_index>,
               {{"__len", guarded<map_len>},
                {"__pairs", guarded<map_pairs>},
                {"__tostring", guarded<map_tostring>},
                {"__gc", collect_box<CountMap>}});
}

}  // namespace moonloop::lua
