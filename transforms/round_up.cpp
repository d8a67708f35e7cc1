#include "transforms/round_up.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/conditions.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/guarded_terms.h"
#include "transforms/registry.h"
#include "transforms/replace_reductions.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

/// All points that differ from one of `s` in the dimension `iname` only, within a block of
/// `multiple` values.
Set in_blocks(const Set& s, const std::string& iname, std::int64_t multiple) {
  const Names dims = dim_names(s);
  Names others = dims;
  std::erase(others, iname);
  const std::string other = iname + "'";
  Names both = others;
  both.push_back(other);
  const auto block = [&](const std::string& i) {
    return Expr(Binary{BinaryOp::FloorDiv, var(i), lit(multiple)});
  };
  both.push_back(iname);
  const auto same = to_condition(Expr(Compare{CompareOp::Eq, block(iname), block(other)}), both);
  const Set old = rename_dims(s, {{iname, other}});
  return coalesce(to_dims(isl_set_intersect(to_dims(old, both).take(), same->copy()), dims));
}

class RoundUp {
 public:
  RoundUp(const Kernel& k, const std::map<std::string, std::int64_t>& multiples)
      : k_(rebase(proved(k))), multiples_(multiples) {
    for (const auto& [iname, multiple] : multiples) {
      require_iname(k, iname);
      if (multiple < 1)
        refuse("bad-multiple", k.at, "`{}` cannot be rounded up to a multiple of {}", iname,
               multiple);
      if (const InameTag* tag = k.tag(iname))
        refuse("tagged-iname", k.at, "`{}` is tagged `{}`; round it up first, then tag", iname,
               tag->text);
    }
  }

  Kernel run() {
    k_.instructions = linearized(k_, *order_of(k_));
    out_ = k_;
    for (Domain& d : out_.domains) d.set = rounded(d);
    for (Domain& d : out_.domains) d.set = plainer(d);
    const Kernel typed = infer_types(k_);
    typed_ = &typed;
    std::vector<InsnPtr> all;
    for (const InsnPtr& i : k_.instructions) {
      const InsnPtr changed = in_rounded(i);
      all.insert(all.end(), before_.begin(), before_.end());
      before_.clear();
      all.push_back(changed);
    }
    out_.instructions = std::move(all);
    return proved(rebase(std::move(out_)));
  }

 private:
  bool is_rounded(const std::string& iname) const { return multiples_.contains(iname); }

  /// The domain in whole blocks. Where its bounds depend on loops that are rounded up as well, it
  /// has what some iteration of their blocks needs: then the same for all iterations of a block.
  Set rounded(const Domain& d) const {
    const Names own = d.inames();
    if (std::none_of(own.begin(), own.end(), [&](const auto& i) { return is_rounded(i); }))
      return d.set;
    const Names around = rounded_params(d);
    Names all = around;
    all.insert(all.end(), own.begin(), own.end());
    Set out = to_dims(d.set, all);
    if (!around.empty())
      out = isl_set_intersect(out.take(), to_dims(domain_of(k_, around), all).take());
    for (const std::string& i : all)
      if (const auto it = multiples_.find(i); it != multiples_.end())
        out = in_blocks(out, i, it->second);
    return dims_to_params(std::move(out), around);
  }

  /// Without what the rounded loops around it say themselves.
  Set plainer(const Domain& d) const {
    const Names around = rounded_params(d);
    if (around.empty()) return d.set;
    Names all = around;
    const Names own = d.inames();
    all.insert(all.end(), own.begin(), own.end());
    const Set known = to_dims(domain_of(out_, around), all);
    if (yes(isl_set_is_empty(known.get()))) return d.set;  // nothing runs: all bounds would go
    return dims_to_params(coalesce(gist(to_dims(d.set, all), known)), around);
  }

  Names rounded_params(const Domain& d) const {
    Names out;
    for (const std::string& p : d.params())
      if (is_rounded(p)) out.push_back(p);
    return out;
  }

  InsnPtr in_rounded(const InsnPtr& insn) {
    std::set<std::string> reduced;
    for (const Exprs& all : {insn->lhs, insn->predicates, insn->rhs ? Exprs{insn->rhs} : Exprs()})
      for (const Expr& e : all) reduced.merge(reduction_inames(k_, e));
    const auto concerned = [&](const std::set<std::string>& inames) {
      return std::any_of(inames.begin(), inames.end(),
                         [&](const std::string& i) { return is_rounded(i); });
    };
    if (!concerned(insn->inames) && !concerned(reduced)) return insn;
    if (insn->kind == InsnKind::Barrier && concerned(insn->inames))
      refuse("unsupported", insn->at, "the barrier `{}` is in a loop that is rounded up", insn->id);

    Instruction changed = *insn;
    const Names around(insn->inames.begin(), insn->inames.end());
    const Exprs conditions = conditions_of(around);
    const Expr condition = conditions.empty() ? Expr() : conjunction(conditions);
    if (!reduced.empty()) {
      std::set<std::string> rounded;
      for (const auto& [iname, multiple] : multiples_) rounded.insert(iname);
      GuardedTerms terms(*typed_, out_, std::move(rounded));
      const auto guard = [&](Expr& e) {  // a subscript or a condition
        e = replace_reductions(expand_rules(k_, e),
                               [&](const Reduce& r, const Span& at, const Exprs&) {
                                 return std::optional(terms.guarded(*insn, r, std::nullopt, at));
                               });
      };
      for (Expr& e : changed.predicates) guard(e);
      for (Expr& e : changed.lhs)
        e = map_children(e, [&](Expr index) { return guard(index), index; });
      predicates_ = changed.predicates;
      if (insn->rhs)
        changed.rhs = replace_reductions(
            expand_rules(k_, insn->rhs),
            [&](const Reduce& r, const Span& at, const Exprs& needed) -> std::optional<Expr> {
              return in_blocks_of(*insn, terms, {Expr(r, at)}, at, needed, condition);
            },
            [&](const Exprs& sums, const Span& at, const Exprs& needed) -> std::optional<Expr> {
              if (!condition || !same_types(*insn, sums)) return std::nullopt;
              return in_blocks_of(*insn, terms, sums, at, needed, condition);
            });
    }
    changed.predicates.insert(changed.predicates.begin(), conditions.begin(), conditions.end());
    return std::make_shared<const Instruction>(std::move(changed));
  }

  /// What holds for the loops' own values only. That of loops without computed bounds comes first
  /// and by itself: in one condition with others, nothing would be known of it.
  Exprs conditions_of(const Names& around) const {
    Names plain;
    for (const std::string& i : around)
      if (computed_params(k_, domain_of(k_, {i})).empty()) plain.push_back(i);
    Exprs out;
    const auto add = [&](const Names& inames, const Set& known) {
      const Set own = coalesce(gist(domain_of(k_, inames), known));
      if (!yes(isl_set_plain_is_universe(own.get()))) out.push_back(from_set(own));
    };
    add(plain, domain_of(out_, plain));
    if (plain.size() < around.size())
      add(around, isl_set_intersect(domain_of(out_, around).take(),
                                    to_dims(domain_of(k_, plain), around).take()));
    return out;
  }

  /// Whether they are known for the loops' own values only.
  bool any_reads(const Exprs& conditions) const {
    return std::any_of(conditions.begin(), conditions.end(),
                       [&](const Expr& c) { return !is_of_instances(k_, c) || c.holds<Load>(); });
  }

  /// The type that literals in its reductions adapt to.
  std::optional<Type> wanted_by(const Instruction& insn) const {
    const auto t = Typer(*typed_).type(insn.lhs[0]);
    return t ? std::optional(t->type) : std::nullopt;
  }

  bool same_types(const Instruction& insn, const Exprs& sums) const {
    const auto type_of = [&](const Expr& sum) {
      return Typer(*typed_).type(sum.as<Reduce>()->args[0], wanted_by(insn));
    };
    const auto first = type_of(sums[0]);
    return first && std::all_of(sums.begin(), sums.end(), [&](const Expr& sum) {
             const auto t = type_of(sum);
             return t && t->type == first->type;
           });
  }

  /// The reductions, one or sums to add, with the loops rounded up; where the instruction gets the
  /// condition, by one of its own, which is without.
  Expr in_blocks_of(const Instruction& insn, GuardedTerms& terms, const Exprs& reductions,
                    const Span& at, const Exprs& needed, const Expr& condition) {
    const std::optional<Type> wanted = wanted_by(insn);
    const Typer typer(*typed_);
    const Reduce& r = *reductions[0].as<Reduce>();
    Exprs results;
    for (const Expr& each : reductions)
      results.push_back(terms.guarded(insn, *each.as<Reduce>(), wanted, each.at()));
    const Expr sum =
        results.size() == 1 ? results[0] : Expr(Nary{NaryOp::Add, std::move(results)}, at);
    if (!condition) return sum;

    const auto type = typer.type(r.args[0], wanted);
    if (!type) refuse("unsupported", at, "the type of `{}` is not known", to_string(r.args[0]));
    Temporary t;
    t.name = out_.fresh_name(written_name(insn.lhs[0]) + "_sum");
    t.type = reduced_type(r.op, 0, type->type);
    t.shape = Exprs();
    t.at = at;
    Instruction before;
    before.id = fresh_id(insn.id + "_sum");
    before.lhs = {var(t.name, at)};
    before.rhs = sum;
    before.predicates = predicates_;
    before.predicates.insert(before.predicates.end(), needed.begin(), needed.end());
    if (any_reads(before.predicates))
      before.predicates.insert(before.predicates.begin(), condition);
    before.inames = insn.inames;
    before.tags = insn.tags;
    before.depends_on = insn.depends_on;
    before.priority = insn.priority;
    before.groups = insn.groups;
    before.conflicts = insn.conflicts;
    before.at = insn.at;
    const std::string name = t.name;
    out_.temporaries.emplace(name, std::move(t));
    before_.push_back(std::make_shared<const Instruction>(std::move(before)));
    return var(name, at);
  }

  std::string fresh_id(const std::string& wanted) {
    std::string id = k_.fresh_id(wanted);
    for (int n = 0; !ids_.insert(id).second; ++n)
      id = k_.fresh_id(wanted + "_" + std::to_string(n));
    return id;
  }

  Kernel k_, out_;
  const std::map<std::string, std::int64_t>& multiples_;
  const Kernel* typed_ = nullptr;
  std::vector<InsnPtr> before_;  // of the current instruction
  Exprs predicates_;             // of that one, with the terms of their reductions guarded
  std::set<std::string> ids_;
};

}  // namespace

Kernel round_up(const Kernel& k, const std::map<std::string, std::int64_t>& multiples) {
  return RoundUp(k, multiples).run();
}

extern const Op round_up_op;
const Op round_up_op{
    .name = "round_up",
    .doc = R"(Lengthens loops to whole blocks: reductions in them need no guards.

A loop over i, with i = 64, also runs for values that share i // 64 with one of its own. What it stores
is stored for its own values only, under a condition; but reductions are computed for all, into a
temporary, and the arrays in their terms are read through rules that are 0 beyond the loops' own values:

    c[i] = 2*sum(k, a[i, k])    becomes    a_read(i, k) := a[i, k] if i < n and k < m else 0
                                           c_sum = sum(k, a_read(i, k))
                                           c[i] = 2*c_sum    if i < n

Split the loops by the same numbers, and precompute the rules: the guards are where the arrays are read.
A rule is named after the first array in it. What is added to a sum is 0, never NaN: where a term has
other factors as well, it is as a whole under the condition of its loops, and so are terms that divide
integers or read what is written in the same loops. Sums that are added first have one temporary.

Refuses loops with tags, barriers in such a loop, and reductions of two values.)",
    .params = {{.name = "multiples",
                .kind = Kind::Numbers,
                .help = "for each loop the length of its blocks",
                .required = true,
                .positional = true}},
    .example_kernel =
        R"(kernel multiply(n: int32, m: int32, a: float32[n, m], b: float32[m, n], c: out float32[n, n])
domain {[i, j, k]: 0 <= i, j < n and 0 <= k < m}
c[i, j] = sum(k, a[i, k]*b[k, j])
)",
    .example = R"(knl = lp.round_up(knl, {i = 16, j = 16, k = 8})
knl = lp.split_iname(knl, "i", 16, {inner_tag = "l.1"})
knl = lp.split_iname(knl, "j", 16, {inner_tag = "l.0"})
knl = lp.split_iname(knl, "k", 8)
knl = lp.precompute(knl, "a_read", "i_inner, k_inner", {default_tag = "l.auto"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          const auto given = a.numbers("multiples");
          return round_up(k, {given.begin(), given.end()});
        },
    .query = {},
};

}  // namespace moonloop
