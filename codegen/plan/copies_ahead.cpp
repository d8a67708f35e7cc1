#include <algorithm>
#include <numeric>

#include "codegen/plan/alignment.h"
#include "codegen/plan/array_places.h"
#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"
#include "core/model/affine.h"
#include "core/model/lookup.h"

namespace moonloop {
namespace {

/// More stages of a pipeline than this are not told apart.
constexpr int kMostStages = 8;

bool is_zero(const Expr& e) {
  if (const auto* f = e.as<FloatLit>()) return f->value == 0;
  return as_int(e) == 0;
}

/// The copies in a loop of a kernel that need not be there before the next iteration, or a later
/// one: the barrier at its end can wait for them then.
class CopiesAhead {
 public:
  explicit CopiesAhead(Plan& plan) : plan_(plan), k_(plan.kernel) {
    for (const Argument& a : k_.args)
      if (!a.is_array) alike_.push_back(a.name);
    for (const auto& [iname, h] : plan.hardware)
      if (h.group) alike_.push_back(iname);
  }

  void visit(std::vector<PlanNode>& nodes, bool in_kernel) {
    for (PlanNode& n : nodes) {
      if (!n.is_loop() || !in_kernel || plan_.hardware.contains(n.iname())) {
        visit(n.children, in_kernel || n.kernel());
        continue;
      }
      alike_.push_back(n.iname());
      if (!n.children.empty()) look(n);
      visit(n.children, true);
      alike_.pop_back();
    }
  }

 private:
  /// How many bytes an instruction of the hardware copies for it, from global into local memory,
  /// perhaps zero instead; 0: it is no copy, or not of 4, 8 or 16 bytes.
  std::int64_t copied(const Instruction& insn) const {
    const auto* to = insn.lhs.size() == 1 ? insn.lhs[0].as<Load>() : nullptr;
    if (insn.kind != InsnKind::Assign || insn.atomic != Atomicity::None || !to ||
        insn.role != ReductionRole::None || !plan_.lies_in(to->array, AddressSpace::Local))
      return 0;
    const auto* choice = insn.rhs.as<Select>();
    if (choice && (!is_zero(choice->no) || choice->cond.holds<Load>())) return 0;
    const auto* from = (choice ? choice->yes : insn.rhs).as<Load>();
    if (!from) return 0;
    const Argument* a = k_.find_arg(from->array);
    const bool is_global =
        (a && a->is_array && !a->constant) || plan_.lies_in(from->array, AddressSpace::Global);
    const std::optional<Type> type = a ? a->type : type_of_temporary(from->array);
    const std::optional<Type> wanted = type_of_temporary(to->array);
    if (!is_global || !type || !wanted || !(*type == *wanted) || type->is_record() ||
        is_complex(type->scalar))
      return 0;
    const std::int64_t bytes = size_of(type->scalar);
    std::vector<std::string> lanes;
    for (const std::string& i : insn.inames)
      if (const InameTag* tag = k_.tag(i); tag && tag->kind == TagKind::Vec) lanes.push_back(i);
    if (lanes.empty()) return bytes == 4 || bytes == 8 ? bytes : 0;
    if (lanes.size() > 1) return 0;
    return in_lanes(lanes[0], *to, *from, choice, bytes);
  }

  /// The same where a `vec` loop copies elements of so many bytes: at once as many as lie side by
  /// side, from multiples of as many bytes on, and are all there or not.
  std::int64_t in_lanes(const std::string& lane, const Load& to, const Load& from,
                        const Select* choice, std::int64_t bytes) const {
    std::set<std::string> deciding;
    if (choice) collect_vars(choice->cond, deciding);
    if (deciding.contains(lane)) return 0;
    const Set values = domain_of(k_, {lane});
    const Val least = isl_set_dim_min_val(values.copy(), 0);
    const Val most = isl_set_dim_max_val(values.copy(), 0);
    if (!yes(isl_val_is_zero(least.get())) || !yes(isl_val_is_int(most.get()))) return 0;
    std::int64_t together = bytes * (to_int(most) + 1);
    for (const Load* l : {&to, &from}) {
      const std::optional<ArrayPlaces> lies = places_in(plan_, *l);
      if (!lies || lies->step(*l, lane) != 1) return 0;
      const Expr first = lies->place(*substitute(Expr(*l), {{lane, lit(0)}}).as<Load>());
      together = std::gcd(together, bytes * divisor_of(k_, without_truncation(first)));
    }
    together = std::min<std::int64_t>(together & -together, 16);
    return together >= 4 ? together : 0;
  }
  std::optional<Type> type_of_temporary(const std::string& name) const {
    const Temporary* t = k_.find_temporary(name);
    return t ? t->type : std::nullopt;
  }

  void statements_of(const std::vector<PlanNode>& nodes, std::vector<int>& out) const {
    for (const PlanNode& n : nodes) {
      out.insert(out.end(), n.insns().begin(), n.insns().end());
      statements_of(n.children, out);
    }
  }

  /// `loop` is the last of `alike_`.
  void look(PlanNode& loop) {
    Barrier* last = loop.children.back().barrier();
    if (!last || !last->local) return;
    std::vector<int> all;
    statements_of(loop.children, all);
    std::set<int> ahead;
    int in_flight = kMostStages;
    for (const int s : all) {
      const std::int64_t bytes = plan_.copies_ahead.contains(s) ? 0 : copied(insn(s));
      if (bytes == 0) continue;
      const int n = iterations_without(loop.iname(), s, all);
      if (n == 0) continue;
      ahead.insert(s);
      plan_.bytes_ahead[s] = bytes;
      in_flight = std::min(in_flight, n - 1);
    }
    if (ahead.empty()) return;
    plan_.copies_ahead.merge(ahead);
    last->in_flight = in_flight;
  }

  /// How many iterations of the loop, the one with the copy and those after it, certainly do not
  /// touch what it writes, but for the copy itself; 0: that one may, or none ever reads it.
  int iterations_without(const std::string& iname, int copy, const std::vector<int>& all) const {
    const Load& to = *insn(copy).lhs[0].as<Load>();
    int least = kMostStages;
    bool is_read = false;
    for (const int s : all)
      for_each_use(insn(s), to.array, [&](const Load& use, bool write) {
        is_read |= !write;
        int n = s == copy && write ? 1 : 0;  // its next write to the same element comes after it
        while (n < least && are_others(iname, to, use, n)) ++n;
        least = n;
      });
    return is_read && least < kMostStages ? least : 0;
  }

  template <class F>
  static void for_each_use(const Instruction& i, const std::string& array, const F& visit) {
    const auto look = [&](const Expr& e, const Expr* written) {
      if (!e) return;
      walk(e, [&](const Expr& x) {
        if (const auto* l = x.as<Load>(); l && l->array == array)
          visit(*l, written && x.identity() == written->identity());
        return true;
      });
    };
    for (const Expr& e : i.lhs) look(e, &e);
    look(i.rhs, nullptr);
    for (const Expr& e : i.predicates) look(e, nullptr);
  }

  /// Whether along some axis the elements differ where `use` is `later` iterations after `copy`,
  /// for all work-items of the group.
  bool are_others(const std::string& iname, const Load& copy, const Load& use, int later) const {
    for (std::size_t i = 0; i < copy.index.size() && i < use.index.size(); ++i) {
      const Expr then = replace_var(use.index[i], iname, index_add({var(iname), lit(later)}));
      if (!is_alike(copy.index[i]) || !is_alike(then)) continue;
      const auto equal = to_condition(Expr(Compare{CompareOp::Eq, copy.index[i], then}), alike_);
      if (equal && yes(isl_set_is_empty(equal->get()))) return true;
    }
    return false;
  }
  bool is_alike(const Expr& e) const {
    std::set<std::string> used;
    collect_vars(e, used);
    return !e.holds<Load>() && std::all_of(used.begin(), used.end(), [&](const std::string& n) {
      return std::find(alike_.begin(), alike_.end(), n) != alike_.end();
    });
  }
  static Expr replace_var(const Expr& e, const std::string& name, const Expr& value) {
    return rewrite(e, [&](const Expr& x) {
      const auto* v = x.as<Var>();
      return v && v->name == name ? value : x;
    });
  }

  const Instruction& insn(int s) const { return *k_.instructions[std::size_t(s)]; }

  Plan& plan_;
  const Kernel& k_;
  std::vector<std::string>
      alike_;  // what has one value for all work-items of a group in an iteration
};

}  // namespace

void place_copies_ahead(Plan& plan) { CopiesAhead(plan).visit(plan.roots, false); }

}  // namespace moonloop
