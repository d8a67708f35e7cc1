#include "scripts/library.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "reports/report.h"
#include "tests/scripts/with_library.h"
#include "transforms/registry.h"

/// The bundled Lua library: its files and doc comments, and for each function its result, that the
/// values stay, and its refusals.

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

namespace {

const char* const kProduct =
    "kernel product(n: int32, m: int32, a: float64[n, n], b: float64[n, m], c: float64[n, m])\n"
    "domain {[i, j, k]: 0 <= i, k < n and 0 <= j < m}\n"
    "c[i, j] = sum(k, a[i, k]*b[k, j])   {id=dot}\n";
const char* const kUpdate =
    "kernel update(n: int32, m: int32, a: float64[n, n], b: float64[n, m], c: float64[n, m])\n"
    "domain {[i, j, k]: 0 <= i, k < n and 0 <= j < m}\n"
    "c[i, j] = c[i, j] + a[i, k]*b[k, j]   {id=add}\n";
const char* const kSmooth =
    "kernel smooth(n: int32, m: int32, u: inout float64[n, m])\n"
    "domain {[i, j]: 1 <= i < n - 1 and 1 <= j < m - 1}\n"
    "u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])/4   {id=relax}\n";
const char* const kNinePoints =
    "kernel smooth(n: int32, m: int32, u: inout float64[n, m])\n"
    "domain {[i, j]: 1 <= i < n - 1 and 1 <= j < m - 1}\n"
    "u[i, j] = (u[i - 1, j] + u[i - 1, j + 1] + u[i, j - 1] + u[i + 1, j - 1])/4   {id=relax}\n";
const char* const kEdit =
    "kernel edit(n: int32, m: int32, x: int32[n], y: int32[m], d: inout int32[n + 1, m + 1])\n"
    "domain {[i, j]: 1 <= i <= n and 1 <= j <= m}\n"
    "d[i, j] = min(min(d[i - 1, j], d[i, j - 1]) + 1,\n"
    "              d[i - 1, j - 1] + (0 if x[i - 1] == y[j - 1] else 1))   {id=step}\n";
const char* const kBox =
    "kernel box(n: int32, m: int32, a: float64[n + 2, m + 2], c: float64[n, m])\n"
    "domain {[i, j]: 0 <= i < n and 0 <= j < m}\n"
    "c[i, j] = a[i, j] + a[i + 2, j] + a[i, j + 2] + a[i + 2, j + 2]   {id=sum}\n";
const char* const kTriad =
    "kernel triad(n: int32, m: int32, x: float64[n, m], y: float64[n, m])\n"
    "domain {[i, j]: 0 <= i < n and 0 <= j < m}\n"
    "y[i, j] = y[i, j] + 3*x[i, j]   {id=add}\n";

std::string wrong(const std::string& kernel, const std::string& step) {
  const Diagnostic d = refusal(kernel, step);
  CHECK(d.code == "bad-argument");
  return d.text;
}

GivenValues size(int n, int m) { return {{"n", std::to_string(n)}, {"m", std::to_string(m)}}; }
/// None is a multiple of a tile of the tests, some are smaller than one.
const std::vector<GivenValues> kSizes{size(1, 1), size(13, 7), size(2, 19), size(17, 33)};
const std::vector<GivenValues> kGrids{size(3, 3), size(13, 7), size(5, 19), size(18, 33)};

}  // namespace

// ---- Files and doc comments ---------------------------------------------------------------------

TEST_CASE("library: each file is a function of the library, in lib.lua and with a doc comment") {
  std::vector<std::string> files, documented;
  const std::filesystem::path folder = std::string(MOONLOOP_SOURCE_DIR) + "/scripts/lib";
  for (const auto& file : std::filesystem::directory_iterator(folder))
    files.push_back(file.path().stem().string());
  std::sort(files.begin(), files.end());
  std::vector<std::string> embedded;
  for (const LibraryFile& f : library_files()) embedded.emplace_back(f.name);
  CHECK(embedded == files);
  std::erase(files, "lib");
  std::erase(files, "support");
  std::erase(files, "divided_scan");     // for both scans
  std::erase(files, "reduction_shape");  // for reduce
  std::erase_if(files, [](const std::string& f) { return f.starts_with("auto"); });  // lp.auto
  for (const LibraryFunction& f : library()) documented.push_back(f.name);
  CHECK(documented == files);

  std::string list;
  for (const std::string& name : files) list += name + " ";
  ScriptOptions o;
  o.settings = {{"names", list}};
  run_lua(kTriad, R"(
    local lib = require "moonloop.lib"
    local names = {}
    for name, f in pairs(lib) do
      assert(type(f) == "function")
      names[#names + 1] = name
    end
    table.sort(names)
    assert(table.concat(names, " ") .. " " == lp.args.names)
    assert(lib.tile == require "moonloop.tile" and lib == require "moonloop.lib")
  )",
          o);
}

TEST_CASE("library: a doc comment says what the function takes and gives") {
  const std::string text =
      "--- Does it.\n---\n--- Refuses nothing.\n---\n"
      "--- @param a (string, required): first\n--- @param b (names): second, if (any): so\n"
      "--- @option c (integer, default 3, or so):\n---   third\n---   one\n--- @return kernel "
      "(kernel): it\n"
      "--- @example\n---     kernel k\n---     x = 1\n---\n---     knl = 1\n---\n---     knl = 2\n";
  const LibraryFunction f =
      parse_library_file("it", text + "local function it(knl, a, b, options)\n");
  CHECK(f.doc == "Does it.\n\nRefuses nothing.");
  REQUIRE(f.params.size() == 3);
  CHECK((f.params[0].required && f.params[0].positional && f.params[0].kind == "string"));
  CHECK((f.params[1].name == "b" && !f.params[1].required && f.params[1].positional));
  CHECK(f.params[1].help == "second, if (any): so");
  CHECK((f.params[2].fallback == "3, or so" && !f.params[2].positional));
  CHECK(f.params[2].help == "third one");
  CHECK(f.results.size() == 1);
  CHECK(f.example_kernel == "kernel k\nx = 1");
  CHECK(f.example == "knl = 1\n\nknl = 2");

  const auto fails = [](const std::string& t) {
    try {
      parse_library_file("it", t);
    } catch (const InternalError& e) { return std::string(e.what()); }
    return std::string("fine");
  };
  CHECK(fails("local function it(knl)\n") == "doc comment of `it`: no text: ");
  CHECK(
      fails(text + "local function it(knl, a, b)\n") ==
      "doc comment of `it`: not `local function it(knl, a, b, options)`: local function it(knl, a, "
      "b)");
  CHECK(fails("--- Does it.\n--- @param a: first\n") ==
        "doc comment of `it`: not of the form `@TAG NAME (KIND): HELP`: @param a: first");
  CHECK(fails("--- Does it.\n--- @param a (string, maybe): first\n") ==
        "doc comment of `it`: neither `required` nor `default VALUE`: @param a (string, maybe): "
        "first");
  CHECK(fails("--- Does it.\n--- @return a (string, required): x\n") ==
        "doc comment of `it`: a result has a kind alone: @return a (string, required): x");
  CHECK(fails("--- Does it.\n--- @param a (string): x\n--- more\n") ==
        "doc comment of `it`: text after the first tag: more");
  CHECK(fails("--- Does it.\n--- @return k (kernel): x\n--- @param a (string): x\n") ==
        "doc comment of `it`: results come after parameters: @param a (string): x");
  CHECK(fails("--- Does it.\n--- @example\n--- knl = 1\n") ==
        "doc comment of `it`: an example is indented: knl = 1");
  CHECK(fails("--- Does it.\n--- @return k (kernel): x\n") == "doc comment of `it`: no example: ");
  CHECK(fails("--- Does it.\n--- @example\n") == "doc comment of `it`: no result: ");
}

TEST_CASE("library: each example runs, replays and keeps the kernel's values") {
  for (const LibraryFunction& f : library()) {
    CAPTURE(f.name);
    CHECK(f.example.find("lib." + f.name + "(knl") != std::string::npos);
    CHECK(f.doc.substr(0, f.doc.find('\n')).ends_with('.'));  // the summary is a sentence
    const Kernel before = parse(f.example_kernel).front();
    const auto out =
        run_kernel_script(add_source("example.lua", "knl = lp.parse([==[" + f.example_kernel +
                                                        "]==])\n" + f.example + "\n"),
                          {});
    REQUIRE(!out.empty());
    CHECK(!out.front().trace.empty());
    GivenValues params{{"n", f.name == "pipeline" ? "64" : "13"}};
    if (before.find_arg("m")) params.emplace_back("m", "7");
    verify(f.example_kernel, out.front(), {params}, {Target::OpenMP});
  }
}

// ---- Errors -------------------------------------------------------------------------------------

TEST_CASE("library: errors stand at the line that called it, however deep") {
  CHECK(wrong(kTriad, "lib.tile(twixe, {i = 4})") ==
        "bad argument #1 to 'tile' (kernel expected, got no value)");
  CHECK(wrong(kTriad, "lib.tile(triad, {q = 4})") ==
        "bad argument #2 to 'tile' (kernel 'triad' has no iname 'q'; it has i, j)");
  CHECK(wrong(kTriad, "lib.pipeline(triad, {{lib.tile, {q = 4}}})") ==
        "bad argument #2 to 'tile' (kernel 'triad' has no iname 'q'; it has i, j)");
  CHECK(wrong(kTriad, "local ok, e = lp.attempt(lib.pipeline, triad, {{'split_iname', 'q', 4}})") ==
        "bad argument #2 to 'split_iname' (kernel 'triad' has no iname 'q'; it has i, j)");
  CHECK(wrong(kTriad, "lib.tile(triad, {i = 4}, {order = 'i_outer, z'})") ==
        "bad argument #2 to 'prioritize_loops' (kernel 'triad' has no iname 'z'; it has i_outer, "
        "i_inner, j)");
  const Diagnostic unknown = refusal(kTriad, "lib.tyle(triad, {i = 4})");
  CHECK(unknown.code == "script-error");
  CHECK(unknown.text.starts_with(
      "the library has no 'tyle'; it has add_in_lanes, attempt, for_all, "));
  // In a file of the user's that calls the library it is that file's line, with the caller as a
  // note.
  const Diagnostic nested = failure(kTriad,
                                    "local lib = require 'moonloop.lib'\n"
                                    "local function mine(k) return (lib.skew(k, 'i', 'i')) end\n"
                                    "mine(triad)\n");
  CHECK(nested.text == "bad argument #3 to 'skew' ('i' cannot be skewed against itself)");
  CHECK(nested.where.at.line == 2);
  REQUIRE(nested.notes.size() == 1);
  CHECK(nested.notes[0].at.line == 3);
  // An error of the script's own function is reported there.
  const Diagnostic own =
      failure(kTriad, "require 'moonloop.lib'.pipeline(triad, {function(k)\nerror 'mine' end})");
  CHECK(own.text == "mine");
  CHECK(own.where.at.line == 2);
}

TEST_CASE("library: arguments of each kind are checked") {
  const auto text = [](const std::string& step) { return wrong(kTriad, step); };
  CHECK(text("lib.tile(triad, 4)") ==
        "bad argument #2 to 'tile' (table of integers by iname expected, got integer)");
  CHECK(text("lib.tile(triad, {})") == "bad argument #2 to 'tile' (no iname is given)");
  CHECK(text("lib.tile(triad, {i = 0})") ==
        "bad argument #2 to 'tile' (the size of 'i' is 0, not an integer of at least 1)");
  CHECK(text("lib.tile(triad, {i = 'x'})") ==
        "bad argument #2 to 'tile' (the size of 'i' is \"x\", not an integer of at least 1)");
  CHECK(text("lib.tile(triad, {i = 4}, 5)") ==
        "bad argument #3 to 'tile' (table of options expected, got integer)");
  CHECK(text("lib.tile(triad, {i = 4}, {ordr = 'i'})") ==
        "bad argument #3 to 'tile' (unknown option 'ordr'; it has inner_tags, order, outer_tags)");
  CHECK(text("lib.tile(triad, {i = 4}, {order = 5})") ==
        "bad argument #3 to 'tile' (string or array of strings expected, got integer)");
  CHECK(text("lib.tile(triad, {i = 4}, {order = {1}})") ==
        "bad argument #3 to 'tile' (element 1 is a number, not a string)");
  CHECK(text("lib.tile(triad, {i = 4}, {outer_tags = {j = 'par'}})") ==
        "bad argument #3 to 'tile' (a tag is given for 'j', which is not split)");
  CHECK(text("lib.tile(triad, {i = 4}, {outer_tags = 5})") ==
        "bad argument #3 to 'tile' (string or table of tags by name expected, got integer)");
  CHECK(text("lib.unroll_and_jam(triad, 5, 2)") ==
        "bad argument #2 to 'unroll_and_jam' (string expected, got integer)");
  CHECK(text("lib.unroll_and_jam(triad, 'i', 2.5)") ==
        "bad argument #3 to 'unroll_and_jam' (integer expected, got number)");
  CHECK(text("lib.unroll_and_jam(triad, 'i', 0)") ==
        "bad argument #3 to 'unroll_and_jam' (0 is less than 1)");
  CHECK(text("lib.vectorize_inner(triad, 'i', 4, {tag = 'par'})") ==
        "bad argument #4 to 'vectorize_inner' (the tag is neither \"simd\" nor \"vec\")");
  CHECK(text("lib.skew(triad, 'i', 'j', 'x')") ==
        "bad argument #4 to 'skew' (integer expected, got \"x\")");
  CHECK(text("lib.wavefront(triad, 'i', 'i')") ==
        "bad argument #3 to 'wavefront' ('i' has no diagonals with itself)");
  CHECK(text("lib.wavefront(triad, 'i', 'j', {tag = 3})") ==
        "bad argument #4 to 'wavefront' (option 'tag': string or false expected, got number)");
  CHECK(text("lib.stage_in_local(triad, 5, 'j')") ==
        "bad argument #2 to 'stage_in_local' (string expected, got integer)");
  CHECK(text("lib.stage_in_local(triad, 'x', 'j', {lengths = {4}})") ==
        "bad argument #4 to 'stage_in_local' (lengths need axes)");
  CHECK(text("lib.stage_in_local(triad, 'x', 'j', {lengths = 4})") ==
        "bad argument #4 to 'stage_in_local' (array of integers expected, got number)");
  CHECK(text("lib.attempt(triad, {})") ==
        "bad argument #2 to 'attempt' (step expected (a function, a transform's name, or {f, "
        "arguments...}), got table)");
  CHECK(text("lib.attempt(triad, 'args')") ==
        "bad argument #2 to 'attempt' (step expected (a function, a transform's name, or {f, "
        "arguments...}), got \"args\")");
  CHECK(text("lib.attempt(triad, function() return 5 end)") ==
        "bad argument #2 to 'attempt' (the step gave integer, not a kernel)");
  CHECK(text("lib.pipeline(triad, 'split_iname')") ==
        "bad argument #2 to 'pipeline' (array of steps expected, got \"split_iname\")");
  CHECK(text("lib.try_each(triad, {})") == "bad argument #2 to 'try_each' (no step is given)");
  CHECK(text("lib.for_all(triad, 5, 'x')") ==
        "bad argument #2 to 'for_all' (string expected, got integer)");
  CHECK(text("lib.repeat_until(triad, {'split_iname', 'i', 2}, 5)") ==
        "bad argument #3 to 'repeat_until' (function expected, got number)");
  CHECK(refusal(kTriad, "lib.attempt(triad, 'split_inam')").text ==
        "`lp` has no `split_inam`; did you mean `split_iname`?");
}

// ---- Combinators --------------------------------------------------------------------------------

TEST_CASE("library: attempt goes on with the kernel as it was") {
  run_lua(kRecurrence, R"(
    local lib = require "moonloop.lib"
    local k, why = lib.attempt(recur, {"tag_inames", {i = "par"}})
    assert(k == recur and why.refused and why.code == "races")
    local k, why = lib.attempt(recur, {lp.split_iname, "i", 4, {inner_iname = "in"}})
    assert(k.inames[2] == "in" and why == nil)
    local k = lib.attempt(recur, function(k) return k:split_iname("i", 4):tag_inames("i_outer:par") end)
    assert(k == recur, "half of a refused step was done")
  )");
  CHECK(wrong(kRecurrence, "lib.attempt(recur, {'split_iname', 'z', 4})") ==
        "bad argument #2 to 'split_iname' (kernel 'recur' has no iname 'z'; it has i)");
}

TEST_CASE("library: try_each takes the first that is legal, from the kernel as it is") {
  run_lua(kRecurrence, R"(
    local lib = require "moonloop.lib"
    local par = {"tag_inames", "i:par"}
    local half = {lib.pipeline, {{"split_iname", "i", 4}, {"tag_inames", "i_inner:par"}}}
    local k, which = lib.try_each(recur, {par, half, {"split_iname", "i", 8}, {"split_iname", "i", 9}})
    assert(which == 3 and k == recur:split_iname("i", 8))
    local none, why = lp.attempt(lib.try_each, recur, {half, par})
    assert(none == nil and why.code == "races" and why.message:find "tagging `i` as")
  )");
  const Diagnostic d = refusal(kRecurrence, "lib.try_each(recur, {{'tag_inames', 'i:par'}})");
  CHECK(d.code == "races");
}

TEST_CASE("lp.if_legal: what lp.attempt gives, or nothing") {
  run_lua(kRecurrence, R"(
    assert(lp.if_legal(lp.split_iname, recur, "i", 4) == recur:split_iname("i", 4))
    assert(select("#", lp.if_legal(lp.tag_inames, recur, "i:par")) == 0)
    assert(lp.if_legal(function() return 1, 2 end) == 1)
    local _, why = lp.attempt(lp.tag_inames, recur, "i:par")  -- reasons are looked for again
    assert(why.code == "races" and why.message:find "i=2")
    local ok, wrong = pcall(lp.if_legal, lp.split_iname, recur, "z", 4)
    assert(not ok and tostring(wrong):find "no iname 'z'")
  )");
}

TEST_CASE("library: pipeline takes all steps or none") {
  run_lua(kRecurrence, R"(
    local lib = require "moonloop.lib"
    local k = lib.pipeline(recur, {
      {"split_iname", "i", 8, {outer_iname = "o"}},
      function(k) return k:rename_iname("i_inner", "r") end,
      {lib.pipeline, {{"split_iname", "r", 2}}},
    })
    assert(table.concat(k.inames, " ") == "o r_outer r_inner")
    assert(lib.pipeline(recur, {}) == recur)
    local none, why = lp.attempt(lib.pipeline, recur, {{"split_iname", "i", 8}, {"tag_inames", "i_inner:par"}})
    assert(none == nil and why.refused and #recur.inames == 1)
  )");
  CHECK(refusal(kRecurrence, "lib.pipeline(recur, {{'tag_inames', 'i:par'}})").code == "races");
}

TEST_CASE("library: repeat_until ends by its condition, a refusal, or a kernel that stays") {
  run_lua(kRecurrence, R"(
    local lib = require "moonloop.lib"
    local function halve(k) return k:split_iname(k.inames[1], 2) end
    local k, count = lib.repeat_until(recur, halve, function(k, count)
      assert(#k.inames == count + 1)
      return count == 3
    end)
    assert(count == 3 and #k.inames == 4)
    local k, count = lib.repeat_until(recur, halve, function() return true end)
    assert(count == 0 and k == recur)
    -- without a condition
    local k, count = lib.repeat_until(recur, function(k)
      if #k.inames == 3 then return k:tag_inames("i_outer_outer:par") end
      return halve(k)
    end)
    assert(count == 2 and #k.inames == 3 and next(k.iname_tags) == nil)
    local k, count = lib.repeat_until(recur, function(k) return k end)
    assert(count == 0 and k == recur)
  )");
  CHECK(
      wrong(kRecurrence,
            "lib.repeat_until(recur, function(k) return k:split_iname(k.inames[1], 2) end, {limit "
            "= 3})") == "bad argument #4 to 'repeat_until' (no end after 3 steps)");
  CHECK(refusal(kRecurrence,
                "lib.repeat_until(recur, {'tag_inames', 'i:par'}, function() return false end)")
            .code == "races");
}

TEST_CASE("library: for_all takes a step for each match") {
  const char* const three =
      "kernel three(n: int32, a: float64[n], b: float64[n], c: float64[n], d: float64[n])\n"
      "domain {[i]: 0 <= i < n}\n"
      "b[i] = 2*a[i]   {id=one}\n"
      "c[i] = 3*a[i]   {id=two}\n"
      "d[i] = 4*b[i]   {id=three}\n";
  run_lua(three, R"(
    local lib = require "moonloop.lib"
    local seen = {}
    local k = lib.for_all(three, "reads:a", function(k, id)
      seen[#seen + 1] = id
      return k:tag_instructions("input", id)
    end)
    assert(table.concat(seen, " ") == "one two")
    assert(#k:find_instructions("tag:input") == 2)
    -- further arguments stand behind the id
    local k = lib.for_all(three, "reads:a", {function(k, id, tag) return k:tag_instructions(tag, id) end, "x"})
    assert(#k:find_instructions("tag:x") == 2)
    -- what a step takes away is passed over
    local count = 0
    lib.for_all(three, "writes:c or writes:d", function(k)
      count = count + 1
      return k:remove_instructions("two, three", {unsafe = true})
    end)
    assert(count == 1)
    assert(lib.for_all(three, "reads:none", "realize_reduction") == three)
  )");
  const Kernel k = with_library(
      three, "three = lib.for_all(three, 'reads:*', {'remove_instructions', {unsafe = true}})\n");
  CHECK(k.instructions.empty());
  CHECK(refusal(three, "lib.for_all(three, 'reads:a', 'remove_instructions')").code ==
        "value-needed");
}

// ---- Transforms ---------------------------------------------------------------------------------

TEST_CASE("library: tile makes any number of tiles, in the order asked for") {
  const Kernel two = with_library(kTriad, "triad = lib.tile(triad, {j = 8, i = 4})");
  CHECK(report_tree(two) ==
        "for i_outer\n  for j_outer\n    for i_inner\n      for j_inner\n        add\n");
  verify(kTriad, two, kSizes);

  CHECK(print_kernel(with_library(kTriad, "triad = lib.tile(triad, {j = 8.0, i = 4})")) ==
        print_kernel(two));

  const Kernel three = with_library(kUpdate, "update = lib.tile(update, {i = 4, j = 5, k = 3})");
  CHECK(report_tree(three) ==
        "for i_outer\n  for j_outer\n    for k_outer\n      for i_inner\n        for j_inner\n"
        "          for k_inner\n            add\n");
  verify(kUpdate, three, kSizes);

  const Kernel ordered = with_library(kUpdate,
                                      "update = lib.tile(update, {i = 4, k = 3}, {order = "
                                      "'k_outer, i_outer, j, i_inner, k_inner',\n"
                                      "  outer_tags = 'i:par', inner_tags = {i = 'unr'}})");
  CHECK(report_tree(ordered) ==
        "for k_outer\n  for i_outer  [par]\n    for j\n      for i_inner  [unr]\n"
        "        for k_inner\n          add\n");
  verify(kUpdate, ordered, kSizes);

  const Kernel reduction = with_library(kProduct, "product = lib.tile(product, {k = 3, i = 4})");
  CHECK(report_tree(reduction) ==
        "for i_outer\n  for i_inner\n    for j\n      dot_init\n      for k_outer\n"
        "        for k_inner\n          dot_update\n      dot\n");
  verify(kProduct, reduction, kSizes);
}

TEST_CASE("library: tile refuses what the dependences refuse, and leaves the kernel alone") {
  CHECK(refusal(kNinePoints, "lib.tile(smooth, {i = 4, j = 4})").code == "breaks-order");
  CHECK(refusal(kSmooth, "lib.tile(smooth, {i = 4, j = 4}, {outer_tags = {i = 'par'}})").code ==
        "races");
  run_lua(kNinePoints, R"(
    local lib = require "moonloop.lib"
    local before = smooth:text()
    assert(lp.attempt(lib.tile, smooth, {i = 4, j = 4}) == nil)
    assert(smooth:text() == before and #smooth:trace():gsub("[^\n]", "") == 1)
    -- skewed, it can be tiled
    local skewed, t = lib.skew(smooth, "i", "j")
    assert(lp.attempt(lib.tile, skewed, {i = 4, [t] = 4}))
  )");
  CHECK(refusal(kTriad, "lib.tile(triad:tag_inames('i:par'), {i = 4})").code == "tagged-iname");
}

TEST_CASE("library: register_block gives each copy an accumulator of its own") {
  const Kernel k = with_library(kProduct, "product = lib.register_block(product, {i = 2, j = 4})");
  CHECK(report_tree(k) ==
        "for i_outer\n  for j_outer\n    dot_init  [i_inner: ilp, j_inner: ilp]\n    for k\n"
        "      dot_update  [i_inner: ilp, j_inner: ilp]\n    dot  [i_inner: ilp, j_inner: ilp]\n");
  const std::string code = generate(k, Target::C).source;
  CHECK(code.find("double acc_k[2][4]") != std::string::npos);
  verify(kProduct, k, kSizes);

  const Kernel peeled = with_library(
      kUpdate,
      "update = lib.register_block(update, {i = 3, j = 2}, {reduction = 'k', peel = true})");
  CHECK(report_tree(peeled).find("add_update  [i_inner: ilp, j_inner: ilp]") != std::string::npos);
  verify(kUpdate, peeled, kSizes);

  CHECK(refusal(kSmooth, "lib.register_block(smooth, {j = 2})").code == "races");
  CHECK(wrong(kUpdate, "lib.register_block(update, {i = 3}, {reduction = 'z'})") ==
        "bad argument #3 to 'register_block' (kernel 'update' has no iname 'z'; it has i, j, k)");
  CHECK(refusal(kTriad, "lib.register_block(triad, {i = 3}, {reduction = 'j'})").code ==
        "carried-target");
}

TEST_CASE("library: packed_product computes blocks in registers from packed copies") {
  const Kernel k = with_library(
      kProduct, "product = lib.packed_product(product, {i = 2, j = 4, k = 5}, 'k', {panels = 3})");
  CHECK(to_string(*k.find_temporary("a_pack")->shape) == "3, 5, 2");
  CHECK(to_string(*k.find_temporary("b_pack")->shape) == "(m + 3) // 4, 5, 4");
  const std::string code = generate(k, Target::C).source;
  CHECK(code.find("double acc_k_inner[2][4]") != std::string::npos);
  verify(kProduct, k, kSizes);

  // All terms at once, columns as rows, threads; a scaled sum that is added to what was there.
  const std::string scaled =
      "kernel product(n: int32, m: int32, s: float64, a: float64[n, n], b: float64[n, m],\n"
      "               c: inout float64[n, m])\n"
      "domain {[i, j, k]: 0 <= i, k < n and 0 <= j < m}\n"
      "c[i, j] = s*sum(k, a[i, k]*b[k, j]) + 2*c[i, j]   {id=dot}\n";
  const Kernel whole = with_library(
      scaled,
      "product = lib.packed_product(product, {i = 4, j = 2}, 'k', {lanes = 'i', tag = 'par'})");
  CHECK(whole.tag("i_inner")->text == "vec");
  CHECK(whole.tag("j_outer_outer")->text == "par");
  CHECK(whole.tag("a_pack_panel")->text == "par");
  verify(scaled, whole, kSizes);
  const Kernel blocks = with_library(
      scaled, "product = lib.packed_product(product, {i = 4, j = 2, k = 5}, 'k', {tag = 'par'})");
  CHECK(to_string(blocks.find_insn("dot_base")->rhs) == "2*c[i_base, j_base]");
  verify(scaled, blocks, kSizes);

  // A written accumulation, in blocks of terms, has no loops that assign zeros first.
  const Kernel updated =
      with_library(kUpdate,
                   "update = lp.recognize_reduction(update, 'k')\n"
                   "update = lib.packed_product(update, {i = 3, j = 2, k = 4}, 'k')");
  CHECK(!updated.has_iname("i_base"));
  verify(kUpdate, updated, kSizes);

  // Rows that are factors of the next row's.
  const char* const chained =
      "kernel chained(n: int32, m: int32, a: float64[n, n], c: inout float64[n + 1, m])\n"
      "domain {[i, j, k]: 0 <= i, k < n and 0 <= j < m}\n"
      "c[i + 1, j] = sum(k, a[i, k]*c[i, j])   {id=next}\n";
  const Diagnostic d = refusal(chained, "lib.packed_product(chained, {i = 4, j = 2}, 'k')");
  CHECK(d.code == "breaks-order");
  CHECK(d.text.find("but next[i_outer=0, j=0, i_inner=0] writes c[1, 0] and next_sum_update[") !=
        std::string::npos);

  CHECK(wrong(kProduct, "lib.packed_product(product, {i = 4, j = 2}, 'j')") ==
        "bad argument #3 to 'packed_product' ('j' is the loop of no sum, not of one)");
  CHECK(wrong(kProduct, "lib.packed_product(product, {i = 4, k = 2}, 'k')") ==
        "bad argument #2 to 'packed_product' (sizes of two loops beside 'k' are needed, not of 1)");
  CHECK(wrong(kProduct, "lib.packed_product(product, {i = 4, j = 2}, 'k', {lanes = 'k'})") ==
        "bad argument #4 to 'packed_product' (the lanes are 'i' or 'j', not 'k')");
  CHECK(wrong(kProduct, "lib.packed_product(product, {i = 4, j = 2}, 'k', {panels = 0})") ==
        "bad argument #4 to 'packed_product' (0 is less than 1)");
}

TEST_CASE("library: stage_in_local spreads the copy over work-items") {
  const std::string split =
      "box = lp.split_iname(box, 'i', 4, {outer_tag = 'g.1', inner_tag = 'l.1'})\n"
      "box = lp.split_iname(box, 'j', 8, {outer_tag = 'g.0', inner_tag = 'l.0'})\n";
  const Kernel given = with_library(
      kBox, split +
                "box = lib.stage_in_local(box, 'a', 'i_inner, j_inner',\n"
                "  {axes = {'l.1', 'l.0'}, lengths = {4, 8}, temporary_name = 'tile'})\n");
  CHECK(given.find_temporary("tile")->space == AddressSpace::Local);
  CHECK(to_string(*given.find_temporary("tile")->shape) == "6, 10");
  CHECK(given.tag("a_dim_0_inner")->text == "l.1");
  CHECK(given.tag("a_dim_1_inner")->text == "l.0");
  verify(kBox, given, kSizes);

  const Kernel chosen =
      with_library(kBox, split + "box = lib.stage_in_local(box, 'a', 'i_inner, j_inner')\n");
  CHECK(chosen.tag("a_dim_0")->text == "l.auto");
  verify(kBox, chosen, kSizes);

  // An axis of one element has no loop; taken names are avoided.
  const Kernel row = with_library(
      kProduct,
      "product = lp.split_iname(product, 'i', 4, {outer_tag = 'g.0'})\n"
      "product = lp.split_iname(product, 'j', 8, {outer_tag = 'g.1', inner_tag = 'l.0'})\n"
      "product = lp.rename_iname(product, 'j_outer', 'a_dim_1')\n"
      "product = lp.split_iname(product, 'k', 16)\n"
      "product = lib.stage_in_local(product, 'a', 'k_inner', {axes = 'for, l.0', lengths = {1, "
      "8}})\n");
  CHECK(to_string(*row.find_temporary("a_fetch")->shape) == "16");
  CHECK(row.tag("a_dim_1_0_inner")->text == "l.0");
  verify(kProduct, row, kSizes);

  CHECK(refusal(kSmooth, "lib.stage_in_local(smooth, 'u', 'j')").code == "stale-value");
}

TEST_CASE("library: vectorize_inner puts the lanes inside") {
  const Kernel k = with_library(kTriad, "triad = lib.vectorize_inner(triad, 'i', 4)");
  CHECK(report_tree(k) == "for i_outer\n  for j\n    for i_inner  [simd]\n      add\n");
  verify(kTriad, k, kSizes);
  const Kernel peeled = with_library(
      kTriad, "triad = lib.vectorize_inner(triad, 'j', 4, {peel = true, tag = 'vec'})");
  CHECK(report_tree(peeled) == "for i\n  for j_outer\n    add  [j_inner: vec]\n");
  verify(kTriad, peeled, kSizes);
  // Around a reduction each lane has an accumulator; a reduction's own loop is innermost anyway.
  const Kernel lanes = with_library(kProduct, "product = lib.vectorize_inner(product, 'j', 4)");
  CHECK(lanes.tag("j_inner")->text == "vec");
  verify(kProduct, lanes, kSizes);
  const Kernel terms = with_library(kProduct, "product = lib.vectorize_inner(product, 'k', 4)");
  CHECK(terms.tag("k_inner")->text == "simd");
  verify(kProduct, terms, kSizes);

  CHECK(refusal(kSmooth, "lib.vectorize_inner(smooth, 'j', 4)").code == "races");
  CHECK(refusal(kProduct, "lib.vectorize_inner(product, 'j', 4, {tag = 'simd'})").code ==
        "cannot-nest");
}

TEST_CASE("library: unroll_and_jam keeps the order, or each copy's accumulator") {
  const Kernel k = with_library(kSmooth, "smooth = lib.unroll_and_jam(smooth, 'i', 4)");
  CHECK(report_tree(k) == "for i_outer\n  for j\n    for i_inner  [unr]\n      relax\n");
  verify(kSmooth, k, kGrids);
  const Kernel deep = with_library(kUpdate, "update = lib.unroll_and_jam(update, 'i', 3)");
  CHECK(report_tree(deep) ==
        "for i_outer\n  for j\n    for k\n      for i_inner  [unr]\n        add\n");
  verify(kUpdate, deep, kSizes);
  const Kernel sum = with_library(kProduct, "product = lib.unroll_and_jam(product, 'i', 3)");
  CHECK(report_tree(sum) ==
        "for i_outer\n  for j\n    dot_init  [i_inner: ilp]\n    for k\n"
        "      dot_update  [i_inner: ilp]\n    dot  [i_inner: ilp]\n");
  verify(kProduct, sum, kSizes);

  CHECK(refusal(kNinePoints, "lib.unroll_and_jam(smooth, 'i', 2)").code == "breaks-order");
}

TEST_CASE("library: add_in_lanes gives each lane an accumulator, and the rest another") {
  const char* const text =
      "kernel dot(n: int32, m: int32, a: in float64[n, m], b: in float64[m], r: out float64[n], "
      "t: out float64[1])\ndomain {[i, j]: 0 <= i < n and 0 <= j < m}\n"
      "domain {[k, l]: 0 <= k < n and 0 <= l < m}\n"
      "r[i] = sum(j, a[i, j]*b[j]) {id=row}\nt[0] = max((k, l), a[k, l]) {id=all}\n";
  const Kernel k = with_library(text,
                                "dot = lib.add_in_lanes(dot, 'j', 8, {length = 'm'})\n"
                                "dot = lib.add_in_lanes(dot, 'l', 4)\n");
  verify(text, k, kSizes);
  CHECK(report_tree(k).find("[j_0_inner: vec]") != std::string::npos);
  // Any length gives the right sum.
  verify(text, with_library(text, "dot = lib.add_in_lanes(dot, 'j', 8, {length = 'n + 5'})"),
         kSizes);
  CHECK(refusal(text, "lib.add_in_lanes(dot, 'i', 8)").text.find("'i' is the loop of no sum") !=
        std::string::npos);
}

TEST_CASE("library: skew moves the inner loop by the outer one") {
  const Kernel k = with_library(kNinePoints, R"(
    local t
    smooth, t = lib.skew(smooth, "i", "j", 2)
    assert(t == "j_skewed")
    smooth = lp.prioritize_loops(smooth, {t, "i"})
  )");
  CHECK(report_tree(k) == "for j_skewed\n  for i\n    relax\n");
  CHECK(to_string(k.find_insn("relax")->lhs) == "u[i, j_skewed - 2*i]");
  verify(kNinePoints, k, kGrids);
  const Kernel back = with_library(kTriad,
                                   "triad = lib.skew(triad, 'i', 'j', -1, {name = 'd'})\n"
                                   "triad = lib.skew(triad, 'i', 'd', {name = 'x_skewed'})\n");
  CHECK(back.inames() == std::vector<std::string>{"i", "x_skewed"});
  verify(kTriad, back, kSizes);

  const char* const apart =
      "kernel apart(n: int32, a: float64[n, n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[j]: 0 <= j < n}\na[i, j] = 1\n";
  CHECK(refusal(apart, "lib.skew(apart, 'i', 'j')").code == "no-common-domain");
  CHECK(refusal(kTriad, "lib.skew(triad:tag_inames('j:par'), 'i', 'j')").code == "tagged-iname");
}

TEST_CASE("library: skew leaves the other loops where they are") {
  const char* const cube =
      "kernel cube(n: int32, m: int32, u: float64[n, n, m])\n"
      "domain {[t, i, j]: 1 <= t < n and 0 <= i < n and 1 <= j < m}\n"
      "u[t, i, j] = u[t - 1, i, j - 1]   {id=step}\n";
  const Kernel k = with_library(cube,
                                "cube = lib.skew(cube, 't', 'i')\n"
                                "cube = lib.skew(cube, 't', 'j')\n");
  CHECK(report_tree(k) == "for t\n  for i_skewed\n    for j_skewed\n      step\n");
  verify(cube, k, kSizes);
}

TEST_CASE("library: wavefronts of tiles, and tiles of wavefronts") {
  const char* const heat =
      "kernel heat(n: int32, m: int32, u: inout float64[n + 1, m])\n"
      "domain {[t, i]: 0 <= t < n and 1 <= i < m - 1}\n"
      "u[t + 1, i] = (u[t, i - 1] + 2*u[t, i] + u[t, i + 1])/4   {id=step}\n";
  const Kernel tiles = with_library(heat, R"(
    heat = lib.skew(heat, "t", "i")
    heat = lib.tile(heat, {t = 2, i_skewed = 4})
    heat = lib.wavefront(heat, "t_outer", "i_skewed_outer")
  )");
  CHECK(report_tree(tiles) ==
        "for i_skewed_outer_skewed\n  for t_outer  [par]\n    for t_inner\n"
        "      for i_skewed_inner\n        step\n");
  verify(heat, tiles, kGrids);
  const Kernel waves = with_library(kSmooth, R"(
    smooth = lib.wavefront(smooth, "i", "j", {tag = false})
    smooth = lib.tile(smooth, {i = 4, j_skewed = 4})
  )");
  CHECK(report_tree(waves) ==
        "for j_skewed_outer\n  for i_outer\n    for j_skewed_inner\n      for i_inner\n"
        "        relax\n");
  verify(kSmooth, waves, kGrids);
}

TEST_CASE("library: wavefront runs diagonals in parallel, proved") {
  const Kernel gauss_seidel = with_library(kSmooth, "smooth = lib.wavefront(smooth, 'i', 'j')");
  CHECK(report_tree(gauss_seidel) == "for j_skewed\n  for i  [par]\n    relax\n");
  CHECK(to_string(gauss_seidel.find_insn("relax")->lhs) == "u[i, j_skewed - i]");
  const std::string code = generate(gauss_seidel, Target::OpenMP).source;
  CHECK(code.find("#pragma omp parallel for") != std::string::npos);
  verify(kSmooth, gauss_seidel, kGrids);

  const Kernel edit =
      with_library(kEdit, "edit = lib.wavefront(edit, 'i', 'j', {name = 'diagonal'})");
  CHECK(report_tree(edit) == "for diagonal\n  for i  [par]\n    step\n");
  verify(kEdit, edit, kSizes);

  // With a neighbour across the diagonal the next one is taken.
  const Kernel steeper = with_library(kNinePoints, R"(
    local t
    smooth, t = lib.wavefront(smooth, "i", "j", {tag = false})
    assert(t == "j_skewed" and next(smooth.iname_tags) == nil)
    smooth = lp.split_iname(smooth, "i", 4, {outer_tag = "par"})
  )");
  CHECK(to_string(steeper.find_insn("relax")->lhs).find("2*") != std::string::npos);
  verify(kNinePoints, steeper, kGrids);

  CHECK(refusal(kNinePoints, "lib.wavefront(smooth, 'i', 'j', {factor = 1})").code == "races");
  const char* const mirrored =
      "kernel mirrored(n: int32, m: int32, u: float64[n, m])\n"
      "domain {[i, j]: 1 <= i < n and 0 <= j < m}\n"
      "u[i, j] = u[i - 1, m - 1 - j] + u[i, j]\n";
  CHECK(refusal(mirrored, "lib.wavefront(mirrored, 'i', 'j')").code == "breaks-order");
  CHECK(refusal(kTriad, "lib.wavefront(triad:tag_inames('j:par'), 'i', 'j')").code ==
        "tagged-iname");
}

TEST_CASE("library: work_items adds up by groups") {
  const std::string squares =
      "kernel squares(n: int32, m: int32, a: float64[n, m], x: inout float64[1], y: out "
      "float64[1])\n"
      "domain {[k, j]: 2 <= k < n and 0 <= j < m}\ntag k: par\ntemp part: float64\n"
      "for k\n  for j\n    part = a[k, j]*a[k, j]\n  end\nend\n"
      "x[0] = x[0] + sum((k, j), part)   {id=add}\n"
      "y[0] = max((k, j), part)   {id=most}\n";
  const Kernel sum =
      with_library(squares, "squares = lib.work_items(squares, {size = 8, rows = 4})");
  const auto tag = [&](const std::string& iname) { return sum.iname_tags.at(iname).text; };
  CHECK(tag("k_outer") == "g.1");
  CHECK(tag("j_outer") == "g.0");
  CHECK(tag("j_inner") == "l.0");
  CHECK(to_string(sum.find_insn("most_part")->rhs) == "max((k_inner, j_inner), part)");
  verify(squares, sum, kSizes);

  const std::string one =
      "kernel one(n: int32, m: int32, a: float64[n], x: out float64[1])\n"
      "domain {[k]: 0 <= k < n}\ntag k: par\nx[0] = sum(k, a[k])   {id=add}\n";
  verify(one, with_library(one, "one = lib.work_items(one, {size = 4, rows = 2})"), kSizes);

  // Another loop in the rows: a group has one of them at a time.
  const std::string two =
      "kernel two(n: int32, m: int32, a: float64[n, m], w: out float64[n, m], x: out float64[1])\n"
      "domain {[k]: 0 <= k < n}\ndomain {[j]: 0 <= j < m}\ndomain {[l]: 0 <= l < m}\ntag k: par\n"
      "for k\n  for j\n    w[k, j] = 2*a[k, j]   {id=twice}\n  end\nend\n"
      "x[0] = sum((k, l), w[k, l]*a[k, l])   {id=add}\n";
  verify(two, with_library(two, "two = lib.work_items(two, {size = 8})"), kSizes);
}

TEST_CASE("library: work_items, where only the kernel knows how long a loop is") {
  const std::string rows =
      "kernel rows(n: int32, m: int32, size: int32[1], a: float64[n, m], c: inout float64[n, m])\n"
      "domain {[i]: 0 <= i < some}\ndomain {[j]: 0 <= j < m}\ntag i: par\n"
      "<int32> some = min(n, size[0])   {id=set}\nc[i, j] = 2*a[i, j]   {id=twice, dep=set}\n";
  const Kernel k = with_library(rows, "rows = lib.work_items(rows, {size = 4})");
  CHECK(k.iname_tags.at("i_inner").text == "g.1");
  verify(rows, k, kSizes);
}

TEST_CASE("library: scan_in_blocks has three phases, for each operation") {
  for (const char* value : {"sum(j, x[j])", "product(j, x[j])", "min(j, x[j])", "max(j, x[j])",
                            "2*sum(j, x[j]) + x[i]"})
    for (const char* terms : {"0 <= j <= i", "0 <= j < i", "0 <= j <= i + 2"}) {
      CAPTURE(value);
      CAPTURE(terms);
      const std::string scan =
          "kernel scan(n: int32, m: int32, x: float64[n + 3], y: float64[n])\n"
          "domain {[i]: 0 <= i < n}\ndomain {[j]: " +
          std::string(terms) + "}\nassume m >= 0\ny[i] = " + value + "   {id=add}\n";
      const Kernel k =
          with_library(scan, "scan = lib.scan_in_blocks(scan, 'add', 'i', {size = 4})");
      CHECK(k.iname_tags.at("i_block").text == "par");
      CHECK(k.iname_tags.at("i_part").text == "par");
      CHECK(report_tree(k).find("for i_start\n") != std::string::npos);
      verify(scan, k, {size(1, 1), size(4, 1), size(17, 1)});
    }
  const char* const rows =
      "kernel rows(n: int32, m: int32, x: int32[m, n], y: int64[m, n])\n"
      "domain {[k]: 0 <= k < m}\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j <= i}\n"
      "y[k, i] = sum(j, x[k, j])   {id=add}\n";
  verify(rows, with_library(rows, "rows = lib.scan_in_blocks(rows, 'add', 'i', {size = 3})"),
         kSizes);
  const Kernel k = with_library(rows, R"(
    rows = lib.scan_in_blocks(rows, "add", "i", {size = 8, tag = "g.0"}))");
  CHECK(k.iname_tags.at("i_block").text == "g.0");
  CHECK(k.iname_tags.at("i_item").text == "l.0");
  verify(rows, k, kSizes, {Target::OpenCL});

  const char* const two_blocks =  // one of which has one before
      "kernel few(n: int32, m: int32, x: int32[n + 7], y: int64[7])\n"
      "domain {[i]: 0 <= i < 7}\ndomain {[j]: 0 <= j <= i}\nassume m, n >= 0\n"
      "y[i] = sum(j, x[j])   {id=add}\n";
  verify(two_blocks,
         with_library(two_blocks,
                      "few = lib.scan_in_blocks(few, 'add', 'i', {size = 4, tag = 'g.0'})"),
         {size(1, 1), size(5, 1)}, {Target::OpenCL});
}

TEST_CASE("library: what scan_in_blocks refuses") {
  const std::string scan =
      "kernel scan(n: int32, x: float64[n], y: float64[n], q: int32[n])\n"
      "domain {[i]: 0 <= i < n}\ndomain {[j, k]: 0 <= j, k <= i}\ndomain {[l]: i <= l < n}\n"
      "domain {[h]: 0 <= 2*h <= i}\ndomain {[p]: 3 <= p <= i}\n";
  const std::string step = "lib.scan_in_blocks(scan, 'add', 'i')";
  CHECK(wrong(scan + "y[i] = 2*x[i]   {id=add}\n", step) ==
        "bad argument #2 to 'scan_in_blocks' (instruction 'add' has reductions over 0 inames, not "
        "one)");
  CHECK(wrong(scan + "y[i] = sum((j, k), x[j]*x[k])   {id=add}\n", step) ==
        "bad argument #2 to 'scan_in_blocks' (instruction 'add' has reductions over 2 inames, not "
        "one)");
  CHECK(wrong(scan + "y[i] = sum(j, x[j])   {id=sum}\n", step) ==
        "bad argument #2 to 'scan_in_blocks' (kernel 'scan' has no instruction 'add')");
  CHECK_NOTHROW(refusal(scan + "y[i] = sum(l, x[l])   {id=add}\n", step));
  CHECK_NOTHROW(refusal(scan + "y[i] = sum(h, x[h])   {id=add}\n", step));
  CHECK_NOTHROW(refusal(scan + "y[i] = sum(p, x[p])   {id=add}\n", step));
  CHECK_NOTHROW(refusal(scan + "y[i] = sum(j, x[i - j])   {id=add}\n", step));
}

TEST_CASE("library: its functions compose") {
  // A product by tiles of work-items, both factors staged.
  const Kernel staged = with_library(kProduct, R"(
    product = lib.tile(product, {i = 4, j = 8},
      {outer_tags = {i = "g.1", j = "g.0"}, inner_tags = {i = "l.1", j = "l.0"}})
    product = lp.split_iname(product, "k", 8)
    local fetch = {axes = {"l.1", "l.0"}, lengths = {4, 8}}
    product = lib.stage_in_local(product, "a", "i_inner, k_inner", fetch)
    product = lib.stage_in_local(product, "b", "k_inner, j_inner", fetch)
  )");
  CHECK(report_tree(staged).find("    for k_outer\n      for a_dim_0_outer\n") !=
        std::string::npos);
  verify(kProduct, staged, kSizes);

  // Two nests with loops of their own, a triangle among them.
  const char* const nests =
      "kernel nests(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n])\n"
      "domain {[i, j]: 0 <= i, j < n}\n"
      "domain {[p]: 0 <= p < n}\n"
      "domain {[q]: 0 <= q <= p}\n"
      "b[i, j] = 2*a[j, i]   {id=turn}\n"
      "c[p] = c[p] + b[p, q]   {id=add}\n";
  const Kernel two = with_library(nests, R"(
    nests = lib.tile(nests, {i = 8, j = 4, p = 4, q = 8}, {outer_tags = "i:par, p:par"})
    nests = lib.vectorize_inner(nests, "j_inner", 2)
  )");
  CHECK(report_tree(two) ==
        "for i_outer  [par]\n  for j_outer\n    for i_inner\n      for j_inner_outer\n"
        "        for j_inner_inner  [simd]\n          turn\n"
        "for p_outer  [par]\n  for q_outer\n    for p_inner\n      for q_inner\n        add\n");
  verify(nests, two, {{{"n", "1"}}, {{"n", "21"}}});

  // Several sweeps of Gauss and Seidel's method, the diagonals of each cut into groups.
  const char* const sweeps =
      "kernel sweeps(n: int32, m: int32, u: inout float64[n, m])\n"
      "domain {[t]: 0 <= t < 3}\n"
      "domain {[i, j]: 1 <= i < n - 1 and 1 <= j < m - 1}\n"
      "u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])/4   {id=relax, "
      "inames=+t}\n";
  const Kernel groups = with_library(sweeps, R"(
    sweeps = lib.pipeline(sweeps, {
      {lib.wavefront, "i", "j", {tag = false}},
      {"split_iname", "i", 8, {outer_tag = "g.0", inner_tag = "l.0"}},
    })
  )");
  CHECK(report_tree(groups) ==
        "for t\n  for j_skewed\n    for i_outer  [g.0]\n      relax  [i_inner: l.0]\n");
  verify(sweeps, groups, kGrids);
}
