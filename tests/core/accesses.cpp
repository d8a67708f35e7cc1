#include <doctest/doctest.h>

#include "core/expr/parse_expr.h"
#include "core/order/conflicts.h"
#include "core/order/order.h"
#include "tests/one_kernel.h"

using namespace moonloop;

namespace {

std::string shown(const Kernel& k, const Expr& value) {
  Instruction insn;
  insn.id = "s";
  insn.lhs = {parse_expression("o[i]")};
  insn.rhs = value;
  insn.inames = {"i"};
  std::string out;
  for (const Access& a : accesses_of(insn, k)) {
    out += out.empty() ? "" : " ";
    out += (a.write ? "=" : "") + a.variable;
    if (!a.index.empty()) out += "[" + to_string(a.index) + "]";
  }
  return out;
}

}  // namespace

TEST_CASE("accesses: large parts that expressions have in common read what they read, in order") {
  const auto with = [](const std::string& more) {
    return parsed("kernel k(n: int32, a: float64[n + 9], b: float64[n], o: float64[n]" + more);
  };
  const Kernel scalar = with(", s: float64)\ndomain {[i]: 0 <= i < n}\no[i] = a[i] + b[i]*s\n");
  const Kernel stored = with(")\ndomain {[i]: 0 <= i < n}\n<> s = 2.0\no[i] = a[i] + b[i]*s\n");
  const auto grown = [](Expr e, int levels) {
    for (int n = 0; n < levels; ++n)
      e = Expr(Nary{NaryOp::Add,
                    {Expr(Nary{NaryOp::Mul, {var("s"), e}}),
                     parse_expression("a[i + " + std::to_string(n % 3 + 1) + "]")}});
    return e;
  };
  const Expr part = grown(parse_expression("b[i]"), 100), whole = grown(part, 1);
  const Expr other = Expr(Nary{NaryOp::Add, {parse_expression("a[i + 2]"), part}});
  for (int again = 0; again < 2; ++again) {
    CHECK(shown(scalar, part) == "b[i] a[i + 1] a[i + 2] a[i + 3] =o[i]");
    CHECK(shown(stored, part) == "s b[i] a[i + 1] a[i + 2] a[i + 3] =o[i]");
    CHECK(shown(scalar, whole) == shown(scalar, part));
    CHECK(shown(stored, whole) == shown(stored, part));
    CHECK(shown(stored, other) == "a[i + 2] s b[i] a[i + 1] a[i + 3] =o[i]");
    CHECK(shown(scalar, other) == "a[i + 2] b[i] a[i + 1] a[i + 3] =o[i]");
  }
}
