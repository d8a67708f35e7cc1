#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/infer/reductions.h"
#include "core/model/domain.h"
#include "core/order/check_uses.h"
#include "core/order/order_reference.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// Where the reference takes more, the kernel is checked, within the rest of the phase's budget.
constexpr unsigned long kReferenceOperations = kPhaseOperations / 5;

/// A text shared by expressions that differ only in how their sums are written: `4*(i + 4*j)` and
/// `4*i + 16*j`. Steps one after the other leave one, an origin the other.
class Texts {
 public:
  std::string of(const Expr& e) {
    Sum sum;
    add(sum, e, 1);
    std::string out = std::to_string(sum.constant);
    for (const auto& [atom, factor] : sum.terms)
      if (factor != 0) out += fmt::format("+{}*{}", factor, atom);
    return out;
  }

 private:
  struct Sum {
    std::int64_t constant = 0;
    std::map<std::string, std::int64_t> terms;
  };

  static std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t r;
    if (__builtin_mul_overflow(a, b, &r)) fail("size-overflow", {}, "{} times {}", a, b);
    return r;
  }
  static void increase(std::int64_t& to, std::int64_t by) {
    if (__builtin_add_overflow(to, by, &to)) fail("size-overflow", {}, "{} more", by);
  }

  void add(Sum& sum, const Expr& e, std::int64_t factor) {
    if (const auto v = as_int(e)) return increase(sum.constant, times(*v, factor));
    if (const Expr* arg = negated(e)) return add(sum, *arg, times(factor, -1));
    const Nary* n = e.as<Nary>();
    if (n && n->op == NaryOp::Add) {
      for (const Expr& t : n->terms) add(sum, t, factor);
      return;
    }
    if (n && n->op == NaryOp::Mul) {
      std::multiset<std::string> others;
      const Expr* other = nullptr;
      for (const Expr& t : n->terms) {
        if (const auto v = as_int(t)) {
          factor = times(factor, *v);
        } else {
          others.insert(fmt::format("{{{}}}", of(t)));
          other = &t;
        }
      }
      if (others.empty()) return increase(sum.constant, factor);
      if (others.size() == 1) return add(sum, *other, factor);
      return increase(sum.terms[fmt::format("({})", fmt::join(others, "*"))], factor);
    }
    // In braces nothing else is taken for a name.
    const Expr atom =
        map_children(e, [&](const Expr& c) { return var(fmt::format("{{{}}}", of(c))); });
    increase(sum.terms[to_string(atom)], factor);
  }
};

/// The accesses of the instructions of a realized kernel, as texts.
class AllUses {
 public:
  explicit AllUses(const Kernel& k) : points(k), k_(k) {
    points.for_each_use([&](const Use& u) { uses_[u.insn].push_back(u); });
    for (const InsnPtr& i : k.instructions)
      if (i->role != ReductionRole::None)
        for (const Expr& l : i->lhs)
          if (l.as<Var>()) accumulators_.insert(written_name(l));
  }

  struct Accesses {
    std::set<std::string> reads, writes;
  };
  /// Of `insn`, with inames as `now` says. Without scalar arguments, and without accumulators,
  /// which are scalars with names of their own in each kernel.
  Accesses of(const Instruction& insn, const std::function<Expr(const std::string&)>& now) {
    Accesses out;
    std::map<int, std::pair<std::map<std::string, Expr>, std::string>> by_point;
    for (const Use& u : in(insn)) {
      if (!counts(u)) continue;
      const auto [it, fresh] = by_point.try_emplace(u.point);
      auto& [inames, conditions] = it->second;
      if (fresh) {
        for (const std::string& i : points.inames(u.point)) {
          Expr e = now(i);
          if (const Var* v = e.as<Var>(); !v || v->name != i) inames.emplace(i, std::move(e));
        }
        for (const Expr& c : points.conditions(u.point)) conditions += " if " + text(c, inames);
      }
      std::string access = *u.name + (u.whole ? " whole" : u.linear ? " linear" : "");
      if (u.index)
        for (const Expr& e : *u.index) access += " | " + text(e, inames);
      (u.write ? out.writes : out.reads).insert(access + conditions);
    }
    return out;
  }

  /// Whether no subscript or condition can be judged once origins are put in and cannot be before:
  /// `i*j` is quasi-affine where `j` is a number.
  bool judged_alike() {
    std::set<int> seen;
    for (const auto& [insn, uses] : uses_)
      for (const Use& u : uses) {
        if (!counts(u)) continue;
        if (seen.insert(u.point).second && !points.exact(u.point))
          for (const Expr& c : points.conditions(u.point))
            if (points.static_integers(c) && !to_condition(c, points.inames(u.point))) return false;
        if (u.index)
          for (const Expr& e : *u.index)
            if (points.static_integers(e) && !points.affine(u.point, e)) return false;
      }
    return true;
  }

  ProgramPoints points;

 private:
  const std::vector<Use>& in(const Instruction& insn) { return uses_[&insn]; }
  std::string text(const Expr& e, const std::map<std::string, Expr>& inames) {
    return texts_.of(inames.empty() ? e : substitute(e, inames));
  }
  bool counts(const Use& u) const {
    if (!u.index && accumulators_.count(*u.name)) return false;
    const Argument* a = k_.find_arg(*u.name);
    return k_.find_temporary(*u.name) || (a && a->is_array);
  }

  const Kernel& k_;
  Texts texts_;
  std::unordered_map<const Instruction*, std::vector<Use>> uses_;
  std::set<std::string> accumulators_;
};

/// Whether `insn` reads nothing that its reference does not read, and writes the same.
bool same_accesses(AllUses& now, const Instruction& insn, AllUses& before,
                   const Instruction& reference) {
  const auto mine = now.of(insn, [](const std::string& i) { return var(i); });
  const auto theirs =
      before.of(reference, [&](const std::string& i) { return origin_of(insn, i); });
  return mine.writes == theirs.writes && std::includes(theirs.reads.begin(), theirs.reads.end(),
                                                       mine.reads.begin(), mine.reads.end());
}

/// The reference, with what is now known about the variables and parameters.
Kernel reference_with_data(const Kernel& k) {
  Kernel out = k.reference->order.kernel();
  out.args = k.args;
  for (const auto& [name, t] : k.temporaries) out.temporaries[name] = t;
  out.claims = k.claims;
  out.assumptions = k.assumptions;
  out.records = k.records;
  out.externals = k.externals;
  out.callees = k.callees;
  out.index_type = k.index_type;
  return out;
}

bool same_accesses(const Kernel& k, const Kernel& reference, AllUses& before) {
  const Kernel present = realize_reductions(k);
  AllUses now(present);
  std::unordered_map<std::string, const Instruction*> by_id;
  for (const InsnPtr& i : present.instructions) by_id.emplace(i->reference_id(), i.get());
  if (by_id.size() != present.instructions.size() || by_id.size() != reference.instructions.size())
    return false;
  for (const InsnPtr& i : reference.instructions) {
    const auto it = by_id.find(i->id);
    if (it == by_id.end() || !same_accesses(now, *it->second, before, *i)) return false;
  }
  return before.judged_alike();
}

}  // namespace

bool pass_as_in_reference(const Kernel& k) {
  if (!k.reference) return false;
  try {
    const IslBudget budget(kReferenceOperations);
    const Kernel reference = reference_with_data(k);
    AllUses uses(reference);
    if (!same_accesses(k, reference, uses)) return false;
    ProgramPoints& points = uses.points;
    const auto undefined = undefined_reads_check(reference, points, false);
    const auto bounds = bounds_check(reference, points, false);
    points.for_each_use([&](const Use& u) { undefined->see(u), bounds->see(u); });
    undefined->finish();
    bounds->finish();
    return true;
  } catch (const Error&) { return false; }  // said again, of the instances that there are now
}

}  // namespace moonloop
