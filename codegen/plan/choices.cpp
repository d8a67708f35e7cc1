#include "codegen/plan/choices.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "codegen/plan/ast.h"

namespace moonloop {
namespace {

/// `first + number*step`.
struct Even {
  std::int64_t first = 0, step = 0;
};

std::optional<Even> even(const std::vector<std::int64_t>& values) {
  Even out{values[0], 0};
  if (__builtin_sub_overflow(values[1], values[0], &out.step)) return std::nullopt;
  for (std::size_t i = 1; i < values.size(); ++i) {
    std::int64_t next = 0;
    if (__builtin_add_overflow(values[i - 1], out.step, &next) || next != values[i])
      return std::nullopt;
  }
  return out;
}

/// The factors of a sum by term; for each term, one value for each arm, zero where an arm has no
/// such term.
class Arms {
 public:
  explicit Arms(std::size_t number) : constants_(number, 0) {}

  bool add(std::size_t arm, const Expr& e, std::int64_t factor) {
    if (const auto n = as_int(e)) return accumulate(constants_[arm], *n, factor);
    if (const Expr* x = negated(e)) return add(arm, *x, -factor);
    const auto* n = e.as<Nary>();
    if (n && n->op == NaryOp::Add)
      return std::all_of(n->terms.begin(), n->terms.end(),
                         [&](const Expr& t) { return add(arm, t, factor); });
    if (n && n->op == NaryOp::Mul && n->terms.size() == 2 && as_int(n->terms[0])) {
      std::int64_t product = 0;
      return !__builtin_mul_overflow(factor, *as_int(n->terms[0]), &product) &&
             add(arm, n->terms[1], product);
    }
    const auto* c = e.as<Call>();
    if (c && c->name == "min" && c->args.size() == 2 && as_int(c->args[0]) &&
        is_remainder(c->args[1])) {
      Term& t = term(least_, c->args[1]);
      if (t.factor != 0 && t.factor != factor) return false;
      t.factor = factor;
      if (t.values[arm] != 0) return false;
      t.values[arm] = *as_int(c->args[0]);
      return true;
    }
    return accumulate(term(plain_, e).values[arm], 1, factor);
  }

  /// The sum where `number`, counted from zero, numbers the arms.
  std::optional<Expr> sum(const Expr& number) const {
    Exprs out;
    const auto constant = even(constants_);
    if (!constant) return std::nullopt;
    const auto at_number = [&](const Even& by) {
      return index_add({lit(by.first), index_mul(lit(by.step), number)});
    };
    for (const Term& t : plain_) {
      const auto by = even(t.values);
      if (!by) return std::nullopt;
      if (by->first != 0) out.push_back(index_mul(lit(by->first), t.base));
      if (by->step != 0)
        out.push_back(index_mul(lit(by->step), Expr(Nary{NaryOp::Mul, {number, t.base}})));
    }
    for (const Term& t : least_) {
      const auto by = even(t.values);
      if (!by || by->first < 0 || by->step < 0) return std::nullopt;
      out.push_back(index_mul(lit(t.factor), call("min", {at_number(*by), t.base})));
    }
    out.push_back(at_number(*constant));
    return index_add(out);
  }

 private:
  struct Term {
    Expr base;
    std::int64_t factor = 0;  // of a `min`; its constants are the values
    std::vector<std::int64_t> values;
  };

  /// Never negative: `min(0, e)` is zero, which an arm without it has. (A truncated one may be
  /// where it is only compared with zero.)
  static bool is_remainder(const Expr& e) {
    const auto* m = e.as<Binary>();
    const auto* c = e.as<Call>();
    if (c && c->name == kTruncMod) return as_int(c->args[1]).value_or(0) > 0;
    return m && m->op == BinaryOp::Mod && as_int(m->right).value_or(0) > 0;
  }
  static bool accumulate(std::int64_t& to, std::int64_t n, std::int64_t factor) {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(n, factor, &product) &&
           !__builtin_add_overflow(to, product, &to);
  }
  Term& term(std::vector<Term>& all, const Expr& base) const {
    for (Term& t : all)
      if (equal(t.base, base)) return t;
    all.push_back({base, 0, std::vector<std::int64_t>(constants_.size(), 0)});
    return all.back();
  }

  std::vector<std::int64_t> constants_;
  std::vector<Term> plain_, least_;
};

bool reads_elements(const Expr& e) {
  bool out = false;
  walk(e, [&](const Expr& x) {
    const auto* c = x.as<Call>();
    out =
        out || x.as<Load>() || x.as<Field>() ||
        (c && c->name != "min" && c->name != "max" && c->name != kTruncDiv && c->name != kTruncMod);
    return !out;
  });
  return out;
}

}  // namespace

std::optional<NumberedChoice> numbered_choice(const Expr& choice) {
  NumberedChoice out;
  Exprs values;
  Expr rest = choice;
  for (const auto* s = rest.as<Select>(); s; s = rest.as<Select>()) {
    const auto* c = s->cond.as<Compare>();
    const auto n = c && c->op == CompareOp::Eq ? as_int(c->right) : std::nullopt;
    if (!n) return std::nullopt;
    if (values.empty())
      out.number = c->left, out.first = *n;
    else if (!equal(c->left, out.number) || *n != out.first + std::int64_t(values.size()))
      return std::nullopt;
    values.push_back(s->yes);
    rest = s->no;
  }
  if (values.empty()) return std::nullopt;
  values.push_back(rest);
  out.last = out.first + std::int64_t(values.size()) - 1;
  if (reads_elements(choice)) return std::nullopt;
  if (const auto n = as_int(out.number)) {
    out.sum = values[std::size_t(std::clamp(*n, out.first, out.last) - out.first)];
    if (*n < out.first) out.sum = values.back();
    return out;
  }
  Arms arms(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!arms.add(i, values[i], 1)) return std::nullopt;
  auto sum = arms.sum(index_add({out.number, lit(-out.first)}));
  if (!sum) return std::nullopt;
  out.sum = std::move(*sum);
  return out;
}

}  // namespace moonloop
