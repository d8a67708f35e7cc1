#include "tests/scripts/harness.h"

using namespace moonloop;        // NOLINT
using namespace moonloop::test;  // NOLINT

TEST_CASE("lp.cost: seconds, and what bounds them, as tables") {
  run_lua(kDouble, R"lua(
    local p = lp.cost(twice, {target = "c", params = {n = 100000000}})
    assert(p.target == "c" and p.seconds > 0 and type(p.device) == "string")
    assert(p.bottleneck == p.bounds[1].name and p.bottleneck == "memory", p.bottleneck)
    local sum = 0
    for _, b in ipairs(p.bounds) do
      sum = sum + b.binding
      if b.name == "memory" then assert(b.unit == "B" and math.abs(b.amount - 24e8) < 1000) end
    end
    assert(math.abs(sum - p.seconds) < 1e-9*p.seconds)
    assert(twice:cost({params = {n = 1000}}).seconds < p.seconds)
    local a = twice:cost({params = {n = 1000}, model = "acm"})
    assert(a.bottleneck == "statements" and a.bounds[1].amount == 1000)
    local grid = twice:split_iname("i", 256, {outer_tag = "g.0", inner_tag = "l.0"})
    local small, large = {params = {n = 10}}, {params = {n = 1000000}}
    small.target, large.target = "cuda", "cuda"
    assert(grid:cost(small).bottleneck == "transfers")
    large.resident = true
    for _, b in ipairs(grid:cost(large).bounds) do assert(b.name ~= "transfers") end
    assert(grid:cost({target = "cuda", model = "acm", params = {n = 1000}}).seconds > 0)
    twice = grid
  )lua");
}

TEST_CASE("lp.choose_target, lp.crossover: the target with the least prediction, by size") {
  run_lua(R"(
kernel product(n: int32, a: in float32[n, n], b: in float32[n, n], c: out float32[n, n])
domain {[i, j, k]: 0 <= i, j, k < n}
c[i, j] = sum(k, a[i, k]*b[k, j])
)",
          R"lua(
    local grid = product:split_iname("i", 16, {outer_tag = "g.1", inner_tag = "l.1"})
    grid = grid:split_iname("j", 16, {outer_tag = "g.0", inner_tag = "l.0"})
    local both = {c = product, cuda = grid}
    local chosen, all = lp.choose_target(both, {params = {n = 8}})
    assert(chosen == "c" and all.c.seconds < all.cuda.seconds)
    assert(lp.choose_target(both, {params = {n = 2000}}) == "cuda")
    local changes = lp.crossover(both, {param = "n", to = 2000})
    assert(#changes >= 1 and changes[1].before == "c" and changes[1].after == "cuda")
    local at = changes[1].value
    assert(lp.choose_target(both, {params = {n = at - 1}}) == "c")
    assert(lp.choose_target(both, {params = {n = at}}) == "cuda")
    assert(#lp.crossover(product, {targets = {"c", "openmp"}, param = "n", from = 5, to = 5}) == 0)
    product = grid
  )lua");
}

TEST_CASE("lp.cost: wrong options are errors of the caller") {
  const auto why = [](const std::string& lua) { return failure(kDouble, lua).text; };
  CHECK(why("lp.cost(1)").find("bad argument #1 to 'cost'") != std::string::npos);
  CHECK(why("twice:cost({targt = 'c'})").find("unknown option 'targt'; did you mean `target`?") !=
        std::string::npos);
  CHECK(why("twice:cost({target = 'gpu'})").find("'target': c, openmp, opencl, cuda or ispc") !=
        std::string::npos);
  CHECK(why("twice:cost({params = {n = 'x'}})").find("'n': integer expected") != std::string::npos);
  CHECK(why("twice:cost({model = 'x'})").find("'model'") != std::string::npos);
  CHECK(why("lp.choose_target(twice, {})").find("'targets'") != std::string::npos);
  CHECK(why("lp.choose_target({}, {})").find("table of kernels by target") != std::string::npos);
  CHECK(why("lp.crossover(twice, {targets = {'c'}})").find("'param'") != std::string::npos);
  CHECK(failure(kDouble, "twice:cost()").code == "missing-parameter");
  CHECK(failure(kDouble, "twice:cost({device = 'none', params = {n = 1}})").code == "no-profile");
}
