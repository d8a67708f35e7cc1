#include <algorithm>

#include "codegen/print/omp_teams.h"
#include "codegen/print/reduction_clauses.h"
#include "codegen/print/target.h"

namespace moonloop {
namespace {

class OpenMPDialect : public Dialect {
 public:
  void decorate(Block& block, const Plan& plan, const CNames& names) const override {
    visit(block, plan, names, false);
    if (!plan.outline) join_teams(block, plan);
  }
  std::string atomic_update(bool simple) const override {
    return simple ? "omp atomic" : "omp critical";
  }
  std::string atomic_write() const override { return "omp atomic write"; }

 private:
  static void visit(Block& block, const Plan& plan, const CNames& names, bool in_team) {
    for (Stmt& s : block) {
      if (auto* x = std::get_if<Loop>(&s.op)) {
        const bool starts_team = !in_team && is_spread(plan.kernel.tag(x->iname));
        if (starts_team) x->pragmas.push_back(parallel_for(*x, plan, names));
        mark(*x, plan, names);
        const bool lanes = runs_in_lanes(plan.kernel.tag(x->iname));  // no team starts in one
        visit(x->body, plan, names, in_team || starts_team || lanes);
      } else if (auto* i = std::get_if<If>(&s.op)) {
        visit(i->body, plan, names, in_team);
        visit(i->otherwise, plan, names, in_team);
      } else if (auto* c = std::get_if<Scope>(&s.op)) {
        visit(c->body, plan, names, in_team);
      }
    }
  }

  static std::string parallel_for(const Loop& outer, const Plan& plan, const CNames& identifiers) {
    const std::vector<const Loop*> together = spread_together(outer, plan);
    std::set<std::string> names;
    for (const Loop* l : together) names.insert(l->iname);
    const std::string nested =
        together.size() == 1 ? "" : " collapse(" + std::to_string(together.size()) + ")";
    const std::string clauses = reductions(outer, names, plan, identifiers);
    // Threads that add up put their parts together at the end: the fewer, the better.
    const bool in_turn = clauses.empty() && is_uneven(together.back()->body, names);
    return kParallelFor + nested + (in_turn ? " schedule(dynamic)" : "") + clauses;
  }

  // ---- Iterations that take unequal times: the next thread that is free takes the next one.

  /// Whether a loop in the block has more or fewer iterations from one value of `names`, inames of
  /// loops around, to another, other than at an end.
  /// `limits`: what is known to be nonnegative there.
  static bool is_uneven(const Block& block, std::set<std::string> names, const Exprs& limits = {}) {
    bool out = false;
    for (const Stmt& s : block) {
      if (const auto* x = std::get_if<Loop>(&s.op)) {
        std::set<std::string> inside = names;
        if (has_some(x->lower, names)) inside.insert(x->iname);
        out = has_uneven_length(*x, names, limits) || is_uneven(x->body, inside, limits);
      } else if (const auto* i = std::get_if<If>(&s.op)) {
        out = is_uneven(i->body, names, with(limits, i->cond, true)) ||
              is_uneven(i->otherwise, names, with(limits, i->cond, false));
      } else if (const auto* c = std::get_if<Scope>(&s.op)) {
        std::set<std::string> inside = names;
        if (!c->iname.empty() && has_some(c->value, names)) inside.insert(c->iname);
        out = is_uneven(c->body, inside, limits);
      }
      if (out) return true;
    }
    return false;
  }

  static Exprs with(Exprs limits, const Expr& condition, bool holds) {
    const auto* c = condition.as<Compare>();
    if (!c || c->op == CompareOp::Ne || reads_data(condition)) return limits;
    const Expr more = index_sub(c->right, c->left), less = index_sub(c->left, c->right);
    const bool below = c->op == CompareOp::Lt || c->op == CompareOp::Le;
    if (below || c->op == CompareOp::Gt || c->op == CompareOp::Ge)
      limits.push_back(below == holds ? more : less);
    if (c->op == CompareOp::Eq && holds) limits.insert(limits.end(), {more, less});
    return limits;
  }

  static bool reads_data(const Expr& e) {
    bool found = false;
    walk(e, [&](const Expr& x) { return !(found = found || x.as<Load>()); });
    return found;
  }

  /// A length that is a number, or at most one, may be cut off at the ends, as that of the last
  /// tile is.
  static bool has_uneven_length(const Loop& x, const std::set<std::string>& names,
                                const Exprs& limits) {
    if (!has_some(x.lower, names) && !has_some(x.upper, names)) return false;
    for (const Expr& upper : arguments_of("min", x.upper))
      for (const Expr& lower : arguments_of("max", x.lower)) {
        const Expr length = index_sub(upper, lower);
        if (!has_some(length, names) && (length.as<IntLit>() || has_some(lower, names)))
          return false;
        for (const Expr& l : limits)
          if (index_add({length, l}).as<IntLit>()) return false;
      }
    return true;
  }

  static bool has_some(const Expr& e, const std::set<std::string>& names) {
    std::set<std::string> used;
    collect_vars(e, used);
    return std::any_of(used.begin(), used.end(),
                       [&](const std::string& u) { return names.contains(u); });
  }

  static Exprs arguments_of(std::string_view function, const Expr& e) {
    const Call* c = e.as<Call>();
    if (!c || c->name != function) return {e};
    Exprs out;
    for (const Expr& a : c->args)
      for (const Expr& each : arguments_of(function, a)) out.push_back(each);
    return out;
  }

  static void mark(Loop& loop, const Plan& plan, const CNames& names) {
    const InameTag* tag = plan.kernel.tag(loop.iname);
    if (const std::string hint = unroll_hint(tag, "GCC unroll "); !hint.empty())
      loop.pragmas.push_back(hint);
    if (runs_in_lanes(tag))
      loop.pragmas.push_back("omp simd" + reductions(loop, {loop.iname}, plan, names));
  }

  // ---- Reductions that lanes or threads share.

  /// For the loops `inames`, of which `loop` is the outermost.
  static std::string reductions(const Loop& loop, const std::set<std::string>& inames,
                                const Plan& plan, const CNames& identifiers) {
    std::optional<NoClause> none;
    std::string out = reduction_clauses(loop, inames, plan, identifiers, none);
    if (!none) return out;
    const auto& [name, update, over] = none->accumulator;
    fail("unsupported", update->at, "instruction `{}`: `{}` over `{}`, which is tagged `{}`, {}",
         update->id, to_string(update->reduce_op), over, plan.kernel.tag(over)->text, none->why);
  }
};

}  // namespace

std::unique_ptr<Dialect> make_openmp_dialect();  // codegen/targets.def
std::unique_ptr<Dialect> make_openmp_dialect() { return std::make_unique<OpenMPDialect>(); }

}  // namespace moonloop
