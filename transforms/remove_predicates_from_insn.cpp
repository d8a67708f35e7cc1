#include "transforms/remove_predicates_from_insn.h"

#include <algorithm>

#include "core/expr/parse_expr.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "core/sets/named_sets.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

bool has(const Exprs& all, const Expr& e) {
  return std::any_of(all.begin(), all.end(), [&](const Expr& x) { return equal(x, e); });
}

/// Each instance for which the conditions that stay hold has to be one for which `gone` holds.
void require_implied(const Kernel& k, const Instruction& insn, const Exprs& stay,
                     const Expr& gone) {
  if (has(stay, gone)) return;
  const std::vector<std::string> dims(insn.inames.begin(), insn.inames.end());
  Set runs = domain_of(k, dims);
  for (const Expr& p : stay)
    if (const auto holds = to_condition(k, p, dims))
      runs = isl_set_intersect(runs.take(), holds->copy());
  const auto holds = to_condition(k, gone, dims);
  if (!holds)
    refuse("not-proved", insn.at,
           "whether `{}` always holds for `{}` is not known: it is not affine", to_string(gone),
           insn.id);
  const auto at = sample(isl_set_subtract(runs.take(), holds->copy()));
  if (!at) return;
  refuse("other-values", insn.at, "`{}` would be new: `{}` does not hold there{}",
         instance_text(insn.id, dims, at->dims), to_string(gone), parameters_text(at->params));
}

}  // namespace

Kernel remove_predicates_from_insn(const Kernel& given, const Match& insn_match,
                                   const std::vector<std::string>& predicates, Proof proof) {
  Exprs named;
  for (const std::string& p : predicates) named.push_back(parse_expression(p, given.at));
  const Kernel k = given.reference && proof == Proof::Made ? rebase(proved(given)) : given;
  Kernel out = k;
  std::vector<bool> found(named.size());
  for (const std::size_t n : some_matching(k, insn_match, "`insn_match` selects no instruction")) {
    const Instruction& insn = *k.instructions[n];
    Exprs gone, stay;
    for (const Expr& p : insn.predicates) {
      for (std::size_t i = 0; i < named.size(); ++i)
        if (equal(named[i], p)) found[i] = true;
      (named.empty() || has(named, p) ? gone : stay).push_back(p);
    }
    if (gone.empty()) continue;
    if (proof == Proof::Made)
      for (const Expr& p : gone) require_implied(k, insn, stay, p);
    out.instructions[n] =
        edit(k.instructions[n], [&](Instruction& i) { i.predicates = std::move(stay); });
  }
  if (const auto it = std::find(found.begin(), found.end(), false); it != found.end())
    refuse("no-match", k.at, "no instruction that `insn_match` selects has the condition `{}`",
           to_string(named[std::size_t(it - found.begin())]));
  out = rebase(std::move(out));
  return proof == Proof::Made ? proved(std::move(out)) : out;
}

extern const Op remove_predicates_from_insn_op;
const Op remove_predicates_from_insn_op{
    .name = "remove_predicates_from_insn",
    .doc = R"(Takes conditions that always hold off instructions.

A condition holds always where it follows from the loops' bounds, the assumptions and the conditions that
stay. `unsafe` takes off any: the instruction then runs for all iterations.

Refuses a condition that no matching instruction has, one that is not affine, and one that does not always
hold, with an instance that would be new.)",
    .params = {{.name = "insn_match",
                .kind = Kind::Match,
                .help = "the instructions",
                .required = true,
                .positional = true},
               {.name = "predicates",
                .kind = Kind::Names,
                .help = "the conditions, as expressions",
                .fallback = "all",
                .positional = true},
               unsafe_option()},
    .example_kernel = R"(kernel fill(n: int32, a: float64[n])
domain {[i]: 0 <= i < n}
a[i] = 1   {id=one, if=i < n}
)",
    .example = R"(knl = lp.remove_predicates_from_insn(knl, "id:one", "i < n"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return remove_predicates_from_insn(k, Match::parse(a.str("insn_match"), a.at()),
                                             a.names("predicates"), a.proof());
        },
    .query = {},
};

}  // namespace moonloop
