#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

TEST_CASE("lp.parallelism: loops, dependences and bands as tables") {
  run_lua(R"(
kernel mix(n: int32, a: float64[n, n], c: float64[n])
domain {[i, j]: 1 <= i < n and 1 <= j < n - 1}
domain {[k, l]: 0 <= k, l < n}
a[i, j] = a[i - 1, j + 1]     {id=s}
c[k] = c[k] + a[k, l]         {id=add}
)",
          R"lua(
    local p = lp.parallelism(mix)
    assert(#p.loops == 4 and p.loops[1].iname == "i" and p.loops[2].around[1] == "i")
    local i, j, k, l = p.by_iname.i, p.by_iname.j, p.by_iname.k, p.by_iname.l
    assert(i == p.loops[1] and l == p.loops[4])
    assert(i.status == "carried" and not i.par and i.code == "races" and i.tag == nil)
    assert(i.kind == "flow" and i.variable == "a" and i.hint == "" and i.statements[1] == "s")
    assert(i.instances[1].statement == "s" and i.instances[1].does == "writes a[1, 2]")
    assert(i.instances[1].at.i == 1 and i.instances[1].at.j == 2)
    assert(i.instances[2].does == "reads a[1, 2]" and i.instances[2].at.i == 2)
    assert(i.params.n == 4)
    local _, refusal = lp.attempt(lp.tag_inames, mix, {i = "par"})
    assert(i.why == refusal.message, i.why)
    assert(j.status == "parallel" and j.par and j.why == nil and #j.reductions == 0)
    assert(k.status == "parallel" and l.status == "reduction" and not l.par)
    assert(#l.reductions == 1 and l.reductions[1].op == "sum" and not l.reductions[1].declared)
    assert(l.reductions[1].variable == "c" and l.reductions[1].statement == "add")
    local d = p.dependences[1]
    assert(d.source == "s" and d.target == "s" and d.kind == "flow" and d.variable == "a")
    assert(d.carried_by == "i" and d.vector == "(1, -1)" and d.exact and d.loops[2] == "j")
    assert(math.type(d.distance[1]) == "integer" and d.distance[2] == -1)
    assert(p.dependences[2].distance[2] == "<" and p.dependences[2].distance[1] == 0)
    assert(#p.bands == 1 and p.bands[1].perfect and table.concat(p.bands[1].loops, " ") == "k l")

    local q = mix:recognize_reduction("l"):tag_inames({k = "par"}):parallelism()
    assert(q.by_iname.l.status == "reduction" and q.by_iname.l.par and q.by_iname.k.tag == "par")
    assert(q.by_iname.l.reductions[1].declared and q.by_iname.l.reductions[1].variable == nil)
  )lua");
}

TEST_CASE("lp.parallelism: briefly, only what `par` may be on and why not") {
  run_lua(R"(
kernel k(n: int32, a: float64[n, n], b: float64[n])
domain {[i, j]: 1 <= i, j < n}
domain {[l]: 0 <= l < n}
a[i, j] = a[i - 1, j] + 1
b[l] = 2*b[l]
)",
          R"lua(
    local all, brief = lp.parallelism(k), k:parallelism {brief = true}
    assert(#all.loops == #brief.loops)
    for n, loop in ipairs(all.loops) do
      assert(brief.loops[n].iname == loop.iname and brief.loops[n].par == loop.par)
      assert(brief.by_iname[loop.iname].why == loop.why)
    end
    assert(not brief.by_iname.i.par and brief.by_iname.j.par and brief.by_iname.l.par)
    local without = lp.parallelism(k, {brief = true, reasons = false})
    for n, loop in ipairs(all.loops) do
      assert(without.loops[n].iname == loop.iname and without.loops[n].par == loop.par)
      assert(not without.loops[n].why and without.loops[n].code == loop.code
             and without.loops[n].variable == loop.variable)
    end
    assert(lp.parallelism(k, {reasons = false}).by_iname.i.why == all.by_iname.i.why)
    assert(all.bands and not brief.bands and not brief.dependences and not brief.loops[1].status)
  )lua");
}

TEST_CASE("lp.parallelism: a kernel that is not legal is refused, and something else no kernel") {
  const Diagnostic d = failure(R"(
kernel bad(n: int32, a: float64[n])
domain {[i]: 1 <= i < n}
a[i] = a[i - 1]
)",
                               "bad = bad:tag_inames({i = 'par'}, {unsafe = true})\n"
                               "assert(bad:parallelism().by_iname.i.status == 'carried')\n"
                               "lp.parallelism(1)");
  CHECK(d.text.find("bad argument #1 to 'parallelism'") != std::string::npos);
  const Diagnostic unknown = failure(
      "kernel k(n: int32, a: float64[n])\n"
      "domain {[i]: 0 <= i < n}\na[i] = 1\n",
      "lp.parallelism(k, {whithin = 'i'})");
  CHECK(unknown.text.find("unknown option 'whithin'; it has brief, reasons, within") !=
        std::string::npos);
}

TEST_CASE("lp.affine_schedule: few statements have one, many that depend on each other do not") {
  for (const int n : {3, 24}) {
    std::string arguments, domains, statements;
    for (int s = 0; s < n; ++s) {
      arguments += fmt::format(", a{}: inout float64[n, n]", s);
      domains += fmt::format("domain {{[i{0}, j{0}]: 1 <= i{0}, j{0} < n - 1}}\n", s);
      statements += fmt::format(
          "  a{0}[i{0}, j{0}] = a{1}[i{0} - 1, j{0}] + a{1}[i{0} + 1, j{0}] + a{1}[i{0}, j{0} + "
          "1]\n",
          s, (s + n - 1) % n);
    }
    run_lua("kernel many(n: int32, m: int32" + arguments + ")\ndomain {[t]: 0 <= t < m}\n" +
                domains + "for t\n" + statements + "end\n",
            n == 3 ? "assert(lp.affine_schedule(many, 't').kind == 'band')" : R"lua(
    local ok, refusal = pcall(lp.affine_schedule, many, "t")
    assert(not ok and tostring(refusal):find("isl's schedule keeps the order", 1, true))
  )lua");
  }
}
