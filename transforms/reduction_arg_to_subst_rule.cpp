#include <algorithm>

#include "core/model/lookup.h"
#include "core/order/reference.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

/// Makes rules of the terms of the reductions over `inames`.
class Extractor {
 public:
  Extractor(const Kernel& k, const std::vector<std::string>& inames, const std::string& name)
      : k_(k), out_(k), inames_(inames), name_(name) {
    if (inames.empty()) refuse("no-inames", k.at, "no iname is given to find reductions by");
    for (const std::string& i : inames) require_iname(k, i);
    std::string joined;
    for (const std::string& i : inames) joined += i + "_";
    if (name_.empty()) name_ = "red_" + joined + "arg";
  }

  Kernel run(const Match& within) {
    for (const std::size_t n : some_matching(k_, within, "no instruction matches `within`")) {
      Instruction i = *k_.instructions[n];
      for (Expr& e : i.lhs) e = extract(e);
      if (i.rhs) i.rhs = extract(i.rhs);
      for (Expr& e : i.predicates) e = extract(e);
      out_.instructions[n] = std::make_shared<const Instruction>(std::move(i));
    }
    if (made_.empty())
      refuse("no-reduction", k_.at, "no selected instruction has a reduction over just {}",
             quoted_list(inames_));
    return out_;
  }

 private:
  Expr extract(const Expr& e) {
    return rewrite(e, [&](const Expr& x) {
      const Reduce* r = x.as<Reduce>();
      if (!r ||
          !std::is_permutation(r->inames.begin(), r->inames.end(), inames_.begin(), inames_.end()))
        return x;
      Reduce now = *r;
      for (Expr& arg : now.args)
        if (!arg.as<Var>()) arg = call_of(arg);
      return Expr(std::move(now), x.at());
    });
  }

  /// A call of the rule whose body is `arg`: one for each body.
  Expr call_of(const Expr& arg) {
    Exprs given;
    for (const std::string& i : inames_) given.push_back(var(i));
    for (const auto& [body, name] : made_)
      if (equal(body, arg)) return call(name, given, arg.at());
    Rule rule;
    rule.name = made_.empty() && !taken() ? name_ : out_.fresh_name(name_);
    rule.params = inames_;
    rule.body = arg;
    rule.at = arg.at();
    made_.emplace_back(arg, rule.name);
    out_.rules.push_back(rule);
    return call(rule.name, given, arg.at());
  }

  bool taken() const { return out_.all_names().count(name_) > 0; }

  const Kernel& k_;
  Kernel out_;
  const std::vector<std::string>& inames_;
  std::string name_;
  std::vector<std::pair<Expr, std::string>> made_;  // bodies and their rules
};

}  // namespace

extern const Op reduction_arg_to_subst_rule_op;
const Op reduction_arg_to_subst_rule_op{
    .name = "reduction_arg_to_subst_rule",
    .doc =
        R"(Makes a rule of what the reductions over just `inames` add up, with these inames as its parameters.

With precompute it makes a reduction of two stages: split the iname, split_reduction_outward by the
outer part, make a rule of the inner reduction, and precompute that rule into global memory.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "all inames of the reduction",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "looks in these instructions only",
                .positional = true},
               {.name = "subst_rule_name",
                .kind = Kind::Str,
                .help = "name of the rule; by default `red_INAMES_arg`"}},
    .example_kernel = R"(kernel total(n: int32, a: float64[n], s: float64[1])
domain {[g, l]: 0 <= g and 0 <= l < 64 and l + 64*g < n}
s[0] = sum(g, sum(l, a[l + 64*g]))
)",
    .example = R"(knl = lp.reduction_arg_to_subst_rule(knl, "g"))",
    .run =
        [](const Kernel& k, const Args& a) {
          const std::vector<std::string> inames = a.names("inames");
          return Extractor(k, inames, a.str("subst_rule_name"))
              .run(Match::parse(a.str("within"), a.at()));
        },
    .query = {},
};

}  // namespace moonloop
