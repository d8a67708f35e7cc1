#include "codegen/codegen.h"
#include "core/model/print.h"
#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

TEST_CASE("scripts: a kernel shows its parts") {
  run_lua(kDouble, R"(
    assert(twice.name == "twice" and twice.ids[1] == "double")
    assert(#twice.inames == 1 and twice.inames[1] == "i")
    assert(#twice.params == 1 and twice.params[1] == "n")
    assert(#twice.domains == 1 and twice.domains[1]:find("0 <= i < n", 1, true))
    local insn = twice.instructions[1]
    assert(#twice.instructions == 1 and insn.id == "double" and insn.kind == "assignment")
    assert(insn.lhs[1] == "b[i]" and insn.rhs == "2*a[i]", insn.rhs)
    assert(insn.inames[1] == "i" and insn.tags[1] == "first" and insn.writes[1] == "b")
    assert(insn.reads[1] == "a" and #insn.predicates == 0 and insn.line == 4)
    assert(#twice.args == 3)
    local a = twice.args[2]
    assert(a.name == "a" and a.type == "float64" and a.shape[1] == "n" and a.order == "C")
    assert(a.is_array and not twice.args[1].is_array)
    assert(#twice.rules == 0 and #twice.temporaries == 0)
    assert(next(twice:tag_inames{i = "unr"}.iname_tags) == "i")
  )");
}

TEST_CASE("scripts: rules, temporaries and reductions in the fields") {
  run_lua(R"(
kernel parts(n: int32, a: float64[n], out: float64[n])
domain {[i, k]: 0 <= i, k < n}
f(x) := x*a[x % n]
<>t = sum(k, a[k])   {id=total}
out[i] = t + a[i]    {id=use, dep=total}
)",
          R"(
    assert(parts.rules[1].name == "f" and parts.rules[1].params[1] == "x")
    assert(parts.rules[1].body == "x*a[x % n]", parts.rules[1].body)
    assert(parts.temporaries[1].name == "t")
    assert(parts.instructions[1].reduction_inames[1] == "k")
    assert(parts.instructions[2].depends_on[1] == "total")
  )");
}

TEST_CASE("scripts: what a kernel tells about itself") {
  run_lua(kDouble, R"(
    assert(tostring(twice) == twice:text() and twice:ir() == twice:text())
    assert(lp.parse(twice:text()) == twice)
    assert(twice:tree():find("i", 1, true))
    assert(twice:code():find("twice", 1, true) and twice:code("openmp"):find("twice", 1, true))
    assert(twice:header():find("twice", 1, true))
    assert(twice:stats():find("double  operations 1, reads 1, writes 1", 1, true), twice:stats())
    assert(type(twice:deps()) == "string" and type(twice:schedule()) == "string")
    assert(twice:check() == twice)
  )");
  run_lua(kRecurrence, R"(
    local deps = recur:deps()
    assert(deps:find("flow a: step -> step:", 1, true), deps)
  )");
  CHECK(failure(kDouble, "twice:code('fortran')").text ==
        "bad argument #1 to 'code' (unknown target 'fortran'; there is " + target_list() + ")");
}

TEST_CASE("scripts: a trace replays to the same kernel") {
  const char* script = R"(
    twice = twice:split_iname("i", 16, {outer_tag = "g.0"})
    twice = lp.tag_inames(twice, {i_inner = "l.0"})
  )";
  const Kernel k = transform(kDouble, script);
  const std::string replay = replay_script(k);
  CHECK(replay ==
        "-- the transforms of kernel `twice`\n"
        "twice = lp.split_iname(twice, \"i\", 16, {outer_tag = \"g.0\"})\n"
        "twice = lp.tag_inames(twice, {i_inner = \"l.0\"})\n");
  CHECK(print_kernel(transform(kDouble, replay)) == print_kernel(k));
  run_lua(kDouble, "assert(twice:split_iname('i', 4):trace():find('lp.split_iname', 1, true))");
}

TEST_CASE("auto: what was asked about a kernel is an answer for that kernel alone") {
  transform(kDouble, R"(
    local Memory = require "moonloop.auto_memory"
    local asked = 0
    local function loops_of(knl)
      asked = asked + 1
      return #knl.inames, nil, "loops"
    end
    local function loops(knl, question)
      local count, none, what = Memory.of(knl, question or "loops", loops_of)
      assert(none == nil and what == "loops")
      return count
    end
    do
      local memory <close> = Memory.open()
      local split = lp.split_iname(twice, "i", 4)
      assert(loops(twice) == 1 and loops(twice) == 1 and asked == 1)
      assert(loops(split) == 2 and loops(twice) == 1 and asked == 2)
      assert(loops(twice, "others") == 1 and asked == 3)
      do
        local inner <close> = Memory.open()
        assert(loops(split) == 2 and asked == 4)
      end
      assert(loops(split) == 2 and asked == 4)
    end
    assert(loops(twice) == 1 and loops(twice) == 1 and asked == 6)

    local all = {1, 1.0, "1", true, "true", {1}, {"1"}, {{1}}, {a = 1}, {[1.5] = 1}, {1, 1}, {}}
    local texts = {}
    for _, value in ipairs(all) do texts[Memory.text(value)] = true end
    local count = 0
    for _ in pairs(texts) do count = count + 1 end
    assert(count == #all)
    assert(Memory.text{a = 1, b = {2}} == Memory.text{b = {2}, a = 1})
    assert(Memory.text(print) == nil and Memory.text{{print}} == nil)
  )");
}

TEST_CASE("trips: values for which no loop inside runs do not count") {
  transform(
      "kernel f(n: int32, a: float64[n, n])\ndomain {[t]: 0 <= t < n}\ndomain {[i]: 0 <= i < n}\n"
      "domain {[k]: t <= k < i and k < t + 8 and i < t + 9}\na[t, i] = a[t, i] + k\n",
      R"(
    assert(f:trips{n = 100}.i == 8)
    assert(f:trips({n = 100}, "i") == 8 and f:trips({}, "t") == nil)
    assert(select(2, pcall(f.trips, f, {}, "z")).code == "unknown-iname")
  )");
  transform(
      "kernel f(n: int32, a: float64[n])\ndomain {[i]: 0 <= i < n}\n"
      "domain {[k]: 90 <= k < i}\na[i] = 1\na[i] = a[i] + k\n",
      R"(assert(f:trips{n = 100}.i == 100))");
}

TEST_CASE("trips: each kernel has its own, whatever was asked before") {
  transform(
      "kernel f(n: int32, m: int32, a: float64[n, n])\n"
      "domain {[i, j]: 0 <= i < n and i <= j < m}\na[i, j] = 0.0\n",
      R"(
    local function check(knl, params, i, j)
      local trips = knl:trips(params)
      assert(trips.i == i and trips.j == j, ("%s %s"):format(trips.i, trips.j))
    end
    check(f, {n = 4, m = 6}, 4, 6)
    check(f, {n = 4, m = 7}, 4, 7)
    check(f, {n = 4, m = 6}, 4, 6)
    check(f, {n = 4}, 4, nil)
    check(lp.fix_parameters(f, {m = 9}), {n = 4}, 4, 9)
    local parts = lp.split_iname(f, "j", 4):trips{n = 4, m = 6}
    assert(parts.i == 4 and parts.j_outer == 2 and parts.j_inner == 4)
  )");
}
