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

  /// Threads share elements that their iterations do not meet in, and no others.
  void check_threads(const std::string& name) {
    const RunOrder& order = reference_.order;
    // By the loops down to a parallel one: the statements in it, in order of execution.
    std::map<std::vector<std::string>, std::vector<int>> in_loop;
    for (const AccessAt& a : reference_.by_variable().at(name)) {
      if (accumulates(a)) continue;
      const std::vector<std::string>& loops = order.loops(a.insn);
      for (auto l = loops.begin(); l != loops.end(); ++l) {
        if (!is_thread(*l)) continue;
        std::vector<int>& all = in_loop[{loops.begin(), std::next(l)}];
        if (all.empty() || all.back() != a.insn) all.push_back(a.insn);
      }
    }
    for (const auto& [loops, insns] : in_loop) {
      const std::string& loop = loops.back();
      std::vector<std::string> outer(loops.begin(), std::prev(loops.end()));
      for (const std::string& i : own_items(name, insns)) outer.push_back(i);
      bool own = iterations_.apart(name, insns, loop, outer);
      if (!own)
        is_answered([&] {
          own = contains(reference_.private_to(name, insns.front(), insns.back()), loop);
        });
      if (own) continue;
      fail("not-proved", order.insn(insns.front()).at,
           "it is not known whether each iteration of `{}`, which is parallel, can have a `{}` of "
           "its own: it is used outside of the loop too; a temporary of its own name would be",
           loop, name);
    }
  }

 private:
  static bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  }
  bool is_thread(const std::string& loop) const {
    const InameTag* tag = reference_.order.kernel().tag(loop);
    return tag && (tag->kind == TagKind::Par || tag->kind == TagKind::Group) &&
           !reference_.order.trusts(loop);
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

Nested separate_webs(Nested nested, bool has_threads) {
  const std::set<std::string> names = used_in_and_outside_parallel(nested.kernel, has_threads);
  if (has_threads && !names.empty()) {
    Threads threads(nested);
    for (const std::string& name : names) threads.check_threads(name);
  }
  return separate_webs(std::move(nested), names);
}

}  // namespace moonloop
