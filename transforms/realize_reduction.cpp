#include <algorithm>

#include "core/expr/reduction_steps.h"
#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/order/reference.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/rewrite/removal.h"
#include "core/rewrite/staging.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/registry.h"
#include "transforms/replace_reductions.h"
#include "transforms/scan_terms.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

struct Options {
  bool scan = false;
  std::string outer;  // the iname that sweeps; empty: all that the bounds depend on
};

/// Writes the reductions of one instruction out.
class Realizer {
 public:
  Realizer(const Kernel& k, const Options& options)
      : options_(options), out_(rebase(proved(k))), typed_(infer_types(k)) {}

  Kernel run(const Names& ids) {
    const Kernel before = out_;
    for (const std::string& id : ids) realize(id);
    if (!found_ && !single_)
      refuse("no-reduction", out_.at, "no selected instruction has a reduction{}",
             options_.scan ? " whose bounds depend on a loop around it" : "");
    const Kernel k = staged(before, without_idle_domains(std::move(out_), replaced_), stand_ins_);
    const Nested nested = nest(k);
    for (const auto& [id, sweep] : sweeps_)
      for (std::size_t n = 0; n < nested.kernel.instructions.size(); ++n)
        if (nested.kernel.instructions[n]->id == id &&
            in_order(nested.tree.paths[n].loops(), sweep) != sweep)
          throw InternalError("the loops of the scan of `" + id + "` changed their order");
    return k;
  }

 private:
  static Names in_order(const Names& loops, const Names& some) {
    Names out;
    for (const std::string& l : loops)
      if (std::find(some.begin(), some.end(), l) != some.end()) out.push_back(l);
    return out;
  }

  void realize(const std::string& id) {
    Instruction insn = *out_.find_insn(id);
    const auto expanded = [&](const Expr& e) {
      return e && !reduction_inames(out_, e).empty() ? expand_rules(out_, e) : e;
    };
    insn.rhs = expanded(insn.rhs);
    if (!insn.rhs) return;
    if (options_.scan && contains_reduction(insn.rhs))
      for (const std::string& i : insn.inames)
        single_ |= yes(isl_set_is_singleton(domain_of(out_, {i}).get()));
    insn_ = &insn;
    before_.clear();
    after_.clear();
    if (const auto* r = insn.rhs.as<Reduce>(); r && arity(r->op) == 2) {
      if (const auto values = written_out(*r, insn.rhs.at())) {
        insn.rhs = call("make_tuple", *values, insn.rhs.at());
        insn.kind = InsnKind::Call;
      }
    } else {
      insn.rhs = replace_reductions(
          insn.rhs,
          [&](const Reduce& r, const Span& at, const Exprs& conditions) -> std::optional<Expr> {
            conditions_ = conditions;
            const auto values = written_out(r, at);
            return values ? std::optional<Expr>((*values)[0]) : std::nullopt;
          });
      conditions_.clear();
    }
    if (before_.empty()) return;
    found_ = true;
    auto& all = out_.instructions;
    auto at = std::find_if(all.begin(), all.end(), [&](const InsnPtr& i) { return i->id == id; });
    *at = std::make_shared<const Instruction>(insn);
    at = all.insert(at, before_.begin(), before_.end());
    all.insert(at + std::ptrdiff_t(before_.size()) + 1, after_.begin(), after_.end());
  }

  /// The values of the reduction, which the instructions before compute; nothing when it is to
  /// stay.
  std::optional<Exprs> written_out(const Reduce& r, const Span& at) {
    const std::set<std::string> reduced(r.inames.begin(), r.inames.end());
    const Names sweep = options_.scan ? sweep_of(reduced, at) : Names();
    if (options_.scan && sweep.empty()) return std::nullopt;
    check_terms(r, sweep, at);
    reduced_ = &r;
    at_ = at;
    Names items;
    for (const std::string& i : sweep)
      if (is_work_item(out_.tag(i))) items.push_back(i);
    if (items.size() > 1)
      refuse("unsupported", at, "a scan over several axes of work-items, {}", quoted_list(items));
    // The loops stay those of the reduction, which other statements may run in too.
    if (sweep.empty()) return in_sequence(r.inames, r.args, sweep);
    const bool ordered = within_segments(r.op).has_value();
    Set terms = new_terms(out_, *insn_, sweep, r.inames, ordered, at);
    if (items.empty()) {
      const InameRewrite own = own_inames(std::move(terms));
      Exprs args;
      for (const Expr& a : r.args) args.push_back(with_own_bounds(rewrite_inames(a, own), own));
      return in_sequence(own.fresh, args, sweep);
    }
    Names loops = sweep;
    std::erase(loops, items[0]);
    if (loops.size() + 1 != sweep.size() || sweep.back() != items[0])
      throw InternalError("work-items are innermost");
    return by_work_items(std::move(terms), loops, items[0]);
  }

  /// The loops whose iterations are to share their terms, outer to inner, work-items last.
  Names sweep_of(const std::set<std::string>& reduced, const Span& at) const {
    const std::set<std::string> bounding = inames_bounding(out_, reduced);
    std::set<std::string> some;
    for (const std::string& i : bounding)
      if (insn_->inames.count(i) && (options_.outer.empty() || options_.outer == i)) some.insert(i);
    const Nested nested = nest(out_);
    Names out;
    for (std::size_t n = 0; n < nested.kernel.instructions.size(); ++n)
      if (nested.kernel.instructions[n]->id == insn_->id)
        out = in_order(nested.tree.paths[n].loops(), {some.begin(), some.end()});
    for (const std::string& i : out)
      if (const InameTag* t = out_.tag(i); t && t->kind != TagKind::Ord)
        refuse_for(i, "bad-tag", at,
                   "the iterations of `{}`, tagged `{}`, cannot pass on the terms of a scan", i,
                   t->text);
    for (const std::string& i : some)
      if (is_work_item(out_.tag(i))) out.push_back(i);
    return out;
  }

  void check_terms(const Reduce& r, const Names& sweep, const Span& at) const {
    std::set<std::string> names;
    std::set<std::string> inner;
    for (const Expr& a : r.args) {
      collect_vars(a, names);
      inner.merge(reduction_inames(out_, a));
    }
    names.merge(inames_bounding(out_, inner));
    for (const std::string& i : sweep)
      if (names.count(i))
        refuse("not-a-scan", at, "the terms of the reduction in `{}` depend on `{}` themselves",
               insn_->id, i);
    check_fresh_temporaries(r, sweep, at);
    if (!sweep.empty() && !(insn_->predicates.empty() && conditions_.empty()))
      refuse("not-a-scan", insn_->predicates.empty() ? at : insn_->at,
             "`{}` runs under a condition, but its scan needs all terms", insn_->id);
  }

  /// Temporaries that iterations of the sweep recompute have another value in each, unless they
  /// have an element for each iteration.
  void check_fresh_temporaries(const Reduce& r, const Names& sweep, const Span& at) const {
    std::set<std::string> read;
    for (const Expr& a : r.args) collect_reads(expand_rules(out_, a), read);
    for (const InsnPtr& writer : out_.instructions)
      for (const Expr& l : writer->lhs) {
        const std::string& name = written_name(l);
        if (!read.count(name) || !out_.find_temporary(name)) continue;
        std::set<std::string> numbers;
        collect_vars(l, numbers);
        for (const std::string& i : sweep)
          if (writer->inames.count(i) && !numbers.count(i))
            refuse(
                "not-a-scan", at,
                "the terms of the reduction in `{}` depend on `{}`, which each iteration of `{}` "
                "computes anew",
                insn_->id, name, i);
      }
  }

  /// New inames over the terms, in place of the reduction's.
  InameRewrite own_inames(Set terms) {
    replaced_.insert(reduced_->inames.begin(), reduced_->inames.end());
    return add_renamed_domain(out_, reduced_->inames, std::move(terms), at_);
  }

  /// Reductions in a term, whose bounds name an iname that `own` replaced, get inames of their own
  /// as well.
  Expr with_own_bounds(Expr e, const InameRewrite& own) {
    std::map<std::string, std::string> names;
    for (std::size_t n = 0; n < own.old.size(); ++n) names.emplace(own.old[n], own.fresh[n]);
    const std::set<std::string> inner = reduction_inames(out_, e);
    const std::vector<Domain> homes = out_.domains;
    Names around(insn_->inames.begin(), insn_->inames.end());
    around.insert(around.end(), own.old.begin(), own.old.end());
    const Set terms = all_to_params(domain_of(out_, around));
    const auto depends = [&](const std::string& i) {
      const std::set<std::string> on = inames_bounding(out_, {i});
      return std::any_of(on.begin(), on.end(), [&](const auto& o) { return names.count(o) > 0; });
    };
    for (bool more = !inner.empty(); more;) {
      more = false;
      for (const Domain& d : homes) {
        Names own_here, others;
        for (std::string& i : d.inames()) {
          const bool replaces = inner.count(i) && !names.count(i) && depends(i);
          (replaces ? own_here : others).push_back(std::move(i));
        }
        if (own_here.empty()) continue;
        Set s = gist_of_loops(dims_to_params(d.set, others), terms);
        for (const std::string& p : param_names(s))
          if (const auto it = names.find(p); it != names.end()) s = rename_param(s, p, it->second);
        const InameRewrite copies = add_renamed_domain(out_, own_here, std::move(s), at_);
        e = rewrite_inames(e, copies);
        replaced_.insert(own_here.begin(), own_here.end());
        for (std::size_t n = 0; n < own_here.size(); ++n) {
          names.emplace(own_here[n], copies.fresh[n]);
          copied_.emplace(copies.fresh[n], own_here[n]);
        }
        more = true;
      }
    }
    return e;
  }

  static Set rename_param(Set s, const std::string& from, const std::string& to) {
    const int at = isl_set_find_dim_by_name(s.get(), isl_dim_param, from.c_str());
    return isl_set_set_dim_name(s.take(), isl_dim_param, unsigned(at), to.c_str());
  }

  // ---- The single reads of a scan, in the first iteration that has a term, replace the reads of
  // all later iterations.

  /// `insn` reads the terms `args`, over the inames `terms`, in the loops `sweep`; the reduction
  /// does in the loops `swept`.
  void reads_early(const Instruction& insn, const Exprs& args, const Names& terms,
                   const Names& sweep, const Names& swept) {
    std::vector<std::pair<std::string, std::string>> same;
    for (const std::string& i : insn_->inames)
      if (std::find(swept.begin(), swept.end(), i) == swept.end()) same.emplace_back(i, i);
    for (std::size_t n = 0; n < terms.size(); ++n) same.emplace_back(terms[n], reduced_->inames[n]);
    for (const Expr& a : args) reads_early(insn, a, same, sweep, swept);
  }
  void reads_early(const Instruction& insn, const Expr& e,
                   const std::vector<std::pair<std::string, std::string>>& same, const Names& sweep,
                   const Names& swept) {
    Instruction own = insn;  // of this expression, without the reductions in it
    own.lhs.clear();
    own.predicates.clear();
    own.rhs = rewrite(e, [](const Expr& x) { return x.as<Reduce>() ? lit(0) : x; });
    const std::vector<Access> read = accesses_to(out_, own, false, {});
    if (!read.empty())
      stand_ins_.push_back({insn.id, insn_->id, early_relation(same, sweep, swept), read});
    walk(e, [&](const Expr& x) {
      const Reduce* r = x.as<Reduce>();
      if (!r) return true;
      auto all = same;
      for (const std::string& i : r->inames) {
        const auto was = copied_.find(i);
        all.emplace_back(i, was == copied_.end() ? i : was->second);
      }
      for (const Expr& a : r->args) reads_early(insn, a, all, sweep, swept);
      return false;
    });
  }
  /// { instances that read -> equal or later ones }.
  static Map early_relation(const std::vector<std::pair<std::string, std::string>>& same,
                            const Names& sweep, const Names& swept) {
    Names in = sweep, out = swept;
    for (const auto& [now, then] : same) in.push_back(now), out.push_back(then);
    Map equal = universal_map(in, out);
    for (std::size_t d = sweep.size(); d < in.size(); ++d) equal = equate(std::move(equal), d, d);
    Map all = isl_map_empty(isl_map_get_space(equal.get()));
    for (std::size_t d = 0; d < sweep.size(); ++d) {
      const auto at = static_cast<int>(d);
      const Map later = isl_map_order_lt(equal.copy(), isl_dim_in, at, isl_dim_out, at);
      all = isl_map_union(all.take(), later.copy());
      equal = equate(std::move(equal), d, d);
    }
    return isl_map_union(all.take(), equal.take());
  }

  // ---- Loops: one accumulator that goes through all of them.

  /// Values and indices of the accumulators' types, as which they are compared: -1 of an unsigned
  /// type is its largest.
  Exprs held(Exprs args) const {
    const std::vector<Type> all = types();
    for (std::size_t i = 0; i < args.size() && args.size() > 1; ++i)
      if (!(type_of(typed_, args[i]) == all[i]))
        args[i] = Expr(Cast{all[i], args[i]}, args[i].at());
    return args;
  }

  Exprs in_sequence(const Names& inames, const Exprs& args, const Names& sweep) {
    const Exprs acc = temporaries("acc", AddressSpace::Auto, {});
    std::set<std::string> outer = insn_->inames;
    for (const std::string& i : sweep) outer.erase(i);
    assign("_init", acc, neutral_values(reduced_->op, types()), outer, before_);
    std::set<std::string> inner = insn_->inames;
    inner.insert(inames.begin(), inames.end());
    Exprs terms = held(args), read = args;  // by the update
    for (std::size_t i = 0; i < args.size() && args.size() > 1; ++i)
      if (contains_reduction(args[i])) {  // combined() would compute it twice
        terms[i] = temporary("term", types()[i], AddressSpace::Auto, {});
        assign("_term", {terms[i]}, {args[i]}, inner, before_, conditions_);
        if (!sweep.empty()) reads_early(*before_.back(), {args[i]}, inames, sweep, sweep);
        read[i] = lit(0);
      }
    assign("_update", acc, combined(reduced_->op, acc, terms, types()), inner, before_,
           conditions_);
    if (sweep.empty()) return acc;
    reads_early(*before_.back(), read, inames, sweep, sweep);
    if (sweep.size() > 1) sweeps_.emplace_back(insn_->id, sweep);
    return acc;
  }

  // ---- Work-items: each step doubles the distance over which they add. It has a loop of its own,
  // so that one thread that runs the loops in turn does the same.

  Exprs by_work_items(Set terms, const Names& loops, const std::string& item) {
    const ScanItems items = scan_items(out_, *insn_, item, loops, at_);
    const auto place = [&](const std::string& i) { return index_sub(var(i), lit(items.first)); };
    // Work-items along other axes have parts of their own.
    Exprs extents, beside;
    for (const std::string& i : insn_->inames)
      if (i != item && is_work_item(out_.tag(i))) {
        const ItemRange range = item_range(out_, i, at_);
        extents.push_back(lit(range.count));
        beside.push_back(index_sub(var(i), lit(range.first)));
      }
    extents.push_back(lit(items.count));
    const auto at = [&](const Exprs& arrays, const Expr& index) {
      Exprs place = beside, out;
      place.push_back(index);
      for (const Expr& a : arrays) out.push_back(load(a.as<Var>()->name, place));
      return out;
    };
    const auto within = [&](const std::string& i) {
      std::set<std::string> inames = insn_->inames;
      inames.erase(item);
      inames.insert(i);
      return inames;
    };
    std::set<std::string> once = insn_->inames, outside = insn_->inames;
    once.erase(item);
    outside = once;
    for (const std::string& i : loops) outside.erase(i);
    Exprs carry;
    if (!loops.empty()) {
      carry = temporaries("carry", AddressSpace::Auto, {});
      assign("_carry_init", carry, neutral_values(reduced_->op, types()), outside, before_);
    }
    Exprs now = temporaries("part", AddressSpace::Local, extents);
    const std::string first = copy_of(item, CompareOp::Ge, lit(items.first));
    const std::vector<std::string> bounds = param_names(terms);
    if (std::find(bounds.begin(), bounds.end(), item) != bounds.end())
      terms = rename_param(std::move(terms), item, first);
    const InameRewrite own = own_inames(std::move(terms));
    Reduce sum = *reduced_;
    sum.inames = own.fresh;
    for (Expr& a : sum.args) a = with_own_bounds(rewrite_inames(a, own), own);
    assign("_part", at(now, place(first)), {Expr(sum, at_)}, within(first), before_);
    Names sweep = loops, swept = loops;
    sweep.push_back(first);
    swept.push_back(item);
    reads_early(*before_.back(), sum.args, own.fresh, sweep, swept);
    Exprs other;
    for (std::int64_t reach = 1; reach < items.count; reach *= 2) {
      if (other.empty()) other = temporaries("part", AddressSpace::Local, extents);
      const Expr far = lit(items.first + reach);
      const std::string step = copy_of(item, CompareOp::Ge, far);
      const Expr there = index_sub(place(step), lit(reach));
      assign("_step", at(other, place(step)),
             combined(reduced_->op, at(now, there), at(now, place(step)), types()), within(step),
             before_);
      const std::string rest = copy_of(item, CompareOp::Lt, far);
      assign("_rest", at(other, place(rest)), at(now, place(rest)), within(rest), before_);
      std::swap(now, other);
    }
    const Exprs own_part = at(now, place(item));
    if (carry.empty()) return own_part;
    const Exprs last = at(now, lit(items.count - 1));
    assign("_carry", carry, combined(reduced_->op, carry, last, types()), once, after_,
           {items.all});
    if (loops.size() > 1) sweeps_.emplace_back(insn_->id, loops);
    return combined(reduced_->op, carry, own_part, types());
  }

  /// A new iname with the tag that `item` has, and those of its values in the loops around it for
  /// which the comparison holds.
  std::string copy_of(const std::string& item, CompareOp op, const Expr& bound) {
    const std::string own = out_.fresh_name(item);
    Names around;
    for (const std::string& i : insn_->inames)
      if (i != item) around.push_back(i);
    Names all = around;
    all.push_back(item);
    Set values = to_dims(dims_to_params(domain_of(out_, all), around), {item});
    values = isl_set_intersect(
        values.take(), to_condition(Expr(Compare{op, var(item), bound}), {item}).value().take());
    const Set known = all_to_params(domain_of(out_, around));
    values = tidy(gist_of_loops(values, known));
    out_.domains.push_back({rename_dims(std::move(values), {{item, own}}), at_});
    out_.loop_order.push_back(own);
    out_.iname_tags[own] = InameTag(*out_.tag(item));
    return own;
  }

  // ---- Pieces.

  std::vector<Type> types() const {
    std::vector<Type> out;
    const Typer typer(typed_);
    for (std::size_t i = 0; i < reduced_->args.size(); ++i) {
      // Literals adapt to the assignee, as they do without this transform.
      const Exprs& lhs = insn_->lhs;
      std::optional<Type> wanted;
      if (const auto t = typer.type(lhs[arity(reduced_->op) == 2 ? i : 0])) wanted = t->type;
      const auto t = typer.type(reduced_->args[i], wanted);
      if (!t)
        refuse("unsupported", at_, "the type of `{}` is not known", to_string(reduced_->args[i]));
      out.push_back(reduced_type(reduced_->op, i, t->type));
    }
    return out;
  }

  Exprs temporaries(const std::string& base, AddressSpace space, const Exprs& shape) {
    Exprs out;
    const std::vector<Type> all = types();
    for (const Type& type : all) out.push_back(temporary(base, type, space, shape));
    return out;
  }
  Expr temporary(const std::string& base, const Type& type, AddressSpace space,
                 const Exprs& shape) {
    Temporary t;
    t.name = base;
    for (const std::string& i : reduced_->inames) t.name += "_" + i;
    t.name = out_.fresh_name(t.name);
    t.type = type;
    t.shape = shape;
    t.space = space;
    t.at = at_;
    const Expr out = var(t.name);
    out_.temporaries.emplace(t.name, std::move(t));
    return out;
  }

  void assign(const char* suffix, const Exprs& to, const Exprs& values,
              const std::set<std::string>& inames, std::vector<InsnPtr>& where,
              const Exprs& conditions = {}) {
    Instruction i;
    std::string id = insn_->id + suffix;
    const auto taken = [&](const std::string& s) {
      const auto same = [&](const InsnPtr& x) { return x->id == s; };
      return out_.find_insn(s) || std::any_of(before_.begin(), before_.end(), same) ||
             std::any_of(after_.begin(), after_.end(), same);
    };
    for (int n = 0; taken(id); ++n) id = insn_->id + suffix + "_" + std::to_string(n);
    i.id = id;
    i.lhs = to;
    i.rhs = values[0];
    if (values.size() > 1) i.rhs = call("make_tuple", values, at_);
    if (to.size() > 1) i.kind = InsnKind::Call;
    i.inames = inames;
    i.predicates = insn_->predicates;  // they guard what it reads
    for (const Expr& c : conditions)
      if (c && !(c.as<BoolLit>() && c.as<BoolLit>()->value)) i.predicates.push_back(c);
    i.tags = insn_->tags;
    i.depends_on = insn_->depends_on;
    i.priority = insn_->priority;
    i.at = at_;
    where.push_back(std::make_shared<const Instruction>(std::move(i)));
  }

  const Options& options_;
  Kernel out_;
  const Kernel typed_;
  bool found_ = false;
  bool single_ = false;  // a loop of one iteration, in which a scan is the reduction itself
  std::set<std::string> replaced_;                     // inames that reductions had
  std::map<std::string, std::string> copied_;          // of reductions within: copy -> iname
  std::vector<std::pair<std::string, Names>> sweeps_;  // loops whose order counts, by instruction
  std::vector<StandIn> stand_ins_;                     // of scans

  // Of the current instruction and reduction.
  const Instruction* insn_ = nullptr;
  const Reduce* reduced_ = nullptr;
  Span at_;
  Exprs conditions_;  // under which its value is needed, besides the predicates
  std::vector<InsnPtr> before_, after_;
};

}  // namespace

extern const Op realize_reduction_op;
const Op realize_reduction_op{
    .name = "realize_reduction",
    .doc =
        R"(Writes reductions out as statements that accumulate; with force_scan, as scans.

A scan is a reduction whose terms grow from one iteration of a loop around it to the next, such as
sum(j, x[j]) with 0 <= j <= i: then each iteration adds its new terms to what the one before had. Where
the loop is sequential, one accumulator goes through it. Where it is tagged `l.N`, work-items put their
terms together in local memory, in steps that double their distance; sequential loops outside of them
carry the total on. So split_iname with the inner part on `l.0` scans any number of elements.

Refuses loops in which a later iteration lacks a term of an earlier one, terms that depend on the loop
themselves or change between the iterations that add them up, scans under a condition, and tags under
which iterations run at the same time.)",
    .params = {{.name = "insn_id_filter",
                .kind = Kind::Match,
                .help = "writes out these instructions' reductions only",
                .positional = true},
               {.name = "force_scan",
                .kind = Kind::Bool,
                .help = "scans, and leaves other reductions as they are"},
               {.name = "force_outer_iname_for_scan",
                .kind = Kind::Str,
                .help =
                    "the loop whose iterations share terms; by default all that set the bounds"}},
    .example_kernel = R"(kernel scan(n: int32, x: float64[n], y: float64[n])
domain {[i]: 0 <= i < n}
domain {[j]: 0 <= j <= i}
y[i] = sum(j, x[j])
)",
    .example = R"(knl = lp.split_iname(knl, "i", 64, {inner_tag = "l.0"})
knl = lp.realize_reduction(knl, {force_scan = true}))",
    .run =
        [](const Kernel& k, const Args& a) {
          const Options options{a.boolean("force_scan"), a.str("force_outer_iname_for_scan")};
          if (!options.outer.empty()) require_iname(k, options.outer);
          const Match match = Match::parse(a.str("insn_id_filter"), a.at());
          std::vector<std::string> ids;
          for (const std::size_t n : some_matching(k, match, "no instruction matches"))
            ids.push_back(k.instructions[n]->id);
          return Realizer(k, options).run(ids);
        },
    .query = {},
};

}  // namespace moonloop
