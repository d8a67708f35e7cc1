#include "core/model/print.h"
#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

TEST_CASE("scripts: functions and methods do the same, and kernels do not change") {
  run_lua(kDouble, R"(
    local before = twice:text()
    local f = lp.split_iname(twice, "i", 16, {outer_tag = "g.0", inner_tag = "l.0"})
    local m = twice:split_iname("i", 16, {outer_tag = "g.0", inner_tag = "l.0"})
    assert(f == m and f:text() == m:text())
    assert(twice:text() == before and f ~= twice)
    assert(f.iname_tags.i_outer == "g.0" and f.iname_tags.i_inner == "l.0")
    assert(require "moonloop" == lp)
  )");
}

TEST_CASE("scripts: what a kernel's global holds at the end is the result, in the input's order") {
  const auto out =
      transform_all(std::string(kDouble) + kRecurrence, "recur = recur:split_iname('i', 4)\n");
  REQUIRE(out.size() == 2);
  CHECK(out[0].name == "twice");
  CHECK(out[0].inames() == std::vector<std::string>{"i"});
  CHECK(out[1].inames() == std::vector<std::string>{"i_outer", "i_inner"});
}

TEST_CASE("scripts: a global that holds no kernel at the end, and a kernel that is lost") {
  CHECK(failure(kDouble, "twice = nil").code == "not-a-kernel");
  CHECK(failure(kDouble, "twice = nil").text ==
        "global `twice` holds nothing at the script's end, not a kernel");
  CHECK(failure(kDouble, "twice = {}").text ==
        "global `twice` holds a table at the script's end, not a kernel");
  const Diagnostic lost = failure(kDouble, "return twice:split_iname('i', 4)");
  CHECK(lost.code == "not-a-kernel");
  CHECK(lost.text == "the script returns a kernel that is not the value of global `twice`");
  run_lua(kDouble, "twice = twice:split_iname('i', 4) return twice");
}

TEST_CASE("scripts: make_kernel takes Loo.py's arguments") {
  run_lua(kDouble, R"(
    local k = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = 2*a[i]",
      {args = "a: float64[n], ...", name = "dbl", assumptions = "n >= 1"})
    assert(k.name == "dbl")
    assert(#k.inames == 1 and k.inames[1] == "i")
    assert(k.assumptions:find "n > 0" or k.assumptions:find "n >= 1")
    local l = lp.make_kernel({"{[i]: 0 <= i < n}", "{[j]: 0 <= j < i}"},
      {"<>s = 0 {id=zero}", "out[i, j] = a[i] {id=copy}"}, {"a: float64[n]", "..."}, {name = "two"})
    assert(#l.domains == 2 and #l.instructions == 2 and l.name == "two")
    local m = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]",
      {args = {"a: float64[n]", "..."}, fixed_parameters = {n = 16}})
    assert(m.name == "loopy_kernel" and #m.params == 0)
  )");
}

TEST_CASE("scripts: make_kernel's wrong arguments are errors at the caller's line") {
  const auto text = [](const std::string& lua) {
    const Diagnostic d = failure(kDouble, "\n" + lua);
    CHECK(d.code == "bad-argument");
    CHECK(d.where.at.line == 2);
    return d.text;
  };
  const Diagnostic name =
      failure(kDouble, "\nlp.make_kernel('{[i]: 0 <= i < 4}', 'a[i] = 1', {name = 'one two'})");
  CHECK(name.code == "bad-name");
  CHECK(name.where.at.line == 2);
  CHECK(text("lp.make_kernel('{[i]: 0 <= i < n}', 3)") ==
        "bad argument #2 to 'make_kernel' (string or array of strings expected, got number)");
  CHECK(text("lp.make_kernel('{[i]: 0 <= i < n}', 'a[i] = 1', {nam = 'x'})") ==
        "bad argument #3 to 'make_kernel' (unknown option 'nam'; did you mean 'name'?)");
  CHECK(text("lp.make_kernel('{[i]: 0 <= i < n}', 'a[i] = 1', {args = 3})") ==
        "bad argument #3 to 'make_kernel' (option 'args': string or array of strings expected, got "
        "number)");
  CHECK(text("lp.make_kernel('{[i]: 0 <= i < n}', 'a[i] = 1', {args = {'n', 3}})") ==
        "bad argument #3 to 'make_kernel' (element 2 is a number, not a string)");
  CHECK(text("lp.make_kernel('{[i]: 0 <= i < n}', 'a[i] = 1', {default_order = 'D'})") ==
        "bad argument #3 to 'make_kernel' (option 'default_order' is neither \"C\" nor \"F\")");
  CHECK(text("lp.make_kernel('{[i]: 0 <= i < n}', 'a[i] = 1', {index_dtype = 'float32'})") ==
        "bad argument #3 to 'make_kernel' (option 'index_dtype': 'float32' is not a signed integer "
        "type)");
  CHECK(text("lp.make_kernel('{[i]: 0 <= i < n}', 'a[i] = 1', {fixed_parameters = {n = 1.5}})") ==
        "bad argument #3 to 'make_kernel' (option 'fixed_parameters': the value of 'n' is not "
        "an integer)");
  CHECK(text("lp.make_kernel({'{[i]: 0 <= i < n}', 4}, 'a[i] = 1')") ==
        "bad argument #1 to 'make_kernel' (element 2 is a number, not a string)");
}

TEST_CASE("scripts: parse gives one result a kernel") {
  run_lua(kDouble, R"(
    local a, b = lp.parse([[
kernel one(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1
kernel two(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 2
]])
    assert(a.name == "one" and b.name == "two")
    assert(lp.is_kernel(a) and not lp.is_kernel("a") and not lp.is_kernel())
  )");
  const Diagnostic d = failure(kDouble, "lp.parse('kernel x(n: int32)\\nnonsense')");
  CHECK(d.where.at.source->name == "<string>");
  REQUIRE(!d.notes.empty());
  CHECK(d.notes.back().text == "in script at test.lua:1");
}

TEST_CASE("scripts: Fortran, from text and from a file") {
  run_lua(kDouble, R"(
    local k = lp.parse_fortran("subroutine s(n, a)\ninteger n\nreal a(n)\ndo i = 1, n\n" ..
                               "a(i) = 2*a(i)\nend do\nend\n")
    assert(k.name == "s" and k.inames[1] == "i")
  )");
  CHECK(failure(kDouble, "lp.parse_fortran('subroutine')").code == "fortran");
  CHECK(failure(kDouble, "lp.load('x.f90')").code == "cannot-read");
}

TEST_CASE("scripts: attempt returns a refusal and passes on what is not a refusal") {
  run_lua(kRecurrence, R"(
    local before = recur:text()
    local k, err = lp.attempt(lp.tag_inames, recur, {i = "par"})
    assert(k == nil and err.refused, "par was accepted")
    assert(err.line == nil or type(err.line) == "number")
    assert(type(err.code) == "string" and #err.message > 0)
    assert(recur:text() == before)
    local ok = lp.attempt(recur.split_iname, recur, "i", 4)
    assert(lp.is_kernel(ok))
    local a, b = lp.attempt(function(...) return ... end, 1, 2)
    assert(a == 1 and b == 2)
    -- a wrong argument is not a refusal
    local fine, e = pcall(lp.attempt, lp.split_iname, recur, "z", 4)
    assert(not fine and tostring(e):find("has no iname 'z'", 1, true))
    local fine, e = pcall(lp.attempt, function() error("mine") end)
    assert(not fine and tostring(e):find("mine", 1, true))
  )");
}

TEST_CASE("scripts: settings are numbers and booleans where they read as such") {
  ScriptOptions o;
  o.settings = {{"tile", "16"}, {"scale", "0.5"}, {"fast", "true"}, {"name", "abc"}, {"none", ""}};
  run_lua(kDouble, R"(
    assert(lp.args.tile == 16 and math.type(lp.args.tile) == "integer")
    assert(lp.args.scale == 0.5 and lp.args.fast == true and lp.args.name == "abc")
    assert(lp.args.none == "" and lp.args.other == nil)
  )",
          o);
}

TEST_CASE("scripts: an unknown name in lp or in a kernel suggests the right one") {
  CHECK(failure(kDouble, "lp.split_inames(twice)").text ==
        "`lp` has no `split_inames`; did you mean `split_iname`?");
  CHECK(failure(kDouble, "print(twice.inamez)").text ==
        "a kernel has no field or transform `inamez`; did you mean `inames`?");
  CHECK(failure(kDouble, "twice:nonsense()").code == "unknown-name");
  CHECK(failure(kDouble, "twice.name = 'x'").text ==
        "cannot set `name`: kernels do not change; transforms return new ones");
}

TEST_CASE("scripts: a script that makes kernels returns them or leaves them in globals") {
  const auto run = [](const std::string& lua) {
    std::vector<std::string> names;
    for (const Kernel& k : run_kernel_script(add_source("test.lua", lua), {}))
      names.push_back(k.name);
    return names;
  };
  const std::string make =
      "local function mk(n) return lp.make_kernel('{[i]: 0 <= i < n}', 'a[i] = 1', "
      "{args = 'a: float64[n], ...', name = n}) end\n";
  using Names = std::vector<std::string>;
  CHECK(run(make + "return mk 'a'") == Names{"a"});
  CHECK(run(make + "return {mk 'b', mk 'a'}") == Names{"b", "a"});
  CHECK(run(make + "return {mk 'c', x = mk 'b', w = mk 'a'}") == Names{"c", "a", "b"});
  CHECK(run(make + "return mk 'a', mk 'b'") == Names{"a", "b"});
  CHECK(run(make + "z = mk 'a' y = mk 'b' x = y") == Names{"b", "a"});
  CHECK_THROWS_WITH_AS(
      run("x = 1"),
      "the script makes no kernel: it returns none, and no global holds one at its "
      "end",
      Error);
  try {
    run("x = 1");
  } catch (const Error& e) { CHECK(e.diagnostic().code == "no-kernel"); }
}
