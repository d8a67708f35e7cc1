#include "codegen/plan/own_webs.h"

#include <algorithm>

#include "codegen/plan/own_iterations.h"
#include "core/order/address_spaces.h"
#include "core/order/order_reference.h"
#include "core/rewrite/webs.h"
#include "core/sets/budget.h"

namespace moonloop {
namespace {

/// For one query that has a cautious answer.
constexpr unsigned long kWebOperations = 1'000'000;

/// Whether isl answers `f` within that budget.
template <class F>
bool is_answered(F f) {
  try {
    const IslBudget budget(kWebOperations);
    f();
    return true;
  } catch (const IslQuota&) { return false; }
}

class Threads {
 public:
  explicit Threads(const Nested& nested)
      : reference_(nested), iterations_(reference_.order.kernel(), reference_.order.tree()) {}

  /// Threads share elements that their iterations do not meet in, and no others. Whether they may
  /// all share `name` as it is; else its webs are what keeps it apart.
  bool may_share(const std::string& name) {
    bool out = true;
    const RunOrder& order = reference_.order;
    // By the loops down to a parallel one: the statements in it, in order of execution.
    std::map<std::vector<std::string>, std::vector<int>> in_loop;
    for (const AccessAt& a : reference_.by_variable().at(name)) {
      if (accumulates(a)) continue;
      const std::vector<std::string>& loops = order.loops(a.insn);
      for (auto l = loops.begin(); l != loops.end(); ++l) {
        if (!is_spread(order.kernel().tag(*l))) continue;
        std::vector<int>& all = in_loop[{loops.begin(), std::next(l)}];
        if (all.empty() || all.back() != a.insn) all.push_back(a.insn);
      }
    }
    for (const auto& [loops, insns] : in_loop) {
      const std::string& loop = loops.back();
      if (order.trusts(loop)) {
        out = false;
        continue;
      }
      std::vector<std::string> outer(loops.begin(), std::prev(loops.end()));
      for (const std::string& i : own_items(name, insns)) outer.push_back(i);
      if (iterations_.apart(name, insns, loop, outer)) continue;
      out = false;
      bool own = false;
      is_answered(
          [&] { own = contains(reference_.private_to(name, insns.front(), insns.back()), loop); });
      if (own) continue;
      fail("not-proved", order.insn(insns.front()).at,
           "it is not known whether each iteration of `{}`, which is parallel, can have a `{}` of "
           "its own: it is used outside of the loop too; a temporary of its own name would be",
           loop, name);
    }
    return out;
  }

 private:
  static bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
  /// Work-item inames around all of these statements each value of which has its own `name`.
  std::vector<std::string> own_items(const std::string& name, const std::vector<int>& insns) const {
    std::vector<std::string> out = reference_.order.items(insns.front());
    std::erase_if(out, [&](const std::string& i) {
      return !reference_.own().has(name, i) || std::any_of(insns.begin(), insns.end(), [&](int s) {
        return !contains(reference_.order.items(s), i);
      });
    });
    return out;
  }
  /// Whether it accumulates into a variable that others accumulate into as well.
  bool accumulates(const AccessAt& a) const {
    const Instruction& i = reference_.order.insn(a.insn);
    return i.atomic != Atomicity::None || i.role != ReductionRole::None;
  }

  Reference reference_;
  OwnIterations iterations_;
};

}  // namespace

Nested separate_webs(Nested nested, Target target) {
  const TargetFeatures& f = features_of(target);
  const TemporariesInParallel all = used_in_and_outside_parallel(nested.kernel, f.threads);
  std::optional<Threads> threads;
  if (f.threads && !all.empty()) threads.emplace(nested);
  std::set<std::string> names, optional;
  for (const auto& [name, runs] : all) {
    names.insert(name);
    const bool may_share = !threads || threads->may_share(name);
    const bool shared = std::all_of(runs.begin(), runs.end(), [&](TagRun r) {
      return r == TagRun::Threads || (r == TagRun::Groups && !f.device && !f.gangs);
    });
    if (may_share && shared) optional.insert(name);
  }
  return separate_webs(std::move(nested), names, optional);
}

}  // namespace moonloop
