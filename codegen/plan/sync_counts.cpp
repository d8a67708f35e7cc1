#include "codegen/plan/sync_counts.h"

#include <algorithm>
#include <bit>

#include "core/count/count_set.h"
#include "core/order/order.h"

namespace moonloop {
namespace {

/// Barriers of one combination of parts, as codegen/print/c_group.cpp prints it.
std::int64_t barriers_in(const GroupReduction& r) {
  if (r.spans.empty()) return 0;
  const std::int64_t before_next = !r.shared.empty() && r.repeats ? 1 : 0;
  if (r.shuffles) return before_next + (r.shared.empty() ? 0 : 1);
  std::int64_t n = 1;
  for (const GroupReduction::Span& s : r.spans) {
    const auto items = static_cast<std::uint64_t>(s.items);
    n += std::bit_width(items) - 1 + (std::has_single_bit(items) ? 0 : 1);
  }
  return n + before_next;
}

class SyncCounter {
 public:
  explicit SyncCounter(const Plan& plan)
      : plan_(plan), out_("synchronizations", {"kind", "kernel"}) {}

  CountMap count() {
    if (plan_.launches.empty()) {
      add("kernel_launch", Count(1));
    } else {
      visit(plan_.roots);
      add("kernel_launch", launches_);
      Count waiting = launches_ + Count(-1);  // none where none is launched
      const PwQPolynomial some = isl_pw_qpolynomial_intersect_domain(
          waiting.number().copy(), isl_pw_qpolynomial_domain(launches_.number().copy()));
      add("barrier_global", Count(some, launches_.exact()));
    }
    return plan_.kernel.assumptions ? out_.under(plan_.kernel.assumptions) : std::move(out_);
  }

 private:
  void add(const std::string& kind, const Count& n) { out_.add({kind, plan_.kernel.name}, n); }

  void visit(const std::vector<PlanNode>& nodes) {
    for (const PlanNode& n : nodes) {
      if (n.barrier()) add("barrier_local", times("a barrier"));
      if (const PlanReduction* r = n.reduction())
        add("barrier_local",
            times("a reduction over work-items")
                .times(barriers_in(plan_.reductions[static_cast<std::size_t>(r->reduction)])));
      if (n.kernel()) launches_ = launches_ + times("a kernel");
      if (n.is_loop()) loops_.push_back(n.iname());
      visit(n.children);
      if (n.is_loop()) loops_.pop_back();
    }
  }

  /// How often what stands in the present loops runs, for each group.
  Count times(const std::string& what) const {
    std::vector<std::string> counted, hardware;
    for (const std::string& i : loops_) (plan_.hardware.count(i) ? hardware : counted).push_back(i);
    bool exact = true;
    const Set points = domain_of(plan_.kernel, counted);
    for (const std::string& p : param_names(points))
      if (plan_.kernel.find_temporary(p))
        fail("data-dependent-count", plan_.kernel.at,
             "how often {} of `{}` is met depends on `{}`, which the kernel computes", what,
             plan_.kernel.name, p);
    if (!hardware.empty()) {
      std::vector<std::string> both = hardware;
      both.insert(both.end(), counted.begin(), counted.end());
      const Set all = domain_of(plan_.kernel, both);
      Set apart = to_dims(join_by_name(domain_of(plan_.kernel, hardware), points), both);
      exact = yes(isl_set_is_subset(apart.get(), all.get()));
    }
    return Count(count_set(points, "what meets " + what + " of `" + plan_.kernel.name + "`",
                           plan_.kernel.at),
                 exact);
  }

  const Plan& plan_;
  CountMap out_;
  Count launches_;
  std::vector<std::string> loops_;
};

}  // namespace

CountMap sync_counts(const Plan& plan) { return SyncCounter(plan).count(); }

}  // namespace moonloop
