#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/plan/hardware_conflicts.h"

namespace moonloop {

/// Accesses, for queries of those that may touch one element with a given one. Constant subscripts
/// decide this, so statements that each have a row of their own cost nothing.
class AccessSet {
 public:
  /// Adds the access, which has to outlive the set, once.
  void add(const StatementAccess& t);
  void add(const AccessSet& all);
  void clear();
  bool empty() const { return all_.empty(); }
  const std::vector<const StatementAccess*>& all() const { return all_; }

  /// Whether `f` holds for some access of the same variable that is not plainly to other elements.
  template <class F>
  bool any_beside(const StatementAccess& t, F f) const {
    const auto of = places_.find(t.variable);
    if (of == places_.end()) return false;
    const Place own = place_of(t);
    for (const auto& [axis, by_value] : of->second)
      for (auto at = axis == own.first ? by_value.find(own.second) : by_value.begin();
           at != by_value.end(); ++at) {
        for (const StatementAccess* x : at->second)
          if (f(*x)) return true;
        if (axis == own.first) break;
      }
    return false;
  }

 private:
  /// The first axis with a constant subscript, and that constant; axis -1 without.
  using Place = std::pair<int, std::int64_t>;
  static Place place_of(const StatementAccess& t);
  std::vector<const StatementAccess*> all_;  // in order of addition
  std::unordered_set<const StatementAccess*> known_;
  std::map<std::string, std::map<int, std::map<std::int64_t, std::vector<const StatementAccess*>>>>
      places_;
};

}  // namespace moonloop
