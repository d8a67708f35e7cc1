#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/rewrite/footprint.h"
#include "core/rewrite/staging.h"
#include "transforms/precompute.h"

/// What precompute determines before it builds: the uses, the storage axes, the loops.
namespace moonloop {

/// One use of the rule.
struct RuleUse {
  std::size_t insn = 0;  // index in Sites::kernel()
  Expr call;
  Exprs args;
  Place place;
  Exprs index;         // by storage axis, over the place's inames
  bool staged = true;  // false: outside of the given footprints
};

/// An axis of the buffer before trivial ones are dropped: a parameter of the rule or an iname.
struct StorageAxis {
  int param = -1;
  std::string source;     // the parameter's or the iname's name
  std::string iname;      // that drives the computation along it
  bool existing = false;  // `iname` was there before
};

class PrecomputePlan {
 public:
  PrecomputePlan(const Kernel& k, const std::string& rule, const PrecomputeOptions& o);

  const Kernel& kernel() const { return sites.kernel(); }
  const PrecomputeOptions options;  // footprints in terms of present inames
  Sites sites;
  const Rule& rule;  // of `kernel()`
  RuleCalls calls;
  std::vector<RuleUse> uses;
  std::vector<StorageAxis> axes;
  std::map<int, Expr> fixed;  // parameters that are not an axis: their one argument
  std::set<std::string> sweep;
  /// By swept iname that sets bounds of reductions in the rule: the axis that has its values.
  std::map<std::string, std::size_t> swept_bounds;
  std::set<std::string> common;  // inames around every use, without the swept ones
  std::set<std::string> needed;  // of those: the buffer's contents depend on them
  AddressSpace space = AddressSpace::Auto;
  std::vector<std::set<std::string>> nests;  // where the computation may be, the best first

  /// The subject of messages: the rule, or the array that it stands for.
  const std::string& subject() const;
  std::vector<std::string> axis_inames() const;
  /// The footprint of the uses in one iteration of `nest`, a superset of `needed`.
  Footprint footprint_in(const std::set<std::string>& nest) const;
  std::vector<Place> places() const;
  /// The type in which the uses compute the value, where it depends on their context and differs
  /// from the type without one. Refuses uses that compute in several types.
  std::optional<Type> type_at_uses() const;

 private:
  void find_uses();
  void find_fixed_and_axes();
  void find_fixed(int param, bool required);
  bool is_one_value(int param) const;
  int param_that_is(const std::string& iname) const;
  void find_swept_bounds();
  void name_axes();
  void index_uses();
  std::vector<Map> given_footprints() const;
  void select_inside();
  void check_sweep() const;
  void find_needed();
  void choose_space();
  void choose_nests();
  std::set<std::string> inames_in(const Expr& e) const;
  Footprint computed_footprint(const std::set<std::string>& nest) const;
  std::set<std::string> body_inames_;      // that the rule's body names itself
  std::set<std::string> bounding_inames_;  // on which bounds of its reductions depend
  Footprint all_;                          // in one iteration of all of `common`
};

/// `value` without rules, its reductions over new inames of `k`, whose bounds are those of the old
/// ones with the expressions `swept` in the place of these inames. `known`: where the value is
/// computed. The new inames have the old ones' tags.
Expr with_own_reductions(Kernel& k, const Expr& value, const std::map<std::string, Expr>& swept,
                         const Set& known, const Span& at);

}  // namespace moonloop
