#include "scripts/script.h"

#include <algorithm>
#include <set>

#include "core/model/print.h"
#include "scripts/state.h"

namespace moonloop {
namespace {

using lua::State;

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string directory_for(const Source* script, const ScriptOptions& options) {
  return options.directory.empty() ? folder_of(script->name) : options.directory;
}

/// Globals are read past any metatable that the script gave to its environment.
int push_global(lua_State* L, const std::string& name) {
  lua_pushglobaltable(L);
  lua::push_string(L, name);
  const int type = lua_rawget(L, -2);
  lua_remove(L, -2);
  return type;
}

/// Kernels in the table at `index`: its array part, then the named ones by name.
void take_table(lua_State* L, int index, std::vector<Kernel>& out) {
  const int table = lua_absindex(L, index);
  const auto n = static_cast<lua_Integer>(lua_rawlen(L, table));
  for (lua_Integer i = 1; i <= n; ++i) {
    lua_rawgeti(L, table, i);
    if (const Kernel* k = lua::to_kernel(L, -1)) out.push_back(*k);
    lua_pop(L, 1);
  }
  std::map<std::string, const Kernel*> named;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING)
      if (const Kernel* k = lua::to_kernel(L, -1)) named.emplace(lua_tostring(L, -2), k);
  for (const auto& [name, k] : named) out.push_back(*k);
}

/// Kernels that globals hold, by the globals' names, each object once.
std::vector<Kernel> take_globals(lua_State* L) {
  std::vector<Kernel> out;
  std::set<const Kernel*> seen;
  for (const auto& [name, k] : lua::global_kernels(L))
    if (seen.insert(k).second) out.push_back(*k);
  return out;
}

bool is_lua_name(const std::string& s) {
  static const std::set<std::string> kKeywords{
      "and",      "break",  "do",   "else", "elseif", "end",  "false", "for",
      "function", "goto",   "if",   "in",   "local",  "nil",  "not",   "or",
      "repeat",   "return", "then", "true", "until",  "while"};
  if (s.empty() || kKeywords.count(s) || (s[0] >= '0' && s[0] <= '9')) return false;
  return std::all_of(s.begin(), s.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

/// A transform that a script applied.
struct Applied {
  std::string kernel;
  Step step;
};

bool same_step(const Step& a, const Step& b) {
  return a.name == b.name && a.at.source == b.at.source && a.at.line == b.at.line &&
         to_lua(Value{a.positional}) == to_lua(Value{b.positional}) &&
         to_lua(Value{a.options}) == to_lua(Value{b.options});
}

bool has_step(const Kernel& k, const Step& s) {
  return std::any_of(k.trace.begin(), k.trace.end(),
                     [&](const Step& t) { return same_step(s, t); });
}

/// Steps that no result has, of a kernel that is unchanged; and where nothing changed, kernels that
/// the script made in vain.
void warn_of_dropped(lua_State* L, const Source* script, const std::vector<Kernel>& before,
                     const std::vector<Kernel>& after, const std::vector<Applied>& applied,
                     const WarningSink& warn) {
  const std::map<std::string, const Kernel*> globals = lua::global_kernels(L);
  const auto is_input = [&](const std::string& name) {
    return std::any_of(before.begin(), before.end(),
                       [&](const Kernel& k) { return k.name == name; });
  };
  bool changed = false, told = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Kernel& k = before[i];
    if (after[i].trace.size() != k.trace.size() || after[i].instructions != k.instructions ||
        after[i].domains.size() != k.domains.size()) {
      changed = true;
      continue;
    }
    const Applied* first = nullptr;
    bool used = false;
    for (const Applied& a : applied) {
      if (a.kernel != k.name) continue;
      if (!first) first = &a;
      used = used || std::any_of(after.begin(), after.end(),
                                 [&](const Kernel& o) { return has_step(o, a.step); });
    }
    if (!first || used) continue;
    const std::string* holder = nullptr;
    for (const auto& [name, held] : globals)
      if (!is_input(name) && has_step(*held, first->step)) holder = &name;
    told = true;
    warn({"dropped-result",
          holder
              ? fmt::format("what this makes of kernel `{}` is in global `{}`, which nothing "
                            "reads; global `{}` is as before",
                            k.name, *holder, k.name)
              : fmt::format("what this makes of kernel `{0}` is dropped; global `{0}` is as before",
                            k.name),
          {first->step.at, {}},
          {},
          fmt::format("assign it: `{0} = lp.{1}({0}, …)`", lua_global(k.name), first->step.name)});
  }
  if (changed || told) return;
  std::vector<std::string> names;
  for (const Kernel& k : before) names.push_back(k.name);
  for (const auto& [name, held] : globals)
    if (!is_input(name))
      warn({"dropped-result",
            fmt::format(
                "kernel `{}` in global `{}` is not a result; those of the script are what {} "
                "hold{}, as before",
                held->name, name, quoted_list(names), names.size() == 1 ? "s" : ""),
            {{script, 1, 1, 1}, {}},
            {},
            fmt::format("assign it to `{}`, or give the script as the input: `S.lua` makes kernels "
                        "of its own",
                        names.front())});
}

}  // namespace

std::vector<Kernel> run_transform_script(const Source* script, const std::vector<Kernel>& kernels,
                                         const ScriptOptions& given, const char* code) {
  ScriptOptions options = given;
  std::vector<Applied> applied;
  if (options.warn)
    options.on_step = [&applied, tell = given.on_step](const StepReport& r) {
      if (!r.refusal) applied.push_back({r.before.name, r.step});
      if (tell) tell(r);
    };
  State state(options, directory_for(script, options));
  std::vector<Kernel> out;
  state.protect([&](lua_State* L) {
    for (const Kernel& k : kernels) {
      lua::push_kernel(L, k);
      lua_setglobal(L, k.name.c_str());
    }
    state.run_chunk(L, script, code ? std::string_view(code) : std::string_view(script->text));
    const int results = lua_gettop(L);
    for (const Kernel& k : kernels) {
      const int type = push_global(L, k.name);
      const Kernel* result = lua::to_kernel(L, -1);
      if (!result)
        fail("not-a-kernel", {script, 1, 1, 1},
             "global `{}` holds {} at the script's end, not a kernel", k.name,
             type == LUA_TNIL ? "nothing" : std::string("a ") + luaL_typename(L, -1));
      out.push_back(*result);
      lua_pop(L, 1);
    }
    for (int i = 1; i <= results; ++i) {  // a result that would be lost
      const Kernel* k = lua::to_kernel(L, i);
      if (!k || kernels.empty()) continue;
      const std::string text = print_kernel(*k);
      if (std::none_of(out.begin(), out.end(),
                       [&](const Kernel& o) { return print_kernel(o) == text; }))
        throw Error(Diagnostic{
            "not-a-kernel",
            fmt::format("the script returns a kernel that is not the value of global `{}`",
                        kernels.front().name),
            {{script, 1, 1, 1}, {}},
            {},
            fmt::format("assign it: `{0} = lp.…({0}, …)`", kernels.front().name)});
    }
    if (options.warn) warn_of_dropped(L, script, kernels, out, applied, options.warn);
  });
  return out;
}

std::vector<Kernel> run_kernel_script(const Source* script, const ScriptOptions& options) {
  State state(options, directory_for(script, options));
  std::vector<Kernel> out;
  state.protect([&](lua_State* L) {
    state.run_chunk(L, script, script->text);
    const int results = lua_gettop(L);
    for (int i = 1; i <= results; ++i) {
      if (const Kernel* k = lua::to_kernel(L, i))
        out.push_back(*k);
      else if (lua_istable(L, i))
        take_table(L, i, out);
    }
    if (out.empty()) out = take_globals(L);
  });
  if (out.empty())
    fail("no-kernel", {script, 1, 1, 1},
         "the script makes no kernel: it returns none, and no global holds one at its end");
  return out;
}

std::string lua_global(const std::string& name) {
  return is_lua_name(name) ? name : fmt::format("_G[{}]", to_lua(Value{name}));
}

std::string replay_script(const Kernel& k, std::size_t done, const Knobs* knobs) {
  const std::string name = lua_global(k.name);
  std::string out = fmt::format("-- the transforms of kernel `{}`\n", k.name);
  if (knobs) out += knob_comments(*knobs);
  for (const Claim& c : k.claims) out += fmt::format("-- claimed, not proved: {}\n", c.step);
  for (std::size_t i = done; i < k.trace.size(); ++i) {
    const Step& s = k.trace[i];
    out += fmt::format("{0} = lp.{1}({0}", name, s.name);
    for (const Value& v : s.positional) out += ", " + to_lua(v);
    if (!s.options.empty()) out += ", " + to_lua(Value{s.options});
    out += ")\n";
  }
  return out;
}

}  // namespace moonloop
