#include "core/rewrite/footprint.h"

#include <doctest/doctest.h>

#include "core/expr/parse_expr.h"
#include "core/model/domain.h"
#include "core/model/joined_loops.h"
#include "core/rewrite/staging.h"
#include "core/rewrite/staging_loops.h"
#include "tests/one_kernel.h"

/// Where expressions are evaluated and which index tuples they touch.

using namespace moonloop;

namespace {

/// { [inames] -> [subscripts] } on the instances of the kernel.
Map access(const Kernel& k, const std::vector<std::string>& inames,
           const std::vector<std::string>& subscripts) {
  Exprs index;
  for (const std::string& s : subscripts) index.push_back(parse_expression(s));
  return isl_map_intersect_domain(to_map(index, inames)->copy(), domain_of(k, inames).take());
}

bool equal_sets(const Set& a, const std::string& b) {
  return yes(isl_set_is_equal(a.get(), parse_set(b).get()));
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) { return std::string(e.what()) + " [" + e.diagnostic().code + "]"; }
  return "legal";
}

const char* kTiles = R"(kernel t(n: int32, m: int32, a: float64[n, m], c: float64[n, m])
domain {[io, ii, j]: 0 <= ii < 8 and 0 <= 8*io + ii < n and 0 <= j < m}
c[8*io + ii, j] = a[8*io + ii, j]
)";

}  // namespace

TEST_CASE("footprint: several accesses in one box, from the base that gives the least") {
  const Kernel k = parsed(kTiles);
  const Footprint f = footprint(
      k, {access(k, {"io", "ii"}, {"8*io + ii"}), access(k, {"io", "ii"}, {"8*io + ii + 1"})},
      {"x"}, {"io"}, {}, "a");
  REQUIRE(f.axes.size() == 1);
  CHECK(to_string(f.axes[0].base) == "8*io");
  CHECK(f.axes[0].length == 9);
  CHECK_FALSE(f.axes[0].trivial());
  const std::optional<Set> convex = convex_points(f);
  REQUIRE(convex.has_value());
  CHECK(equal_sets(isl_set_intersect_params(zero_based(f, *convex, {"x"}).take(), f.context.copy()),
                   "[n, m, io] -> { [x] : 0 <= x <= 8 and 0 <= io and x + 8*io <= n and "
                   "8*io < n and m >= 1 }"));
}

TEST_CASE("footprint: lengths over parameters, lengths of one, and axes that sweep nothing") {
  const Kernel k = parsed(kTiles);
  const Footprint f = footprint(k, {access(k, {"io", "ii", "j"}, {"8*io + ii", "j", "3"})},
                                {"x", "y", "z"}, {}, {}, "a");
  CHECK(to_string(f.axes[0].extent) == "n");
  CHECK(to_string(f.axes[1].extent) == "m");
  CHECK_FALSE(f.axes[1].length.has_value());
  CHECK(f.axes[2].trivial());
  CHECK(to_string(f.axes[2].base) == "3");
  const Footprint at = footprint(k, {access(k, {"io", "ii", "j"}, {"8*io + ii", "j"})}, {"x", "y"},
                                 {"io", "ii", "j"}, {}, "a");
  CHECK(at.axes[0].trivial());
  CHECK(to_string(at.axes[0].base) == "8*io + ii");
  CHECK(to_string(at.axes[1].base) == "j");
}

TEST_CASE("footprint: holes, triangles and pieces") {
  const Kernel k = parsed(R"(kernel t(n: int32, c: float64[n, n])
domain {[i, j]: 0 <= j <= i < n}
c[i, j] = 1
)");
  const Footprint triangle =
      footprint(k, {access(k, {"i", "j"}, {"i", "j"})}, {"x", "y"}, {}, {}, "c");
  REQUIRE(convex_points(triangle).has_value());
  CHECK(equal_sets(*convex_points(triangle), "[n] -> { [x, y] : 0 <= y <= x < n }"));
  CHECK(equal_sets(box_points(triangle), "[n] -> { [x, y] : 0 <= x < n and 0 <= y < n }"));

  const Footprint stride = footprint(k, {access(k, {"i"}, {"3*i"})}, {"x"}, {}, {}, "c");
  CHECK(to_string(stride.axes[0].extent) == "3*n - 2");
  REQUIRE(convex_points(stride).has_value());
  CHECK(equal_sets(*convex_points(stride), "[n] -> { [x] : x mod 3 = 0 and 0 <= x < 3*n }"));

  const Footprint apart =
      footprint(k, {access(k, {"i"}, {"i"}), access(k, {"i"}, {"i + 2*n"})}, {"x"}, {}, {}, "c");
  CHECK_FALSE(convex_points(apart).has_value());
  StagedPoints exact = staged_points(apart, {"x"}, PointShape::Exact);
  CHECK_FALSE(exact.guards.empty());
  Set inside = isl_set_intersect(exact.points.copy(),
                                 to_condition(conjunction(exact.guards), {"x"})->copy());
  CHECK(equal_sets(isl_set_intersect_params(inside.take(), apart.context.copy()),
                   "[n] -> { [x] : n >= 1 and (0 <= x < n or 2*n <= x < 3*n) }"));
  CHECK(staged_points(apart, {"x"}, PointShape::Box).guards.empty());
}

// Differential test, seed 1415054: 28 parts, where the others had all points.
TEST_CASE("footprint: the box around several accesses has no parts that lie in others") {
  const Kernel k = parsed(
      "kernel f(n: int32)\ndomain {[i]: 0 <= i < n}\ndomain {[j]: 0 <= j < 4}\nassume n >= 5\n"
      "q[i, j] = q[i + 1, i - j + n + 1]\n");
  const Footprint f = footprint(
      k,
      {access(k, {"i", "j"}, {"i + 1", "i - j + n + 1"}), access(k, {"i", "j"}, {"2*i + 1", "j"}),
       access(k, {"i", "j"}, {"i // 2", "i + 2"}), access(k, {"i", "j"}, {"i", "2*j + 2"})},
      {"x", "y"}, {"i"}, {}, "q");
  const Set box = box_points(f);
  CHECK(isl_set_n_basic_set(box.get()) == 2);
  CHECK(equal_sets(isl_set_intersect_params(box.copy(), f.context.copy()),
                   "[n, i] -> { [x, y] : n >= 5 and 0 <= i < n and 2x + 1 >= i and x <= 2*i + 1 "
                   "and 0 <= y and (y <= i + n + 1 or y <= 8) }"));
}

TEST_CASE("footprint: what has none") {
  const Kernel k = parsed(R"(kernel t(n: int32, a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[k]: 0 <= k}
<int32> t = 3
c[i] = a[i]
)");
  CHECK(refusal([&] { footprint(k, {access(k, {"k"}, {"k"})}, {"x"}, {}, {}, "a"); }) ==
        "the footprint of `a` has no bound along `x` [unbounded-footprint]");
  CHECK(
      refusal([&] { footprint(k, {access(k, {"i"}, {"i + t"})}, {"x"}, {}, {}, "a"); }) ==
      "the footprint of `a` depends on the temporary `t`; its size is not known before the kernel "
      "runs [data-dependent-footprint]");
  Map none = access(k, {"i"}, {"i"});
  none = isl_map_intersect_domain(none.take(), parse_set("{ [i] : i < 0 }").take());
  CHECK(refusal([&] { footprint(k, {none}, {"x"}, {}, {}, "a"); }) ==
        "the footprint of `a` is empty: no instance uses it [empty-footprint]");
}

TEST_CASE("footprint: places carry loops, reductions and conditions") {
  const Kernel k = parsed(R"(kernel t(n: int32, a: float64[n], c: float64[n])
domain {[i, k]: 0 <= i, k < n}
c[i] = (a[i] if i < 5 else sum(k, a[k])) + (1 if i > 1 and a[i - 1] > 0 else 0)  {if=i > 0}
)");
  std::vector<std::string> seen;
  rewrite_places(k.instructions[0], [&](const Expr& e, const Place& at) -> std::optional<Expr> {
    if (!e.as<Load>()) return {};
    std::string s = to_string(e) + (at.written ? " written" : "") + ":";
    for (const std::string& i : at.inames) s += " " + i;
    for (const Expr& c : at.conditions) s += "; " + to_string(c);
    seen.push_back(s);
    return {};
  });
  CHECK(seen == std::vector<std::string>{"c[i] written: i; i > 0", "a[i]: i; i > 0; i < 5",
                                         "a[k]: i k; i > 0; not i < 5",
                                         "a[i - 1]: i; i > 0; i > 1"});
  Place at = place_of(*k.instructions[0]);
  at.conditions.push_back(parse_expression("i < 5"));
  const Instances affine = instances_at(k, at);
  CHECK(affine.exact);
  CHECK(equal_sets(affine.set, "[n] -> { [i] : 0 < i < 5 and i < n }"));
  at.conditions.push_back(parse_expression("a[i] > 0"));
  CHECK_FALSE(instances_at(k, at).exact);
}

TEST_CASE("footprint: subscripts relative to a base") {
  const auto relative = [](const char* index, const char* base) {
    return to_string(relative_index(parse_expression(index), parse_expression(base)));
  };
  CHECK(relative("i + 1 + 16*o", "16*o") == "i + 1");
  CHECK(relative("i", "0") == "i");
  CHECK(relative("(i + 4*o) // 2", "2*o") == "i // 2");
  CHECK(to_string(tidy_subscripts(parse_expression("u[(j + 3) - 1] + (j + 3) - 1"))) ==
        "u[j + 2] + (j + 3) - 1");
}

TEST_CASE("staging: calls of a rule wherever they stand, arguments in terms of the instruction") {
  const Kernel k = parsed(R"(kernel t(n: int32, a: float64[n + 9], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := a[x]
g(y) := f(y + 1)*f$t(y) if y < 3 else y
c[i] = g(f(i)) + g(i + 2)
)");
  const auto calls = [&](const std::string& tag, const std::string& within) {
    std::vector<std::string> seen;
    RuleCalls(k, "f", tag, Match::parse(within))
        .visit(k.instructions[0], [&](const Expr& call, const Exprs& args, const Place& at) {
          std::string s = to_string(call) + " is " + to_string(args);
          for (const Expr& c : at.conditions) s += "; " + to_string(c);
          seen.push_back(s);
          return std::optional<Expr>();
        });
    return seen;
  };
  CHECK(calls("", "").size() == 5);
  CHECK(calls("t", "") ==
        std::vector<std::string>{"f$t($0) is f(i); f(i) < 3", "f$t($0) is i + 2; i + 2 < 3"});
  CHECK(calls("", "f < insn") == std::vector<std::string>{"f(i) is i"});
  const auto of_b = [](const Expr& call, const Exprs&, const Place&) {
    return std::optional<Expr>(load("b", call.as<Call>()->args));
  };
  RuleVersions none(k), some(k);
  const InsnPtr out =
      RuleCalls(k, "f", "", Match::parse("f < insn")).rewrite(k.instructions[0], of_b, none);
  CHECK(to_string(out->rhs) == "g(b[i]) + g(i + 2)");
  CHECK(none.empty());
  Kernel changed = k;
  changed.instructions[0] = RuleCalls(k, "f", "t", {}).rewrite(k.instructions[0], of_b, some);
  CHECK(to_string(changed.instructions[0]->rhs) == "g_0(f(i)) + g_0(i + 2)");
  some.settle(changed);
  CHECK(to_string(changed.instructions[0]->rhs) == "g(f(i)) + g(i + 2)");
  REQUIRE(changed.find_rule("g") != nullptr);
  CHECK(to_string(changed.find_rule("g")->body) == "f(y + 1)*b[y] if y < 3 else y");
}

TEST_CASE("staging: loops that cannot change places stay around") {
  const Kernel k = parsed(R"(kernel t(n: int32, a: float64[n, n], b: float64[n, n], c: float64[n])
domain {[i, j, k]: 0 <= i, j, k < n}
<> t = 2*i  {id=t, inames=i}
c[i] = c[i] + a[k, j]*t  {id=use}
)");
  const Sites sites(k);
  REQUIRE(sites.kernel().instructions.size() == 2);
  const Place at = place_of(*sites.kernel().instructions[1]);
  // `t` is only in i, so i stays outside of j and k.
  const auto nests = sites.nests(1, at, {"k"}, {"j"}, {"i", "k"});
  REQUIRE_FALSE(nests.empty());
  CHECK(nests[0] == std::set<std::string>{"i", "k"});
  CHECK(sites.ahead_of(1, at, {"i"}) == 1);
  CHECK(sites.ahead_of(1, at, {}) == 0);
  CHECK(sites.behind(1, at, {}) == 2);
}

TEST_CASE("footprint: what is known of one kernel is asked again of what another one computes") {
  const std::string text = "domain {[i, j]: 0 <= i < n and 0 <= j < m}\na[i, j] = b[i, j]\n";
  const Kernel given =
      parsed("kernel t(n: int32, m: int32, a: float64[n, n], b: float64[n, n])\n" + text);
  const Kernel computed = parsed(
      "kernel t(n: int32, a: float64[n, n], b: float64[n, n], l: int32[1])\n<> m = l[0]\n" + text);
  const Place at{{"i", "j"}, {}, false};
  const auto asked = [&](const Kernel& k, const std::string& name) {
    LoopJoiner loops(k);
    const std::optional<Map> m = elements_at(k, loops, at, {var("j")}, {"i"});
    return footprint(k, {*m}, {name}, {"i"}, {}, "b");
  };
  const Footprint x = asked(given, "x"), again = asked(given, "x"), y = asked(given, "y");
  CHECK(x.points.get() == again.points.get());
  CHECK(equal_sets(x.points, "[n, m, i] -> { [x] : 0 <= x < m and 0 <= i < n }"));
  CHECK(dim_names(y.points) == std::vector<std::string>{"y"});
  CHECK(dim_names(y.own) == std::vector<std::string>{"y"});
  CHECK(y.names == std::vector<std::string>{"y"});
  CHECK(to_string(y.axes[0].extent) == "m");
  CHECK(refusal([&] { asked(computed, "x"); }).ends_with("[data-dependent-footprint]"));
}
