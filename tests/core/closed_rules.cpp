#include "core/model/closed_rules.h"

#include <doctest/doctest.h>

#include "core/expr/parse_expr.h"
#include "core/model/adapting.h"

using namespace moonloop;

namespace {

Rule rule(const std::string& name, const char* body) {
  return {name, {"i"}, parse_expression(body, {}), {}};
}

Kernel with(Rules rules) {
  Kernel k;
  k.rules = std::move(rules);
  return k;
}

std::string expanded(const Kernel& k, const char* text) {
  return to_string(expand_rules(k, parse_expression(text, {})));
}

}  // namespace

TEST_CASE("closed_rules: what a rule means goes by the rules of its kernel") {
  const Rule f = rule("f", "g(i) + 1"), h = rule("h", "f(i)*f(i)");
  const Kernel function = with({f, h});
  CHECK(expanded(function, "h(i)") == "(g(i) + 1)*(g(i) + 1)");
  const Kernel both = with({f, h, rule("g", "2*i")});
  CHECK(expanded(both, "h(i)") == "(2*i + 1)*(2*i + 1)");
  const Kernel other = with({f, h, rule("g", "3*i")});
  CHECK(expanded(other, "h(i)") == "(3*i + 1)*(3*i + 1)");
  CHECK(expanded(with({f, rule("g", "3*i"), h}), "h(j)") == "(3*j + 1)*(3*j + 1)");
  CHECK(expanded(with({h, rule("g", "3*i")}), "h(i)") == "f(i)*f(i)");
  CHECK(expanded(function, "h(i)") == "(g(i) + 1)*(g(i) + 1)");
}

TEST_CASE("closed_rules: kernels that share their rules share what these mean") {
  const Kernel k = with({rule("f", "g(i) + 1"), rule("g", "2*i")});
  const Kernel copy = k;
  CHECK(ClosedRules::of(k) == ClosedRules::of(copy));
  Kernel longer = k;
  longer.rules.push_back(rule("h", "f(i)"));
  const auto before = ClosedRules::of(k), after = ClosedRules::of(longer);
  CHECK(before != after);
  CHECK(before->closed("f") == after->closed("f"));
  CHECK(after->closed("h")->callees.front().second == before->closed("f"));
}

TEST_CASE("closed_rules: a rule that calls itself is refused each time it is asked for") {
  const Kernel k = with({rule("f", "g(i)"), rule("g", "f(i)")});
  for (const char* text : {"f(i)", "f(i)", "g(i)"}) {
    CAPTURE(text);
    const std::string name(text, 1), other = name == "f" ? "g" : "f";
    CHECK_THROWS_WITH_AS(
        expanded(k, text),
        ("rule `" + name + "` calls itself (" + name + " -> " + other + " -> " + name + ")")
            .c_str(),
        Error);
  }
}

TEST_CASE("may_adapt: rules are looked into, as the kernel has them") {
  const Rule f = rule("f", "g(i) + n");
  const Expr e = parse_expression("2*f(i)", {});
  CHECK(may_adapt(with({f}), e));
  CHECK_FALSE(may_adapt(with({f, rule("g", "2*i")}), e));
  CHECK(may_adapt(with({f, rule("g", "2.5*i")}), e));
  CHECK(may_adapt(with({f, rule("g", "i/2")}), e));
  CHECK_FALSE(may_adapt(with({f, rule("g", "a[i/2]")}), e));
  CHECK(may_adapt(with({rule("f", "2")}), parse_expression("3*f(4)", {})));
}
