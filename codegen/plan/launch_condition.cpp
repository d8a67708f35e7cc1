#include "codegen/plan/launch_condition.h"

#include <algorithm>

namespace moonloop {
namespace {

class HostView {
 public:
  HostView(const Plan& plan, const LaunchPlan& launch) : plan_(plan), launch_(launch) {}

  /// The predicate as the host evaluates it; null where it depends on what only the device has.
  Expr of(const Expr& predicate) const {
    bool known = true;
    const Expr out = rewrite(predicate, [&](const Expr& e) {
      const auto* v = e.as<Var>();
      const auto* l = e.as<Load>();
      if (v || (l && l->index.empty())) {
        const Expr value = scalar(v ? v->name : l->array);
        known = known && value;
        return value ? value : e;
      }
      known = known && is_of_integers(e);
      return e;
    });
    return known ? out : Expr();
  }

 private:
  static bool is_of_integers(const Expr& e) {
    if (const auto* u = e.as<Unary>()) return u->op != UnaryOp::BitNot;
    if (const auto* n = e.as<Nary>())
      return n->op == NaryOp::Add || n->op == NaryOp::Mul || n->op == NaryOp::And ||
             n->op == NaryOp::Or;
    return e.as<Compare>() || e.as<IntLit>();
  }

  /// A name that is the same integer for all work-items and for the host, or its value.
  Expr scalar(const std::string& name) const {
    const std::vector<std::string>& loops = launch_.host_loops;
    if (plan_.known.contains(name) || std::find(loops.begin(), loops.end(), name) != loops.end())
      return var(name);
    for (const Argument& a : plan_.kernel.args)
      if (a.name == name)
        return !a.is_array && a.type && !a.type->is_record() && is_integer(a.type->scalar)
                   ? var(name)
                   : Expr();
    const auto it = plan_.kernel.temporaries.find(name);
    if (it == plan_.kernel.temporaries.end()) return {};
    const Temporary& t = it->second;
    const bool constant = t.read_only && t.initializer && t.shape && t.shape->empty();
    return constant && as_int(t.initializer->front()) ? t.initializer->front() : Expr();
  }

  const Plan& plan_;
  const LaunchPlan& launch_;
};

}  // namespace

Expr launch_condition(const Plan& plan, const Launch& launch) {
  const HostView host(plan, plan.launches[static_cast<std::size_t>(launch.index)]);
  std::vector<int> insns;
  for_each_within(launch.body, [&](const Stmt& s) {
    if (const auto* run = std::get_if<Run>(&s.op)) insns.push_back(run->insn);
  });
  std::sort(insns.begin(), insns.end());
  insns.erase(std::unique(insns.begin(), insns.end()), insns.end());
  Exprs any;  // of these has to hold
  for (const int n : insns) {
    Exprs all;
    for (const Expr& predicate : plan.kernel.instructions[static_cast<std::size_t>(n)]->predicates)
      for (const Expr& term : conjuncts(predicate))
        if (Expr e = host.of(term)) all.push_back(std::move(e));
    if (all.empty()) return {};
    Expr own = conjunction(all);
    if (!holds_term(any, own)) any.push_back(std::move(own));
  }
  // What all of them ask for is asked once.
  Exprs common;
  if (any.empty()) return {};
  for (const Expr& term : conjuncts(any.front()))
    if (std::all_of(any.begin(), any.end(),
                    [&](const Expr& e) { return holds_term(conjuncts(e), term); }))
      common.push_back(term);
  Exprs rests;
  for (const Expr& e : any) {
    Exprs rest = conjuncts(e);
    std::erase_if(rest, [&](const Expr& term) { return holds_term(common, term); });
    if (rest.empty()) return conjunction(common);
    rests.push_back(conjunction(rest));
    if (holds_term(rests, negation(rests.back())))  // one of both holds always
      return common.empty() ? Expr() : conjunction(common);
  }
  common.push_back(rests.size() == 1 ? rests.front() : Expr(Nary{NaryOp::Or, std::move(rests)}));
  return conjunction(common);
}

}  // namespace moonloop
