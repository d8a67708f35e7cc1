#include "codegen/plan/guards.h"

#include "codegen/plan/isl_expr.h"
#include "codegen/plan/loop_sets.h"
#include "core/order/order.h"
#include "core/sets/affine_constraints.h"
#include "core/sets/budget.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

/// What the shortest form of a guard may cost.
constexpr unsigned long kGuardOperations = 100'000;
/// The same where the statements inside ask, too.
constexpr unsigned long kShortGuardOperations = 25'000;
constexpr int kMostUnanswered = 6;  // guards' questions that took more

}  // namespace

bool is_long(const Expr& condition) {
  constexpr int kLongest = 6;
  int comparisons = 0;
  bool alternatives = false;
  walk(condition, [&](const Expr& e) {
    comparisons += e.as<Compare>() != nullptr;
    const auto* n = e.as<Nary>();
    alternatives |= n && n->op == NaryOp::Or;
    return true;
  });
  return alternatives && comparisons > kLongest;
}

std::optional<Expr> Guards::of(const Set& points, const Set& context) {
  if (shows(context, points)) return Expr(BoolLit{true});
  std::optional<BasicSet> plain;
  const auto answered = [&](auto question) {
    if (unanswered_ >= kMostUnanswered) return false;
    try {
      const IslBudget budget(kGuardOperations);
      question();
      return true;
    } catch (const IslQuota&) {
      ++unanswered_;
      return false;
    }
  };
  bool always = false, never = false;
  answered([&] { plain = plain_guard(points, context); });
  if (plain && yes(isl_basic_set_plain_is_universe(plain->get()))) return Expr(BoolLit{true});
  if (!plain) answered([&] { always = yes(isl_set_is_subset(context.get(), points.get())); });
  if (always) return Expr(BoolLit{true});
  answered([&] { never = is_empty(intersect(points, context)); });
  if (never) return std::nullopt;
  Set rest = points;
  if (plain)
    rest = isl_set_align_params(isl_set_from_basic_set(plain->copy()),
                                isl_set_get_space(context.get()));
  else
    answered([&] { rest = coalesce(gist(points, context)); });
  std::optional<Expr> out;
  const bool built = answered([&] {
    const AstBuild build = build_within(context, isl_set_get_space(rest.get()));
    rest = isl_set_compute_divs(rest.copy());  // where that takes too long it stays
    out = from_isl(AstExpr(isl_ast_build_expr_from_set(build.get(), rest.copy())));
  });
  return built ? out : condition_of(rest);
}

std::optional<Expr> Guards::brief(const Set& points, const Set& context, bool& open) {
  const IslBudget budget(kShortGuardOperations);
  const int unanswered = std::exchange(unanswered_, kMostUnanswered - 1);
  std::optional<Expr> out = Expr(BoolLit{true});
  try {
    out = of(points, context);
  } catch (const IslQuota&) {
    if (budget.used() < kShortGuardOperations) throw;
  }
  open = unanswered_ == kMostUnanswered || budget.used() >= kShortGuardOperations;
  unanswered_ = unanswered;
  return out;
}

/// Without looking for what its parts have in common, where much was asked already.
Expr Guards::condition_of(const Set& points) const {
  if (unanswered_ < kMostUnanswered) return from_set(points);
  Exprs any;
  for (const BasicSet& part : parts_of(isl_set_compute_divs(points.copy())))
    any.push_back(from_set(isl_set_from_basic_set(part.copy())));
  if (any.size() == 1) return any.front();
  return any.empty() ? Expr(BoolLit{false}) : Expr(Nary{NaryOp::Or, std::move(any)});
}

}  // namespace moonloop
