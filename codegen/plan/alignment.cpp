#include "codegen/plan/alignment.h"

#include <algorithm>

#include "core/model/domain.h"

namespace moonloop {
namespace {

constexpr std::int64_t kMost = 16;

std::int64_t power_in(std::int64_t n) {
  std::int64_t out = 1;
  while (out < kMost && n % (2 * out) == 0) out *= 2;
  return out;
}

/// For a parameter, from the assumptions.
std::int64_t known_divisor(const Kernel& k, const std::string& name) {
  const Set context = context_of(k);
  if (isl_set_find_dim_by_name(context.get(), isl_dim_param, name.c_str()) < 0) return 1;
  for (std::int64_t n = kMost; n > 1; n /= 2) {
    const Expr rest{Binary{BinaryOp::Mod, var(name), lit(n)}};
    const auto multiples = to_condition(Expr(Compare{CompareOp::Eq, rest, lit(0)}), {});
    if (multiples &&
        yes(isl_set_is_subset(context.get(), Set(isl_set_params(multiples->copy())).get())))
      return n;
  }
  return 1;
}

}  // namespace

std::int64_t divisor_of(const Kernel& k, const Expr& e) {
  if (const auto n = as_int(e)) return power_in(*n);
  if (const auto* v = e.as<Var>())
    return k.find_temporary(v->name) || k.has_iname(v->name) ? 1 : known_divisor(k, v->name);
  if (const Expr* x = negated(e)) return divisor_of(k, *x);
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Add) {
    std::int64_t out = kMost;
    for (const Expr& t : n->terms) out = std::min(out, divisor_of(k, t));
    return out;
  }
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::Mul) {
    std::int64_t out = 1;
    for (const Expr& t : n->terms) out = std::min(kMost, out * divisor_of(k, t));
    return out;
  }
  return 1;
}

std::optional<std::int64_t> constant_value(const Expr& e) {
  const auto values = to_affine(e, {});
  if (!values || isl_pw_aff_n_piece(values->get()) != 1 || !yes(isl_pw_aff_is_cst(values->get())))
    return std::nullopt;
  const Val value = isl_pw_aff_max_val(values->copy());
  if (!yes(isl_val_is_int(value.get()))) return std::nullopt;
  return to_int(value);
}

std::optional<std::int64_t> step_along(const Expr& e, const std::string& iname) {
  std::set<std::string> names;
  collect_vars(e, names);
  if (!names.contains(iname)) return 0;
  return constant_value(index_sub(substitute(e, {{iname, index_add({var(iname), lit(1)})}}), e));
}

}  // namespace moonloop
