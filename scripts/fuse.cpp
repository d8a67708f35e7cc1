#include "core/model/lookup.h"
#include "core/order/reordered.h"
#include "scripts/state.h"
#include "transforms/fuse_kernels.h"
#include "transforms/loops_made_one.h"
#include "transforms/registry.h"

/// `lp.fuse_kernels(kernels, [suffixes], [data_flow], {options})`: kernels one after another, then
/// their common loops fused, each as a step of its own.
namespace moonloop::lua {
namespace {

[[noreturn]] void bad(lua_State* L, int argument, const std::string& why) {
  luaL_argerror(L, argument, why.c_str());
  throw InternalError("luaL_argerror returned");
}

std::vector<Kernel> kernels_at(lua_State* L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  std::vector<Kernel> out;
  const auto n = static_cast<lua_Integer>(lua_rawlen(L, index));
  for (lua_Integer i = 1; i <= n; ++i) {
    lua_rawgeti(L, index, i);
    const Kernel* k = to_kernel(L, -1);
    if (!k) bad(L, index, fmt::format("element {} is a {}, no kernel", i, luaL_typename(L, -1)));
    out.push_back(*k);
    lua_pop(L, 1);
  }
  return out;
}

struct Request {
  FuseOptions options;
  std::optional<std::vector<std::string>> inames;  // those to fuse; absent: all
};

std::vector<std::string> strings(lua_State* L, int argument, const std::string& option,
                                 const Value& v) {
  if (const auto* text = v.as<std::string>()) return split_top_level(*text);
  std::vector<std::string> out;
  const auto* list = v.as<ValueList>();
  if (list)
    for (const Value& x : *list)
      if (const auto* text = x.as<std::string>()) out.push_back(*text);
  if (!list || out.size() != list->size())
    bad(L, argument, fmt::format("'{}': string or array of strings expected", option));
  return out;
}

void read_flow(lua_State* L, int argument, const Value& v, FuseOptions& out) {
  const auto* list = v.as<ValueList>();
  if (!list) bad(L, argument, "'data_flow': array of {name, from, to} expected");
  for (const Value& x : *list) {
    const auto* one = x.as<ValueList>();
    const auto* name = one && one->size() == 3 ? (*one)[0].as<std::string>() : nullptr;
    const auto* from = name ? (*one)[1].as<std::int64_t>() : nullptr;
    const auto* to = name ? (*one)[2].as<std::int64_t>() : nullptr;
    if (!from || !to) bad(L, argument, "'data_flow': array of {name, from, to} expected");
    out.data_flow.emplace_back(*name, *from, *to);
  }
}

void read_option(lua_State* L, int argument, const std::string& name, const Value& v,
                 Request& out) {
  static const std::vector<std::string> kNames{"data_flow", "inames", "name", "suffixes"};
  if (name == "suffixes") {
    out.options.suffixes = strings(L, argument, name, v);
  } else if (name == "data_flow") {
    read_flow(L, argument, v, out.options);
  } else if (name == "inames") {
    out.inames = strings(L, argument, name, v);
  } else if (name == "name") {
    const auto* text = v.as<std::string>();
    if (!text) bad(L, argument, "'name': string expected");
    out.options.name = *text;
  } else {
    bad(L, argument, fmt::format("unknown option '{}'{}", name, did_you_mean(name, kNames)));
  }
}

Request read_request(lua_State* L) {
  Request out;
  const char* const positional[] = {"suffixes", "data_flow"};
  const int last = lua_gettop(L);
  for (int i = 2; i <= last; ++i) {
    if (lua_isnil(L, i)) continue;
    const Value v = to_value(L, i);
    const auto* options = v.as<ValueDict>();
    if (i == last && options) {
      for (const NamedValue& o : *options) read_option(L, i, o.first, o.second, out);
    } else if (i - 2 < 2) {
      const auto* list = v.as<ValueList>();
      if (!list || !list->empty()) read_option(L, i, positional[i - 2], v, out);
    } else {
      bad(L, i, "there are kernels, suffixes, data_flow and options");
    }
  }
  return out;
}

using Loops =
    std::vector<std::pair<std::string, std::string>>;  // a loop, and the one that it joins

/// All of the loops fused under one proof: that of the resulting kernel. Nothing where it fails;
/// the single steps then show which of them is to blame.
std::optional<Kernel> fused_at_once(const Kernel& k, const Loops& loops, const State& s,
                                    const Span& at) {
  const Op& op = *find_op("rename_iname");
  Kernel out = k;
  try {
    if (std::optional<Kernel> alike = loops_made_one(k, loops)) {
      out = std::move(*alike);
      for (const auto& [own, name] : loops)
        out.trace.push_back(
            {op.name, {Value{own}, Value{name}}, {{"existing_ok", Value{true}}}, at});
    } else {
      for (const auto& [own, name] : loops)
        out = run_op(op, out, {Value{own}, Value{name}}, {{"existing_ok", Value{true}}}, at,
                     Proof::LeftOut);
    }
  } catch (const Error&) { return std::nullopt; }
  try {
    out = reordered(k, std::move(out));
  } catch (const Refused&) { return std::nullopt; }
  if (s.options().on_step)
    for (std::size_t i = out.trace.size() - loops.size(); i < out.trace.size(); ++i)
      s.options().on_step({k, out.trace[i], nullptr});
  return out;
}

}  // namespace

int fuse_kernels_function(lua_State* L, State& s) {
  const std::vector<Kernel> kernels = kernels_at(L, 1);
  const Request request = read_request(L);
  Composition made;
  {
    const State::Pause pause(s);
    made = fuse_kernels(kernels, request.options);
  }
  std::vector<std::string> shared;
  for (const auto& [own, name] : made.shared) shared.push_back(name);
  if (request.inames)
    for (const std::string& i : *request.inames)
      if (std::find(shared.begin(), shared.end(), i) == shared.end())
        bad(L, lua_gettop(L), fmt::format("the kernels share no loop '{}'", i));
  if (request.inames)
    std::erase_if(made.shared, [&](const auto& loop) {
      return std::find(request.inames->begin(), request.inames->end(), loop.second) ==
             request.inames->end();
    });
  if (made.shared.size() > 1) {
    const Span at = where(L, 0, "fuse_kernels");
    const State::Pause pause(s);
    if (auto fused = fused_at_once(made.kernel, made.shared, s, at)) {
      push_kernel(L, std::move(*fused));
      return 1;
    }
  }
  push_kernel(L, std::move(made.kernel));
  for (const auto& [own, name] : made.shared) {
    push_op(L, "rename_iname");
    lua_insert(L, -2);
    push_string(L, own);
    push_string(L, name);
    lua_createtable(L, 0, 1);
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "existing_ok");
    lua_call(L, 4, 1);
  }
  return 1;
}

}  // namespace moonloop::lua
