#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/name_index.h"
#include "core/model/kernel.h"

namespace moonloop {

/// The meaning of a rule's body together with all that it calls, directly or not: kernels in which
/// these are the same share one object for it.
struct ClosedRule {
  using Callees = std::vector<std::pair<std::string, std::shared_ptr<const ClosedRule>>>;

  Expr body;
  std::vector<std::string> params;
  Callees callees;        // what it calls directly, each name once; null: not a rule
  mutable Expr expanded;  // the body without calls; null until first needed
  mutable std::optional<std::pair<bool, bool>> adapting;  // of may_adapt, likewise
};

/// The rules of a kernel, by name and with their meanings. Most stay the same from one step of a
/// script to the next.
class ClosedRules {
 public:
  /// Cost: linear in the number of rules, none where the kernel shares them with a recent one.
  static std::shared_ptr<ClosedRules> of(const Kernel& k);

  /// Null where there is none of that name.
  const Rule* find(std::string_view name) const;
  std::shared_ptr<const ClosedRule> closed(std::string_view name);
  /// `r`: one that find() gave. Fails `recursive-rule`.
  const std::shared_ptr<const ClosedRule>& closed(const Rule& r);
  /// Adds what `e` calls directly, each name once, to `out`.
  void collect_callees(const Expr& e, ClosedRule::Callees& out);
  /// Whether the names mean the same here.
  bool hold(const ClosedRule::Callees& callees);

 private:
  explicit ClosedRules(const Shared<Rules>& rules);
  void take_over(const ClosedRules& before);
  bool calls(std::string_view name) const;
  [[noreturn]] void refuse_recursion(const Rule& r) const;

  const Shared<Rules> list_;
  const Rules& rules_;
  NameIndex by_name_;
  std::vector<std::shared_ptr<const ClosedRule>> closed_;  // null until first needed
  std::vector<const Rule*> open_;  // whose callees are being looked at, from the outermost on
};

}  // namespace moonloop
