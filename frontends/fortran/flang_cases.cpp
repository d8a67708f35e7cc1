#include "core/base/diagnostic.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/texts.h"

// The tests of `select case`.
namespace moonloop::fortran {

Expr within(const Expr& of, bool texts, const fp::CaseValueRange& range, const Span& at) {
  const auto test = [&](CompareOp op, const fp::CaseValue& v) {
    const SomeExpr* typed = sem::GetExpr(nullptr, v.thing.thing.value());
    if (!typed) fail("fortran", at, "Flang gives an expression no type");
    const Expr limit = to_expr(*typed, at);
    if (texts) return compared_texts(op, of, limit, at);
    if (!limit.as<BoolLit>()) return Expr(Compare{op, of, limit}, at);
    return limit.as<BoolLit>()->value ? of : negation(of);
  };
  return std::visit(
      Fortran::common::visitors{[&](const fp::CaseValue& v) { return test(CompareOp::Eq, v); },
                                [&](const fp::CaseValueRange::Range& r) {
                                  Exprs both;
                                  const auto& [lower, upper] = r.t;
                                  if (lower) both.push_back(test(CompareOp::Ge, *lower));
                                  if (upper) both.push_back(test(CompareOp::Le, *upper));
                                  return conjunction(both);
                                }},
      range.u);
}

}  // namespace moonloop::fortran
