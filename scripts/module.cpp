#include <algorithm>
#include <cstring>

#include "core/base/memory.h"
#include "core/order/counterexample.h"
#include "frontends/fortran/fortran.h"
#include "frontends/text/parse.h"
#include "runtime/file.h"
#include "scripts/state.h"

/// The module `lp`: functions that make kernels, and others that are not transforms.
namespace moonloop::lua {
namespace {

std::string check_text(lua_State* L, int index) {
  std::size_t size = 0;
  const char* s = luaL_checklstring(L, index, &size);
  return {s, size};
}

/// The price of parsing a text: about its length.
void spend_on(lua_State* L, State& s, const std::string& text) {
  s.spend(L, static_cast<std::int64_t>(text.size()));
}

// ---- make_kernel --------------------------------------------------------------------------------

/// Strings from a string (which `split` splits) or an array of strings, of the function's argument
/// `argument`.
template <class Split>
std::vector<std::string> strings_at(lua_State* L, int index, Split split, int argument = 0) {
  if (lua_type(L, index) == LUA_TSTRING) return split(check_text(L, index));
  if (!lua_istable(L, index)) luaL_typeerror(L, index, "string or array of strings");
  std::vector<std::string> out;
  const auto n = static_cast<lua_Integer>(lua_rawlen(L, index));
  for (lua_Integer i = 1; i <= n; ++i) {
    if (lua_rawgeti(L, index, i) != LUA_TSTRING)
      luaL_argerror(L, argument > 0 ? argument : index,
                    lua_pushfstring(L, "element %d is a %s, not a string", static_cast<int>(i),
                                    luaL_typename(L, -1)));
    std::size_t size = 0;
    const char* s = lua_tolstring(L, -1, &size);
    out.emplace_back(s, size);
    lua_pop(L, 1);
  }
  return out;
}
std::vector<std::string> whole(std::string text) { return {std::move(text)}; }

[[noreturn]] void bad_option(lua_State* L, int index, const std::string& why) {
  luaL_argerror(L, index, why.c_str());
  throw InternalError("luaL_argerror returned");
}

std::string option_text(lua_State* L, int table, const std::string& name) {
  if (lua_type(L, -1) != LUA_TSTRING)
    bad_option(L, table,
               fmt::format("option '{}': string expected, got {}", name, luaL_typename(L, -1)));
  return check_text(L, lua_gettop(L));
}

/// Reads the option `name`, whose value is on top of the stack.
void read_option(lua_State* L, int table, const std::string& name, MakeKernel& m) {
  static const std::vector<std::string> kNames{
      "args",        "assumptions", "default_order", "fixed_parameters",
      "index_dtype", "kernel_data", "name",          "seq_dependencies"};
  if (name == "args" || name == "kernel_data") {
    if (lua_type(L, -1) != LUA_TSTRING && !lua_istable(L, -1))
      bad_option(L, table,
                 fmt::format("option '{}': string or array of strings expected, got {}", name,
                             luaL_typename(L, -1)));
    m.args = strings_at(
        L, lua_gettop(L), [](const std::string& s) { return split_top_level(s); }, table);
  } else if (name == "assumptions") {
    m.assumptions = option_text(L, table, name);
  } else if (name == "name") {
    m.name = option_text(L, table, name);
  } else if (name == "seq_dependencies") {
    if (!lua_isboolean(L, -1))
      bad_option(L, table,
                 fmt::format("option '{}': boolean expected, got {}", name, luaL_typename(L, -1)));
    m.sequential = lua_toboolean(L, -1) != 0;
  } else if (name == "default_order") {
    m.default_order = option_text(L, table, name);
    if (m.default_order != "C" && m.default_order != "F")
      bad_option(L, table, "option 'default_order' is neither \"C\" nor \"F\"");
  } else if (name == "index_dtype") {
    const std::string text = option_text(L, table, name);
    const auto type = parse_scalar(text);
    if (!type || !is_integer(*type) || is_unsigned(*type))
      bad_option(L, table,
                 fmt::format("option 'index_dtype': '{}' is not a signed integer type", text));
    m.index_type = *type;
  } else if (name == "fixed_parameters") {
    const Value v = to_value(L, -1);
    const ValueDict* d = v.as<ValueDict>();
    const ValueList* none = v.as<ValueList>();
    if (!d && !(none && none->empty()))
      bad_option(L, table, "option 'fixed_parameters': table of integers by name expected");
    if (d)
      for (const auto& [parameter, value] : *d) {
        const auto* n = value.as<std::int64_t>();
        if (!n)
          bad_option(L, table,
                     fmt::format("option 'fixed_parameters': the value of '{}' is "
                                 "not an integer",
                                 parameter));
        m.fixed_parameters.emplace_back(parameter, *n);
      }
  } else {
    std::string hint = did_you_mean(name, kNames);
    std::replace(hint.begin(), hint.end(), '`', '\'');
    if (hint.empty()) hint = fmt::format("; it has {}", fmt::join(kNames, ", "));
    bad_option(L, table, fmt::format("unknown option '{}'{}", name, hint));
  }
}

int make_kernel_function(lua_State* L, State& s) {
  lua_settop(L, 4);
  MakeKernel m;
  m.domains = strings_at(L, 1, whole);
  m.instructions = fmt::format("{}", fmt::join(strings_at(L, 2, whole), "\n"));
  int table = 3;  // of options; the arguments may come before it, as in Loo.py
  const bool list = lua_istable(L, 3) && (lua_rawlen(L, 3) > 0 || !lua_isnil(L, 4));
  if (lua_type(L, 3) == LUA_TSTRING || list) {
    m.args = strings_at(L, 3, [](const std::string& t) { return split_top_level(t); });
    table = 4;
  }
  if (!lua_isnoneornil(L, table)) {
    luaL_checktype(L, table, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING)
        bad_option(L, table, "options go by name, such as {name = \"axpy\"}");
      read_option(L, table, check_text(L, -2), m);
    }
  }
  spend_on(L, s, m.instructions);
  const State::Pause pause(s);
  push_kernel(L, moonloop::make_kernel(m, where(L, 0, "make_kernel")));
  return 1;
}

/// program{name = "f", args = "…", body = "…", kernels = {f, g}}
int program_function(lua_State* L, State& s) {
  luaL_checktype(L, 1, LUA_TTABLE);
  MakeKernel m;
  m.program = true;
  m.name = "program";
  const auto texts = [&](const std::string& name) {
    if (lua_type(L, -1) != LUA_TSTRING && !lua_istable(L, -1))
      bad_option(L, 1,
                 fmt::format("option '{}': string or array of strings expected, got {}", name,
                             luaL_typename(L, -1)));
    return strings_at(L, lua_gettop(L), whole, 1);
  };
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      bad_option(L, 1, "options go by name, such as {name = \"solve\"}");
    const std::string name = lua_tostring(L, -2);
    if (name == "body") {
      m.instructions = fmt::format("{}", fmt::join(texts(name), "\n"));
    } else if (name == "domains") {
      m.domains = texts(name);
    } else if (name == "kernels") {
      const auto n = lua_istable(L, -1) ? static_cast<lua_Integer>(lua_rawlen(L, -1)) : 0;
      for (lua_Integer i = 1; i <= n; ++i, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, i);
        if (const Kernel* k = to_kernel(L, -1)) m.kernels.push_back(*k);
      }
      if (n == 0 || m.kernels.size() != static_cast<std::size_t>(n))
        bad_option(L, 1, "option 'kernels': array of kernels expected");
    } else {
      read_option(L, 1, name, m);
    }
  }
  if (m.instructions.empty()) bad_option(L, 1, "option 'body' is missing");
  spend_on(L, s, m.instructions);
  const State::Pause pause(s);
  push_kernel(L, moonloop::make_kernel(m, where(L, 0, "program")));
  return 1;
}

// ---- The other functions ------------------------------------------------------------------------

int parse_function(lua_State* L, State& s) {
  const std::string text = check_text(L, 1);
  spend_on(L, s, text);
  const State::Pause pause(s);
  return push_kernels(L, parse_kernels(add_source("<string>", text)));
}

/// The most memory that Flang takes for a byte of text; it gives it back. No exception may pass
/// through it, so there has to be enough for it before it starts.
constexpr std::int64_t kFlangBytes = 2000;

/// The kernels of a Fortran file as its transform blocks leave them.
int push_fortran(lua_State* L, State& s, const std::string& name, std::string text) {
  spend_on(L, s, text);
  const auto need = kFlangBytes * static_cast<std::int64_t>(text.size());
  if (!s.options().trust && memory::held() + need > s.account().most_held()) throw std::bad_alloc();
  const Source* source = add_source(name, std::move(text));
  FortranFile file;
  {
    const State::Pause pause(s);
    file = parse_fortran(source);
  }
  if (s.options().warn)
    for (const FortranFile::Warning& w : file.warnings) s.options().warn(w.what);
  std::vector<Kernel> kernels = std::move(file.kernels);
  for (const FortranFile::Transform& t : file.transforms)
    kernels = run_transform_script(t.source, kernels, s.options(), t.code.c_str());
  return push_kernels(L, std::move(kernels));
}

int parse_fortran_function(lua_State* L, State& s) {
  return push_fortran(L, s, "<string>", check_text(L, 1));
}

int load_function(lua_State* L, State& s) {
  const std::string path = beside_script(s, check_text(L, 1));
  std::string text = read_for_script(s, path);
  if (is_fortran(path)) return push_fortran(L, s, path, std::move(text));
  spend_on(L, s, text);
  const State::Pause pause(s);
  return push_kernels(L, parse_kernels(add_source(path, std::move(text))));
}

/// f's results, where it is below its arguments; with the error on top, whether a transform in it
/// refused. Any other error goes on.
bool accepted(lua_State* L) {
  luaL_checkany(L, 1);
  const int arguments = lua_gettop(L) - 1;
  lua_pushcfunction(L, message_handler);
  lua_insert(L, 1);
  if (lua_pcall(L, arguments, LUA_MULTRET, 1) == LUA_OK) return true;
  const ErrorBox* box = to_error(L, -1);
  if (!box || !box->refused || box->fatal) lua_error(L);
  return false;
}

/// attempt(f, ...): f's results; nil and the error when a transform in it refused.
int attempt_function(lua_State* L, State&) {
  if (accepted(L)) return lua_gettop(L) - 1;
  lua_pushnil(L);
  lua_insert(L, -2);
  return 2;
}

/// if_legal(f, ...): f's results; nothing when a transform in it refused.
int if_legal_function(lua_State* L, State&) {
  const WithoutReasons none;
  return accepted(L) ? lua_gettop(L) - 1 : 0;
}

int is_kernel_function(lua_State* L, State&) {
  lua_pushboolean(L, to_kernel(L, 1) != nullptr);
  return 1;
}

int module_index(lua_State* L, State&) {
  const std::string key = luaL_tolstring(L, 2, nullptr);
  std::vector<std::string> known = op_names();
  for (const std::string& name : module_names()) known.push_back(name);
  raise(L, "unknown-name", fmt::format("`lp` has no `{}`{}", key, did_you_mean(key, known)), key);
}

const luaL_Reg kFunctions[] = {
    {"affine_schedule", guarded<affine_schedule_function>},
    {"attempt", guarded<attempt_function>},
    {"auto", guarded<auto_function>},
    {"callee", guarded<callee_function>},
    {"choose_target", guarded<choose_target_function>},
    {"cost", guarded<cost_function>},
    {"crossover", guarded<crossover_function>},
    {"fuse_kernels", guarded<fuse_kernels_function>},
    {"if_legal", guarded<if_legal_function>},
    {"is_kernel", guarded<is_kernel_function>},
    {"knob", guarded<knob_function>},
    {"load", guarded<load_function>},
    {"make_copy_kernel", guarded<make_copy_kernel_function>},
    {"make_einsum", guarded<make_einsum_function>},
    {"make_kernel", guarded<make_kernel_function>},
    {"parallelism", guarded<parallelism_function>},
    {"parse", guarded<parse_function>},
    {"parse_fortran", guarded<parse_fortran_function>},
    {"program", guarded<program_function>},
    {"to_batched", guarded<to_batched_function>},
    {"transform_callee", guarded<transform_callee_function>},
    {nullptr, nullptr},
};

/// A setting as a script wants it: a number or a boolean where it reads as one.
void push_setting(lua_State* L, const std::string& text) {
  if (text == "true" || text == "false") {
    lua_pushboolean(L, text == "true");
  } else if (text.empty() || lua_stringtonumber(L, text.c_str()) != text.size() + 1) {
    push_string(L, text);
  }
}

}  // namespace

std::vector<std::string> module_names() {
  std::vector<std::string> out{"args", "version"};
  for (const luaL_Reg* f = kFunctions; f->name; ++f) out.emplace_back(f->name);
  return out;
}

int push_kernels(lua_State* L, std::vector<Kernel> all) {
  luaL_checkstack(L, static_cast<int>(all.size()) + 8, "too many kernels");
  for (Kernel& k : all) push_kernel(L, std::move(k));
  return static_cast<int>(all.size());
}

std::string beside_script(const State& state, const std::string& path) {
  if (path.starts_with("/") || state.directory().empty()) return path;
  return state.directory() + "/" + path;
}

std::string read_for_script(const State& state, const std::string& path) {
  std::string text;
  if (!read_whole(path, text)) fail("cannot-read", {}, "cannot read `{}`", path);
  const std::string folder = state.directory().empty() ? "" : state.directory() + "/";
  if (state.options().on_file)
    state.options().on_file(path.starts_with(folder) ? path.substr(folder.size()) : path, text);
  return text;
}

namespace {

/// `lp.args.NAME`, reported to `on_setting`. The values are the upvalue.
int args_index(lua_State* L, State& s) {
  if (lua_type(L, 2) == LUA_TSTRING) s.options().on_setting(lua_tostring(L, 2));
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  return 1;
}

/// `pairs(lp.args)` reads all of them.
int args_pairs(lua_State* L, State& s) {
  for (const auto& [name, text] : s.options().settings) s.options().on_setting(name);
  lua_getglobal(L, "next");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushnil(L);
  return 3;
}

/// Replaces the table of settings on the stack by an empty one that reports reads.
void watch_settings(lua_State* L) {
  lua_newtable(L);
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, -3);
  lua_pushcclosure(L, guarded<args_index>, 1);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, -3);
  lua_pushcclosure(L, guarded<args_pairs>, 1);
  lua_setfield(L, -2, "__pairs");
  lua_setmetatable(L, -2);
  lua_remove(L, -2);
}

}  // namespace

void install_module(lua_State* L, const ScriptOptions& options) {
  luaL_newlib(L, kFunctions);
  for (const std::string& name : op_names()) {
    push_op(L, name);
    lua_setfield(L, -2, name.c_str());
  }
  lua_newtable(L);
  for (const auto& [name, text] : options.settings) {
    push_setting(L, text);
    lua_setfield(L, -2, name.c_str());
  }
  if (options.on_setting) watch_settings(L);
  lua_setfield(L, -2, "args");
  lua_pushliteral(L, MOONLOOP_VERSION);
  lua_setfield(L, -2, "version");

  lua_newtable(L);
  lua_pushcfunction(L, guarded<module_index>);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);

  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "moonloop");
  lua_pop(L, 1);
  lua_setglobal(L, "lp");
}

}  // namespace moonloop::lua
