#include <algorithm>
#include <lua.hpp>
#include <map>
#include <regex>
#include <set>

#include "scripts/library.h"
#include "tests/cli/harness.h"
#include "transforms/registry.h"

/// The declarations for the Lua language server, against the registry and against every script that
/// the repository has: names in scripts must be declared. This stands in for the server's own
/// check, which no package offers.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

namespace fs = std::filesystem;

struct Declared {
  std::vector<std::string> params, types;  // without the options
  std::set<std::string> options;           // empty: takes none
};

struct Stubs {
  std::map<std::string, Declared> functions;  // `lp.split_iname`, `Kernel:split_iname`, `lib.tile`
  std::set<std::string> fields;               // `lp.args`
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

void read_stubs(const std::string& text, Stubs& out) {
  static const std::regex kClass(R"(---@class (?:\(exact\) )?(\S+))"),
      kField(R"(---@field (\w+)\?? (.*))"), kParam(R"(---@param (\w+|\.\.\.)\?? (\S+).*)"),
      kFunction(R"(function (lp|Kernel|Count|CountMap|lib)([.:]\w+)\((.*)\) end)");
  std::map<std::string, std::set<std::string>> classes;
  std::map<std::string, std::string> takes;  // function -> the class of its options
  std::string current, options;
  Declared next;
  for (const std::string& line : lines_of(text)) {
    std::smatch m;
    if (std::regex_match(line, m, kClass)) {
      current = m[1];
    } else if (std::regex_match(line, m, kField)) {
      classes[current].insert(m[1]);
      if (current == "moonloop") out.fields.insert("lp." + m[1].str());
    } else if (std::regex_match(line, m, kParam)) {
      const std::string name = m[1], type = m[2];
      if (name == "options") {
        options = type;
      } else if (name != "knl") {
        next.params.push_back(name);
        next.types.push_back(type);
      }
    } else if (std::regex_match(line, m, kFunction)) {
      const std::string name = m[1].str() + m[2].str();
      out.functions[name] = next;
      if (!options.empty()) takes[name] = options;
      next = {};
      options.clear();
    }
  }
  for (const auto& taken : takes) {
    REQUIRE_MESSAGE(classes.count(taken.second), taken.second);
    out.functions[taken.first].options = classes.at(taken.second);
  }
}

Stubs stubs() {
  Stubs out;
  read_stubs(tool("doc --lua-stubs").out, out);
  read_stubs(tool("doc --lua-stubs moonloop.lib").out, out);
  return out;
}

std::string without_comments(const std::string& lua) {
  return std::regex_replace(lua, std::regex(R"((^|\s)--[^\n]*)"), "$1");
}

/// The parts of the text between the bracket at `from` and the one that closes it.
std::vector<std::string> parts_at(const std::string& text, std::size_t from) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '{' || c == '[') {
      if (++depth == 1) continue;
    } else if (c == ')' || c == '}' || c == ']') {
      if (--depth == 0) break;
    } else if (c == ',' && depth == 1) {
      out.emplace_back();
      continue;
    }
    out.back() += c;
  }
  for (std::string& part : out) {
    const auto first = part.find_first_not_of(" \t\n");
    part = first == std::string::npos ? "" : part.substr(first);
  }
  if (out.size() == 1 && out.front().empty()) out.clear();
  return out;
}

/// The names in `{a = 1, b = 2}`.
std::vector<std::string> keys_of(const std::string& table) {
  static const std::regex kKey(R"((\w+)\s*=[^=][\s\S]*)");
  std::vector<std::string> out;
  std::smatch m;
  for (const std::string& part : parts_at(table, 0))
    if (std::regex_match(part, m, kKey)) out.push_back(m[1]);
  return out;
}

struct Findings {
  std::vector<std::string> unknown;
  int names = 0, options = 0;
};

/// Looks at the call of `function` whose bracket is at `at`.
void check_call(const Declared& f, const std::string& function, const std::string& text,
                std::size_t at, Findings& out) {
  if (!f.params.empty() && f.params.back() == "...") return;  // passes them on
  const std::vector<std::string> arguments = parts_at(text, at);
  if (arguments.empty() || !arguments.back().starts_with("{")) return;
  const std::vector<std::string> keys = keys_of(arguments.back());
  // No kernel comes first there.
  static const std::set<std::string> makers{"lp.make_copy_kernel", "lp.make_einsum",
                                            "lp.make_kernel"};
  const std::size_t kernel =
      function.find(':') != std::string::npos || makers.contains(function) ? 0 : 1;
  const std::size_t place = arguments.size() - 1 - kernel;
  const bool by_name = place < f.types.size() && f.types[place].find("table<") != std::string::npos;
  for (const std::string& key : keys) {
    if (by_name && !f.options.count(key)) continue;
    ++out.options;
    if (!f.options.count(key)) out.unknown.push_back(function + " {" + key + "}");
  }
}

/// Methods of the library's own objects, `function Script:try(…)`.
const std::set<std::string>& own_methods() {
  static const std::set<std::string> kAll = [] {
    static const std::regex kDefinition(R"(\nfunction \w+:(\w+))");
    std::set<std::string> out;
    for (const auto& file : fs::directory_iterator(kRoot / "scripts/lib")) {
      const std::string text = read_file(file.path());
      for (std::sregex_iterator it(text.begin(), text.end(), kDefinition), end; it != end; ++it)
        out.insert((*it)[1]);
    }
    return out;
  }();
  return kAll;
}

void check_script(const Stubs& s, const std::string& lua, Findings& out) {
  static const std::regex kName(R"(\b(lp|lib)\.(\w+))"), kMethod(R"([\w\])\"]:(\w+)\s*[({])");
  static const std::set<std::string> kOther{"find", "format", "gmatch", "gsub", "match", "rep",
                                            "sub",  "lower",  "upper",  "len",  "read"};
  const std::string text = without_comments(lua);
  for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it) {
    const std::string name = (*it)[0];
    ++out.names;
    const auto f = s.functions.find(name);
    if (f == s.functions.end()) {
      if (!s.fields.count(name)) out.unknown.push_back(name);
      continue;
    }
    const auto behind = static_cast<std::size_t>(it->position() + it->length());
    if (behind < text.size() && text[behind] == '(') check_call(f->second, name, text, behind, out);
  }
  for (std::sregex_iterator it(text.begin(), text.end(), kMethod), end; it != end; ++it) {
    const std::string name = (*it)[1];
    if (kOther.count(name) || own_methods().count(name)) continue;
    ++out.names;
    auto f = s.functions.end();
    for (const char* owner : {"Kernel:", "Count:", "CountMap:"})
      if (f == s.functions.end()) f = s.functions.find(owner + name);
    if (f == s.functions.end()) {
      out.unknown.push_back(":" + name);
      continue;
    }
    const auto at = static_cast<std::size_t>(it->position() + it->length()) - 1;
    if (text[at] == '(') check_call(f->second, f->first, text, at, out);
  }
}

/// Lua of the repository: files, and the blocks and indented examples of the documentation.
std::vector<std::pair<std::string, std::string>> scripts() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const char* folder : {"examples", "scripts/lib", "bench"})
    for (const auto& file : fs::recursive_directory_iterator(kRoot / folder))
      if (file.path().extension() == ".lua")
        out.emplace_back(file.path().string(), read_file(file.path()));
  std::vector<fs::path> pages{kRoot / "README.md"};
  for (const auto& file : fs::directory_iterator(kRoot / "docs"))
    if (file.path().extension() == ".md") pages.push_back(file.path());
  for (const fs::path& page : pages) {
    bool inside = false;
    std::string text;
    for (const std::string& line : lines_of(read_file(page))) {
      if (line.starts_with("```")) {
        inside = line.starts_with("```lua");
        text += "\n";
      } else if (inside) {
        text += line + "\n";
      }
    }
    out.emplace_back(page.string(), text);
  }
  for (const Op* op : all_ops()) out.emplace_back(op->name, op->example);
  for (const LibraryFunction& f : library()) out.emplace_back(f.name, f.example);
  return out;
}

}  // namespace

TEST_CASE("stubs: they are Lua, and name what the registry and the library have") {
  for (const std::string module : {"moonloop", "moonloop.lib"}) {
    const Outcome o = tool("doc --lua-stubs " + module);
    REQUIRE(o.status == 0);
    CHECK(o.out.starts_with("---@meta " + module + "\n"));
    lua_State* L = luaL_newstate();
    luaL_openlibs(L);
    const bool runs = luaL_dostring(L, o.out.c_str()) == LUA_OK;
    CHECK_MESSAGE(runs, (runs ? "" : lua_tostring(L, -1)));
    CHECK(lua_istable(L, -1));
    lua_close(L);
  }
  CHECK(tool("doc --lua-stubs").out == tool("doc --lua-stubs moonloop").out);

  const Stubs s = stubs();
  std::set<std::string> expected{"lp.attempt",
                                 "lp.affine_schedule",
                                 "lp.auto",
                                 "Kernel:accesses",
                                 "Kernel:trips",
                                 "lp.fuse_kernels",
                                 "lp.if_legal",
                                 "lp.is_kernel",
                                 "lp.knob",
                                 "lp.load",
                                 "lp.callee",
                                 "lp.choose_target",
                                 "lp.cost",
                                 "lp.crossover",
                                 "Kernel:cost",
                                 "lp.to_batched",
                                 "lp.transform_callee",
                                 "lp.make_copy_kernel",
                                 "lp.make_einsum",
                                 "lp.make_kernel",
                                 "lp.parse",
                                 "lp.program",
                                 "lp.parse_fortran",
                                 "lp.parallelism",
                                 "Kernel:parallelism",
                                 "Kernel:check",
                                 "Kernel:code",
                                 "Kernel:deps",
                                 "Kernel:footprints",
                                 "Kernel:has_code",
                                 "Kernel:header",
                                 "Kernel:ir",
                                 "Kernel:mem_counts",
                                 "Kernel:op_counts",
                                 "Kernel:schedule",
                                 "Kernel:stats",
                                 "Kernel:sync_counts",
                                 "Kernel:text",
                                 "Kernel:trace",
                                 "Kernel:tree",
                                 "Count:eval",
                                 "CountMap:eval",
                                 "CountMap:eval_and_sum",
                                 "CountMap:filter_by",
                                 "CountMap:group_by",
                                 "CountMap:sum",
                                 "CountMap:to_bytes"};
  for (const Op* op : all_ops()) {
    CAPTURE(op->name);
    const Op& row = op->params.empty() && !op->alias_of.empty() ? *find_op(op->alias_of) : *op;
    std::vector<std::string> positional;
    std::set<std::string> all;
    for (const Param& p : row.params) {
      if (p.positional) positional.push_back(p.name);
      all.insert(p.name);
    }
    for (const std::string owner : {"lp.", "Kernel:"}) {
      REQUIRE(s.functions.count(owner + op->name) == 1);
      CHECK(s.functions.at(owner + op->name).params == positional);
      CHECK(s.functions.at(owner + op->name).options == all);
      expected.insert(owner + op->name);
    }
  }
  for (const LibraryFunction& f : library()) {
    CAPTURE(f.name);
    std::vector<std::string> positional;
    std::set<std::string> options;
    for (const LibraryParam& p : f.params)
      if (p.positional)
        positional.push_back(p.name);
      else
        options.insert(p.name);
    REQUIRE(s.functions.count("lib." + f.name) == 1);
    CHECK(s.functions.at("lib." + f.name).params == positional);
    CHECK(s.functions.at("lib." + f.name).options == options);
    expected.insert("lib." + f.name);
  }
  std::set<std::string> declared;
  for (const auto& [name, f] : s.functions) declared.insert(name);
  CHECK(declared == expected);
}

TEST_CASE("stubs: every name, method and option in the repository's scripts is declared") {
  const Stubs s = stubs();
  Findings all;
  for (const auto& script : scripts()) {
    CAPTURE(script.first);
    Findings found;
    check_script(s, script.second, found);
    std::string unknown;
    for (const std::string& u : found.unknown) unknown += "\n  " + u;
    CHECK_MESSAGE(unknown.empty(), "not declared:" << unknown);
    all.names += found.names;
    all.options += found.options;
  }
  CHECK(all.names > 200);
  CHECK(all.options > 100);
}

TEST_CASE("stubs: what is not declared is found") {
  const auto unknown = [&](const std::string& lua) {
    static const Stubs kStubs = stubs();
    Findings found;
    check_script(kStubs, lua, found);
    std::string out;
    for (const std::string& u : found.unknown) out += u + ";";
    return out;
  };
  CHECK(unknown("k = lp.split_inam(k, 'i', 4)") == "lp.split_inam;");
  CHECK(unknown("k = lib.tyle(k, {i = 4})") == "lib.tyle;");
  CHECK(unknown("k = k:cod('c')") == ":cod;");
  CHECK(unknown("k = lp.split_iname(k, 'i', 4, {outer_tag = 'par', outer_tog = f(1, 2)})") ==
        "lp.split_iname {outer_tog};");
  CHECK(unknown("k = k:split_iname('i', 4, {inner = 'x'})") == "Kernel:split_iname {inner};");
  CHECK(unknown("k = lib.tile(k, {i = 4}, {ordr = 'i'})") == "lib.tile {ordr};");
  CHECK(unknown("k = lp.tag_inames(k, {i = 'par'})  -- lp.nothing") == "");
  CHECK(unknown("k = lp.tag_inames(k, {i = 'par'}, {unsafe = true})") == "");
}
