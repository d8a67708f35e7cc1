#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/expr/expr.h"

namespace moonloop {

/// A template expression with variables that stand for parts of other expressions.
///
/// Matches are exact: the template with its variables replaced evaluates to the same value, bit for
/// bit. So terms of a sum or product match in order, the first two of them also exchanged, and a
/// leading variable may take several leading terms: `alpha*b[i]` matches `b[i]*2` and `x*y*b[i]`,
/// with `alpha` as `2` and `x*y`. In subscripts, which are integers, terms match in any order. A
/// name without a tag matches one with any tag.
class Unifier {
 public:
  Unifier(Expr pattern, std::set<std::string> variables);

  /// What the variables stand for when `e` as a whole matches.
  std::optional<std::map<std::string, Expr>> match(const Expr& e) const;

  /// Names in the template that stand for themselves.
  const std::set<std::string>& fixed_names() const { return fixed_; }

 private:
  Expr pattern_;
  std::set<std::string> variables_, fixed_;
};

}  // namespace moonloop
