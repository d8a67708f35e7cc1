#include "transforms/stage_reduction.h"

#include <algorithm>

#include "core/expr/reduction_steps.h"
#include "core/infer/infer.h"
#include "core/infer/typing.h"
#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/check_kernel.h"
#include "core/order/conflicts.h"
#include "core/order/reference.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/rewrite/staging.h"
#include "core/sets/syntactic_gist.h"
#include "transforms/iname_values.h"
#include "transforms/registry.h"
#include "transforms/replace_reductions.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

class ReductionStager {
 public:
  ReductionStager(const Kernel& k, const Names& inames, std::string base)
      : out_(rebase(proved(k))), typed_(infer_types(k)), inames_(inames), base_(std::move(base)) {
    std::set<std::string> seen;
    for (const std::string& i : inames) {
      require_iname(k, i);
      if (!seen.insert(i).second)
        refuse("twice", k.at, "`{}` occurs twice in the list of inames", i);
    }
    if (inames.empty()) refuse("no-inames", k.at, "no iname is given to stage reductions by");
  }

  Kernel run(const Names& ids) {
    const Kernel before = out_;
    for (const std::string& id : ids) stage(id);
    if (stand_ins_.empty())
      throw Refused(
          {"no-reduction",
           fmt::format("no reduction is over {} and another iname", quoted_list(inames_)),
           {out_.at, {}},
           {},
           fmt::format("split_iname(\"{}\", 128) makes two of it, of which `{}_outer` has "
                       "an element for each block",
                       inames_.back(), inames_.back())});
    return staged(before, std::move(out_), stand_ins_);
  }

 private:
  void stage(const std::string& id) {
    Instruction insn = *out_.find_insn(id);
    if (!insn.rhs || reduction_inames(out_, insn.rhs).empty()) return;
    insn_ = &insn;
    first_.clear();
    const Expr changed = replace_reductions(
        expand_rules(out_, insn.rhs),
        [&](const Reduce& r, const Span& at, const Exprs& conditions) -> std::optional<Expr> {
          if (!splits(r)) return std::nullopt;
          return in_two(r, at, conditions);
        });
    if (first_.empty()) return;
    insn.rhs = changed;
    auto& all = out_.instructions;
    const auto at =
        std::find_if(all.begin(), all.end(), [&](const InsnPtr& i) { return i->id == id; });
    *at = std::make_shared<const Instruction>(insn);
    all.insert(at, first_.begin(), first_.end());
  }

  bool splits(const Reduce& r) const {
    return r.inames.size() > inames_.size() &&
           std::all_of(inames_.begin(), inames_.end(), [&](const std::string& i) {
             return std::find(r.inames.begin(), r.inames.end(), i) != r.inames.end();
           });
  }

  Expr in_two(const Reduce& r, const Span& at, const Exprs& needed) {
    if (within_segments(r.op)) refuse("unsupported", at, "`{}` in two stages", to_string(r.op));
    Names outer, inner;  // in the order of the reduction
    for (const std::string& i : r.inames)
      (std::find(inames_.begin(), inames_.end(), i) == inames_.end() ? inner : outer).push_back(i);
    const Exprs conditions = conditions_of(outer, needed, at);

    Exprs extents, here;
    const InameRewrite own = loops_of_second_stage(outer, at);
    Exprs there;
    for (std::size_t n = 0; n < outer.size(); ++n) {
      const InameValues v = values_of(out_, outer[n]);
      extents.push_back(v.number);
      here.push_back(index_sub(var(outer[n], at), v.first));
      there.push_back(index_sub(var(own.fresh[n], at), v.first));
    }
    Instruction first = *insn_;
    first.id = fresh_id(insn_->id + "_part");
    first.inames.insert(outer.begin(), outer.end());
    first.predicates = conditions;
    first.origin.clear();
    first.atomic = Atomicity::None;
    Reduce inside = r, outside = r;
    inside.inames = inner;
    outside.inames = own.fresh;
    first.lhs.clear(), outside.args.clear();
    for (const Type& type : types_of(r, at)) {
      const std::string array = temporary(outer, type, extents, at);
      first.lhs.push_back(load(array, here, at));
      outside.args.push_back(load(array, there, at));
    }
    first.kind = first.lhs.size() == 1 ? InsnKind::Assign : InsnKind::Call;
    first.rhs = Expr(std::move(inside), at);
    first_.push_back(std::make_shared<const Instruction>(first));

    std::set<std::string> dims = insn_->inames;
    dims.insert(r.inames.begin(), r.inames.end());
    reads_in_first(first.id, r.args, dims);
    return Expr(std::move(outside), at);
  }

  /// All that decides whether the reduction runs. The first stage asks it in each iteration of the
  /// outer loops, so that these must not change it.
  Exprs conditions_of(const Names& outer, const Exprs& needed, const Span& at) const {
    Exprs out = insn_->predicates;
    for (const Expr& c : needed)
      if (!(c.as<BoolLit>() && c.as<BoolLit>()->value)) out.push_back(c);
    std::set<std::string> read;
    for (const Expr& c : out) collect_reads(expand_rules(out_, c), read);
    for (const InsnPtr& i : out_.instructions) {
      const bool inside = std::any_of(outer.begin(), outer.end(),
                                      [&](const auto& o) { return i->inames.count(o) > 0; });
      for (const std::string& w : writes(*i))
        if (inside && read.count(w))
          refuse("condition-changes", at,
                 "`{}` writes `{}`, which decides whether the reduction of `{}` runs", i->id, w,
                 insn_->id);
    }
    return out;
  }

  InameRewrite loops_of_second_stage(const Names& outer, const Span& at) {
    const Names around(insn_->inames.begin(), insn_->inames.end());
    Names all = around;
    all.insert(all.end(), outer.begin(), outer.end());
    const Set points = to_dims(dims_to_params(domain_of(out_, all), around), outer);
    const Set known = all_to_params(domain_of(out_, around));
    InameRewrite own = add_renamed_domain(out_, outer, tidy(gist_of_loops(points, known)), at);
    for (const std::string& i : own.fresh) out_.iname_tags.erase(i);
    return own;
  }

  /// The first stage reads what the reduction did, in the same iterations.
  void reads_in_first(const std::string& id, const Exprs& args, const std::set<std::string>& dims) {
    const Names names(dims.begin(), dims.end());
    Map same = universal_map(names, names);
    for (std::size_t d = 0; d < names.size(); ++d) same = equate(std::move(same), d, d);
    Instruction own = *insn_;
    own.lhs.clear();
    own.predicates.clear();
    for (const Expr& a : args) {
      own.rhs = rewrite(a, [](const Expr& x) { return x.as<Reduce>() ? lit(0) : x; });
      stand_ins_.push_back({id, insn_->id, same, accesses_to(out_, own, false, {})});
      walk(a, [&](const Expr& x) {
        const Reduce* r = x.as<Reduce>();
        if (!r) return true;
        std::set<std::string> deeper = dims;
        deeper.insert(r->inames.begin(), r->inames.end());
        reads_in_first(id, r->args, deeper);
        return false;
      });
    }
  }

  std::vector<Type> types_of(const Reduce& r, const Span& at) const {
    std::vector<Type> out;
    const Typer typer(typed_);
    for (std::size_t i = 0; i < r.args.size(); ++i) {
      // Literals adapt to the assignee, as they do in one stage.
      std::optional<Type> wanted;
      if (const auto t = typer.type(insn_->lhs[arity(r.op) == 2 ? i : 0])) wanted = t->type;
      const auto t = typer.type(r.args[i], wanted);
      if (!t) refuse("unsupported", at, "the type of `{}` is not known", to_string(r.args[i]));
      out.push_back(reduced_type(r.op, i, t->type));
    }
    return out;
  }

  std::string temporary(const Names& outer, const Type& type, const Exprs& extents,
                        const Span& at) {
    Temporary t;
    t.name = base_.empty() ? fmt::format("part_{}", fmt::join(outer, "_")) : base_;
    t.name = out_.fresh_name(t.name);
    t.type = type;
    t.shape = extents;
    t.at = at;
    const std::string name = t.name;
    out_.temporaries.emplace(name, std::move(t));
    return name;
  }

  std::string fresh_id(const std::string& wanted) const {
    const auto taken = [&](const std::string& id) {
      return out_.find_insn(id) || std::any_of(first_.begin(), first_.end(),
                                               [&](const InsnPtr& i) { return i->id == id; });
    };
    std::string id = wanted;
    for (int n = 0; taken(id); ++n) id = wanted + "_" + std::to_string(n);
    return id;
  }

  Kernel out_;
  const Kernel typed_;
  const Names& inames_;
  const std::string base_;
  std::vector<StandIn> stand_ins_;

  // Of the current instruction.
  const Instruction* insn_ = nullptr;
  std::vector<InsnPtr> first_;  // the first stages
};

}  // namespace

Kernel stage_reduction(const Kernel& k, const std::vector<std::string>& inames, const Match& within,
                       const std::string& base) {
  std::vector<std::string> ids;
  for (const std::size_t n : some_matching(k, within, "no instruction matches `within`"))
    ids.push_back(k.instructions[n]->id);
  return ReductionStager(k, inames, base).run(ids);
}

extern const Op stage_reduction_op;
const Op stage_reduction_op{
    .name = "stage_reduction",
    .doc =
        R"(Computes reductions in two stages, with an array between them.

x = sum((i, j), e) becomes part_i[i] = sum(j, e) in the loop i, and x = sum(i_0, part_i[i_0]).
The first stage stays in the loops `inames`, whose iterations may then run at the same time, in groups
of work-items too; the second has loops of its own, i_0 here, without tags. Reductions of two values, such
as argmin, have two arrays. With `inames` that split_iname made, `part` has an element for each block.

Refuses inames that no reduction binds together with another one, loops whose number of values is
computed in the kernel, segmented reductions, and conditions of the reduction that change in
the loops.)",
    .params = {{.name = "inames",
                .kind = Kind::Names,
                .help = "the loops that have an element of the array each",
                .required = true,
                .positional = true},
               {.name = "within",
                .kind = Kind::Match,
                .help = "changes these instructions only",
                .positional = true},
               {.name = "temporary_name",
                .kind = Kind::Str,
                .help = "of the array; `part_` and the inames if not told"}},
    .example_kernel = R"(kernel total(n: int32, a: float64[n], c: out float64[1])
domain {[i]: 0 <= i < n}
c[0] = sum(i, a[i])
)",
    .example = R"(knl = lp.split_iname(knl, "i", 128)
knl = lp.stage_reduction(knl, "i_outer")
knl = lp.tag_inames(knl, {i_outer = "g.0", i_inner = "l.0"}))",
    .run =
        [](const Kernel& k, const Args& a) {
          return stage_reduction(k, a.names("inames"), Match::parse(a.str("within"), a.at()),
                                 a.str("temporary_name"));
        },
    .query = {},
};

}  // namespace moonloop
