#include <functional>

#include "codegen/plan/plan.h"
#include "core/infer/infer.h"
#include "core/model/domain.h"
#include "core/model/print.h"
#include "core/order/check_kernel.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "core/order/tree.h"
#include "core/rewrite/as_text.h"
#include "reports/report.h"
#include "scripts/box.h"
#include "transforms/registry.h"

/// Kernels as Lua values: userdata with fields to look at and methods, among them every transform.
namespace moonloop::lua {
namespace {

constexpr const char* kKernelType = "moonloop.kernel";

// ---- Fields -------------------------------------------------------------------------------------

void set(lua_State* L, const char* key, const std::string& text) {
  push_string(L, text);
  lua_setfield(L, -2, key);
}
void set(lua_State* L, const char* key, const std::vector<std::string>& all) {
  push_strings(L, all);
  lua_setfield(L, -2, key);
}
void set(lua_State* L, const char* key, const std::set<std::string>& all) {
  set(L, key, std::vector<std::string>(all.begin(), all.end()));
}
void set(lua_State* L, const char* key, const Exprs& all) {
  std::vector<std::string> texts;
  for (const Expr& e : all) texts.push_back(to_string(e));
  set(L, key, texts);
}

template <class Range, class F>
void push_list(lua_State* L, const Range& all, F push_one) {
  luaL_checkstack(L, 8, nullptr);
  lua_createtable(L, static_cast<int>(all.size()), 0);
  lua_Integer i = 0;
  for (const auto& e : all) {
    push_one(e);
    lua_rawseti(L, -2, ++i);
  }
}

void push_instructions(lua_State* L, const Kernel& k) {
  push_list(L, k.instructions, [&](const InsnPtr& insn) {
    lua_createtable(L, 0, 14);
    set(L, "id", insn->id);
    switch (insn->kind) {
      case InsnKind::Assign: set(L, "kind", "assignment"); break;
      case InsnKind::Call: set(L, "kind", "call"); break;
      case InsnKind::Barrier: set(L, "kind", "barrier"); break;
      case InsnKind::Nop: set(L, "kind", "nop"); break;
    }
    set(L, "lhs", insn->lhs);
    if (insn->rhs) set(L, "rhs", to_string(insn->rhs));
    set(L, "inames", insn->inames);
    std::set<std::string> reduced;
    const auto collect = [&](const Expr& e) {
      if (e) reduced.merge(moonloop::reduction_inames(k, e));
    };
    for (const Exprs* all : {&insn->lhs, &insn->predicates})
      for (const Expr& e : *all) collect(e);
    collect(insn->rhs);
    set(L, "reduction_inames", reduced);
    set(L, "predicates", insn->predicates);
    set(L, "tags", insn->tags);
    set(L, "depends_on", insn->depends_on);
    set(L, "reads", moonloop::reads(k, *insn));
    set(L, "writes", moonloop::writes(*insn));
    set(L, "text", print_instruction(k, *insn));
    lua_pushinteger(L, insn->priority);
    lua_setfield(L, -2, "priority");
    if (insn->at) {
      lua_pushinteger(L, insn->at.line);
      lua_setfield(L, -2, "line");
      set(L, "file", insn->at.source->name);
    }
  });
}

void set_layout(lua_State* L, const std::string& name, const std::optional<Type>& type,
                const std::optional<Exprs>& shape, Order order,
                const std::optional<Exprs>& strides) {
  set(L, "name", name);
  if (type) set(L, "type", type->str());
  if (!shape) return;
  set(L, "shape", *shape);
  set(L, "order", order == Order::C ? "C" : "F");
  if (strides) set(L, "strides", *strides);
}

void push_args(lua_State* L, const Kernel& k) {
  push_list(L, k.args, [&](const Argument& a) {
    lua_createtable(L, 0, 8);
    set_layout(L, a.name, a.type, a.is_array ? a.shape : std::nullopt, a.order, a.strides);
    lua_pushboolean(L, a.is_array);
    lua_setfield(L, -2, "is_array");
    switch (a.intent) {
      case Intent::Unknown: break;
      case Intent::In: set(L, "intent", "in"); break;
      case Intent::Out: set(L, "intent", "out"); break;
      case Intent::InOut: set(L, "intent", "inout"); break;
    }
  });
}

void push_temporaries(lua_State* L, const Kernel& k) {
  push_list(L, k.temporaries, [&](const auto& entry) {
    const Temporary& t = entry.second;
    lua_createtable(L, 0, 8);
    set_layout(L, t.name, t.type, t.shape, t.order, t.strides);
    switch (t.space) {
      case AddressSpace::Auto: set(L, "space", "auto"); break;
      case AddressSpace::Private: set(L, "space", "private"); break;
      case AddressSpace::Local: set(L, "space", "local"); break;
      case AddressSpace::Global: set(L, "space", "global"); break;
    }
  });
}

void push_rules(lua_State* L, const Kernel& k) {
  push_list(L, k.rules, [&](const Rule& r) {
    lua_createtable(L, 0, 4);
    set(L, "name", r.name);
    set(L, "params", r.params);
    set(L, "body", to_string(r.body));
    set(L, "text",
        fmt::format("{}({}) := {}", r.name, fmt::join(r.params, ", "), to_string(r.body)));
  });
}

using Field = void (*)(lua_State*, const Kernel&);

const std::map<std::string_view, Field>& fields() {
  static const std::map<std::string_view, Field> kFields{
      {"args", push_args},
      {"assumptions",
       [](lua_State* L, const Kernel& k) {
         if (k.assumptions)
           push_string(L, str(k.assumptions));
         else
           lua_pushnil(L);
       }},
      {"domains",
       [](lua_State* L, const Kernel& k) {
         push_list(L, k.domains, [&](const Domain& d) { push_string(L, str(d.set)); });
       }},
      {"ids", [](lua_State* L, const Kernel& k) { push_strings(L, k.instruction_ids()); }},
      {"iname_tags",
       [](lua_State* L, const Kernel& k) {
         lua_createtable(L, 0, static_cast<int>(k.iname_tags.size()));
         for (const auto& [iname, tag] : k.iname_tags) set(L, iname.c_str(), tag.text);
       }},
      {"inames", [](lua_State* L, const Kernel& k) { push_strings(L, k.inames()); }},
      {"instructions", push_instructions},
      {"name", [](lua_State* L, const Kernel& k) { push_string(L, k.name); }},
      {"params",
       [](lua_State* L, const Kernel& k) {
         std::set<std::string> all;
         for (const Domain& d : k.domains)
           for (const std::string& p : d.params())
             if (!k.has_iname(p) && !k.find_temporary(p)) all.insert(p);
         push_strings(L, {all.begin(), all.end()});
       }},
      {"rules", push_rules},
      {"temporaries", push_temporaries},
      {"trusted_inames",
       [](lua_State* L, const Kernel& k) {
         const std::set<std::string> trusted = trusted_inames(k);
         std::vector<std::string> tagged;
         for (const auto& [iname, tag] : k.iname_tags)
           if (trusted.contains(iname)) tagged.push_back(iname);
         push_strings(L, tagged);
       }},
  };
  return kFields;
}

// ---- Methods ------------------------------------------------------------------------------------

Target target_at(lua_State* L, int index) {
  const std::string name = luaL_optstring(L, index, "c");
  const auto target = parse_target(name);
  if (!target) {
    const std::string text = fmt::format("unknown target '{}'; there is {}", name, target_list());
    luaL_argerror(L, index, text.c_str());
  }
  return *target;
}

/// A method that returns text; computing it may take long.
template <std::string (*F)(lua_State*, const Kernel&)>
int text_method(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const State::Pause pause(s);
  push_string(L, F(L, k));
  return 1;
}

std::string code_of(lua_State* L, const Kernel& k) { return generate(k, target_at(L, 2)).source; }
std::string header_of(lua_State* L, const Kernel& k) { return generate(k, target_at(L, 2)).header; }
std::string text_of(lua_State*, const Kernel& k) { return print_kernel(as_text(k)); }
std::string trace_of(lua_State* L, const Kernel& k) {
  return replay_script(k, 0, State::of(L).options().knobs.get());
}
std::string tree_of(lua_State*, const Kernel& k) { return report_tree(k); }
std::string deps_of(lua_State*, const Kernel& k) { return report_dependences(k); }
std::string stats_of(lua_State*, const Kernel& k) { return report_stats(k); }
std::string schedule_of(lua_State* L, const Kernel& k) {
  return report_schedule(k, target_at(L, 2));
}

int check_method(lua_State* L, State& s) {
  const Kernel& k = check_kernel(L, 1);
  const State::Pause pause(s);
  check_legal(k);
  check_defined(complete(k));
  lua_settop(L, 1);
  return 1;
}

int has_code_method(lua_State* L, State& s) {
  const State::Pause pause(s);
  lua_pushboolean(L, has_code(check_kernel(L, 1), target_at(L, 2)));
  return 1;
}

int sync_counts_method(lua_State* L, State&) {
  const Kernel& k = check_kernel(L, 1);
  return sync_counts_of(L, k, lua_isnoneornil(L, 2) ? Target::OpenCL : target_at(L, 2));
}

const luaL_Reg kMethods[] = {
    {"accesses", guarded<accesses_method>},
    {"check", guarded<check_method>},
    {"code", guarded<text_method<code_of>>},
    {"cost", guarded<cost_function>},
    {"deps", guarded<text_method<deps_of>>},
    {"has_code", guarded<has_code_method>},
    {"header", guarded<text_method<header_of>>},
    {"ir", guarded<text_method<text_of>>},
    {"parallelism", guarded<parallelism_function>},
    {"schedule", guarded<text_method<schedule_of>>},
    {"stats", guarded<text_method<stats_of>>},
    {"sync_counts", guarded<sync_counts_method>},
    {"text", guarded<text_method<text_of>>},
    {"trace", guarded<text_method<trace_of>>},
    {"tree", guarded<text_method<tree_of>>},
    {"trips", guarded<trips_method>},
    {nullptr, nullptr},
};

int kernel_index(lua_State* L, State&) {
  const Kernel& k = check_kernel(L, 1);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  lua_pop(L, 1);
  const std::string key = luaL_tolstring(L, 2, nullptr);
  if (const auto it = fields().find(key); it != fields().end()) {
    it->second(L, k);
    return 1;
  }
  std::vector<std::string> known = op_names();
  for (const auto& [name, push] : fields()) known.emplace_back(name);
  for (const luaL_Reg* m = kMethods; m->name; ++m) known.emplace_back(m->name);
  for (const luaL_Reg* m = count_methods(); m->name; ++m) known.emplace_back(m->name);
  raise(L, "unknown-name",
        fmt::format("a kernel has no field or transform `{}`{}", key, did_you_mean(key, known)),
        key);
}

int kernel_newindex(lua_State* L, State&) {
  const std::string key = luaL_tolstring(L, 2, nullptr);
  raise(L, "script-error",
        fmt::format("cannot set `{}`: kernels do not change; transforms return new ones", key),
        key);
}

int kernel_eq(lua_State* L, State& s) {
  const Kernel *a = to_kernel(L, 1), *b = to_kernel(L, 2);
  const State::Pause pause(s);
  lua_pushboolean(L, a && b && print_kernel(*a) == print_kernel(*b));
  return 1;
}

}  // namespace

std::vector<std::string> kernel_names() {
  std::vector<std::string> out;
  for (const auto& [name, push] : fields()) out.emplace_back(name);
  for (const luaL_Reg* m = kMethods; m->name; ++m) out.emplace_back(m->name);
  for (const luaL_Reg* m = count_methods(); m->name; ++m) out.emplace_back(m->name);
  return out;
}

void install_kernel_type(lua_State* L) {
  luaL_newmetatable(L, kKernelType);
  luaL_newlibtable(L, kMethods);
  luaL_setfuncs(L, kMethods, 0);
  luaL_setfuncs(L, count_methods(), 0);
  for (const std::string& name : op_names()) {
    push_op(L, name);
    lua_setfield(L, -2, name.c_str());
  }
  lua_pushcclosure(L, guarded<kernel_index>, 1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, guarded<kernel_newindex>);
  lua_setfield(L, -2, "__newindex");
  lua_pushcfunction(L, guarded<kernel_eq>);
  lua_setfield(L, -2, "__eq");
  lua_pushcfunction(L, guarded<text_method<text_of>>);
  lua_setfield(L, -2, "__tostring");
  lua_pushcfunction(L, collect_box<Kernel>);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "kernel");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "kernel");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}

void push_kernel(lua_State* L, Kernel k) {
  const auto sets = static_cast<std::int64_t>(k.domains.size());
  push_box(L, kKernelType, std::move(k), sets * kIslBytes);
}

const Kernel* to_kernel(lua_State* L, int index) { return to_box<Kernel>(L, index, kKernelType); }

std::map<std::string, const Kernel*> global_kernels(lua_State* L) {
  std::map<std::string, const Kernel*> named;
  lua_pushglobaltable(L);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING)
      if (const Kernel* k = to_kernel(L, -1)) named.emplace(lua_tostring(L, -2), k);
  lua_pop(L, 1);
  return named;
}

namespace {

/// Pushes what is wrong with a nil in place of a kernel: mostly a misspelt name.
void push_no_kernel(lua_State* L) {
  std::vector<std::string> names;
  for (const auto& [name, k] : global_kernels(L)) names.push_back(name);
  push_string(L, names.empty() ? "kernel expected, got nil"
                               : fmt::format("kernel expected, got nil; kernels here: {}",
                                             fmt::join(names, ", ")));
}

}  // namespace

const Kernel& check_kernel(lua_State* L, int index) {
  const Kernel* k = to_kernel(L, index);
  if (!k && lua_isnil(L, index)) {
    push_no_kernel(L);
    luaL_argerror(L, index, lua_tostring(L, -1));
  }
  if (k) return *k;
  if (!luaL_testudata(L, index, kKernelType)) luaL_typeerror(L, index, "kernel");
  return check_box<Kernel>(L, index, kKernelType);  // raises
}

}  // namespace moonloop::lua
