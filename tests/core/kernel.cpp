#include "core/model/kernel.h"

#include <doctest/doctest.h>

#include "core/base/diagnostic.h"
#include "core/expr/parse_expr.h"
#include "tests/one_kernel.h"

using namespace moonloop;

namespace {

using Names = std::vector<std::string>;
using NameSet = std::set<std::string>;

const char* const kRules = R"(
kernel rules(n: int32, m: int32[n], a: float64[n, n], x: float64[n], y: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
dot(r) := sum(j, a[r, j]*x[j])
twice(e) := 2*e
if m[i] > 0
  y[m[i]] = twice(dot(i)) + x[i]  {id=it}
end
)";

}  // namespace

TEST_CASE("iname tags") {
  const auto text = [](const char* s) {
    const auto t = parse_iname_tag(s);
    return t ? t->text + ":" + std::to_string(t->axis) : "none";
  };
  CHECK(text("g.0") == "g.0:0");
  CHECK(text("l.12") == "l.12:12");
  CHECK(text("unr") == "unr:-1");
  CHECK(text("unr_hint.4") == "unr_hint.4:4");
  CHECK(text("ord") == "ord:-1");
  for (const char* bad : {"g", "g.", "g.x", "g.-1", "l.1x", "unr_hint.0", "fast", ""})
    CHECK(text(bad) == "none");
  CHECK(*parse_iname_tag("unr") == *parse_iname_tag("unroll"));
}

TEST_CASE("look-ups") {
  const Kernel k = parsed(kRules);
  CHECK(k.find_arg("x") != nullptr);
  CHECK(k.find_arg("i") == nullptr);
  CHECK(k.find_rule("dot")->params == Names{"r"});
  CHECK(k.find_insn("it") != nullptr);
  CHECK(k.has_iname("j"));
  CHECK_FALSE(k.has_iname("n"));
  CHECK(k.inames() == Names{"i", "j"});
  CHECK(k.instruction_ids() == Names{"it"});
  CHECK(k.fresh_name("q") == "q");
  CHECK(k.fresh_name("x") == "x_0");
  CHECK(k.fresh_name("r") == "r_0");  // a rule's parameter
  CHECK(k.fresh_id("it") == "it_0");
}

TEST_CASE("reads, writes and inames look through rules") {
  const Kernel k = parsed(kRules);
  const Instruction& insn = *k.find_insn("it");
  CHECK(writes(insn) == NameSet{"y"});
  const NameSet read = reads(k, insn);
  for (const char* name : {"a", "x", "m", "i"}) CHECK(read.contains(name));
  for (const char* name : {"y", "r", "e"}) CHECK_FALSE(read.contains(name));
  CHECK(reduction_inames(k, insn.rhs) == NameSet{"j"});
  CHECK(all_inames(k, insn) == NameSet{"i", "j"});
  CHECK(insn.inames == NameSet{"i"});
}

TEST_CASE("rules expand to the end") {
  const Kernel k = parsed(kRules);
  CHECK(to_string(expand_rules(k, k.instructions[0]->rhs)) == "2*sum(j, a[i, j]*x[j]) + x[i]");
  CHECK(expand_all_rules(k).rules.empty());
  const Rule f{"f", {"u", "v"}, parse_expression("u[v] + v"), {}};
  CHECK(to_string(apply_rule(f, {var("a"), parse_expression("i + 1")})) == "a[i + 1] + (i + 1)");
  CHECK_THROWS_WITH_AS(apply_rule(f, {var("a")}), "rule `f` takes 2 arguments, got 1", Error);
  CHECK_THROWS_AS(apply_rule(f, {parse_expression("a + b"), var("i")}), Error);
  Kernel loop = k;
  loop.rules =
      Rules{{"f", {"x"}, parse_expression("g(x)"), {}}, {"g", {"x"}, parse_expression("f(x)"), {}}};
  CHECK_THROWS_WITH_AS(expand_rules(loop, parse_expression("f(1)")),
                       "rule `f` calls itself (f -> g -> f)", Error);
}

TEST_CASE("map_expressions leaves unchanged instructions the same objects") {
  const Kernel k = parsed(
      "kernel two(n: int32, a: float64[n], b: float64[n])\n"
      "domain {[i]: 0 <= i < n}\na[i] = 1\nb[i] = 2\n");
  const Kernel out = map_expressions(k, [](const Instruction&, const Expr& e) {
    return rewrite(e, [](const Expr& x) { return as_int(x) == 2 ? lit(3) : x; });
  });
  CHECK(out.instructions[0] == k.instructions[0]);
  CHECK(to_string(out.instructions[1]->rhs) == "3");
  CHECK(to_string(k.instructions[1]->rhs) == "2");
}
