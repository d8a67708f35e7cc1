#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/infer/program_points.h"
#include "core/model/external.h"
#include "core/order/legality.h"
#include "core/order/order_reference.h"
#include "core/order/plain_flow.h"
#include "core/order/question.h"
#include "core/sets/budget.h"
#include "core/sets/witness.h"

// Elements of temporaries that are read before the kernel, in its own order, has written them.
namespace moonloop {
namespace {

/// The most that a query for one read may cost.
constexpr unsigned long kReadOperations = 100'000;
/// Reads of variables with more writers are not judged: each read is compared with each write.
constexpr std::ptrdiff_t kMostWrites = 40;

class DefinedReads {
 public:
  explicit DefinedReads(const Reference& r)
      : r_(r), o_(r.order), claimed_(claimed_in_bounds(r.order.kernel())) {}

  void check() {
    for (const auto& [name, all] : r_.by_variable()) {
      if (!r_.variables.is_temporary(name)) continue;
      const Temporary* t = o_.kernel().find_temporary(name);
      if (!t || t->initializer || !t->shape || t->shape->empty()) continue;
      const bool known = std::all_of(all.begin(), all.end(), [&](const AccessAt& a) {
        return r_.at(a).index.size() == t->shape->size() &&
               !external_call(o_.kernel(), o_.insn(a.insn));  // which may touch any element
      });
      const auto writes =
          std::count_if(all.begin(), all.end(), [&](const AccessAt& a) { return r_.at(a).write; });
      if (!known || writes > kMostWrites) continue;
      for (const AccessAt& a : all)
        if (!r_.at(a).write && asks(a, all)) judge(a, all);
    }
  }

 private:
  /// Whether isl has to decide: some write shares a loop with the read, and none plainly precedes
  /// it, to the same element in the same iteration.
  bool asks(const AccessAt& read, const std::vector<AccessAt>& all) const {
    const Expr& value = o_.insn(read.insn).rhs;
    if (value && decides(value)) return false;  // whether it reads
    bool shares = false;
    for (const AccessAt& w : all) {
      if (!r_.at(w).write) continue;
      const std::size_t common = o_.common_loops(w.insn, read.insn);
      shares = shares || common > 0;
      if (o_.first(w.insn, read.insn) && common == o_.loops(w.insn).size() &&
          o_.insn(w.insn).predicates.empty() && o_.items(w.insn).empty() &&
          equal(r_.at(w).index, r_.at(read).index) &&
          covers_field(r_.at(w).field, r_.at(read).field))
        return false;
    }
    return shares;
  }
  static bool decides(const Expr& e) {
    bool found = false;
    walk(e, [&](const Expr& x) {
      const auto* n = x.as<Nary>();
      found = found || x.as<Select>() || (n && (n->op == NaryOp::And || n->op == NaryOp::Or));
      return !found;
    });
    return found;
  }

  void judge(const AccessAt& read, const std::vector<AccessAt>& all) const try {
    Question question(Question::About::Defined);
    question.statement(o_, read.insn);
    for (const AccessAt& w : all)
      if (r_.at(w).write) {
        question.statement(o_, w.insn);
        question.pair(o_, w.insn, read.insn);
        question.accesses(r_, r_.at(w), r_.at(read));
      }
    question.ask([&] { return is_defined(read, all); });
  } catch (const IslQuota&) {
    // not known to find nothing
  }

  /// Whether each instance of the read surely finds something; refuses where one finds nothing.
  bool is_defined(const AccessAt& read, const std::vector<AccessAt>& all) const {
    const IslBudget budget(kReadOperations);
    auto [left, exact] = o_.domain(read.insn);
    if (!exact) return false;
    for (const AccessAt& w : all) {
      if (!r_.at(w).write) continue;
      const auto pairs = plain_flow(o_, r_.variables, w.insn, r_.at(w), read.insn, r_.at(read), {});
      if (!pairs) continue;
      left = without_reached(left, *pairs);
      if (yes(isl_set_plain_is_empty(left.get()))) return true;
    }
    std::vector<Map> found;  // { writes -> reads that find what they wrote }
    for (const AccessAt& w : all) {
      if (!r_.at(w).write) continue;
      auto [m, certain] = conflict_map(o_.kernel(), r_.variables, r_.at(w), o_.dims(w.insn),
                                       r_.at(read), o_.dims(read.insn));
      if (!certain) return false;  // it may be that one
      m = isl_map_intersect(m.take(), o_.before(w.insn, read.insn, is_never_parallel).take());
      m = isl_map_intersect_domain(m.take(), o_.domain(w.insn).all.take());
      left = without_reached(left, m);
      if (yes(isl_set_plain_is_empty(left.get()))) return true;
      found.push_back(std::move(m));
    }
    for (const Map& m : found) left = without_reached(left, m);  // what one of them has left
    for (Map& m : found) {
      left = isl_set_subtract(left.take(), isl_map_range(m.take()));
      if (yes(isl_set_is_empty(left.get()))) return true;
    }
    if (claimed_.count(r_.at(read).variable) && !for_all_values(read, left)) return false;
    if (const auto point = sample(left)) refuse(read, all, *point);
    return false;
  }

  /// Whether some of `left` is there for all values of parameters for which the read runs at all.
  /// Where it is not, a claim says that other values do not occur.
  bool for_all_values(const AccessAt& read, const Set& left) const {
    const Set some = isl_set_params(left.copy());
    const Set all = isl_set_params(o_.domain(read.insn).all.take());
    return yes(isl_set_is_subset(all.get(), some.get()));
  }

  [[noreturn]] void refuse(const AccessAt& read, const std::vector<AccessAt>& all,
                           const Sample& s) const {
    const Access& a = r_.at(read);
    const Instruction& insn = o_.insn(read.insn);
    const auto writer = std::find_if(all.begin(), all.end(), [&](const AccessAt& w) {
      return r_.at(w).write && o_.common_loops(w.insn, read.insn) > 0;
    });
    const Instruction& by = o_.insn(writer->insn);
    const std::string& shared = o_.loops(read.insn)[o_.common_loops(writer->insn, read.insn) - 1];
    std::map<std::string, std::int64_t> at = s.params;
    at.insert(s.dims.begin(), s.dims.end());
    std::string with;
    for (const auto& [n, v] : s.params)
      with += fmt::format("{}{} = {}", with.empty() ? " for " : ", ", n, v);
    throw Error(
        {"undefined-read",
         fmt::format("{} reads `{}` before anything is written to it{}",
                     instance_text(insn.id, o_.dims(read.insn), s.dims), element_text(a, at), with),
         {a.at ? a.at : insn.at, {}},
         {{by.at, fmt::format("written by `{}` in the same loop over `{}`", by.id, shared)}},
         fmt::format("`dup={}` in the braces after a statement gives it a loop of its own, which "
                     "comes after that of `{}`",
                     shared, by.id)});
  }

  const Reference& r_;
  const RunOrder& o_;
  const std::set<std::string> claimed_;
};

}  // namespace

void check_defined(const Kernel& k) {
  const std::shared_ptr<const Reference> r = reference_of(k);
  if (r->reads_are_defined) return;
  DefinedReads(*r).check();
  r->reads_are_defined = true;
}

}  // namespace moonloop
