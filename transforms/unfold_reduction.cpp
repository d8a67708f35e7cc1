#include "transforms/unfold_reduction.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/model/lookup.h"
#include "core/order/accumulation.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/registry.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

/// The sum that a term of a sum or difference is, if it is one; `minus`: it is subtracted.
const Reduce* sum_of(const Expr& term, bool& minus) {
  const Expr* inside = negated(term);
  minus = inside != nullptr;
  const Reduce* r = (inside ? *inside : term).as<Reduce>();
  return r && r->op == ReduceOp::Sum ? r : nullptr;
}

/// The sum that a term is which is one by factors: `a*sum(k, e)` as `sum(k, a*e)`.
std::optional<Reduce> scaled_sum_of(const Expr& term, bool& minus) {
  const Expr* inside = negated(term);
  minus = inside != nullptr;
  const Nary* product = (inside ? *inside : term).as<Nary>();
  if (!product || product->op != NaryOp::Mul) return std::nullopt;
  std::optional<Reduce> out;
  Exprs factors;
  for (const Expr& f : product->terms) {
    const Reduce* r = f.as<Reduce>();
    if (r && r->op == ReduceOp::Sum && !out)
      out = *r;
    else if (contains_reduction(f))
      return std::nullopt;
    else
      factors.push_back(f);
  }
  if (!out || factors.empty()) return std::nullopt;
  factors.push_back(out->args[0]);
  out->args[0] = Expr(Nary{NaryOp::Mul, std::move(factors)}, term.at());
  return out;
}

/// Whether `e` is the least or largest of a reduction of that kind and something else.
bool chooses(const Expr& e) {
  const Call* c = e.as<Call>();
  const auto op = c ? accumulating_op(e) : std::nullopt;
  const auto is_reduction = [&](const Expr& x) {
    const Reduce* r = x.as<Reduce>();
    return r && r->op == op;
  };
  return op && std::any_of(c->args.begin(), c->args.end(), is_reduction) &&
         !std::all_of(c->args.begin(), c->args.end(), is_reduction);
}

class Unfolding {
 public:
  Unfolding(const Kernel& k, bool each_term)
      : k_(rebase(proved(k))), typed_(infer_types(k)), each_term_(each_term) {
    k_.instructions = linearized(k_, *order_of(k_));
    out_ = k_;
  }

  Kernel run(const std::set<std::string>& ids) {
    std::vector<InsnPtr> all;
    for (const InsnPtr& i : k_.instructions) {
      made_.clear();
      if (!ids.contains(i->id) || !unfold(*i)) made_ = {i};
      all.insert(all.end(), made_.begin(), made_.end());
    }
    if (!found_)
      refuse("no-reduction", k_.at,
             "no selected instruction adds a sum, or takes the least or largest of terms and of "
             "something else, that is always evaluated");
    out_.instructions = std::move(all);
    return proved(rebase(std::move(out_)));
  }

 private:
  /// The outermost sum, difference or choice with reductions among its terms; null where there is
  /// none.
  Expr addition(const Expr& e, const std::string& target) const {
    bool minus = false;
    if (adds_to(e, target)) return e;
    if (const Nary* n = e.as<Nary>(); n && n->op == NaryOp::Add &&
                                      std::any_of(n->terms.begin(), n->terms.end(),
                                                  [&](const Expr& t) { return sum_of(t, minus); }))
      return e;
    if ((sum_of(e, minus) && !minus) || chooses(e)) return e;
    if (e.as<Reduce>() || e.as<Select>() || e.as<SubArray>()) return {};
    if (const Nary* n = e.as<Nary>(); n && (n->op == NaryOp::And || n->op == NaryOp::Or)) return {};
    Expr found;
    for_each_child(e, [&](const Expr& c) {
      if (!found) found = addition(c, target);
    });
    return found;
  }

  /// A sum with a factor, added to what reads the assignee, whose old value is lost once the sum
  /// stands there by itself: `b*c + a*sum(k, e)`.
  static bool adds_to(const Expr& e, const std::string& target) {
    const Nary* n = e.as<Nary>();
    if (!n || n->op != NaryOp::Add) return false;
    bool minus = false, scaled = false, reads = false;
    for (const Expr& t : n->terms) {
      if (sum_of(t, minus)) return false;
      if (scaled_sum_of(t, minus)) {
        scaled = true;
        continue;
      }
      std::set<std::string> names;
      collect_vars(t, names), collect_reads(t, names);
      reads = reads || names.contains(target);
    }
    return scaled && reads;
  }

  bool unfold(const Instruction& insn) {
    if (insn.kind != InsnKind::Assign || !insn.rhs) return false;
    const Expr& target = insn.lhs[0];
    const std::string& name = written_name(target);
    // Rules are kept where they hide no sum.
    const Expr rhs = addition(insn.rhs, name) ? insn.rhs : expand_rules(k_, insn.rhs);
    const Expr added = addition(rhs, name);
    if (!added) return false;
    found_ = true;
    require_type(insn, added);

    const auto with = [&](const Expr& value) {
      return rewrite(rhs, [&](const Expr& e) { return e.same_as(added) ? value : e; });
    };
    Exprs base;
    std::vector<std::pair<Reduce, bool>> reductions;
    const Nary* n = added.as<Nary>();
    const Call* choice = added.as<Call>();
    const bool scales = adds_to(added, name);
    for (const Expr& t : n ? n->terms : choice ? choice->args : Exprs{added}) {
      bool minus = false;
      const Reduce* r = choice ? t.as<Reduce>() : sum_of(t, minus);
      std::optional<Reduce> scaled;
      if (!r && scales) {
        scaled = scaled_sum_of(t, minus);
        if (scaled) r = &*scaled;
      }
      if (r && (!choice || r->op == accumulating_op(added)))
        reductions.emplace_back(*r, minus);
      else
        base.push_back(t);
    }
    // What else a choice is from waits for all terms, which may come before what it needs.
    Expr rest = with(target), others = with(lit(0));
    const auto own =
        std::find_if(base.begin(), base.end(), [&](const Expr& t) { return equal(t, target); });
    if (choice && own != base.end() && base.size() > 1) {
      base.erase(own);
      others = with(with_operands(added, base));
      base.insert(base.begin(), target);
      rest = with(with_operands(added, base));
    } else if (base.size() != 1 || own == base.end()) {
      assign_base(insn, added, base);
    }
    const Names around(insn.inames.begin(), insn.inames.end());
    std::set<std::string> taken;  // loops of updates so far
    for (const auto& [reduction, minus] : reductions)
      for (const Reduce& each : parts(reduction))
        add_terms(insn, added, each, minus, around, taken);
    // What is left reads the new value in the place of the reduction, and the old one nowhere.
    if (!equal(rest, target)) {
      require_apart(insn, others, around);
      made_.push_back(
          edit(std::make_shared<const Instruction>(insn), [&](Instruction& i) { i.rhs = rest; }));
    }
    for (const Expr& p : insn.predicates) require_apart(insn, p, around);
    rename_last(insn);
    return true;
  }

  /// The last instruction keeps the id, so that those that depend on it wait for all.
  void rename_last(const Instruction& insn) {
    if (made_.back()->id != insn.id)
      made_.back() = edit(made_.back(), [&](Instruction& i) { i.id = insn.id; });
  }

  void require_type(const Instruction& insn, const Expr& added) const {
    const Typer typer(typed_);
    const auto left = typer.type(insn.lhs[0]);
    const auto right = left ? typer.type(added, left->type) : std::nullopt;
    if (!left || !right || !(left->type == right->type))
      refuse("unsupported", insn.at, "`{}` and the reduction that it gets have different types",
             to_string(insn.lhs[0]));
  }

  void assign_base(const Instruction& insn, const Expr& added, const Exprs& base) {
    Instruction first = part(insn, "_base");
    if (added.as<Call>()) {
      first.rhs = with_operands(added, base);
    } else if (base.empty()) {
      first.rhs = lit(0);
    } else if (base.size() == 1) {
      const Expr* inside = negated(base[0]);
      first.rhs = inside ? Expr(Unary{UnaryOp::Neg, *inside}, base[0].at()) : base[0];
    } else {
      Exprs terms = base;
      if (const Unary* u = terms[0].as<Unary>(); u && u->op == UnaryOp::Sub)
        terms[0] = Expr(Unary{UnaryOp::Neg, u->arg}, terms[0].at());
      first.rhs = Expr(Nary{NaryOp::Add, std::move(terms)}, insn.rhs.at());
    }
    made_.push_back(std::make_shared<const Instruction>(std::move(first)));
  }

  /// The sum, or one of each of its terms.
  std::vector<Reduce> parts(const Reduce& sum) const {
    const auto* n = sum.args[0].as<Nary>();
    if (!each_term_ || sum.op != ReduceOp::Sum || !n || n->op != NaryOp::Add ||
        contains_reduction(sum.args[0]))
      return {sum};
    std::vector<Reduce> out;
    for (const Expr& t : n->terms) {
      out.push_back(sum);
      out.back().args[0] = t;
    }
    return out;
  }

  /// A loop of its own would find only what the last iteration of the sum's loop made.
  void require_made_elsewhere(const Instruction& insn, const Expr& term, const Names& loops) const {
    std::set<std::string> read;
    walk(term, [&](const Expr& e) {
      if (const auto* l = e.as<Load>()) read.insert(l->array);
      if (const auto* v = e.as<Var>()) read.insert(v->name);
      return true;
    });
    for (const InsnPtr& other : k_.instructions)
      for (const std::string& i : loops)
        if (other->inames.contains(i))
          for (const std::string& w : writes(*other))
            if (read.contains(w))
              refuse("shared-loop", insn.at,
                     "`{}` writes `{}` in each iteration of `{}`, in which the sum of `{}` reads "
                     "it; the terms cannot have a loop of their own",
                     other->id, w, i, insn.id);
  }

  void add_terms(const Instruction& insn, const Expr& added, const Reduce& sum, bool minus,
                 const Names& around, std::set<std::string>& taken) {
    Names all = around;
    all.insert(all.end(), sum.inames.begin(), sum.inames.end());
    require_apart(insn, sum.args[0], all);
    Instruction update = part(insn, "_update");
    Expr term = sum.args[0];
    Names loops = sum.inames;
    const bool again = std::any_of(loops.begin(), loops.end(),
                                   [&](const std::string& i) { return taken.contains(i); });
    taken.insert(loops.begin(), loops.end());
    if (again || used_elsewhere(insn, sum.inames)) {
      require_made_elsewhere(insn, expand_rules(k_, term), sum.inames);
      const Set points = to_dims(dims_to_params(domain_of(k_, all), around), sum.inames);
      const InameRewrite own = add_renamed_domain(
          out_, sum.inames, gist_of_loops(points, all_to_params(domain_of(k_, around))), insn.at);
      term = rewrite_inames(term, own);
      loops = own.fresh;
    }
    const Expr& target = insn.lhs[0];
    update.rhs = added.as<Call>() ? with_operands(added, {target, term})
                 : minus          ? difference(target, term, insn.rhs.at())
                                  : Expr(Nary{NaryOp::Add, {target, term}}, insn.rhs.at());
    update.inames.insert(loops.begin(), loops.end());
    made_.push_back(std::make_shared<const Instruction>(std::move(update)));
  }

  bool used_elsewhere(const Instruction& insn, const Names& inames) const {
    int uses = 0;
    for (const InsnPtr& i : k_.instructions) {
      const std::set<std::string> all = all_inames(k_, *i);
      for (const std::string& r : inames) uses += i->id != insn.id && all.contains(r);
    }
    // Sums of one instruction may share an iname.
    walk(expand_rules(k_, insn.rhs), [&](const Expr& e) {
      if (const Reduce* r = e.as<Reduce>())
        for (const std::string& i : r->inames)
          uses += std::find(inames.begin(), inames.end(), i) != inames.end();
      return true;
    });
    return uses > int(inames.size());
  }

  Instruction part(const Instruction& insn, const std::string& suffix) {
    Instruction out = insn;
    std::string id = k_.fresh_id(insn.id + suffix);
    for (int n = 0; !ids_.insert(id).second; ++n)
      id = k_.fresh_id(insn.id + suffix + "_" + std::to_string(n));
    out.id = id;
    out.origin.clear();
    out.origin_id.clear();
    return out;
  }

  /// No instance of `e`, in the loops, reads the element that it assigns.
  void require_apart(const Instruction& insn, const Expr& term, const Names& loops) const {
    const Expr e = expand_rules(k_, term), target = expand_rules(k_, insn.lhs[0]);
    const std::string& name = written_name(target);
    const auto refuse_read = [&](const Expr& by) {
      refuse("reads-assignee", by.at() ? by.at() : insn.at,
             "`{}` may be the element `{}` that `{}` assigns, which changes with each term",
             to_string(by), to_string(target), insn.id);
    };
    for_each_of<Var>(e, [&](const Var& v, const Expr& at) {
      if (v.name == name) refuse_read(at);
    });
    for_each_of<Load>(e, [&](const Load& l, const Expr& at) {
      if (l.array != name) return;
      const Load* own = target.as<Load>();
      if (!own || own->index.size() != l.index.size() || l.linear != own->linear)
        return refuse_read(at);
      Names dims = loops;
      std::set<std::string> used;
      collect_vars(at, used);
      for (const std::string& u : used)
        if (k_.has_iname(u) && std::find(dims.begin(), dims.end(), u) == dims.end())
          dims.push_back(u);  // of a reduction in it
      Exprs equal_index;
      for (std::size_t d = 0; d < l.index.size(); ++d)
        equal_index.push_back(Expr(Compare{CompareOp::Eq, l.index[d], own->index[d]}));
      const auto same = to_condition(k_, conjunction(equal_index), dims);
      if (!same || !yes(isl_set_is_empty(
                       Set(isl_set_intersect(domain_of(k_, dims).take(), same->copy())).get())))
        refuse_read(at);
    });
  }

  Kernel k_, out_;
  const Kernel typed_;
  std::vector<InsnPtr> made_;  // in the place of the current instruction
  std::set<std::string> ids_;
  bool each_term_, found_ = false;
};

}  // namespace

Kernel unfold_reduction(const Kernel& k, const Match& within, const UnfoldOptions& o) {
  std::set<std::string> ids;
  for (const std::size_t n : some_matching(k, within, "no instruction matches `within`"))
    ids.insert(k.instructions[n]->id);
  return Unfolding(k, o.each_term).run(ids);
}

extern const Op unfold_reduction_op;
const Op unfold_reduction_op{
    .name = "unfold_reduction",
    .doc =
        R"(Adds the terms of sums to the assignee one by one, in loops of their own; so with `min` and `max`.

    a[i] = (a[i] - sum(k, l[i, k]*x[k]))/d    becomes    a[i] = a[i] - l[i, k]*x[k]    in the loop k too
                                                         a[i] = a[i]/d

What the sums are added to, where that is not the assignee, is assigned first; `b*c[i] + a*sum(k, e)`
becomes `c[i] = b*c[i]` and `c[i] = c[i] + a*e`. The loop k is then one like others: it may go
outside, and instances of other loops may run at once in it. It is the inverse of
recognize_reduction; as there, the order of additions, and with it rounding, may change.

Where the assignee is chosen from itself, a reduction and more, the terms of the reduction come first:

    a[i] = max(a[i], b[i], max(k, t[i, k]))   becomes    a[i] = max(a[i], t[i, k])     in the loop k too
                                                         a[i] = max(a[i], b[i])

Refuses terms that another statement makes in the loop of the sum; terms, conditions and rests that
may read the element that is assigned, and elements of another
type than the sum's; a least or largest value of terms alone.)",
    .params = {{.name = "within",
                .kind = Kind::Match,
                .help = "changes these instructions only",
                .positional = true},
               {.name = "each_term",
                .kind = Kind::Bool,
                .help = "where the terms are sums themselves, such as `a[k] + b[k]`, each of "
                        "theirs is added in loops of its own",
                .fallback = "false"}},
    .example_kernel =
        R"(kernel lower(n: int32, L: in float64[n, n], b: in float64[n], x: out float64[n])
domain {[i, k]: 0 <= i < n and 0 <= k < i}
x[i] = (b[i] - sum(k, L[i, k]*x[k]))/L[i, i]
)",
    .example = R"(knl = lp.unfold_reduction(knl))",
    .run =
        [](const Kernel& k, const Args& a) {
          return unfold_reduction(k, Match::parse(a.str("within"), a.at()),
                                  {.each_term = a.boolean("each_term")});
        },
    .query = {},
};

}  // namespace moonloop
