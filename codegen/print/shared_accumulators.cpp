#include "codegen/print/shared_accumulators.h"

#include <algorithm>
#include <map>

namespace moonloop {
namespace {

class Search {
 public:
  Search(const std::set<std::string>& inames, const Plan& plan) : inames_(inames), plan_(plan) {}

  void visit(const Block& block) {
    for (const Stmt& s : block)
      std::visit(
          overload{[&](const Loop& x) { visit(x.body); },
                   [&](const If& x) { visit(x.body), visit(x.otherwise); }, [](const Leave&) {},
                   [&](const Scope& x) { visit(x.body); }, [&](const Run& x) { note(x); },
                   [&](const Declare& x) { declared_.insert(x.temporary); }, [](const Release&) {},
                   [](const Sync&) {}, [](const GroupCombine&) {}, [](const Launch&) {}},
          s.op);
  }

  std::vector<SharedAccumulator> found() const {
    std::vector<SharedAccumulator> out;
    for (const auto& [name, found] : found_)
      if (!declared_.count(name)) out.push_back(found);
    return out;
  }

 private:
  void note(const Run& run) {
    const Instruction& insn = *plan_.kernel.instructions[static_cast<std::size_t>(run.insn)];
    for (const auto& [name, constant] : run.declares) declared_.insert(name);
    if (insn.role != ReductionRole::Update) return;
    const auto over = std::find_if(inames_.begin(), inames_.end(),
                                   [&](const std::string& i) { return reduces_over(insn, i); });
    if (over == inames_.end()) return;
    const std::string& name = written_name(insn.lhs[0]);
    found_[name] = {name, &insn, *over};
  }

  /// Whether the accumulator lives on from one iteration of `iname` to the next.
  bool reduces_over(const Instruction& insn, const std::string& iname) const {
    const std::string& acc = written_name(insn.lhs[0]);
    for (const InsnPtr& other : plan_.kernel.instructions)
      if (other->role == ReductionRole::Init && writes(*other).count(acc))
        return !other->inames.count(iname);
    return false;
  }

  const std::set<std::string>& inames_;
  const Plan& plan_;
  std::set<std::string> declared_;  // inside of the loop
  std::map<std::string, SharedAccumulator> found_;
};

bool mentions(const Expr& e, const std::set<std::string>& names) {
  std::set<std::string> vars;
  collect_vars(e, vars);
  return std::any_of(vars.begin(), vars.end(), [&](const auto& v) { return names.count(v) > 0; });
}

}  // namespace

std::vector<SharedAccumulator> shared_accumulators(const Loop& loop,
                                                   const std::set<std::string>& inames,
                                                   const Plan& plan) {
  Search search(inames, plan);
  search.visit(loop.body);
  return search.found();
}

std::vector<SharedAccumulator> of_one_value(std::vector<SharedAccumulator> all, const Plan& plan) {
  for (const SharedAccumulator& a : all)
    if (a.update->lhs.size() > 1)
      fail("unsupported", a.update->at,
           "instruction `{}`: `{}` over `{}`, which is tagged `{}`, is not supported", a.update->id,
           to_string(a.update->reduce_op), a.over, plan.kernel.tag(a.over)->text);
  return all;
}

std::vector<const Loop*> spread_together(const Loop& outer, const Plan& plan) {
  std::vector<const Loop*> out{&outer};
  std::set<std::string> names{outer.iname};
  while (out.back()->body.size() == 1) {
    const Loop* inner = std::get_if<Loop>(&out.back()->body[0].op);
    const bool joins = inner && is_spread(plan.kernel.tag(inner->iname)) &&
                       !mentions(inner->lower, names) && !mentions(inner->upper, names);
    if (!joins) break;
    names.insert(inner->iname);
    out.push_back(inner);
  }
  return out;
}

}  // namespace moonloop
