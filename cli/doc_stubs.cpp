#include <map>

#include "cli/documentation.h"
#include "cli/options.h"
#include "core/base/diagnostic.h"

/// Declarations that the Lua language server reads: the types of all that a script finds, with
/// help.
namespace moonloop::cli {
namespace {

constexpr const char* kKernel = "moonloop.Kernel";

/// A kind of parameter as a type.
std::string type_of(const std::string& kind) {
  static const std::map<std::string, std::string> kTypes{
      {"any", "any"},
      {"boolean", "boolean"},
      {"error", "moonloop.Error?"},
      {"function", "function"},
      {"integer", "integer"},
      {"integers", "integer[]"},
      {"integers by name", "table<string, integer>"},
      {"numbers by name", "table<string, number>"},
      {"kernel", kKernel},
      {"match", "string"},
      {"names", "string|string[]"},
      {"number", "number"},
      {"step", "moonloop.Step"},
      {"steps", "moonloop.Step[]"},
      {"string", "string"},
      {"tags by name", "string|table<string, moonloop.Tag>"},
      {"two integers", "integer[]"},
  };
  const auto it = kTypes.find(kind);
  if (it == kTypes.end()) throw InternalError("no Lua type for the kind `" + kind + "`");
  return it->second;
}

/// Tags of loops have these names; `new_tag`, a tag of instructions, is any string.
bool is_tag(const DocParam& p) {
  return p.kind == "string" && (p.name == "tag" || p.name.ends_with("_tag")) && p.name != "new_tag";
}
std::string type_of(const DocParam& p) {
  const std::string type = is_tag(p) ? "moonloop.Tag" : type_of(p.kind);
  return p.kind == "string" && !p.required ? type + "|false" : type;  // false is Python's None
}

/// The name of a parameter that Lua takes.
std::string lua_name(const std::string& name) {
  return name == "end" || name == "function" || name == "in" ? name + "_" : name;
}

std::string comment(const std::string& text) {
  std::string out = "--- ";
  for (const char c : text) {
    if (c == '\n' && out.ends_with("\n--- ")) out.pop_back();  // a blank line
    out += c == '\n' ? "\n--- " : std::string(1, c);
  }
  return out + "\n";
}
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

std::string class_name(const DocFunction& f) {
  return fmt::format("moonloop.{}{}.options", f.module == "lp" ? "" : f.module + ".", f.name);
}

/// The allowed keys of the trailing table: all parameters of a transform, the options of a
/// library's function.
bool by_name(const DocFunction& f, const DocParam& p) { return f.module == "lp" || !p.positional; }
bool has_options(const DocFunction& f) {
  for (const DocParam& p : f.params)
    if (by_name(f, p)) return true;
  return false;
}

std::string options_class(const DocFunction& f) {
  if (!has_options(f)) return {};
  std::string out = fmt::format("---@class (exact) {}\n", class_name(f));
  for (const DocParam& p : f.params) {
    if (!by_name(f, p)) continue;
    out += fmt::format("---@field {}? {} {}", p.name, type_of(p), one_line(p.help));
    if (!p.fallback.empty()) out += "; default " + p.fallback;
    out += "\n";
  }
  return out + "\n";
}

std::string results(const DocFunction& f) {
  std::string out;
  for (const DocResult& r : f.results)
    out += fmt::format("---@return {} {} {}\n", type_of(r.kind), r.name, r.help);
  return out;
}

/// The forms in which trailing parameters are left out and the options come earlier.
std::string overloads(const DocFunction& f, const std::string& first) {
  if (!has_options(f)) return {};
  std::vector<const DocParam*> positional;
  for (const DocParam& p : f.params)
    if (p.positional) positional.push_back(&p);
  std::vector<std::string> types;
  for (const DocResult& r : f.results) types.push_back(type_of(r.kind));
  std::string out, given;
  for (std::size_t n = 0; n < positional.size(); ++n) {
    const bool enough = f.module == "lp" || !positional[n]->required;
    if (enough)
      out += fmt::format("---@overload fun({}: {}{}, options: {}): {}\n", first, kKernel, given,
                         class_name(f), fmt::join(types, ", "));
    given += fmt::format(", {}: {}", lua_name(positional[n]->name), type_of(*positional[n]));
  }
  return out;
}

/// `lp.split_iname`, or the method `Kernel:split_iname`.
std::string function_stub(const DocFunction& f, const std::string& owner, bool method) {
  std::string out = comment(f.doc), list = method ? "" : "knl";
  const auto add = [&](const std::string& name) { list += (list.empty() ? "" : ", ") + name; };
  if (!method) out += fmt::format("---@param knl {}\n", kKernel);
  for (const DocParam& p : f.params) {
    if (!p.positional) continue;
    out += fmt::format("---@param {}{} {} {}\n", lua_name(p.name), p.required ? "" : "?",
                       type_of(p), one_line(p.help));
    add(lua_name(p.name));
  }
  if (has_options(f)) {
    out += fmt::format("---@param options? {}\n", class_name(f));
    add("options");
  }
  out += results(f) + overloads(f, method ? "self" : "knl");
  return out + fmt::format("function {}{}{}({}) end\n\n", owner, method ? ":" : ".", f.name, list);
}

std::string class_stub(const ApiClass& c) {
  std::string out = comment(c.doc) + "---@class " + c.name + "\n";
  for (const ApiField& f : c.fields)
    out += fmt::format("---@field {} {} {}\n", f.name, f.type, one_line(f.doc));
  return out;
}

std::string api_function(const ApiFunction& f, const std::string& owner, char separator) {
  std::string out = comment(f.doc);
  std::vector<std::string> names;
  for (const ApiParam& p : f.params) {
    out += fmt::format("---@param {} {}\n", p.name, p.type);
    names.push_back(p.name.ends_with("?") ? p.name.substr(0, p.name.size() - 1) : p.name);
  }
  for (const std::string& type : f.results) out += "---@return " + type + "\n";
  return out + fmt::format("function {}{}{}({}) end\n\n", owner, separator, f.name,
                           fmt::join(names, ", "));
}

std::string alias(const std::string& name, const std::vector<std::string>& values) {
  std::string out = "---@alias " + name + "\n---| string\n";
  for (const std::string& v : values) out += fmt::format("---| \"{}\"\n", v);
  return out + "\n";
}

/// The tags that topics describe; `g.N` has three axes.
std::vector<std::string> tags(const Documentation& d) {
  std::vector<std::string> out;
  for (const Topic& t : d.topics) {
    if (t.group != kTagTopics) continue;
    if (!t.name.ends_with(".N")) {
      out.push_back(t.name);
      continue;
    }
    for (const char axis : {'0', '1', '2'})
      out.push_back(t.name.substr(0, t.name.size() - 1) + axis);
  }
  return out;
}

std::string head(const std::string& module) {
  return fmt::format("---@meta {}\n-- Made by `moonloop doc --lua-stubs {}`, version {}.\n\n",
                     module, module, MOONLOOP_VERSION);
}

std::string module_stubs(const Documentation& d) {
  std::string out =
      head("moonloop") + alias("moonloop.Tag", tags(d)) + alias("moonloop.Target", target_names()) +
      comment(
          "A function from a kernel to a kernel, the name of a transform, or an array of "
          "one of these and what it takes beside the kernel.") +
      "---@alias moonloop.Step function|string|any[]\n\n";
  for (const ApiClass& c : d.api) {
    const std::string owner = c.name == "moonloop"  ? "lp"
                              : c.functions.empty() ? ""
                                                    : c.name.substr(c.name.rfind('.') + 1);
    out += class_stub(c);
    if (!owner.empty()) out += (owner == "lp" ? "" : "local ") + owner + " = {}\n";
    out += "\n";
    for (const ApiFunction& f : c.functions)
      out += api_function(f, owner, owner == "lp" ? '.' : ':');
  }
  for (const DocFunction& f : d.transforms)
    out += options_class(f) + function_stub(f, "lp", false) + function_stub(f, "Kernel", true);
  return out + "return lp\n";
}

std::string library_stubs(const Documentation& d) {
  std::string out = head("moonloop.lib") + "---@class moonloop.lib\nlocal lib = {}\n\n";
  for (const DocFunction& f : d.library) out += options_class(f) + function_stub(f, "lib", false);
  return out + "return lib\n";
}

}  // namespace

std::string doc_stubs(const Documentation& d, const std::string& module) {
  if (module.empty() || module == "moonloop") return module_stubs(d);
  if (module == "moonloop.lib") return library_stubs(d);
  fail("unknown-topic", {},
       "no declarations of `{}`; there are those of `moonloop`, `moonloop.lib`", module);
}

}  // namespace moonloop::cli
