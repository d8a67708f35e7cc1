#include "core/expr/unify.h"

#include <algorithm>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

using Bindings = std::map<std::string, Expr>;

class Matcher {
 public:
  explicit Matcher(const std::set<std::string>& variables) : variables_(variables) {}

  /// Extends `b` so that `p` becomes `e`; `b` is meaningless after a failure. `integer`: both are
  /// subscripts.
  bool unify(const Expr& p, const Expr& e, Bindings& b, bool integer) const {
    if (!p || !e) return !p && !e;
    if (const std::string* v = variable(p)) return bind(*v, e, b, integer);
    if (!has_variables(p))
      return like(p, e) || (integer && as_int(index_sub(p, e)) == std::optional<std::int64_t>(0));
    if (p.kind() != e.kind()) return false;
    const auto part = [&](const Expr& x, const Expr& y) { return unify(x, y, b, integer); };
    return p.visit(
        overload{[](const IntLit&) { return false; }, [](const FloatLit&) { return false; },
                 [](const ComplexLit&) { return false; }, [](const BoolLit&) { return false; },
                 [](const Var&) { return false; },  // those without variables were compared above
                 [&](const Load& x) {
                   const auto& y = *e.as<Load>();
                   return x.array == y.array && (x.tag.empty() || x.tag == y.tag) &&
                          x.linear == y.linear && all(x.index, y.index, b, true);
                 },
                 [&](const Field& x) {
                   const auto& y = *e.as<Field>();
                   return x.name == y.name && part(x.base, y.base);
                 },
                 [&](const Unary& x) {
                   const auto& y = *e.as<Unary>();
                   return x.op == y.op && part(x.arg, y.arg);
                 },
                 [&](const Binary& x) {
                   const auto& y = *e.as<Binary>();
                   return x.op == y.op && part(x.left, y.left) && part(x.right, y.right);
                 },
                 [&](const Nary& x) {
                   const auto& y = *e.as<Nary>();
                   return x.op == y.op && terms(x, y, b, integer);
                 },
                 [&](const Compare& x) {
                   const auto& y = *e.as<Compare>();
                   return x.op == y.op && part(x.left, y.left) && part(x.right, y.right);
                 },
                 [&](const Select& x) {
                   const auto& y = *e.as<Select>();
                   return part(x.cond, y.cond) && part(x.yes, y.yes) && part(x.no, y.no);
                 },
                 [&](const Call& x) {
                   const auto& y = *e.as<Call>();
                   return x.name == y.name && (x.tag.empty() || x.tag == y.tag) &&
                          all(x.args, y.args, b, integer);
                 },
                 [&](const Reduce& x) {
                   const auto& y = *e.as<Reduce>();
                   return x.op == y.op && x.simultaneous == y.simultaneous &&
                          names(x.inames, y.inames, b) && all(x.args, y.args, b, integer);
                 },
                 [&](const Cast& x) {
                   const auto& y = *e.as<Cast>();
                   return x.type == y.type && part(x.arg, y.arg);
                 },
                 [&](const Slice& x) {
                   const auto& y = *e.as<Slice>();
                   return part(x.start, y.start) && part(x.stop, y.stop) && part(x.step, y.step);
                 },
                 [&](const SubArray& x) {
                   const auto& y = *e.as<SubArray>();
                   return names(x.inames, y.inames, b) && part(x.load, y.load);
                 }});
  }

 private:
  const std::string* variable(const Expr& p) const {
    const auto* v = p.as<Var>();
    return v && variables_.contains(v->name) ? &v->name : nullptr;
  }
  bool has_variables(const Expr& p) const {
    std::set<std::string> vars;
    collect_vars(p, vars);
    return std::any_of(vars.begin(), vars.end(),
                       [&](const std::string& v) { return variables_.contains(v); });
  }
  /// A subtracted term is not a value by itself, except among integers that count, where it is the
  /// negative value.
  bool bind(const std::string& name, Expr e, Bindings& b, bool integer) const {
    if (const auto* u = e.as<Unary>(); u && u->op == UnaryOp::Sub) {
      if (!integer) return false;
      e = Expr(Unary{UnaryOp::Neg, u->arg}, e.at());
    }
    const auto [it, fresh] = b.try_emplace(name, e);
    return fresh || equal(it->second, e) ||
           (integer && as_int(index_sub(it->second, e)) == std::optional<std::int64_t>(0));
  }

  /// Equal, except that where `p` has no tag `e` may have one.
  static bool like(const Expr& p, const Expr& e) {
    if (equal(p, e)) return true;
    const auto untagged = [](const Expr& x) {
      if (const auto* v = x.as<Var>(); v && !v->tag.empty()) return Expr(Var{v->name, {}}, x.at());
      if (const auto* l = x.as<Load>(); l && !l->tag.empty())
        return Expr(Load{l->array, l->index, {}, l->linear}, x.at());
      if (const auto* c = x.as<Call>(); c && !c->tag.empty())
        return Expr(Call{c->name, c->args, {}}, x.at());
      return x;
    };
    bool tagged = false;
    walk(p, [&](const Expr& x) { return tagged = tagged || !untagged(x).same_as(x), !tagged; });
    return !tagged && equal(p, rewrite(e, untagged));
  }

  bool all(const Exprs& p, const Exprs& e, Bindings& b, bool integer) const {
    if (p.size() != e.size()) return false;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (!unify(p[i], e[i], b, integer)) return false;
    return true;
  }

  bool names(const std::vector<std::string>& p, const std::vector<std::string>& e,
             Bindings& b) const {
    if (p.size() != e.size()) return false;
    for (std::size_t i = 0; i < p.size(); ++i)
      if (variables_.contains(p[i]) ? !bind(p[i], var(e[i]), b, true) : p[i] != e[i]) return false;
    return true;
  }

  bool terms(const Nary& p, const Nary& e, Bindings& b, bool integer) const {
    if (e.terms.size() < p.terms.size()) return false;
    const bool arithmetic = p.op == NaryOp::Add || p.op == NaryOp::Mul;
    const bool bits = p.op == NaryOp::BitAnd || p.op == NaryOp::BitOr || p.op == NaryOp::BitXor;
    if (bits || (arithmetic && integer)) return any_order(p, e.terms, b, integer);
    const Bindings before = b;
    if (in_order(p, e.terms, b, integer)) return true;
    if (!arithmetic) return false;
    const auto* second = e.terms[1].as<Unary>();
    if (second && second->op == UnaryOp::Sub) return false;
    Exprs exchanged = e.terms;
    std::swap(exchanged[0], exchanged[1]);
    b = before;
    return in_order(p, exchanged, b, integer);
  }

  bool in_order(const Nary& p, const Exprs& e, Bindings& b, bool integer) const {
    const std::size_t extra = e.size() - p.terms.size();
    if (extra > 0 && !variable(p.terms[0])) return false;
    const Expr first =
        joined(p.op, {e.begin(), e.begin() + static_cast<std::ptrdiff_t>(extra) + 1});
    if (!unify(p.terms[0], first, b, integer)) return false;
    for (std::size_t i = 1; i < p.terms.size(); ++i)
      if (!unify(p.terms[i], e[i + extra], b, integer)) return false;
    return true;
  }

  static Expr joined(NaryOp op, Exprs terms) {
    if (terms.size() == 1) return terms.front();
    const Span at = terms.front().at();
    if (const auto* u = terms.front().as<Unary>(); u && u->op == UnaryOp::Sub)
      terms.front() = Expr(Unary{UnaryOp::Neg, u->arg}, at);  // among integers that count
    return Expr(Nary{op, std::move(terms)}, at);
  }

  /// Terms that are not variables are found among those of `e`; then variables take one each, the
  /// last one all the rest.
  bool any_order(const Nary& p, const Exprs& e, Bindings& b, bool integer) const {
    Exprs parts;
    std::vector<std::string> free;
    for (const Expr& t : p.terms) {
      const std::string* v = variable(t);
      if (v)
        free.push_back(*v);
      else
        parts.push_back(t);
    }
    return find_part(p.op, parts, 0, free, e, b, integer);
  }
  bool find_part(NaryOp op, const Exprs& parts, std::size_t next,
                 const std::vector<std::string>& free, const Exprs& left, Bindings& b,
                 bool integer) const {
    if (next == parts.size()) return distribute(op, free, left, b, integer);
    const Bindings before = b;
    for (std::size_t i = 0; i < left.size(); ++i) {
      b = before;
      if (!unify(parts[next], left[i], b, integer)) continue;
      Exprs rest = left;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      if (find_part(op, parts, next + 1, free, rest, b, integer)) return true;
    }
    return false;
  }
  bool distribute(NaryOp op, const std::vector<std::string>& free, const Exprs& left, Bindings& b,
                  bool integer) const {
    if (free.empty()) return left.empty();
    if (left.size() < free.size()) return false;
    for (std::size_t i = 0; i + 1 < free.size(); ++i)
      if (!bind(free[i], left[i], b, integer)) return false;
    const auto rest = left.begin() + static_cast<std::ptrdiff_t>(free.size()) - 1;
    return bind(free.back(), joined(op, {rest, left.end()}), b, integer);
  }

  const std::set<std::string>& variables_;
};

}  // namespace

Unifier::Unifier(Expr pattern, std::set<std::string> variables)
    : pattern_(std::move(pattern)), variables_(std::move(variables)) {
  std::set<std::string> names;
  collect_vars(pattern_, names);
  collect_reads(pattern_, names);
  for (const std::string& n : names)
    if (!variables_.contains(n)) fixed_.insert(n);
}

std::optional<std::map<std::string, Expr>> Unifier::match(const Expr& e) const {
  // Most expressions are ruled out at a glance.
  if (const auto* p = pattern_.as<Load>()) {
    const auto* l = e.as<Load>();
    if (!l || l->array != p->array) return std::nullopt;
  } else if (pattern_.as<Nary>() || pattern_.as<Reduce>() || pattern_.as<Call>()) {
    if (pattern_.kind() != e.kind()) return std::nullopt;
  }
  Bindings b;
  // A template that is a literal or a name matches the same in a subscript.
  if (!Matcher(variables_).unify(pattern_, e, b, false)) return std::nullopt;
  return b;
}

}  // namespace moonloop
