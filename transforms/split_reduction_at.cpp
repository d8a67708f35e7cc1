#include "transforms/split_reduction_at.h"

#include <algorithm>

#include "core/expr/parse_expr.h"
#include "core/expr/reduction_steps.h"
#include "core/model/affine.h"
#include "core/order/reference.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/rewrite/removal.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/new_inames.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

class ReductionCut {
 public:
  ReductionCut(const Kernel& k, const std::string& iname, const std::string& at, const Span& span)
      : k_(k), iname_(iname), text_(at), span_(span), names_(k) {
    require_iname(k, iname);
    if (const InameTag* tag = k.tag(iname))
      refuse("tagged-iname", k.at, "`{}` is tagged `{}`; split first, then tag", iname, tag->text);
    at_ = parse_expression(at, span);
  }

  Kernel run(const std::string& from) {
    before_ = names_.take("", iname_);
    from_ = names_.take(from, iname_ + "_from");
    out_ = k_;
    for (InsnPtr& insn : out_.instructions) {
      const std::set<std::string> mine = all_inames(k_, *insn);
      if (!mine.contains(iname_)) continue;
      if (insn->inames.contains(iname_))
        refuse(
            "not-a-reduction-loop", insn->at,
            "`{}` is a loop around instruction `{}`, not one of a reduction alone; split_at cuts "
            "it",
            iname_, insn->id);
      Instruction i = *insn;
      const auto change = [&](const Expr& e) {
        return e && reduction_inames(k_, e).contains(iname_) ? cut(expand_rules(k_, e), i) : e;
      };
      for (Expr& e : i.lhs) e = change(e);
      i.rhs = change(i.rhs);
      for (Expr& e : i.predicates) e = change(e);
      insn = std::make_shared<const Instruction>(std::move(i));
    }
    if (!changed_) refuse("no-reduction", k_.at, "no reduction is over `{}`", iname_);
    replaced_.insert(iname_);
    Kernel out = rebase(without_idle_domains(std::move(out_), replaced_));
    check_kept_order(k_, out);
    check_legal(out);
    return out;
  }

 private:
  Expr cut(const Expr& e, const Instruction& insn) {
    std::vector<Expr> cuts;  // sums of two parts
    return cut_in(e, insn, insn.inames, cuts);
  }

  /// `around`: the loops, those of reductions too, that `e` is in.
  Expr cut_in(const Expr& e, const Instruction& insn, const std::set<std::string>& around,
              std::vector<Expr>& cuts) {
    if (!contains_reduction(e)) return e;
    std::set<std::string> inside = around;
    if (const Reduce* r = e.as<Reduce>())
      for (const std::string& i : r->inames)
        if (i != iname_) inside.insert(i);
    const Expr x =
        map_children(e, [&](const Expr& child) { return cut_in(child, insn, inside, cuts); });
    if (const auto* n = x.as<Nary>(); n && n->op == NaryOp::Add) return spliced(x, *n, cuts);
    const Reduce* r = x.as<Reduce>();
    if (!r || std::find(r->inames.begin(), r->inames.end(), iname_) == r->inames.end()) return x;
    return in_two_parts(x, *r, insn, around, cuts);
  }

  Expr in_two_parts(const Expr& x, const Reduce& r, const Instruction& insn,
                    const std::set<std::string>& around, std::vector<Expr>& cuts) {
    if (arity(r.op) == 2)
      refuse("two-valued", x.at(), "`{}` gives two values, which no expression puts together",
             to_string(x));
    if (r.inames.size() > 1)
      refuse("not-a-reduction-loop", x.at(),
             "`{}` is over several inames; split_reduction_outward gives `{}` one of its own",
             to_string(x), iname_);
    const Expr first = part(r, x.at(), insn, around, before_, "<"),
               second = part(r, x.at(), insn, around, from_, ">=");
    changed_ = true;
    const Expr both = combined(r.op, {first}, {second}, {})[0];
    if (r.op == ReduceOp::Sum) cuts.push_back(both);
    return both;
  }

  /// Among sums only, the parts of a sum that is cut are terms like others: additions have no order
  /// there.
  static Expr spliced(const Expr& e, const Nary& n, const std::vector<Expr>& cuts) {
    Exprs terms;
    for (const Expr& t : n.terms) {
      const bool is_cut =
          std::any_of(cuts.begin(), cuts.end(), [&](const Expr& c) { return c.same_as(t); });
      const auto* sum = t.as<Reduce>();
      if (!is_cut && !(sum && sum->op == ReduceOp::Sum)) return e;
      const Exprs parts = is_cut ? t.as<Nary>()->terms : Exprs{t};
      terms.insert(terms.end(), parts.begin(), parts.end());
    }
    return Expr(Nary{n.op, std::move(terms)}, e.at());
  }

  /// The terms on one side of the value, over an iname of their own.
  Expr part(const Reduce& r, const Span& at, const Instruction& insn,
            const std::set<std::string>& loops_around, const std::string& stem,
            const char* relation) {
    const std::string name = made_.insert(stem).second ? stem : names_.take("", stem);
    InameRewrite own = renamed_inames({{iname_, name}});
    const Domain home = *k_.home_of(iname_);
    std::vector<std::string> around;
    for (const std::string& i : home.inames())
      if (i != iname_ && loops_around.contains(i)) around.push_back(i);
    std::vector<std::string> kept = around;
    kept.push_back(iname_);
    Set all = dims_to_params(to_dims(home.set, kept), around);
    const Set side = condition(insn, relation);
    all = Set(isl_set_intersect(all.take(), to_dims(side, {iname_}).take()));
    // What the loops around imply bounds nothing: the part may then be staged for them.
    const std::vector<std::string> loops(loops_around.begin(), loops_around.end());
    all = gist_of_loops(all, all_to_params(domain_of(k_, loops)));
    out_.domains.push_back({tidy(rename_dims(std::move(all), {{iname_, name}})), home.at});
    out_.loop_order.push_back(name);
    return rewrite_inames(Expr(with_own_terms(r, own), at), own);
  }

  /// Reductions in the terms have inames of their own in each part, with bounds over the part's.
  Reduce with_own_terms(const Reduce& r, const InameRewrite& own) {
    std::set<std::string> inner;
    for (const Expr& a : r.args) inner.merge(reduction_inames(k_, a));
    Reduce out = r;
    std::vector<InameRewrite> done{own};
    std::vector<const Domain*> homes;  // those that bound others first
    for (const Domain& d : k_.domains) homes.push_back(&d);
    for (const Domain* d : homes) {
      std::vector<std::string> mine, others;
      for (const std::string& i : d->inames()) (inner.contains(i) ? mine : others).push_back(i);
      if (mine.empty()) continue;
      Set points = dims_to_params(d->set, others);
      for (const InameRewrite& rw : done) points = rewrite_inames(points, rw);
      const InameRewrite copies = add_renamed_domain(out_, mine, std::move(points), d->at);
      for (Expr& a : out.args) a = rewrite_inames(a, copies);
      replaced_.insert(mine.begin(), mine.end());
      done.push_back(copies);
    }
    return out;
  }

  /// On which side an iteration is, with all but `iname_` as parameters.
  Set condition(const Instruction& insn, const char* relation) const {
    std::set<std::string> used;
    collect_vars(at_, used);
    std::vector<std::string> dims{iname_}, outer;
    for (const std::string& name : used) {
      const Argument* a = k_.find_arg(name);
      if (k_.has_iname(name)) {
        if (!insn.inames.contains(name) || name == iname_)
          refuse("bad-place", insn.at,
                 "`{}`, at which `{}` is cut, has `{}`, which is no loop around instruction `{}`",
                 text_, iname_, name, insn.id);
        outer.push_back(name);
      } else if (!(a && !a->is_array) && !is_domain_parameter(name)) {
        refuse("bad-place", insn.at,
               "`{}`, at which `{}` is cut, has `{}`, which is neither a loop nor a parameter",
               text_, iname_, name);
      }
    }
    dims.insert(dims.end(), outer.begin(), outer.end());
    std::optional<Set> where = to_condition(
        parse_expression(fmt::format("{} {} {}", iname_, relation, to_string(at_)), span_), dims);
    if (!where)
      refuse("bad-place", insn.at, "`{}`, at which `{}` is cut, is not affine", text_, iname_);
    return dims_to_params(std::move(*where), outer);
  }
  bool is_domain_parameter(const std::string& name) const {
    return !k_.find_temporary(name) &&
           std::any_of(k_.domains.begin(), k_.domains.end(), [&](const Domain& d) {
             const std::vector<std::string> params = d.params();
             return std::find(params.begin(), params.end(), name) != params.end();
           });
  }

  const Kernel& k_;
  const std::string& iname_;
  const std::string& text_;
  const Span& span_;
  NewInames names_;
  Expr at_;
  Kernel out_;
  std::string before_, from_;
  std::set<std::string> made_, replaced_;
  bool changed_ = false;
};

}  // namespace

Kernel split_reduction_at(const Kernel& k, const std::string& iname, const std::string& at,
                          const std::string& from, const Span& span) {
  return ReductionCut(k, iname, at, span).run(from);
}

extern const Op split_reduction_at_op;
const Op split_reduction_at_op{
    .name = "split_reduction_at",
    .doc = R"(Cuts reductions at a value of their loop: one over what is less, one over the rest.

    sum(j, e)    becomes    sum(j_0, e) + sum(j_from, e)    with j_0 < at and j_from >= at

So a part of the terms may be computed elsewhere, or in another way. Among sums that are added,
both parts are terms of the addition. All reductions over the loop
are cut, also those in rules.

Refuses loops that are tagged or that are loops of instructions too, reductions over several
inames, reductions of two values, and a value that is not affine in loops around and parameters.)",
    .params = {{.name = "iname",
                .kind = Kind::Str,
                .help = "the loop of the reductions",
                .required = true,
                .positional = true},
               {.name = "at",
                .kind = Kind::Str,
                .help = "the first value of the second part, such as \"16*i_outer\"",
                .required = true,
                .positional = true},
               {.name = "from_iname",
                .kind = Kind::Str,
                .help = "name of the second part's loop",
                .fallback = "<iname>_from"}},
    .example_kernel = R"(kernel rows(n: int32, a: float64[n, n], d: float64[n])
domain {[i, j]: 0 <= i, j < n}
d[i] = sum(j, a[i, j])
)",
    .example = R"(knl = lp.split_reduction_at(knl, "j", "i"))",
    .run =
        [](const Kernel& k, const Args& a) {
          return split_reduction_at(k, a.str("iname"), a.str("at"), a.str("from_iname"), a.at());
        },
    .query = {},
};

}  // namespace moonloop
