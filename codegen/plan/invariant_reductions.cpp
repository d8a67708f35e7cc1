#include "codegen/plan/invariant_reductions.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/order/order.h"

namespace moonloop {
namespace {

using Names = std::set<std::string>;

class Hoisting {
 public:
  explicit Hoisting(const Nested& nested)
      : k_(nested.kernel), tree_(nested.tree), inames_(k_.instructions.size()) {
    for (std::size_t i = 0; i < k_.instructions.size(); ++i) {
      const Instruction& insn = *k_.instructions[i];
      inames_[i] = insn.inames;
      if (insn.role == ReductionRole::None) continue;
      for (const Expr& l : insn.lhs) parts_[written_name(l)].push_back(i);
    }
  }

  /// Whether something moved. A reduction inside another one, which begins after it, is moved
  /// first: it may leave more loops.
  bool run() {
    bool any = false;
    for (std::size_t i = k_.instructions.size(); i-- > 0;)
      if (k_.instructions[i]->role == ReductionRole::Init) any |= hoist(i);
    return any;
  }

  Kernel result() const {
    Kernel out = rebase(k_);
    for (std::size_t i = 0; i < inames_.size(); ++i)
      if (moved_.count(i))
        out.instructions[i] =
            edit(out.instructions[i], [&](Instruction& x) { x.inames = inames_[i]; });
    std::vector<InsnPtr> in_order;
    collect(tree_.roots, out, in_order);
    out.instructions = std::move(in_order);
    return out;
  }

 private:
  static void collect(const std::vector<TreeNode>& nodes, const Kernel& k,
                      std::vector<InsnPtr>& out) {
    for (const TreeNode& n : nodes) {
      if (n.is_loop())
        collect(n.children, k, out);
      else
        out.push_back(k.instructions[std::size_t(n.insn)]);
    }
  }

  const std::vector<std::string>& loops(std::size_t i) const { return tree_.paths[i].loops(); }

  /// The reduction that `init` begins, with those whose values it needs itself.
  std::set<std::size_t> whole(std::size_t init) const {
    std::set<std::size_t> out;
    std::vector<std::size_t> queue{init};
    while (!queue.empty()) {
      const std::size_t i = queue.back();
      queue.pop_back();
      if (!out.insert(i).second) continue;
      Names names = read_by(i);
      for (const Expr& l : k_.instructions[i]->lhs) names.insert(written_name(l));
      for (const std::string& n : names)
        if (const auto it = parts_.find(n); it != parts_.end())
          queue.insert(queue.end(), it->second.begin(), it->second.end());
    }
    return out;
  }

  Names read_by(std::size_t i) const {
    const Instruction& insn = *k_.instructions[i];
    Names out;
    if (insn.rhs) collect_reads(insn.rhs, out);
    for (const Expr& e : insn.lhs) for_each_child(e, [&](const Expr& c) { collect_reads(c, out); });
    for (const Expr& e : insn.predicates) collect_reads(e, out);
    return out;
  }

  /// The dependences of the instruction: names that it reads, inames too, and those that the bounds
  /// of its own loops need.
  Names needs(std::size_t i, const Names& without) const {
    Names out = read_by(i);
    for (const std::string& iname : inames_[i]) {
      if (without.count(iname)) continue;
      for (std::string& p : k_.home_of(iname)->params()) out.insert(std::move(p));
    }
    return out;
  }

  bool may_leave(const std::string& loop) const {
    const InameTag* tag = k_.tag(loop);
    return !tag || tag->kind == TagKind::Par;
  }

  bool hoist(std::size_t init) {
    const std::set<std::size_t> parts = whole(init);
    const std::vector<std::string>& around = loops(init);
    Names leave;
    std::string outermost;
    for (std::size_t n = around.size(); n-- > 0;) {
      Names more = leave;
      more.insert(around[n]);
      if (!may_leave(around[n]) || !independent(parts, more, around[n])) break;
      leave = std::move(more);
      outermost = around[n];
    }
    if (leave.empty() || !used_inside(parts, outermost)) return false;
    for (const std::size_t i : parts)
      if (!same_in_each(i, around, leave)) return false;
    for (const std::size_t i : parts) {
      std::erase_if(inames_[i], [&](const std::string& n) { return leave.count(n) > 0; });
      moved_.insert(i);
    }
    return true;
  }

  /// Whether no part needs one of the loops `leave`, of which `outermost` is around the others, or
  /// something that is written inside.
  bool independent(const std::set<std::size_t>& parts, const Names& leave,
                   const std::string& outermost) const {
    Names read, own;
    for (const std::size_t i : parts) {
      const Instruction& insn = *k_.instructions[i];
      if (insn.role == ReductionRole::None || insn.atomic != Atomicity::None) return false;
      if (!insn.inames.count(outermost)) return false;
      if (std::any_of(insn.inames.begin(), insn.inames.end(),
                      [&](const std::string& n) { return in_team(k_.tag(n)) && !outer(n, parts); }))
        return false;
      read.merge(needs(i, leave));
      for (const Expr& l : insn.lhs) own.insert(written_name(l));
    }
    if (std::any_of(leave.begin(), leave.end(),
                    [&](const std::string& n) { return read.count(n) > 0; }))
      return false;
    for (std::size_t i = 0; i < k_.instructions.size(); ++i) {
      if (!k_.instructions[i]->inames.count(outermost) || parts.count(i)) continue;
      for (const std::string& w : writes(*k_.instructions[i]))
        if (read.count(w) || own.count(w)) return false;
    }
    return true;
  }

  /// Whether all parts have the iname, so that none runs over it.
  bool outer(const std::string& iname, const std::set<std::size_t>& parts) const {
    return std::all_of(parts.begin(), parts.end(),
                       [&](std::size_t i) { return k_.instructions[i]->inames.count(iname) > 0; });
  }

  /// Whether all that reads the accumulators is inside the loop.
  bool used_inside(const std::set<std::size_t>& parts, const std::string& outermost) const {
    Names own;
    for (const std::size_t i : parts)
      for (const Expr& l : k_.instructions[i]->lhs) own.insert(written_name(l));
    for (std::size_t i = 0; i < k_.instructions.size(); ++i) {
      if (parts.count(i) || k_.instructions[i]->inames.count(outermost)) continue;
      for (const std::string& n : read_by(i))
        if (own.count(n)) return false;
    }
    return true;
  }

  /// Whether the remaining instances are those of each iteration of the loops that they leave: none
  /// is missing in some, and no new one reads.
  bool same_in_each(std::size_t i, const std::vector<std::string>& around,
                    const Names& leave) const {
    std::vector<std::string> kept, outside(leave.begin(), leave.end());
    for (const std::string& n : k_.instructions[i]->inames) {
      if (leave.count(n)) continue;
      kept.push_back(n);
      if (std::find(around.begin(), around.end(), n) != around.end()) outside.push_back(n);
    }
    std::vector<std::string> all = kept;
    all.insert(all.end(), leave.begin(), leave.end());
    const Set alone = domain_of(k_, kept), with = domain_of(k_, all);
    const Set each = to_dims(join_by_name(alone, domain_of(k_, outside)), all);
    const Set ran = isl_set_project_out(with.copy(), isl_dim_set, unsigned(kept.size()),
                                        unsigned(leave.size()));
    const bool reads = k_.instructions[i]->role != ReductionRole::Init;
    return yes(isl_set_is_subset(each.get(), with.get())) &&
           (!reads || yes(isl_set_is_subset(alone.get(), ran.get())));
  }

  const Kernel& k_;
  const LoopTree& tree_;
  std::vector<Names> inames_;                              // by instruction
  std::map<std::string, std::vector<std::size_t>> parts_;  // of reductions, by accumulator
  std::set<std::size_t> moved_;
};

}  // namespace

Nested hoist_invariant_reductions(Nested nested) {
  Hoisting hoisting(nested);
  if (!hoisting.run()) return nested;
  try {
    return nest(hoisting.result());
  } catch (const Refused&) { return nested; }  // the loops do not nest without it
}

}  // namespace moonloop
