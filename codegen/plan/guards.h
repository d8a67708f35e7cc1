#pragma once
#include <optional>

#include "core/expr/expr.h"
#include "core/sets/isl.h"

namespace moonloop {

/// Whether the condition has alternatives and many comparisons.
bool is_long(const Expr& condition);

/// Finds the conditions of guards, each question with a part of the budget of its own: what isl
/// does not answer is asked at run time. Where some questions were too much, those that follow are
/// not asked: they are about the same loops.
class Guards {
 public:
  /// The condition that a point of `context` is in `points`; nothing when it never is.
  std::optional<Expr> of(const Set& points, const Set& context);
  /// The same where it takes few questions, else `open`.
  std::optional<Expr> brief(const Set& points, const Set& context, bool& open);

 private:
  Expr condition_of(const Set& points) const;

  int unanswered_ = 0;
};

}  // namespace moonloop
