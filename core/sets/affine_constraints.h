#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/sets/isl.h"

/// Constraints by name, for queries whose answer can be read off them. All others are for isl.
namespace moonloop {

/// `sum(coefficients) + constant >= 0`, or `== 0`.
struct AffineConstraint {
  std::map<std::string, std::int64_t> coefficients;
  std::int64_t constant = 0;
  bool equality = false;

  std::int64_t of(const std::string& name) const {
    const auto it = coefficients.find(name);
    return it == coefficients.end() ? 0 : it->second;
  }
};

/// Dimensions without a name are called `[0]`, `[1]`, ...
AffineConstraint constraint_of(const Constraint& c);
/// The constraint `a >= 0`; nothing when `a` has quotients or fractions.
std::optional<AffineConstraint> constraint_of(const Aff& a);

/// The constraints of a set, whose parameters and dimensions have different names.
class AffineConstraints {
 public:
  /// Nothing where the set has quotients or several parts.
  static std::optional<AffineConstraints> of(const Set& s);

  const std::vector<AffineConstraint>& all() const { return all_; }
  /// Whether `c` is one of the constraints with a bound of each other name in it added: always so
  /// on the set. False says nothing.
  bool show(const AffineConstraint& c) const;

 private:
  bool bounds_show(const AffineConstraint& c) const;

  std::vector<AffineConstraint> all_;
  std::map<std::string, std::int64_t> low_, high_;  // from constraints on only that name
};

/// Looks for a point that meets all constraints, from the origin on: of the coordinates that can
/// repair one, it moves the one that leaves the fewest others broken. True is certain, false means
/// unknown. isl needs a hundred times as long to find a point of an unbounded set.
bool has_near_point(const std::vector<const AffineConstraint*>& all);

/// Whether no point is in `s`: as isl_set_is_empty(), after looking for a near point.
bool is_empty(const Set& s);

}  // namespace moonloop
