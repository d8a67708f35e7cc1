#include "core/adapting.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace moonloop {
namespace {

class Search {
 public:
  explicit Search(const Kernel& k) : k_(k) {}

  bool adapts(const Expr& e) {
    look(e);
    return found_ || !names_;
  }

 private:
  void look(const Expr& e) {
    walk(e, [&](const Expr& x) {
      const auto* b = x.as<Binary>();
      const auto* c = x.as<Call>();
      const auto* v = x.as<Var>();
      const Rule* rule = c ? find(c->name) : v ? find(v->name) : nullptr;
      names_ = names_ || (v && !rule) || x.as<Load>();
      found_ = found_ || x.as<FloatLit>() || x.as<ComplexLit>() || (c && !rule) ||
               (b && (b->op == BinaryOp::Div || b->op == BinaryOp::Pow));
      if (!found_ && rule && seen_.insert(rule).second) look(rule->body);
      return !found_ && !x.as<Load>();
    });
  }

  /// By name; a rule may call many others.
  const Rule* find(const std::string& name) {
    if (rules_.empty())
      for (const Rule& r : k_.rules) rules_.emplace(r.name, &r);
    const auto it = rules_.find(name);
    return it == rules_.end() ? nullptr : it->second;
  }

  const Kernel& k_;
  std::unordered_map<std::string_view, const Rule*> rules_;
  std::unordered_set<const Rule*> seen_;
  bool names_ = false, found_ = false;
};

}  // namespace

bool may_adapt(const Kernel& k, const Expr& e) { return Search(k).adapts(e); }

}  // namespace moonloop
