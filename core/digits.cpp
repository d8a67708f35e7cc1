#include "core/digits.h"

#include <algorithm>

#include "core/isl.h"

namespace moonloop {

std::optional<std::vector<std::string>> digits(const Expr& value, const RangeOf& range) {
  if (const Var* v = value.as<Var>()) return std::vector<std::string>{v->name};
  const Nary* sum = value.as<Nary>();
  if (!sum || sum->op != NaryOp::Add) return std::nullopt;
  std::vector<std::pair<std::int64_t, std::string>> terms;
  for (const Expr& t : sum->terms) {
    if (as_int(t)) continue;
    const Nary* product = t.as<Nary>();
    const Var* v = t.as<Var>();
    std::optional<std::int64_t> factor = 1;
    if (product && product->op == NaryOp::Mul && product->terms.size() == 2) {
      const bool swapped = product->terms[0].as<Var>() != nullptr;
      v = product->terms[swapped ? 0 : 1].as<Var>();
      factor = as_int(product->terms[swapped ? 1 : 0]);
    }
    if (!v || !factor || *factor <= 0) return std::nullopt;
    terms.emplace_back(*factor, v->name);
  }
  std::sort(terms.rbegin(), terms.rend());
  std::vector<std::string> out;
  std::int64_t below = 0;  // how much the inner inames can change the value
  for (std::size_t i = terms.size(); i-- > 0;) {
    if (i + 1 < terms.size() && below >= terms[i].first) return std::nullopt;
    if (i > 0) {
      const std::optional<std::int64_t> wide = range(terms[i].second);
      std::int64_t part = 0;
      if (!wide || __builtin_mul_overflow(terms[i].first, *wide, &part) ||
          __builtin_add_overflow(below, part, &below))
        return std::nullopt;
    }
    out.insert(out.begin(), terms[i].second);
  }
  return out;
}

std::optional<std::int64_t> plain_range(const Kernel& k, const std::string& iname) {
  const Domain* home = k.home_of(iname);
  if (!home) return std::nullopt;
  const std::vector<BasicSet> parts = parts_of(home->set);
  if (parts.size() != 1) return std::nullopt;
  const int at = isl_set_find_dim_by_name(home->set.get(), isl_dim_set, iname.c_str());
  std::optional<std::int64_t> low, high;
  for (const Constraint& c : constraints_of(parts[0])) {
    const Val a = isl_constraint_get_coefficient_val(c.get(), isl_dim_set, at);
    if (yes(isl_val_is_zero(a.get()))) continue;
    bool alone = yes(isl_val_is_one(a.get())) || yes(isl_val_is_negone(a.get()));
    for (const isl_dim_type type : {isl_dim_param, isl_dim_set, isl_dim_div})
      for (int i = 0; alone && i < count(isl_constraint_dim(c.get(), type)); ++i)
        alone = (type == isl_dim_set && i == at) ||
                !yes(isl_constraint_involves_dims(c.get(), type, unsigned(i), 1));
    if (!alone) continue;
    const bool positive = yes(isl_val_is_one(a.get()));
    const std::int64_t rest = to_int(isl_constraint_get_constant_val(c.get()));
    if (positive || yes(isl_constraint_is_equality(c.get())))
      low = std::max(low.value_or(INT64_MIN), positive ? -rest : rest);
    if (!positive || yes(isl_constraint_is_equality(c.get())))
      high = std::min(high.value_or(INT64_MAX), positive ? -rest : rest);
  }
  std::int64_t out = 0;
  if (!low || !high || __builtin_sub_overflow(*high, *low, &out)) return std::nullopt;
  return out;
}

}  // namespace moonloop
