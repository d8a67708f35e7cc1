#include "core/order/parallelism.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/infer/infer.h"
#include "core/order/accumulation.h"
#include "core/order/directions.h"
#include "core/order/legality.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// What refuses the tag `par` on a loop.
struct LoopRefusal {
  Diagnostic why;
  std::optional<DepKind> kind;
  std::string variable;
  std::shared_ptr<const Counterexample> instances;
  /// A statement that accumulates into `variable`, where that is all; else empty.
  std::string accumulates;

  bool is_certain() const { return instances && why.code != "not-proved"; }
};

/// Proves that loops may be tagged, each by itself: no two of them are around one statement. A pair
/// of instances that refuses one of them does not end the proof of the others.
class RaceFinder : public Legality {
 public:
  using Refusals = std::map<std::string, std::vector<LoopRefusal>>;  // by loop

  /// `tagged` has the tags; `alone`: what they change besides is refused too; `brief`: any refusal
  /// of a loop will do.
  RaceFinder(const Kernel& tagged, const std::vector<std::string>& loops, bool alone, bool brief,
             Refusals& refusals)
      : Legality(tagged),
        loops_(loops.begin(), loops.end()),
        alone_(alone),
        brief_(brief),
        refusals_(refusals) {}

  void find() {
    carry();
    check_all(ref_->by_variable());
    check_parts();
    check_copies();
    check_former_copies();
    linearized(k_, *present_);
  }

 private:
  void check_pair(const Pair& p) override {
    const std::string loop = asked(p);
    if ((loop.empty() && !alone_) || is_decided(loop)) return;
    try_pair(p, loop);
    if (p.x != p.y && !p.commutes) try_pair(turned(p), loop);
  }

  void try_pair(const Pair& p, const std::string& loop) {
    try {
      if (!loops_keep(p)) prove(p);
    } catch (const RefusedByCounterexample& e) {
      if (loop.empty()) throw;
      LoopRefusal r{e.diagnostic(), {}, {}, e.counterexample(), {}};
      if (p.x) {
        r.kind = !p.x->write ? DepKind::Anti : p.y->write ? DepKind::Output : DepKind::Flow;
        r.variable = p.x->variable;
      }
      if (p.x && p.a == p.b && equal(p.x->index, p.y->index) && p.x->field == p.y->field)
        r.accumulates = present_->insn(now(p.a)).id;
      refusals_[loop].push_back(std::move(r));
    }
  }

  /// The loop in question that is around both statements; empty where there is none.
  std::string asked(const Pair& p) const {
    const int a = now(p.a);
    for (std::size_t i = 0; i < present_->common_loops(a, now(p.b)); ++i)
      if (loops_.contains(present_->loops(a)[i])) return present_->loops(a)[i];
    return {};
  }

  /// Nothing more can change what is said of the loop.
  bool is_decided(const std::string& loop) const {
    const auto it = refusals_.find(loop);
    return it != refusals_.end() &&
           std::any_of(it->second.begin(), it->second.end(), [&](const LoopRefusal& r) {
             return brief_ || (r.is_certain() && r.accumulates.empty());
           });
  }

  std::set<std::string> loops_;
  bool alone_, brief_;
  Refusals& refusals_;
};

class ParallelismFinder {
 public:
  ParallelismFinder(const Kernel& k, const AskedOfLoops& asked)
      : k_(k), within_(asked.within), brief_(asked.brief) {}

  Parallelism find() {
    check_legal(k_);
    order_ = order_of(k_);
    out_.kernel = k_.name;
    for (const TreeNode& n : order_->tree().roots) add_loops(n, {});
    if (!within_.empty() && out_.loops.empty())
      refuse("not-a-loop", k_.at, "`{}` is no loop of kernel `{}`", within_, k_.name);
    find_refusals();
    Directions d = brief_ ? Directions{} : directions(k_, within_);
    for (LoopParallelism& l : out_.loops) {
      l.reductions = std::move(d.reductions[l.iname]);
      conclude(l);
    }
    out_.dependences = std::move(d.dependences);
    if (!brief_)
      for (const TreeNode& n : order_->tree().roots) add_bands(n, {}, 0, d.fixed);
    return std::move(out_);
  }

 private:
  // ---- Loops ------------------------------------------------------------------------------------

  void add_loops(const TreeNode& n, const std::vector<std::string>& around) {
    if (!n.is_loop()) return;
    std::vector<std::string> inside = around;
    inside.push_back(n.iname);
    const bool asked =
        within_.empty() || std::find(inside.begin(), inside.end(), within_) != inside.end();
    if (asked) add_loop(n, around);
    for (const TreeNode& c : n.children) add_loops(c, inside);
  }
  void add_loop(const TreeNode& n, const std::vector<std::string>& around) {
    const InameTag* tag = k_.tag(n.iname);
    LoopParallelism l;
    l.iname = n.iname;
    l.tag = tag ? tag->text : "";
    l.around = around;
    collect_statements(n, l.statements);
    out_.loops.push_back(std::move(l));
  }
  void collect_statements(const TreeNode& n, std::vector<std::string>& out) const {
    if (!n.is_loop()) out.push_back(order_->insn(n.insn).id);
    for (const TreeNode& c : n.children) collect_statements(c, out);
  }

  // ---- Which of them the tag `par` may have -----------------------------------------------------

  /// Loops at one depth are asked about at once, those whose tags or claims change alone.
  void find_refusals() {
    std::vector<std::vector<std::string>> levels;
    std::vector<std::string> single;
    for (const LoopParallelism& l : out_.loops) {
      const InameTag* tag = k_.tag(l.iname);
      const bool trusted = order_->trusts(l.iname);
      if (!trusted && tag && tag->kind == TagKind::Par) continue;  // as legal as the kernel
      if (trusted || is_parallel(tag)) {
        single.push_back(l.iname);
        continue;
      }
      levels.resize(std::max(levels.size(), l.around.size() + 1));
      levels[l.around.size()].push_back(l.iname);
    }
    for (const std::vector<std::string>& loops : levels)
      if (!ask(loops))
        for (const std::string& l : loops) ask_alone(l);
    for (const std::string& l : single) ask_alone(l);
  }

  /// The kernel as `tag_inames` leaves it, the loops' iterations not taken on trust.
  Kernel tagged(const std::vector<std::string>& loops) const {
    Kernel out = k_;
    for (const std::string& l : loops) {
      out.iname_tags[l] = *parse_iname_tag("par");
      for (Claim& c : out.claims)
        if (c.kind == Claim::Kind::Unsafe) std::erase(c.names, l);
    }
    return keep_reference(k_, std::move(out));
  }

  /// Whether the proof came to an end: all that refuses it is about pairs in single loops.
  bool ask(const std::vector<std::string>& loops) {
    if (loops.empty()) return true;
    RaceFinder::Refusals found;
    try {
      const IslBudget budget(kProofOperations);
      RaceFinder(tagged(loops), loops, false, brief_, found).find();
    } catch (const Refused&) { return false; } catch (const IslQuota&) {
      return false;
    }
    refusals_.merge(found);
    return true;
  }

  void ask_alone(const std::string& loop) {
    try {
      within_budget(k_.at, "the order of instances is kept",
                    [&] { RaceFinder(tagged({loop}), {loop}, true, brief_, refusals_).find(); });
    } catch (const Refused& e) {
      std::vector<LoopRefusal>& all = refusals_[loop];
      if (!all.empty()) return;  // pairs say more
      const auto* c = dynamic_cast<const RefusedByCounterexample*>(&e);
      all.push_back({e.diagnostic(), {}, {}, c ? c->counterexample() : nullptr, {}});
    }
  }

  void conclude(LoopParallelism& l) {
    std::vector<LoopRefusal>& all = refusals_[l.iname];
    l.par = all.empty();
    if (l.par) {
      l.status = l.reductions.empty() ? LoopStatus::Parallel : LoopStatus::Reduction;
      return;
    }
    const LoopRefusal* shown = &all.front();
    std::vector<LoopReduction> recognizable;
    bool only = true, certain = false;
    for (const LoopRefusal& r : all) {
      const auto found = r.accumulates.empty() ? std::nullopt : accumulation_over(l.iname, r);
      if (!found) {
        if (only || (!certain && r.is_certain())) shown = &r;
        only = false;
        certain = certain || r.is_certain();
      } else if (std::none_of(recognizable.begin(), recognizable.end(), [&](const auto& other) {
                   return other.statement == found->statement;
                 })) {
        recognizable.push_back(*found);
      }
    }
    if (only) l.reductions.insert(l.reductions.end(), recognizable.begin(), recognizable.end());
    l.status = only ? LoopStatus::Reduction : certain ? LoopStatus::Carried : LoopStatus::Unproved;
    l.why = shown->why;
    l.kind = shown->kind;
    l.variable = shown->variable;
    l.instances = shown->instances;
  }

  /// The accumulation that the refusal is about, where it does not depend on the loop.
  std::optional<LoopReduction> accumulation_over(const std::string& loop, const LoopRefusal& r) {
    const auto it = std::find_if(k_.instructions.begin(), k_.instructions.end(),
                                 [&](const InsnPtr& i) { return i->id == r.accumulates; });
    if (it == k_.instructions.end()) return std::nullopt;  // a part of one
    const Instruction& insn = **it;
    const auto a = accumulation(insn);
    if (!a || written_name(insn.lhs[0]) != r.variable) return std::nullopt;
    const Expr target = expand_rules(k_, insn.lhs[0]);
    std::set<std::string> vars;
    collect_vars(target, vars);
    if (vars.contains(loop) || stands_in(target, expand_rules(k_, a->addend))) return std::nullopt;
    if (!typed_) {
      typed_ = expand_all_rules(k_);
      try {
        typed_ = infer_types(*typed_);
        types_known_ = true;
      } catch (const Error&) {}  // recognize_reduction does not ask for them then
    }
    if (types_known_ && !types_of(*typed_, insn.id, *a).any_order) return std::nullopt;
    return LoopReduction{insn.id, to_string(a->op), r.variable};
  }

  // ---- Bands ------------------------------------------------------------------------------------

  /// `begin`: the depth at which the widest band that ends with the loop around `n` begins.
  void add_bands(const TreeNode& n, std::vector<std::string> path, std::size_t begin,
                 const std::map<std::string, std::size_t>& fixed) {
    if (!n.is_loop()) return;
    const auto begin_at = [&](const std::string& iname, std::size_t outer) {
      const auto it = fixed.find(iname);
      return it == fixed.end() ? outer : std::max(outer, it->second);
    };
    begin = begin_at(n.iname, n.iname == within_ ? path.size() : begin);
    path.push_back(n.iname);
    const bool asked =
        within_.empty() || std::find(path.begin(), path.end(), within_) != path.end();
    const bool goes_on = std::any_of(n.children.begin(), n.children.end(), [&](const TreeNode& c) {
      return c.is_loop() && begin_at(c.iname, begin) == begin;
    });
    if (asked && !goes_on && path.size() >= begin + 2) {
      PermutableBand band;
      band.loops.assign(path.begin() + long(begin), path.end());
      band.perfect = statements_of(path[begin]) == statements_of(n.iname);
      out_.bands.push_back(std::move(band));
    }
    for (const TreeNode& c : n.children) add_bands(c, path, begin, fixed);
  }
  std::size_t statements_of(const std::string& iname) const {
    std::size_t out = 0;
    for (int s = 0; s < order_->size(); ++s) {
      const std::vector<std::string>& loops = order_->loops(s);
      out += std::find(loops.begin(), loops.end(), iname) != loops.end();
    }
    return out;
  }

  const Kernel& k_;
  const std::string& within_;
  const bool brief_;
  std::shared_ptr<const RunOrder> order_;
  RaceFinder::Refusals refusals_;
  std::optional<Kernel> typed_;
  bool types_known_ = false;
  Parallelism out_;
};

}  // namespace

const char* to_string(LoopStatus status) {
  switch (status) {
    case LoopStatus::Parallel: return "parallel";
    case LoopStatus::Reduction: return "reduction";
    case LoopStatus::Carried: return "carried";
    case LoopStatus::Unproved: return "unproved";
  }
  throw InternalError("unknown status of loops");
}

std::string LoopDistance::str() const {
  if (least && most && *least == *most) return std::to_string(*least);
  if (least && *least >= 0) return *least > 0 ? "<" : "<=";
  if (most && *most <= 0) return *most < 0 ? ">" : ">=";
  return "*";
}

std::string CarriedDependence::vector() const {
  std::string out;
  for (const LoopDistance& d : distance) out += (out.empty() ? "(" : ", ") + d.str();
  return out + ")";
}

Parallelism parallelism(const Kernel& k, const AskedOfLoops& asked) {
  ensure(asked.reasons || asked.brief, "only brief answers have no reasons");
  std::optional<WithoutReasons> none;
  if (!asked.reasons) none.emplace();
  return ParallelismFinder(k, asked).find();
}

}  // namespace moonloop
