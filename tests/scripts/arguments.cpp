#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

TEST_CASE("scripts: a wrong argument names its number, and a method does not count its object") {
  const Diagnostic f = failure(kDouble, "-- first line\nlp.split_iname(twice, 'k', 16)");
  CHECK(f.code == "bad-argument");
  CHECK(f.text == "bad argument #2 to 'split_iname' (kernel 'twice' has no iname 'k'; it has i)");
  CHECK(place(f) == "2:4");
  CHECK(f.where.at.len == 11);
  const Diagnostic m = failure(kDouble, "local k = twice:split_iname('k', 16)");
  CHECK(m.text == "bad argument #1 to 'split_iname' (kernel 'twice' has no iname 'k'; it has i)");
  CHECK(place(m) == "1:17");
}

TEST_CASE("scripts: kinds, counts and options of arguments") {
  const auto text = [](const std::string& lua) {
    const Diagnostic d = failure(kDouble, lua);
    CHECK(d.code == "bad-argument");
    CHECK(d.where.at.line == 1);
    return d.text;
  };
  CHECK(text("lp.split_iname(3, 'i', 16)") ==
        "bad argument #1 to 'split_iname' (kernel expected, got number)");
  CHECK(text("lp.split_iname(twixe, 'i', 16)") ==
        "bad argument #1 to 'split_iname' (kernel expected, got nil; kernels here: twice)");
  CHECK(text("lp.split_iname(twice, 'i')") ==
        "bad argument #3 to 'split_iname' (inner_length: integer expected, got no value)");
  CHECK(text("lp.split_iname(twice, 'i', 'x')") ==
        "bad argument #3 to 'split_iname' (inner_length: integer expected, got \"x\")");
  CHECK(text("lp.split_iname(twice, 'i', 1.5)") ==
        "bad argument #3 to 'split_iname' (inner_length: integer expected, got number)");
  CHECK(text("lp.split_iname(twice, 'i', 4, {outer_tog = 'g.0'})") ==
        "bad argument #4 to 'split_iname' (unknown option 'outer_tog'; did you mean 'outer_tag'?)");
  CHECK(text("lp.split_iname(twice, 'i', 4, {outer_tag = 3})") ==
        "bad argument #4 to 'split_iname' (option 'outer_tag': string expected, got integer)");
  CHECK(text("lp.split_iname(twice, 'i', 4, function() end)") ==
        "bad argument #4 to 'split_iname' (a function is not a value that it takes)");
  CHECK(text("lp.split_iname(twice, 'i', 4, {1, x = 2})") ==
        "bad argument #4 to 'split_iname' (a table with both positions and names)");
}

TEST_CASE("scripts: hints on globals and modules that are missing") {
  const auto hint = [](const std::string& lua) { return failure(kDouble, lua).hint; };
  const std::string load = "`local lib = require \"moonloop.lib\"` loads the library";
  CHECK(hint("twixe:tag_inames{i = 'unr'}") == "kernels here: twice");
  CHECK(hint("lib.tile(twice, {i = 4})") == load);
  CHECK(hint("local lib = require 'lib'") == load);
  CHECK(hint("local t = require 'tiles'") == "");
  CHECK(hint("twise(3)") == "");
}

TEST_CASE("scripts: tables of tags and options are told apart") {
  run_lua(kDouble, R"(
    local a = twice:tag_inames{i = "unr"}
    local b = twice:tag_inames("i:unr")
    assert(a.iname_tags.i == "unr" and a == b)
    -- a whole number counts as an integer, a trailing nil as absent
    local c = twice:split_iname("i", 16.0, nil)
    assert(c == twice:split_iname("i", 16, {}))
    -- every positional parameter may go by name
    local d = lp.split_iname(twice, {split_iname = "i", inner_length = 16})
    assert(c == d)
  )");
}

TEST_CASE("scripts: errors point into the script, with the callers as notes") {
  const Diagnostic d = failure(kDouble,
                               "local function tile(k, n)\n"
                               "  return k:split_iname('x', n)\n"
                               "end\n"
                               "twice = tile(twice, 4)\n");
  CHECK(place(d) == "2:12");
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].text == "called from here");
  CHECK(d.notes[0].at.line == 4);

  CHECK(place(failure(kDouble, "local x = 1\nlocal y = x.z.w\n")) == "2:1");
  CHECK(failure(kDouble, "local x\nx.y = 1").code == "script-error");
  const Diagnostic syntax = failure(kDouble, "x = 1\nx = = 2\n");
  CHECK(syntax.code == "script-syntax");
  CHECK(syntax.where.at.line == 2);
  CHECK(failure(kDouble, "error({})").text == "the script raised a table value as its error");
  CHECK(failure(kDouble, "error('my own')").text == "my own");
}

TEST_CASE("scripts: a refused step is an error at its line that also shows the kernel") {
  const Diagnostic d = failure(kRecurrence, "\nrecur = recur:tag_inames{i = 'par'}");
  const bool in_script = d.where.at.source && d.where.at.source->name == "test.lua";
  bool noted = in_script;
  for (const Label& n : d.notes) noted = noted || n.text == "in script at test.lua:2";
  CHECK(noted);
}

TEST_CASE("scripts: each step is told, with the reason of a refusal") {
  std::vector<std::string> told;
  ScriptOptions o;
  o.on_step = [&](const StepReport& r) {
    told.push_back(r.step.name + (r.refusal ? " " + r.refusal->code : " ok"));
    CHECK(r.before.name == "recur");
    CHECK(r.step.at.line >= 1);
  };
  run_lua(kRecurrence,
          "recur = recur:split_iname('i', 4)\n"
          "lp.attempt(lp.tag_inames, recur, {i_inner = 'par'})\n"
          "pcall(lp.split_iname, recur, 'z', 4)\n",
          o);
  REQUIRE(told.size() == 3);
  CHECK(told[0] == "split_iname ok");
  CHECK(told[1] != "tag_inames ok");
  CHECK(told[2] == "split_iname bad-argument");
}

TEST_CASE("scripts: names end at no zero byte") {
  // Found by fuzzing: a name that isl cut at its zero byte was never free.
  const Diagnostic f = failure(kDouble, "lp.add_prefetch(twice, 'a', 'i', 'x\\0y')");
  CHECK(f.code == "bad-argument");
  CHECK(f.text == "`dim_arg_names` of `add_prefetch` is a text with a zero byte");
  CHECK(failure(kDouble, "lp.tag_inames(twice, {['i\\0'] = 'par'})").code == "bad-argument");
  CHECK(failure(kDouble, "lp.add_prefetch(twice, 'a', 'i', '2x')").code == "bad-name");
}
