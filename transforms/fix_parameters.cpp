#include "transforms/fix_parameters.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/rewrite/parameters.h"
#include "core/rewrite/rule_rewrite.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

bool fits(std::int64_t v, Scalar s) {
  if (!is_integer(s)) return true;
  const int bits = 8 * size_of(s);
  if (is_unsigned(s)) return v >= 0 && (bits == 64 || v < (std::int64_t{1} << bits));
  return bits == 64 ||
         (v >= -(std::int64_t{1} << (bits - 1)) && v < (std::int64_t{1} << (bits - 1)));
}

Set is_value(const std::string& name, std::int64_t value) {
  return parse_assumption(fmt::format("{} = {}", name, value));
}

void require_parameter(const Kernel& k, const std::string& name) {
  const std::vector<std::string> known = parameters_of(k);
  if (std::find(known.begin(), known.end(), name) == known.end())
    fail("unknown-parameter", k.at, "no parameter `{}` in kernel `{}`; it has {}", name, k.name,
         known.empty() ? "none" : quoted_list(known));
}

void require_real(const Kernel& k, const std::string& name, double value, bool everywhere) {
  require_parameter(k, name);
  const Argument* a = k.find_arg(name);
  const Type type = a && a->type ? *a->type : Type(k.index_type);
  if (type.is_record() || !(is_real(type.scalar) || is_complex(type.scalar)))
    refuse("bad-value", a ? a->at : k.at, "{} does not fit the {} parameter `{}`", value,
           type.str(), name);
  if (!everywhere)
    refuse("bad-value", a->at,
           "`within` leaves the parameter `{}`, and that it is {} cannot be assumed: it is {}",
           name, value, type.str());
}

void require_value(const Kernel& k, const std::string& name, std::int64_t value) {
  require_parameter(k, name);
  const Argument* a = k.find_arg(name);
  const Type type = a && a->type ? *a->type : Type(k.index_type);
  if (!type.is_record() && !fits(value, type.scalar))
    refuse("bad-value", a ? a->at : k.at, "{} does not fit the {} parameter `{}`", value,
           type.str(), name);
  if (k.assumptions &&
      yes(isl_set_is_empty(
          Set(isl_set_intersect(k.assumptions.copy(), is_value(name, value).take())).get())))
    refuse("empty-assumptions", k.at, "`{} = {}` contradicts what kernel `{}` assumes, `{}`", name,
           value, k.name, to_string(from_set(k.assumptions)));
}

}  // namespace

Kernel fix_parameters(const Kernel& k,
                      const std::vector<std::pair<std::string, std::int64_t>>& values,
                      const Match& within,
                      const std::vector<std::pair<std::string, double>>& reals) {
  Kernel out = k;
  if (!within.everything()) some_matching(k, within, "`within` selects no instruction");
  for (const auto& [name, value] : reals) {
    require_real(out, name, value, within.everything());
    out = with_parameter_fixed(out, name, value);
  }
  for (const auto& [name, value] : values) {
    require_value(out, name, value);
    if (within.everything()) {
      out = with_parameter_fixed(out, name, value);
      continue;
    }
    RuleRewrite rw;
    const Kernel before = out;
    rw.replace = [&, n = &name, v = value](const Expr& e,
                                           const RulePlace& at) -> std::optional<Expr> {
      const Var* x = e.as<Var>();
      if (!x || x->name != *n || !within(before, at.insn, at.stack)) return std::nullopt;
      if (const Rule* r = at.rule())
        if (std::find(r->params.begin(), r->params.end(), *n) != r->params.end())
          return std::nullopt;
      return with_parameter_fixed(before, e, *n, v);
    };
    out = with_assumption(rewrite_through_rules(before, rw), is_value(name, value));
  }
  return out;
}

extern const Op fix_parameters_op;
const Op fix_parameters_op{
    .name = "fix_parameters",
    .doc = R"(Puts numbers in place of parameters.

They are replaced in bounds, shapes, assumptions and expressions, and the arguments of those names go.
With `within` only the expressions of those instructions change; the parameters stay, and are assumed
to have the values. A parameter of a real or complex type takes a real number, but not with `within`.

Refuses names that are not parameters, values that do not fit a parameter's type, and values that
contradict an assumption.)",
    .params = {{.name = "values",
                .kind = Kind::Reals,
                .help = "numbers by name: {n = 16, alpha = 0.5}",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the instructions to change; all if absent"}},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
a[i] = n
)",
    .example = R"(knl = lp.fix_parameters(knl, {n = 16}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return fix_parameters(k, a.numbers("values"), Match::parse(a.str("within"), a.at()),
                                a.reals("values"));
        },
    .query = {},
};

}  // namespace moonloop
