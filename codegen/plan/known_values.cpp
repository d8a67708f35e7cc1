#include "codegen/plan/known_values.h"

#include <algorithm>

#include "core/model/textual_order.h"

namespace moonloop {
namespace {

/// The longest value, in operations and operands.
constexpr int kMostParts = 100;

class Search {
 public:
  explicit Search(const Kernel& k) : k_(k) {
    std::map<std::string, int> writers, first_read;
    const Variables variables(k);
    for (int n = 0; n < int(k.instructions.size()); ++n) {
      const Instruction& insn = *k.instructions[std::size_t(n)];
      const std::set<std::string> all = writes(insn);
      for (const std::string& w : all) ++writers[w];
      for_each_name_read(k, variables, insn, [&](const std::string& name) {
        if (!all.contains(name)) first_read.emplace(name, n);
      });
      if (is_plain(insn)) sets_[insn.lhs[0].as<Var>()->name].push_back(n);
    }
    const std::vector<int> order = textual_order(k);
    const bool listed = std::is_sorted(order.begin(), order.end());
    std::erase_if(sets_, [&](const auto& s) {
      const bool in_loop = std::any_of(s.second.begin(), s.second.end(), [&](int n) {
        return !k.instructions[std::size_t(n)]->inames.empty();
      });
      if (s.second.size() > 1 && (!listed || in_loop)) return true;
      const auto read = first_read.find(s.first);
      return writers.at(s.first) != int(s.second.size()) ||
             (read != first_read.end() && read->second < s.second.back());
    });
  }

  KnownValues run() {
    KnownValues out;
    for (const auto& [name, all] : sets_)
      if (const Expr e = of(name)) out.emplace(name, e);
    return out;
  }

 private:
  /// Whether it sets an integer.
  bool is_plain(const Instruction& i) const {
    if (i.kind != InsnKind::Assign || i.role != ReductionRole::None || i.lhs.size() != 1 ||
        i.atomic != Atomicity::None)
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

  /// Whether a conversion to the type cuts nothing off: what goes in is no wider.
  bool holds(const Type& t, const Expr& e) const {
    std::set<std::string> names;
    collect_vars(e, names);
    return size_of(t.scalar) == 8 || std::all_of(names.begin(), names.end(), [&](const auto& n) {
             const Argument* a = k_.find_arg(n);
             const Temporary* v = k_.find_temporary(n);
             const std::optional<Type> own = a ? a->type : v ? v->type : std::optional<Type>();
             return own && !own->is_record() && size_of(own->scalar) <= size_of(t.scalar);
           });
  }

  /// Its value once all that set it have run; null where it has none.
  Expr of(const std::string& name) {
    const auto [it, first] = values_.try_emplace(name);  // null too while it is looked for
    if (!first) return it->second;
    const auto sets = sets_.find(name);
    if (sets == sets_.end()) return {};
    Expr value;
    for (const int n : sets->second) {
      value = value_after(*k_.instructions[std::size_t(n)], value ? value : lit(0));
      int parts = 0;
      if (value) walk(value, [&](const Expr&) { return ++parts <= kMostParts; });
      if (!value || parts > kMostParts) return values_[name] = Expr();
      values_[name] = value;  // the next one may read it
    }
    return value;
  }

  Expr variable(const Expr& e, const std::string& name) {
    const Argument* a = k_.find_arg(name);
    if (a) return !a->is_array && a->type && is_plain(*a->type) ? e : Expr();
    return of(name);
  }

  /// What the variable is after it: `before` where it does not run.
  Expr value_after(const Instruction& i, const Expr& before) {
    const Temporary& t = *k_.find_temporary(i.lhs[0].as<Var>()->name);
    Expr out = holds(*t.type, i.rhs) ? value(i.rhs) : Expr();
    for (const Expr& p : i.predicates) {
      const Expr runs = condition(p);
      if (!out || !runs) return {};
      out = Expr(Select{runs, out, before});
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
    if (const auto* x = e.as<Cast>())
      return is_plain(x->type) && holds(x->type, x->arg) ? value(x->arg) : Expr();
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
  std::map<std::string, std::vector<int>> sets_;  // by name, all instructions that do
  std::map<std::string, Expr> values_;
};

}  // namespace

KnownValues known_values(const Kernel& k) { return Search(k).run(); }

ApproximateSet without_unknown(const Kernel& k, Set s, const KnownValues& known) {
  return without_computed(k, std::move(s), [&](const std::string& p) { return known.contains(p); });
}

}  // namespace moonloop
