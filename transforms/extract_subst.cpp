#include "transforms/extract_subst.h"

#include <algorithm>

#include "core/expr/parse_expr.h"
#include "core/expr/unify.h"
#include "core/infer/infer.h"
#include "core/model/lookup.h"
#include "core/rewrite/rule_rewrite.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

void require_template(const Kernel& k, const Expr& pattern,
                      const std::vector<std::string>& parameters) {
  std::set<std::string> names, seen;
  collect_vars(pattern, names);
  for (const std::string& p : parameters) {
    if (!seen.insert(p).second) refuse("bad-template", k.at, "parameter `{}` is given twice", p);
    if (!names.contains(p))
      refuse("bad-template", k.at, "parameter `{}` does not occur in the template `{}`", p,
             to_string(pattern));
  }
  if (const auto* v = pattern.as<Var>(); v && seen.contains(v->name))
    refuse("bad-template", k.at, "the template `{}` is a parameter alone and matches everything",
           v->name);
}

std::string tag_of(const Expr& e) {
  if (const auto* l = e.as<Load>()) return l->tag.str();
  if (const auto* v = e.as<Var>()) return v->tag.str();
  return {};
}

/// Whether `e` holds a parameter of the rule that it is in.
bool is_local(const Expr& e, const Rule* rule) {
  if (!rule) return false;
  std::set<std::string> names;
  collect_vars(e, names);
  return std::any_of(rule->params.begin(), rule->params.end(),
                     [&](const std::string& p) { return names.contains(p); });
}

bool is_one(const Expr& e) {
  const auto* real = e.as<FloatLit>();
  return as_int(e) == 1 || (real && real->value == 1);
}

const Binary* division(const Expr& e) {
  const auto* b = e.as<Binary>();
  return b && b->op == BinaryOp::Div ? b : nullptr;
}

/// The divisor of the template `1/d`.
const Expr& divisor_of(const Kernel& k, const Expr& pattern) {
  const Binary* b = division(pattern);
  if (!b || !is_one(b->left))
    refuse("bad-template", k.at,
           "divisions are to become products with `{}`, which is no reciprocal `1/d`",
           to_string(pattern));
  return b->right;
}

/// A product with a reciprocal of fewer digits would be another number, not one that is rounded
/// once more.
void require_same_type(const Kernel& typed, const Expr& quotient) {
  const Expr reciprocal(Binary{BinaryOp::Div, lit(1), division(quotient)->right});
  const Type whole = type_of(typed, quotient), part = type_of(typed, reciprocal, whole);
  if (!(whole == part))
    refuse("type-mismatch", quotient.at(),
           "`{}` is of type {}, but the reciprocal of its divisor of type {}", to_string(quotient),
           whole.str(), part.str());
}

}  // namespace

Kernel extract_subst(const Kernel& k, const std::string& subst_name, const Expr& pattern,
                     const std::vector<std::string>& parameters, const Match& within,
                     bool divisions) {
  require_new_name(k, subst_name);
  require_template(k, pattern, parameters);
  std::set<std::string> variables(parameters.begin(), parameters.end());
  std::set<std::string> unknown;  // stand for one expression each
  {
    std::set<std::string> names, known = k.all_names();
    collect_vars(pattern, names);
    for (const std::string& n : names)
      if (!variables.contains(n) && !known.contains(n)) unknown.insert(n);
  }
  variables.insert(unknown.begin(), unknown.end());
  const Unifier unifier(divisions ? divisor_of(k, pattern) : pattern, variables);
  std::optional<Kernel> typed;  // where divisions are looked at

  std::map<std::string, Expr> found;  // of the unknown names
  bool any = false;
  RuleRewrite rw;
  rw.same_everywhere = within.everything();
  std::set<std::string> taken{subst_name};
  rw.taken = &taken;
  rw.replace = [&](const Expr& e, const RulePlace& at) -> std::optional<Expr> {
    const Rule* rule = at.rule();
    if (rule && std::any_of(rule->params.begin(), rule->params.end(), [&](const std::string& p) {
          return unifier.fixed_names().contains(p);
        }))
      return std::nullopt;  // the name means something else in here
    const Binary* quotient = divisions ? division(e) : nullptr;
    if (divisions && (!quotient || is_local(e, rule))) return std::nullopt;
    const auto bound = unifier.match(quotient ? quotient->right : e);
    if (!bound || !within(k, at.insn, at.stack)) return std::nullopt;
    if (quotient) {
      if (!typed) typed = infer_types(k);
      require_same_type(*typed, e);
    }
    for (const std::string& n : unknown) {
      const Expr& value = bound->at(n);
      if (is_local(value, rule)) return std::nullopt;
      if (const auto [it, fresh] = found.try_emplace(n, value); !fresh && !equal(it->second, value))
        refuse("ambiguous-match", e.at(),
               "`{}` in the template `{}` stands for `{}` and for `{}`; make it a parameter", n,
               to_string(pattern), to_string(it->second), to_string(value));
    }
    any = true;
    Exprs args;
    for (const std::string& p : parameters) args.push_back(bound->at(p));
    Expr call(Call{subst_name, std::move(args), tag_of(e)}, e.at());
    if (!quotient || is_one(quotient->left)) return call;
    return Expr(Nary{NaryOp::Mul, {at.inside(quotient->left), std::move(call)}}, e.at());
  };
  Kernel out = rewrite_through_rules(k, rw);
  if (!any)
    refuse("no-match", k.at, "no expression of kernel `{}` matches `{}`{}", k.name,
           to_string(pattern), within.everything() ? "" : " where `within` looks");
  out.reciprocals = k.reciprocals || divisions;
  out.rules.push_back(Rule{subst_name, parameters, substitute(pattern, found), pattern.at()});
  return out;
}

extern const Op extract_subst_op;
const Op extract_subst_op{
    .name = "extract_subst",
    .doc =
        R"(Makes a substitution rule of an expression and calls it wherever the expression occurs.

Parameters stand for any expression; all other names of the template that the kernel knows stand for
themselves. A product or sum matches in the order in which it is written, or with its first two terms
exchanged, so that values stay the same to the last bit; subscripts match in any order. Matches do not
nest.

With `divisions`, the template is a reciprocal, such as `1/x[i]`: what is divided by `x[i]` becomes a
product with the rule, so that precompute can divide once for many. Such a product is rounded twice: its
last digits may differ from those of the quotient, which `--verify` takes into account. It is another
number where the reciprocal overflows, which it does for divisors below the smallest normal number.

Refuses a name in use, a parameter that does not occur in the template, and a template that nothing
matches; with `divisions`, a template that is no reciprocal, and a quotient of another type than it.)",
    .params = {{.name = "subst_name",
                .kind = Kind::Str,
                .help = "name of the new rule",
                .required = true,
                .positional = true},
               {.name = "template",
                .kind = Kind::Str,
                .help = "the expression",
                .required = true,
                .positional = true},
               {.name = "parameters",
                .kind = Kind::Names,
                .help = "names in the template that stand for any expression",
                .fallback = "{}",
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "the instructions and rule calls to look in",
                .positional = true},
               {.name = "divisions",
                .kind = Kind::Bool,
                .help = "the template is a reciprocal: divisions become products with it",
                .fallback = "false"}},
    .example_kernel = R"(kernel squares(n: int32, a: float64[n], b: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 23*b[i]**2 + 25*b[i]**2
)",
    .example = R"(knl = lp.extract_subst(knl, "bsquare", "alpha*b[i]**2", "alpha"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return extract_subst(k, a.str("subst_name"), parse_expression(a.str("template"), a.at()),
                               a.names("parameters"), Match::parse(a.str("within"), a.at()),
                               a.boolean("divisions"));
        },
    .query = {},
};

}  // namespace moonloop
