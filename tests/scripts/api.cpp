#include "scripts/api.h"

#include <algorithm>

#include "scripts/state.h"
#include "tests/scripts/harness.h"

/// The table of the API of scripts, compared with the actual one.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const ApiClass& class_named(const std::string& name) {
  for (const ApiClass& c : lua_api())
    if (c.name == name) return c;
  FAIL("no class " << name);
  return lua_api().front();
}

std::vector<std::string> names_of(const ApiClass& c) {
  std::vector<std::string> out;
  for (const ApiField& f : c.fields) out.push_back(f.name);
  for (const ApiFunction& f : c.functions) out.push_back(f.name);
  return out;
}

std::vector<std::string> sorted(std::vector<std::string> all) {
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("api: the table has the names of the module and of kernels, in order") {
  CHECK(sorted(names_of(class_named("moonloop"))) == sorted(lua::module_names()));
  CHECK(sorted(names_of(class_named("moonloop.Kernel"))) == sorted(lua::kernel_names()));
  for (const ApiClass& c : lua_api()) {
    CAPTURE(c.name);
    CHECK(!c.doc.empty());
    std::vector<std::string> fields, functions;
    for (const ApiField& f : c.fields) {
      fields.push_back(f.name);
      CHECK((!f.doc.empty() && !f.type.empty()));
    }
    for (const ApiFunction& f : c.functions) {
      functions.push_back(f.name);
      CHECK((!f.doc.empty() && !f.results.empty()));
    }
    CHECK(fields == sorted(fields));
    CHECK(functions == sorted(functions));
  }
}

TEST_CASE("api: each field that a kernel's parts have is in the table, with its type") {
  const char* const kernel =
      "kernel all(n: int32, a: in float64[n], b: out float64[n] stride:1, c)\n"
      "domain {[i, j]: 0 <= i, j < n}\n"
      "assume n >= 1\n"
      "temp t: float64[4] in local\n"
      "f(x) := 2*x\n"
      "b[i] = f(sum(j, a[j]))   {id=one, tags=first, if=a[i] > 0}\n"
      "... nop   {id=two, dep=one}\n";
  std::string lua = "local class = {}\n";
  for (const ApiClass& c : lua_api()) {
    lua += "class['" + c.name + "'] = {";
    for (const ApiField& f : c.fields) lua += f.name + " = [==[" + f.type + "]==], ";
    lua += "}\n";
  }
  run_lua(kernel, lua + R"lua(
    local seen = {}
    local function check(name, value)
      for key, v in pairs(value) do
        local want = class[name][key]
        assert(want, name .. " has no " .. key)
        seen[name .. "." .. key] = true
        local t = math.type(v) or type(v)
        local plain = {["string[]"] = "table", ["string"] = "string", ["integer"] = "integer",
                       ["boolean"] = "boolean"}
        local base = want:gsub("%?$", "")
        local expected = plain[base] or (want:sub(1, 1) == '"' and "string")
        assert(expected == t, ("%s.%s is a %s, not %s"):format(name, key, t, want))
      end
    end
    for _, e in ipairs(all.instructions) do check("moonloop.Instruction", e) end
    for _, e in ipairs(all.args) do check("moonloop.Argument", e) end
    for _, e in ipairs(all.temporaries) do check("moonloop.Temporary", e) end
    for _, e in ipairs(all.rules) do check("moonloop.Rule", e) end
    for _, name in ipairs{"Instruction", "Argument", "Temporary", "Rule"} do
      for key in pairs(class["moonloop." .. name]) do
        assert(seen["moonloop." .. name .. "." .. key] or key == "strides", name .. "." .. key)
      end
    end
    for key in pairs(class["moonloop.Kernel"]) do assert(all[key] ~= nil, key) end
    local _, err = lp.attempt(lp.prioritize_loops, all, "i, i")
    for key, type in pairs(class["moonloop.Error"]) do
      assert(err[key] ~= nil or type:find "%?", key)
    end
    for key in pairs(class["moonloop.make_kernel.options"]) do
      local ok, why = pcall(lp.make_kernel, "{[i]: 0 <= i < 4}", "a[i] = 1", {[key] = function() end})
      assert(not ok and not tostring(why):find("unknown option", 1, true), key)
    end
  )lua");
}
