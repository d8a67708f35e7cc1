#include "core/model/adapting.h"

#include <algorithm>
#include <utility>

#include "core/model/closed_rules.h"

namespace moonloop {
namespace {

class Search {
 public:
  explicit Search(const Kernel& k) : rules_(ClosedRules::of(k)) {}

  bool adapts(const Expr& e) {
    look(e, [&](const std::string& name) { return rules_->closed(name); });
    return found_ || !names_;
  }

 private:
  /// `closed`: the rule of a name that `e` calls; null where it is not a rule.
  template <class Closed>
  void look(const Expr& e, const Closed& closed) {
    walk(e, [&](const Expr& x) {
      const auto* b = x.as<Binary>();
      const auto* c = x.as<Call>();
      const std::shared_ptr<const ClosedRule> rule = c ? closed(c->name) : nullptr;
      names_ = names_ || x.as<Var>() || x.as<Load>();
      found_ = found_ || x.as<FloatLit>() || x.as<ComplexLit>() || (c && !rule) ||
               (b && (b->op == BinaryOp::Div || b->op == BinaryOp::Pow));
      if (!found_ && rule) look(*rule);
      return !found_ && !x.as<Load>();
    });
  }

  /// Once for each rule and each one that it calls.
  void look(const ClosedRule& rule) {
    if (!rule.adapting) {
      const bool found = std::exchange(found_, false), names = std::exchange(names_, false);
      look(rule.body, [&](const std::string& name) {
        return std::find_if(rule.callees.begin(), rule.callees.end(),
                            [&](const auto& c) { return c.first == name; })
            ->second;
      });
      rule.adapting.emplace(found_, names_);
      found_ = found, names_ = names;
    }
    found_ = found_ || rule.adapting->first;
    names_ = names_ || rule.adapting->second;
  }

  const std::shared_ptr<ClosedRules> rules_;
  bool names_ = false, found_ = false;
};

}  // namespace

bool may_adapt(const Kernel& k, const Expr& e) { return Search(k).adapts(e); }

}  // namespace moonloop
