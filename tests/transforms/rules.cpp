// extract_subst, expand_subst, find_rules_matching.
#include <doctest/doctest.h>

#include "core/expr/parse_expr.h"
#include "core/model/print.h"
#include "tests/one_kernel.h"
#include "transforms/expand_subst.h"
#include "transforms/extract_subst.h"
#include "transforms/find_rules_matching.h"

using namespace moonloop;

namespace {

/// The rules and instructions, one a line: `f(x) := x + 1`, `a[i] = f(i)`.
std::string body(const Kernel& k) {
  std::string out;
  for (const Rule& r : k.rules) {
    out += r.name;
    if (!r.params.empty()) out += fmt::format("({})", fmt::join(r.params, ", "));
    out += " := " + to_string(r.body) + "\n";
  }
  for (const InsnPtr& i : k.instructions) {
    for (const Expr& p : i->predicates) out += "if " + to_string(p) + ": ";
    out += to_string(i->lhs) + " = " + to_string(i->rhs) + "\n";
  }
  return out;
}

Kernel extract(const Kernel& k, const std::string& name, const std::string& pattern,
               const std::vector<std::string>& params = {}, const std::string& within = "") {
  return extract_subst(k, name, parse_expression(pattern), params, Match::parse(within));
}

const char* const kSquares = R"(
kernel squares(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 23*b[i]**2 + 25*b[i]**2
)";

const char* const kNested = R"(
kernel nested(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
f(x) := x*a[x]
g(x) := 12 + f(x)
h(x) := 1 + g(x) + 20*g$three(x)
a[i] = h$one(i) * h$two(i)   {id=insn, tags=input}
)";

}  // namespace

TEST_CASE("extract_subst: a template with a parameter") {
  CHECK(body(extract(parsed(kSquares), "bsquare", "alpha*b[i]**2", {"alpha"})) ==
        "bsquare(alpha) := alpha*b[i]**2\n"
        "a[i] = bsquare(23) + bsquare(25)\n");
}

TEST_CASE("extract_subst: the new rule's name is not that of another rule's version") {
  // Found by the differential test: `b_at` came to call itself.
  const Kernel k = parsed(R"(
kernel twice(n: int32, b: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
c[i] = b[i]
)");
  CHECK(body(extract(extract(k, "b_at", "b[x]", {"x"}), "b_at_0", "b[x]", {"x"})) ==
        "b_at(x) := b_at_0(x)\n"
        "b_at_0(x) := b[x]\n"
        "c[i] = b_at(i)\n");
}

TEST_CASE("extract_subst: read accesses, also in predicates, subscripts and rules") {
  const Kernel k = parsed(R"(
kernel reads(n: int32, m: int32[n], u: float64[n+1], a: float64[n])
domain {[i]: 0 <= i < n}
half(j) := u[j]/2
if m[i] > 0
  a[m[i]] = u$t[i+1] - u[i] + half(i) + u[1+i]
end
)");
  CHECK(body(extract(k, "u_acc", "u[j]", {"j"})) ==
        "half(j) := u_acc(j) / 2\n"
        "u_acc(j) := u[j]\n"
        "if m[i] > 0: a[m[i]] = u_acc$t(i + 1) - u_acc(i) + half(i) + u_acc(1 + i)\n");
  CHECK(body(extract(k, "m_acc", "m[i]")) ==
        "half(j) := u[j] / 2\n"
        "m_acc := m[i]\n"
        "if m_acc() > 0: a[m_acc()] = u$t[i + 1] - u[i] + half(i) + u[1 + i]\n");
  // In a subscript terms match in any order; a tag in the template selects.
  CHECK(body(extract(k, "next", "u[j+1]", {"j"})) ==
        "half(j) := u[j] / 2\n"
        "next(j) := u[j + 1]\n"
        "if m[i] > 0: a[m[i]] = next$t(i) - u[i] + half(i) + next(i)\n");
  CHECK(body(extract(k, "tagged", "u$t[j]", {"j"})).find("tagged$t(i + 1) - u[i]") !=
        std::string::npos);
}

TEST_CASE("extract_subst: products match in order, or with the first two exchanged") {
  const auto matches = [](const std::string& rhs) {
    const Kernel k = parsed(
        "kernel k(n: int32, a: float64[n], b: float64[n], x: float64)\n"
        "domain {[i]: 0 <= i < n}\na[i] = " +
        rhs + "\n");
    try {
      const Kernel out = extract(k, "acc", "alpha*b[i]", {"alpha"});
      CHECK(to_string(expand_subst(out).instructions[0]->rhs).size() ==
            to_string(k.instructions[0]->rhs).size());
      return to_string(out.instructions[0]->rhs);
    } catch (const Refused& e) {
      CHECK(e.diagnostic().code == "no-match");
      return std::string("none");
    }
  };
  CHECK(matches("2*b[i]") == "acc(2)");
  CHECK(matches("b[i]*2") == "acc(2)");
  CHECK(matches("x*2*b[i]") == "acc(x*2)");
  CHECK(matches("x*b[i]*2") == "none");  // (x*b)*2 is not (x*2)*b in floating point
  CHECK(matches("2 + x*b[i]") == "2 + acc(x)");
  CHECK(matches("b[i]*b[i]") == "acc(b[i])");
}

TEST_CASE("extract_subst: within selects calls and makes rule versions") {
  const Kernel k = parsed(R"(
kernel two(n: int32, u: float64[n], a: float64[n], c: float64[n])
domain {[i]: 0 <= i < n}
f(x) := u[x] + 1
a[i] = f(i)   {id=first}
c[i] = f(i) + u[i]   {id=second}
)");
  CHECK(body(extract(k, "acc", "u[j]", {"j"}, "second")) ==
        "f(x) := u[x] + 1\n"
        "f_0(x) := acc(x) + 1\n"
        "acc(j) := u[j]\n"
        "a[i] = f(i)\n"
        "c[i] = f_0(i) + acc(i)\n");
  CHECK(body(extract(k, "acc", "u[j]", {"j"}, "f < ...")) ==
        "f(x) := acc(x) + 1\n"
        "acc(j) := u[j]\n"
        "a[i] = f(i)\n"
        "c[i] = f(i) + u[i]\n");
}

TEST_CASE("extract_subst: names that are not parameters") {
  const Kernel k = parsed(R"(
kernel names(n: int32, u: float64[n], a: float64[n])
domain {[i]: 0 <= i < n}
f(i) := u[i]
a[i] = f(0) + u[i]
)");
  // Inside of `f`, `i` is another name.
  CHECK(body(extract(k, "acc", "u[i]")) == "f(i) := u[i]\nacc := u[i]\na[i] = f(0) + acc()\n");
  // An unknown name stands for one expression.
  const Kernel one = parsed(kSquares);
  CHECK(body(extract(one, "acc", "b[z]**2")) == "acc := b[i]**2\na[i] = 23*acc() + 25*acc()\n");
  CHECK_THROWS_WITH_AS(extract(one, "acc", "z*b[i]**2"),
                       "`z` in the template `z*b[i]**2` stands for `23` and for `25`; make it a "
                       "parameter",
                       Refused);
}

TEST_CASE("extract_subst: reductions") {
  const Kernel k = parsed(R"(
kernel mv(n: int32, A: float64[n, n], x: float64[n], y: float64[n])
domain {[i, j]: 0 <= i < n and 0 <= j < n}
y[i] = 2*sum(j, A[i, j]*x[j])
)");
  CHECK(body(extract(k, "dot", "sum(j, A[r, j]*x[j])", {"r"})) ==
        "dot(r) := sum(j, A[r, j]*x[j])\ny[i] = 2*dot(i)\n");
  CHECK(body(extract(k, "x_acc", "x[c]", {"c"})) ==
        "x_acc(c) := x[c]\ny[i] = 2*sum(j, A[i, j]*x_acc(j))\n");
}

TEST_CASE("extract_subst: refusals") {
  const Kernel k = parsed(kSquares);
  CHECK_THROWS_WITH_AS(extract(k, "acc", "c[j]", {"j"}),
                       "no expression of kernel `squares` matches `c[j]`", Refused);
  CHECK_THROWS_WITH_AS(extract(k, "acc", "b[j]", {"j"}, "other"),
                       "no expression of kernel `squares` matches `b[j]` where `within` looks",
                       Refused);
  CHECK_THROWS_WITH_AS(extract(k, "b", "b[j]", {"j"}), "the name `b` is in use in kernel `squares`",
                       Error);
  CHECK_THROWS_WITH_AS(extract(k, "2x", "b[j]", {"j"}),
                       "`2x` is not a name: names are letters, digits and `_`", Error);
  CHECK_THROWS_WITH_AS(extract(k, "acc", "b[i]", {"j"}),
                       "parameter `j` does not occur in the template `b[i]`", Refused);
  CHECK_THROWS_WITH_AS(extract(k, "acc", "b[j]", {"j", "j"}), "parameter `j` is given twice",
                       Refused);
  CHECK_THROWS_WITH_AS(extract(k, "acc", "j", {"j"}),
                       "the template `j` is a parameter alone and matches everything", Refused);
  // An assignee is not an expression to be replaced.
  CHECK_THROWS_AS(extract(k, "acc", "a[j]", {"j"}), Refused);
}

namespace {

Kernel reciprocals(const Kernel& k, const std::string& pattern,
                   const std::vector<std::string>& params = {}) {
  return extract_subst(k, "inverse", parse_expression(pattern), params, {}, true);
}

Kernel quotients(const std::string& right, const std::string& divisor = "float64") {
  return parsed("kernel q(n: int32, a: float64[n], c: " + divisor +
                "[n])\ndomain {[i]: 0 <= i < n}\na[i] = " + right + "\n");
}

}  // namespace

TEST_CASE("extract_subst: divisions become products with a reciprocal") {
  const Kernel k = quotients("(a[i]/c[i] + 2)/c[n - 1 - i] - 1/c[0] + c[i]/a[i]");
  CHECK_FALSE(k.reciprocals);
  const Kernel all = reciprocals(k, "1/c[x]", {"x"});
  CHECK(all.reciprocals);
  CHECK(body(all) ==
        "inverse(x) := 1 / c[x]\n"
        "a[i] = (a[i]*inverse(i) + 2)*inverse(n - 1 - i) - inverse(0) + c[i] / a[i]\n");
  CHECK(body(reciprocals(k, "1.0/c[0]")) ==
        "inverse := 1.0 / c[0]\n"
        "a[i] = (a[i] / c[i] + 2) / c[n - 1 - i] - inverse() + c[i] / a[i]\n");
}

TEST_CASE("extract_subst: divisions that no reciprocal stands for") {
  CHECK_THROWS_WITH_AS(reciprocals(quotients("a[i]/c[i]"), "c[x]", {"x"}),
                       "divisions are to become products with `c[x]`, which is no reciprocal `1/d`",
                       Refused);
  CHECK_THROWS_WITH_AS(
      reciprocals(quotients("a[i]/c[i]"), "2/c[x]", {"x"}),
      "divisions are to become products with `2 / c[x]`, which is no reciprocal `1/d`", Refused);
  // 1/c[i] has 24 bits, a[i]/c[i] 53.
  CHECK_THROWS_WITH_AS(reciprocals(quotients("a[i]/c[i]", "float32"), "1/c[x]", {"x"}),
                       "`a[i] / c[i]` is of type float64, but the reciprocal of its divisor of "
                       "type float32",
                       Refused);
  CHECK(body(reciprocals(quotients("(i + 1)/c[i]"), "1/c[i]")) ==
        "inverse := 1 / c[i]\na[i] = (i + 1)*inverse()\n");
  CHECK_THROWS_AS(reciprocals(quotients("c[i]//a[i]"), "1/a[i]"), Refused);
}

TEST_CASE("expand_subst: the call of g tagged three within the call of h tagged two") {
  const Kernel k = expand_subst(parsed(kNested), Match::parse("g$three < h$two"));
  CHECK(body(k) ==
        "f(x) := x*a[x]\n"
        "g(x) := 12 + f(x)\n"
        "h(x) := 1 + g(x) + 20*g$three(x)\n"
        "h_0(x) := 1 + g(x) + 20*(12 + f(x))\n"
        "a[i] = h$one(i)*h_0$two(i)\n");
}

TEST_CASE("expand_subst: stacks with wildcards and ellipses") {
  const Kernel k = parsed(kNested);
  const auto with = [&](const char* within) { return body(expand_subst(k, Match::parse(within))); };
  // The outermost level is an instruction here, by its tag.
  CHECK(with("g$thr* < h < *$input") ==
        "f(x) := x*a[x]\n"
        "g(x) := 12 + f(x)\n"
        "h(x) := 1 + g(x) + 20*(12 + f(x))\n"
        "a[i] = h$one(i)*h$two(i)\n");
  CHECK(with("f < ... < h$one") ==
        "f(x) := x*a[x]\n"
        "g(x) := 12 + f(x)\n"
        "g_0(x) := 12 + x*a[x]\n"
        "h(x) := 1 + g(x) + 20*g$three(x)\n"
        "h_0(x) := 1 + g_0(x) + 20*g_0$three(x)\n"
        "a[i] = h_0$one(i)*h$two(i)\n");
  // Outermost first; all that is deeper is meant, too.
  CHECK(with("... > id:h and tag:two > id:g and tag:three") ==
        "f(x) := x*a[x]\n"
        "g(x) := 12 + f(x)\n"
        "h(x) := 1 + g(x) + 20*g$three(x)\n"
        "h_0(x) := 1 + g(x) + 20*(12 + x*a[x])\n"
        "a[i] = h$one(i)*h_0$two(i)\n");
  CHECK(with("... > g $") == with("g"));
  CHECK(body(expand_subst(k)) == with("insn"));
  CHECK(body(expand_subst(k)) ==
        "a[i] = (1 + (12 + i*a[i]) + 20*(12 + i*a[i]))*(1 + (12 + i*a[i]) + "
        "20*(12 + i*a[i]))\n");
  CHECK_THROWS_WITH_AS(expand_subst(k, Match::parse("g$four")),
                       "`within` matches no call of a rule in kernel `nested`", Refused);
}

TEST_CASE("expand_subst: rules that nothing calls stay, those no longer called go") {
  const Kernel k = parsed(R"(
kernel spare(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
unused(x) := x + 1
f(x) := x*2
a[i] = f(i)
)");
  CHECK(body(expand_subst(k, Match::parse("f"))) == "unused(x) := x + 1\na[i] = i*2\n");
}

TEST_CASE("find_rules_matching") {
  const Kernel k = parsed(kNested);
  CHECK(find_rules_matching(k, "*") == std::vector<std::string>{"f", "g", "h"});
  CHECK(find_rules_matching(k, "[gh]") == std::vector<std::string>{"g", "h"});
  CHECK(find_rules_matching(k, "nothing*").empty());
}
