#include <deque>
#include <map>
#include <string>
#include <vector>

#include "codegen/plan/hardware_conflicts.h"
#include "codegen/plan/plan.h"

namespace moonloop {
namespace {

/// No group may need what another one has in local memory, or in arrays of its work-items: each has
/// its own.
class LocalCopies {
 public:
  explicit LocalCopies(const Plan& plan)
      : plan_(plan), hardware_conflicts_(plan), variables_(plan.kernel) {}

  void require_own() {
    for (const PlanNode& n : plan_.roots) visit(n);
    for (const auto& [launch, all] : insns_) {
      hardware_conflicts_.in_kernel(plan_.launches[static_cast<std::size_t>(launch)]);
      std::map<std::string, std::vector<Use>> uses;
      std::deque<StatementAccess> of_items;  // where they stay
      for (std::size_t at = 0; at < all.size(); ++at) {
        for (const StatementAccess& t : hardware_conflicts_.accesses(all[at]))
          if (plan_.lies_in(t.variable, AddressSpace::Local)) uses[t.variable].push_back({at, &t});
        for (const Access& a : statement_accesses(insn(all[at]), variables_)) {
          if (a.index.empty() || !plan_.lies_in(a.variable, AddressSpace::Private)) continue;
          of_items.push_back({a, all[at]});
          uses[a.variable].push_back({at, &of_items.back()});
        }
      }
      for (const auto& [name, some] : uses)
        for (const Use& w : some)
          for (const Use& r : some)
            if (w.touch->write && !r.touch->write) check(w, r);
    }
  }

 private:
  struct Use {
    std::size_t at;  // in the kernel
    const StatementAccess* touch;
  };

  const Instruction& insn(int i) const {
    return *plan_.kernel.instructions[static_cast<std::size_t>(i)];
  }

  void visit(const PlanNode& n, std::optional<int> launch = std::nullopt) {
    if (n.kernel()) launch = n.kernel()->launch;
    if (launch) {
      std::vector<int>& all = insns_[*launch];
      all.insert(all.end(), n.insns().begin(), n.insns().end());
    }
    for (const PlanNode& c : n.children) visit(c, launch);
  }

  void check(const Use& w, const Use& r) {
    const auto found = hardware_conflicts_.across_copies(*w.touch, *r.touch, w.at < r.at);
    if (!found) return;
    const bool items = plan_.lies_in(w.touch->variable, AddressSpace::Private);
    fail("unsupported", insn(r.touch->insn).at,
         "{}, but each {} has its own `{}`, in {} memory; in `global` memory "
         "(set_temporary_address_space) groups share it from one kernel to the next",
         hardware_conflicts_.describe(*w.touch, *r.touch, *found), items ? "work-item" : "group",
         w.touch->variable, items ? "private" : "local");
  }

  const Plan& plan_;
  HardwareConflicts hardware_conflicts_;
  Variables variables_;
  std::map<int, std::vector<int>> insns_;  // by kernel, in order
};

}  // namespace

void require_own_copies(const Plan& plan) { LocalCopies(plan).require_own(); }

}  // namespace moonloop
