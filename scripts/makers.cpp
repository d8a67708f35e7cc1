#include <algorithm>
#include <set>

#include "frontends/text/parse.h"
#include "scripts/state.h"
#include "transforms/registry.h"
#include "transforms/to_batched.h"

/// `lp.make_einsum`, `lp.make_copy_kernel` and `lp.to_batched`: kernels from a formula, from
/// layouts and from a kernel.
namespace moonloop::lua {
namespace {

[[noreturn]] void bad_argument(lua_State* L, int index, const std::string& why) {
  luaL_argerror(L, index, why.c_str());
  throw InternalError("luaL_argerror returned");
}

/// Strings in the array at `index`.
std::vector<std::string> names_at(lua_State* L, int index, int argument) {
  if (!lua_istable(L, index))
    bad_argument(L, argument, fmt::format("array expected, got {}", luaL_typename(L, index)));
  std::vector<std::string> out;
  const auto n = static_cast<lua_Integer>(lua_rawlen(L, index));
  for (lua_Integer i = 1; i <= n; ++i, lua_pop(L, 1)) {
    lua_rawgeti(L, index, i);
    if (lua_type(L, -1) != LUA_TSTRING && !lua_isinteger(L, -1))
      bad_argument(L, argument,
                   fmt::format("element {} is a {}, not a string", i, luaL_typename(L, -1)));
    out.emplace_back(lua_tostring(L, -1));
  }
  return out;
}

/// The text of the option `name` of the table at `index`; `fallback` without it.
std::string text_option(lua_State* L, int index, const char* name, const std::string& fallback) {
  if (!lua_istable(L, index)) return fallback;
  lua_getfield(L, index, name);
  std::string out = fallback;
  if (lua_type(L, -1) == LUA_TSTRING)
    out = lua_tostring(L, -1);
  else if (!lua_isnil(L, -1))
    bad_argument(L, index,
                 fmt::format("option '{}': string expected, got {}", name, luaL_typename(L, -1)));
  lua_pop(L, 1);
  return out;
}

void check_options(lua_State* L, int index, const std::vector<std::string>& known) {
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const std::string name =
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : luaL_typename(L, -2);
    if (std::find(known.begin(), known.end(), name) == known.end())
      bad_argument(L, index,
                   fmt::format("unknown option '{}'; it has {}", name, fmt::join(known, ", ")));
  }
}

std::string spread(const std::string& labels, const std::string& before) {
  std::vector<std::string> all;
  for (const char l : labels) all.push_back(before + l);
  return fmt::format("{}", fmt::join(all, ", "));
}

/// `"ij,jk->ik"` in its parts.
struct Formula {
  std::vector<std::string> operands;
  std::string result;
};
Formula formula(std::string text) {
  std::erase(text, ' ');
  Formula out;
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  for (std::size_t at = 0; at <= left.size(); at = left.find(',', at) + 1) {
    out.operands.push_back(left.substr(at, left.find(',', at) - at));
    if (left.find(',', at) == std::string::npos) break;
  }
  if (arrow != std::string::npos) {
    out.result = text.substr(arrow + 2);
  } else {  // as in NumPy: labels that occur once, in order
    std::set<char> letters;
    for (const char c : left)
      if (c != ',' && std::count(left.begin(), left.end(), c) == 1) letters.insert(c);
    out.result.assign(letters.begin(), letters.end());
  }
  return out;
}

/// The same sum as one statement over inames that are called as its labels.
std::string as_one_sum(const Formula& f, const std::vector<std::string>& names,
                       const std::string& out) {
  std::string loops, summed;
  for (const char l : f.result) loops += l;
  for (const std::string& o : f.operands)
    for (const char l : o)
      if (loops.find(l) == std::string::npos) loops += l, summed += l;
  std::vector<std::string> factors, bounds;
  for (std::size_t n = 0; n < names.size(); ++n)
    factors.push_back(f.operands[n].empty() ? names[n]
                                            : names[n] + "[" + spread(f.operands[n], "") + "]");
  std::string text;
  for (const char l : loops) bounds.push_back(fmt::format("0 <= {0} < N{0}", l));
  if (!loops.empty())
    text = fmt::format("domain {{[{}]: {}}}\n", spread(loops, ""), fmt::join(bounds, " and "));
  const std::string product = fmt::format("{}", fmt::join(factors, "*"));
  return text + out + (f.result.empty() ? "" : "[" + spread(f.result, "") + "]") + " = " +
         (summed.empty() ? product : fmt::format("sum(({}), {})", spread(summed, ""), product));
}

}  // namespace

/// make_einsum("ij,jk->ik", {"a", "b"}, {name =, out =, type =})
int make_einsum_function(lua_State* L, State& s) {
  const std::string subscripts = luaL_checkstring(L, 1);
  const std::vector<std::string> names = names_at(L, 2, 2);
  check_options(L, 3, {"name", "out", "type"});
  const std::string type = text_option(L, 3, "type", "float64");
  const std::string result = text_option(L, 3, "out", "out");
  MakeKernel m;
  m.name = text_option(L, 3, "name", "einsum");
  const State::Pause pause(s);
  const Span at = where(L, 0, "make_einsum");
  const Formula f = formula(subscripts);
  std::set<char> labels;
  for (const std::string& o : f.operands) labels.insert(o.begin(), o.end());
  for (const char l : labels)
    if (std::isalpha(static_cast<unsigned char>(l))) m.args.push_back(fmt::format("N{}: int32", l));
  for (const std::string& name : names)
    if (name.size() == 1 && labels.contains(name[0]))
      fail("name-taken", at, "`{}` is a label of \"{}\" and the name of an array", name,
           subscripts);
  const auto declare = [&](const std::string& name, const std::string& axes, const char* intent) {
    m.args.push_back(fmt::format("{}: {} {}[{}]", name, intent, type, spread(axes, "N")));
  };
  for (std::size_t n = 0; n < names.size() && n < f.operands.size(); ++n)
    declare(names[n], f.operands[n], "in");
  declare(result, f.result, "out");
  // Statements on arrays check the formula, and know the cheapest order of three factors or more.
  m.instructions =
      fmt::format("{} = einsum(\"{}\", {})", result, subscripts, fmt::join(names, ", "));
  Kernel k = moonloop::make_kernel(m, at);
  if (names.size() < 3) {
    m.instructions = as_one_sum(f, names, result);
    k = moonloop::make_kernel(m, at);
  }
  push_kernel(L, std::move(k));
  return 1;
}

/// make_copy_kernel("N1,N0", "N0,N1", {name =, shape =, type =})
int make_copy_kernel_function(lua_State* L, State& s) {
  const std::string layout = luaL_checkstring(L, 1);
  const std::string old = lua_isnoneornil(L, 2) ? "" : luaL_checkstring(L, 2);
  check_options(L, 3, {"name", "shape", "type"});
  const std::string type = text_option(L, 3, "type", "float64");
  MakeKernel m;
  m.name = text_option(L, 3, "name", "copy");
  const auto axes = static_cast<std::size_t>(std::count(layout.begin(), layout.end(), ',') + 1);
  std::vector<std::string> shape;
  if (lua_istable(L, 3)) {
    lua_getfield(L, 3, "shape");
    if (!lua_isnil(L, -1)) shape = names_at(L, lua_gettop(L), 3);
    lua_pop(L, 1);
    if (!shape.empty() && shape.size() != axes)
      bad_argument(
          L, 3,
          fmt::format("option 'shape' has {} extents, and the layout {} axes", shape.size(), axes));
  }
  const State::Pause pause(s);
  std::vector<std::string> inames, bounds;
  for (std::size_t n = 0; n < axes; ++n) {
    if (shape.size() == n) {
      shape.push_back(fmt::format("n{}", n));
      m.args.push_back(fmt::format("n{}: int32", n));
    }
    inames.push_back(fmt::format("i{}", n));
    bounds.push_back(fmt::format("0 <= i{} < {}", n, shape[n]));
  }
  for (const char* array : {"input: in", "output: out"})
    m.args.push_back(fmt::format("{} {}[{}]", array, type, fmt::join(shape, ", ")));
  m.args.emplace_back("...");
  m.domains = {fmt::format("{{[{}]: {}}}", fmt::join(inames, ", "), fmt::join(bounds, " and "))};
  m.instructions = fmt::format("output[{0}] = input[{0}]", fmt::join(inames, ", "));
  const Span at = where(L, 0, "make_copy_kernel");
  Kernel k = moonloop::make_kernel(m, at);
  const Op& tag = *find_op("tag_array_axes");
  for (const auto& [array, tags] : {std::pair<std::string, std::string>("output", layout),
                                    std::pair<std::string, std::string>("input", old)})
    if (!tags.empty()) k = run_op(tag, k, {Value{array}, Value{tags}}, {}, at);
  push_kernel(L, std::move(k));
  return 1;
}

/// to_batched(knl, "nbatch", {"a", "x"}, {axis =, iname =, name =})
int to_batched_function(lua_State* L, State& s) {
  const Kernel* const k = to_kernel(L, 1);
  if (!k) bad_argument(L, 1, fmt::format("kernel expected, got {}", luaL_typename(L, 1)));
  BatchOptions o;
  if (!lua_isnoneornil(L, 2)) o.count = luaL_checkstring(L, 2);
  if (!lua_isnoneornil(L, 3)) o.args = names_at(L, 3, 3);
  check_options(L, 4, {"axis", "iname", "name"});
  o.iname = text_option(L, 4, "iname", o.iname);
  o.name = text_option(L, 4, "name", "");
  const std::string axis = text_option(L, 4, "axis", "outside");
  if (axis != "outside" && axis != "inside")
    bad_argument(L, 4,
                 fmt::format("option 'axis': \"{}\" is neither \"outside\" nor \"inside\"", axis));
  o.inside = axis == "inside";
  Kernel made;
  {
    const State::Pause pause(s);
    made = to_batched(*k, o);
  }
  push_kernel(L, std::move(made));
  return 1;
}

}  // namespace moonloop::lua
