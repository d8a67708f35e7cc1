#include "core/order/parallelism.h"
#include "scripts/state.h"

/// `lp.parallelism(knl)`: which loops are parallel, as a table.
namespace moonloop::lua {
namespace {

void put(lua_State* L, const char* key, const std::string& text) {
  push_string(L, text);
  lua_setfield(L, -2, key);
}
void put(lua_State* L, const char* key, const std::vector<std::string>& all) {
  push_strings(L, all);
  lua_setfield(L, -2, key);
}
void put(lua_State* L, const char* key, bool yes) {
  lua_pushboolean(L, yes);
  lua_setfield(L, -2, key);
}
void put(lua_State* L, const char* key, const std::optional<DepKind>& kind) {
  if (kind) put(L, key, std::string(to_string(*kind)));
}

/// A table of the elements of `all`, each pushed by `push_one`.
template <class T, class F>
void put_each(lua_State* L, const char* key, const std::vector<T>& all, F push_one) {
  luaL_checkstack(L, 8, nullptr);
  lua_createtable(L, static_cast<int>(all.size()), 0);
  lua_Integer n = 0;
  for (const T& one : all) {
    push_one(one);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, key);
}

void push_instance(lua_State* L, const CounterexampleInstance& i) {
  lua_createtable(L, 0, 3);
  put(L, "statement", i.id);
  put(L, "does", i.does);
  lua_createtable(L, 0, static_cast<int>(i.inames.size()));
  for (std::size_t n = 0; n < i.inames.size(); ++n) {
    lua_pushinteger(L, i.at[n]);
    lua_setfield(L, -2, i.inames[n].c_str());
  }
  lua_setfield(L, -2, "at");
}

void put_obstacle(lua_State* L, const LoopParallelism& l, bool reasons) {
  put(L, "code", l.why->code);
  if (!reasons) {
    if (l.instances) put(L, "variable", l.variable);
    return;
  }
  put(L, "why", l.why->text);
  put(L, "hint", l.why->hint);
  if (!l.instances) return;
  put(L, "kind", l.kind);
  put(L, "variable", l.variable);
  put_each(L, "instances", std::vector{&l.instances->first, &l.instances->second},
           [&](const CounterexampleInstance* i) { push_instance(L, *i); });
  lua_createtable(L, 0, static_cast<int>(l.instances->params.size()));
  for (const auto& [name, value] : l.instances->params) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name.c_str());
  }
  lua_setfield(L, -2, "params");
}

void push_loop(lua_State* L, const LoopParallelism& l, const AskedOfLoops& asked) {
  lua_createtable(L, 0, 14);
  put(L, "iname", l.iname);
  if (!l.tag.empty()) put(L, "tag", l.tag);
  put(L, "around", l.around);
  put(L, "statements", l.statements);
  put(L, "par", l.par);
  if (!asked.brief) {
    put(L, "status", std::string(to_string(l.status)));
    put_each(L, "reductions", l.reductions, [&](const LoopReduction& r) {
      lua_createtable(L, 0, 4);
      put(L, "statement", r.statement);
      put(L, "op", r.op);
      put(L, "declared", r.declared());
      if (!r.declared()) put(L, "variable", r.variable);
    });
  }
  if (l.why) put_obstacle(L, l, asked.reasons);
}

void push_dependence(lua_State* L, const CarriedDependence& d) {
  lua_createtable(L, 0, 9);
  put(L, "source", d.from);
  put(L, "target", d.to);
  put(L, "kind", d.kind);
  put(L, "variable", d.variable);
  put(L, "loops", d.loops);
  put(L, "carried_by", d.loops[d.level]);
  put(L, "vector", d.vector());
  put(L, "exact", d.exact);
  put_each(L, "distance", d.distance, [&](const LoopDistance& x) {
    if (x.least && x.least == x.most)
      lua_pushinteger(L, *x.least);
    else
      push_string(L, x.str());
  });
}

}  // namespace

int parallelism_function(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  AskedOfLoops asked;
  if (!lua_isnoneornil(L, 2)) {
    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
      const std::string name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
      if (name != "brief" && name != "reasons" && name != "within")
        luaL_argerror(L, 2,
                      ("unknown option '" + name + "'; it has brief, reasons, within").c_str());
    }
    lua_getfield(L, 2, "brief");
    asked.brief = lua_toboolean(L, -1) != 0;
    lua_getfield(L, 2, "reasons");
    asked.reasons = !asked.brief || lua_isnil(L, -1) || lua_toboolean(L, -1) != 0;
    lua_getfield(L, 2, "within");
    asked.within = luaL_optstring(L, -1, "");
    lua_settop(L, 2);
  }
  const State::Pause pause(s);
  const Parallelism p = parallelism(k, asked);
  lua_createtable(L, 0, 4);
  put_each(L, "loops", p.loops, [&](const LoopParallelism& l) { push_loop(L, l, asked); });
  lua_createtable(L, 0, static_cast<int>(p.loops.size()));
  lua_getfield(L, -2, "loops");
  for (std::size_t n = 0; n < p.loops.size(); ++n) {
    lua_rawgeti(L, -1, static_cast<lua_Integer>(n) + 1);
    lua_setfield(L, -3, p.loops[n].iname.c_str());
  }
  lua_pop(L, 1);
  lua_setfield(L, -2, "by_iname");
  if (asked.brief) return 1;
  put_each(L, "dependences", p.dependences,
           [&](const CarriedDependence& d) { push_dependence(L, d); });
  put_each(L, "bands", p.bands, [&](const PermutableBand& b) {
    lua_createtable(L, 0, 2);
    put(L, "loops", b.loops);
    put(L, "perfect", b.perfect);
  });
  return 1;
}

}  // namespace moonloop::lua
