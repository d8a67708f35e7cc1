#include "frontends/fortran/extremes.h"

#include <algorithm>

#include "frontends/fortran/names.h"

namespace moonloop::fortran {
namespace {

class Extremes {
 public:
  Extremes(const std::vector<const Do*>& around,
           const std::function<bool(const std::string&)>& stays)
      : around_(around), stays_(stays) {}

  /// The greatest value of `e` inside of the first `depth` loops, or the least one.
  Expr end(const Expr& e, bool greatest, std::size_t depth) const {
    std::set<std::string> names;
    collect_reads(e, names);
    if (std::all_of(names.begin(), names.end(), stays_)) return e;
    if (const auto* v = e.as<Var>()) return end_of_loop(v->name, greatest, depth);
    if (const auto* u = e.as<Unary>(); u && (u->op == UnaryOp::Neg || u->op == UnaryOp::Sub)) {
      const Expr of = end(u->arg, !greatest, depth);
      return of ? index_mul(lit(-1), of) : of;
    }
    if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add) {
      Exprs terms;
      for (const Expr& t : n->terms)
        if (terms.push_back(end(t, greatest, depth)); !terms.back()) return Expr();
      return index_add(terms);
    }
    if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Mul && n->terms.size() == 2)
      for (const std::size_t at : {0, 1})
        if (const auto factor = as_int(n->terms[at])) {
          const Expr of = end(n->terms[1 - at], greatest == (*factor > 0), depth);
          return of ? index_mul(lit(*factor), of) : of;
        }
    if (const auto* c = e.as<Call>(); c && (c->name == "min" || c->name == "max")) {
      Exprs ends;
      for (const Expr& a : c->args)
        if (ends.push_back(end(a, greatest, depth)); !ends.back()) return Expr();
      return call(c->name, std::move(ends), e.at());
    }
    return Expr();
  }

 private:
  Expr end_of_loop(const std::string& variable, bool greatest, std::size_t depth) const {
    while (depth > 0 && around_[depth - 1]->variable != variable) --depth;
    if (depth == 0) return Expr();
    const Do& loop = *around_[depth - 1];
    const auto step = loop.step ? as_int(loop.step) : std::optional<std::int64_t>(1);
    if (!step || *step == 0) return Expr();
    return end(greatest == (*step > 0) ? loop.to : loop.from, greatest, depth - 1);
  }

  const std::vector<const Do*>& around_;
  const std::function<bool(const std::string&)>& stays_;
};

}  // namespace

Expr most(const Expr& e, const std::vector<const Do*>& around,
          const std::function<bool(const std::string&)>& stays) {
  return Extremes(around, stays).end(e, true, around.size());
}

}  // namespace moonloop::fortran
