#include "codegen/plan/known_values.h"

#include "core/sets/named_sets.h"

namespace moonloop {
namespace {

/// The longest value, in operations and operands.
constexpr int kMostParts = 100;

class Search {
 public:
  explicit Search(const Kernel& k) : k_(k) {
    std::map<std::string, int> written;
    for (const InsnPtr& i : k.instructions)
      for (const std::string& w : writes(*i)) ++written[w];
    for (const InsnPtr& i : k.instructions)
      if (is_plain(*i) && written.at(i->lhs[0].as<Var>()->name) == 1)
        sets_.emplace(i->lhs[0].as<Var>()->name, i.get());
  }

  KnownValues run() {
    KnownValues out;
    for (const auto& [name, insn] : sets_)
      if (const Expr e = of(name)) out.emplace(name, e);
    return out;
  }

 private:
  /// Whether it sets an integer, once.
  bool is_plain(const Instruction& i) const {
    if (i.kind != InsnKind::Assign || i.role != ReductionRole::None || i.lhs.size() != 1 ||
        i.atomic != Atomicity::None || !i.inames.empty())
      return false;
    const auto* v = i.lhs[0].as<Var>();
    const Temporary* t = v ? k_.find_temporary(v->name) : nullptr;
    return t && t->type && is_plain(*t->type) && !t->initializer && !t->read_only &&
           t->base_storage.empty() && (!t->shape || t->shape->empty());
  }
  static bool is_plain(const Type& t) {
    return !t.is_record() && is_integer(t.scalar) && !is_unsigned(t.scalar) &&
           size_of(t.scalar) >= 4;
  }

  /// Its value; null where it has none.
  Expr of(const std::string& name) {
    const auto [it, first] = values_.try_emplace(name);  // null too while it is looked for
    if (!first) return it->second;
    const auto set = sets_.find(name);
    Expr e = set == sets_.end() ? Expr() : value(*set->second);
    int parts = 0;
    if (e) walk(e, [&](const Expr&) { return ++parts <= kMostParts; });
    if (parts > kMostParts) e = Expr();
    return values_[name] = e;
  }

  Expr variable(const Expr& e, const std::string& name) {
    const Argument* a = k_.find_arg(name);
    if (a) return !a->is_array && a->type && is_plain(*a->type) ? e : Expr();
    return of(name);
  }

  /// What it sets; 0 where it does not run.
  Expr value(const Instruction& i) {
    Expr out = value(i.rhs);
    for (const Expr& p : i.predicates) {
      const Expr runs = condition(p);
      if (!out || !runs) return {};
      out = Expr(Select{runs, out, lit(0)});
    }
    return out;
  }

  Expr condition(const Expr& e) {
    if (const auto* x = e.as<Compare>()) {
      const Expr a = value(x->left), b = value(x->right);
      return a && b ? Expr(Compare{x->op, a, b}) : Expr();
    }
    if (const auto* x = e.as<Unary>()) {
      const Expr a = x->op == UnaryOp::Not ? condition(x->arg) : Expr();
      return a ? Expr(Unary{x->op, a}) : Expr();
    }
    const auto* x = e.as<Nary>();
    if (!x || (x->op != NaryOp::And && x->op != NaryOp::Or)) return {};
    Exprs terms;
    for (const Expr& t : x->terms) {
      terms.push_back(condition(t));
      if (!terms.back()) return {};
    }
    return Expr(Nary{x->op, std::move(terms)});
  }

  /// `e` with values in the place of names; null where something in it has none.
  Expr value(const Expr& e) {
    if (e.as<IntLit>()) return e;
    if (const auto* x = e.as<Var>()) return variable(e, x->name);
    if (const auto* x = e.as<Unary>()) {
      const Expr a = value(x->arg);
      return a && (x->op == UnaryOp::Neg || x->op == UnaryOp::Sub) ? index_mul(lit(-1), a) : Expr();
    }
    if (const auto* x = e.as<Nary>()) {
      if (x->op != NaryOp::Add && x->op != NaryOp::Mul) return {};
      Exprs terms;
      if (!all_values(x->terms, terms)) return {};
      return Expr(Nary{x->op, std::move(terms)});
    }
    if (const auto* x = e.as<Binary>()) {
      const bool floor = x->op == BinaryOp::FloorDiv || x->op == BinaryOp::Mod;
      const Expr a = floor ? value(x->left) : Expr();
      return a && as_int(x->right).value_or(0) > 0 ? Expr(Binary{x->op, a, x->right}) : Expr();
    }
    if (const auto* x = e.as<Cast>()) return is_plain(x->type) ? value(x->arg) : Expr();
    const auto* c = e.as<Call>();
    Exprs args;
    if (!c || !all_values(c->args, args)) return {};
    if (c->name == "min" || c->name == "max") return call(c->name, std::move(args));
    if (c->name == "truncdiv" || c->name == "truncmod") return toward_zero(*c, args);
    return {};
  }

  bool all_values(const Exprs& all, Exprs& out) {
    for (const Expr& e : all) {
      out.push_back(value(e));
      if (!out.back()) return false;
    }
    return true;
  }

  /// Division by a positive number, of negative ones by way of the positive.
  static Expr toward_zero(const Call& c, const Exprs& args) {
    if (args.size() != 2 || as_int(args[1]).value_or(0) <= 0) return {};
    const BinaryOp op = c.name == "truncdiv" ? BinaryOp::FloorDiv : BinaryOp::Mod;
    const Expr negated = index_mul(lit(-1), args[0]);
    return Expr(Select{Expr(Compare{CompareOp::Ge, args[0], lit(0)}),
                       Expr(Binary{op, args[0], args[1]}),
                       index_mul(lit(-1), Expr(Binary{op, negated, args[1]}))});
  }

  const Kernel& k_;
  std::map<std::string, const Instruction*> sets_;  // by name, the only one that does
  std::map<std::string, Expr> values_;
};

}  // namespace

KnownValues known_values(const Kernel& k) { return Search(k).run(); }

ApproximateSet without_unknown(const Kernel& k, Set s, const KnownValues& known) {
  std::vector<std::string> unknown = computed_params(k, s);
  std::erase_if(unknown, [&](const std::string& p) { return known.count(p) > 0; });
  if (unknown.empty()) return {std::move(s)};
  return {drop_params(std::move(s), unknown), false};
}

}  // namespace moonloop
