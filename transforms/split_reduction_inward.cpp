#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/reference.h"
#include "transforms/registry.h"
#include "transforms/split_reduction.h"

namespace moonloop {
namespace {

class ReductionSplitter {
 public:
  ReductionSplitter(const Kernel& k, const std::vector<std::string>& inames, bool inward)
      : k_(k), inames_(inames), inward_(inward) {
    std::set<std::string> seen;
    for (const std::string& i : inames) {
      require_iname(k, i);
      if (!seen.insert(i).second)
        refuse("twice", k.at, "`{}` occurs twice in the list of inames", i);
    }
    if (inames.empty()) refuse("no-inames", k.at, "no iname is given to split reductions by");
  }

  Kernel run(const Match& within) {
    std::vector<bool> selected(k_.instructions.size());
    for (const std::size_t n : some_matching(k_, within, "no instruction matches `within`"))
      selected[n] = true;
    const bool all = std::find(selected.begin(), selected.end(), false) == selected.end();
    Kernel out = k_;
    if (all)
      for (Rule& r : out.rules) r.body = split(r.body);
    for (std::size_t n = 0; n < selected.size(); ++n) {
      if (!selected[n]) continue;
      const auto change = [&](const Expr& e) { return all ? split(e) : split_expanded(e); };
      Instruction i = *k_.instructions[n];
      for (Expr& e : i.lhs) e = change(e);
      if (i.rhs) i.rhs = change(i.rhs);
      for (Expr& e : i.predicates) e = change(e);
      out.instructions[n] = std::make_shared<const Instruction>(std::move(i));
    }
    if (!changed_)
      refuse("no-reduction", k_.at, "no reduction is over {} and another iname",
             quoted_list(inames_));
    out = rebase(std::move(out));
    check_kept_order(k_, out);  // the loops may be the other way round, for others in them too
    check_legal(out);
    return out;
  }

 private:
  Expr split(const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const Reduce* r = x.as<Reduce>();
      if (!r) return x;
      std::vector<std::string> mine, rest;
      for (const std::string& i : r->inames)
        (std::find(inames_.begin(), inames_.end(), i) != inames_.end() ? mine : rest).push_back(i);
      if (mine.size() != inames_.size() || rest.empty()) return x;
      if (arity(r->op) == 2)
        refuse("two-valued", x.at(), "`{}` gives two values and cannot be nested", to_string(x));
      changed_ = true;
      Reduce inner = *r, outer = *r;
      inner.inames = inward_ ? mine : rest;
      outer.inames = inward_ ? rest : mine;
      outer.args = {Expr(std::move(inner), x.at())};
      return Expr(std::move(outer), x.at());
    });
  }

  /// Rules are expanded where they have a reduction to split.
  Expr split_expanded(const Expr& e) {
    const bool before = changed_;
    changed_ = false;
    const Expr expanded = split(expand_rules(k_, e));
    const bool any = changed_;
    if (any) {
      changed_ = false;
      const Expr direct = split(e);
      // What is left to split after the direct ones is in rules.
      const bool left = !equal(expand_rules(k_, direct), expanded);
      changed_ = true;
      return left ? expanded : direct;
    }
    changed_ = before;
    return e;
  }

  const Kernel& k_;
  const std::vector<std::string>& inames_;
  bool inward_;
  bool changed_ = false;
};

}  // namespace

Kernel split_reduction_inward(const Kernel& k, const std::vector<std::string>& inames,
                              const Match& within) {
  return ReductionSplitter(k, inames, true).run(within);
}

Kernel split_reduction_outward(const Kernel& k, const std::vector<std::string>& inames,
                               const Match& within) {
  return ReductionSplitter(k, inames, false).run(within);
}

extern const Op split_reduction_inward_op;
const Op split_reduction_inward_op{
    .name = "split_reduction_inward",
    .doc =
        R"(Splits reductions so that `inames` are reduced over inside: sum((i, j), e) to sum(j, sum(i, e)).

Refuses inames that no reduction binds together with another one, reductions of two values, and where
other statements that run in these loops would change places.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "inames of the inner reduction",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "changes these instructions only",
                .positional = true}},
    .example_kernel = R"(kernel total(n: int32, a: float64[n, n], c: float64[n])
domain {[i]: 0 <= i < n}
domain {[j, k]: 0 <= j < n and 0 <= k < n}
c[i] = sum((j, k), a[j, k]*a[k, i])
)",
    .example = R"(knl = lp.split_reduction_inward(knl, "k"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return split_reduction_inward(k, a.names("inames"),
                                        Match::parse(a.str("within"), a.at()));
        },
    .query = {},
};

}  // namespace moonloop
