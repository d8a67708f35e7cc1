#include "transforms/insn_inames.h"

#include <algorithm>
#include <exception>
#include <iterator>

#include "core/model/domain.h"
#include "core/model/external.h"
#include "core/order/conflicts.h"
#include "core/order/order_reference.h"
#include "core/order/reference.h"
#include "core/sets/bounded.h"
#include "core/sets/budget.h"
#include "core/sets/compose.h"
#include "core/sets/named_sets.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

std::set<std::string> without(const std::set<std::string>& all, const std::set<std::string>& some) {
  std::set<std::string> out;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(),
                      std::inserter(out, out.end()));
  return out;
}

bool has_variable(const Kernel& k, const std::string& name) {
  return k.find_arg(name) != nullptr || k.find_temporary(name) != nullptr;
}

/// Replaces the loops around some instructions of a kernel that is its own reference.
class InsnLoops {
 public:
  InsnLoops(const Kernel& k, const InsnInames& wanted, bool guard)
      : before_(k), wanted_(wanted), guard_(guard) {}

  Kernel run(Proof proof) {
    Kernel after = before_;
    for (InsnPtr& insn : after.instructions)
      if (const auto it = wanted_.find(insn->id); it != wanted_.end())
        insn = changed(*insn, it->second, proof);
    after = rebase(std::move(after));
    if (proof == Proof::LeftOut) {
      nest(after);  // it must be possible at least
      return after;
    }
    require_repeatable(after);
    return placed(after);
  }

 private:
  /// `insn` in its new loops, whose instances are proved to be the old ones.
  InsnPtr changed(const Instruction& insn, const std::set<std::string>& inames, Proof proof) {
    const std::set<std::string> gone = without(insn.inames, inames);
    const std::set<std::string> added = without(inames, insn.inames);
    ensure(gone.empty() || added.empty(), "an instruction gets loops and loses others");
    const std::set<std::string>& fewer = gone.empty() ? insn.inames : inames;
    const std::vector<std::string> dims(fewer.begin(), fewer.end());
    const auto values = [&](const std::set<std::string>& all) {
      return to_dims(domain_of(before_, {all.begin(), all.end()}), dims);
    };
    Set was = values(insn.inames);
    const Set is = values(inames);
    Instruction out = insn;
    out.inames = inames;
    if (proof == Proof::LeftOut) return std::make_shared<const Instruction>(std::move(out));
    Set ran = was;
    for (const Expr& p : insn.predicates)
      if (const auto holds = to_condition(before_, p, dims))
        ran = isl_set_intersect(ran.take(), holds->copy());
    // Instances that would be lost are those of loops without an iteration, and so are new ones.
    const bool adds = gone.empty();
    Set now = is;
    if (!adds)
      for (const Expr& p : insn.predicates)
        if (const auto holds = to_condition(before_, p, dims))
          now = isl_set_intersect(now.take(), holds->copy());
    const Set differ = adds ? Set(isl_set_subtract(ran.take(), is.copy()))
                            : Set(isl_set_subtract(now.take(), was.copy()));
    if (const auto at = sample(differ)) {
      if (adds || !guard_) refuse_instance(insn, dims, *at, adds ? added : gone, adds);
      out.predicates.insert(out.predicates.begin(), from_set(gist(was, is)));
    }
    return std::make_shared<const Instruction>(std::move(out));
  }

  [[noreturn]] static void refuse_instance(const Instruction& insn,
                                           const std::vector<std::string>& dims, const Sample& at,
                                           const std::set<std::string>& loops, bool lost) {
    const std::vector<std::string> names(loops.begin(), loops.end());
    Diagnostic d;
    d.code = "other-values";
    d.text = fmt::format("`{}` would be {}: {} {} no iteration for it{}",
                         instance_text(insn.id, dims, at.dims), lost ? "lost" : "new",
                         quoted_list(names), names.size() > 1 ? "have" : "has",
                         parameters_text(at.params));
    d.where = {insn.at, {}};
    d.hint = lost ? "`assume` may tell that there is one"
                  : "`assume` may tell that there is one, and `guard = true` makes it a condition";
    throw Refused(std::move(d));
  }

  /// An instance must not read what it, or a repetition of it, writes.
  void require_repeatable(const Kernel& after) {
    for (const auto& [id, inames] : wanted_) {
      const Instruction& insn = *before_.find_insn(id);
      if (external_call(before_, insn) && !called_kernel(before_, insn))
        refuse("foreign-effects", insn.at,
               "`{}` calls a function elsewhere, which may do something else each time", id);
      const bool adds = without(insn.inames, inames).empty();
      const std::set<std::string> loops =
          adds ? without(inames, insn.inames) : without(insn.inames, inames);
      if (!loops.empty()) require_own_result_unread(adds ? before_ : after, id, loops);
    }
  }

  /// In `k`, where `id` is in the fewer loops.
  void require_own_result_unread(const Kernel& k, const std::string& id,
                                 const std::set<std::string>& loops) {
    const std::shared_ptr<const Reference> reference = ordered(k);
    const RunOrder& order = reference->order;
    const std::vector<int> owner = owners(k, order);
    Conflicts conflicts(order.kernel());
    const Instruction& insn = *k.find_insn(id);
    const std::vector<std::string> own(insn.inames.begin(), insn.inames.end());
    const auto each = [&](bool write, auto visit) {
      for (int s = 0; s < order.size(); ++s) {
        if (k.instructions[std::size_t(owner[std::size_t(s)])]->id != id) continue;
        for (const Access& a : reference->accesses[std::size_t(s)])
          if (a.write == write && has_variable(k, a.variable)) visit(StatementAccess{a, s});
      }
    };
    each(true, [&](const StatementAccess& w) {
      each(false, [&](const StatementAccess& r) {
        if (w.variable != r.variable || plainly_apart(w, r)) return;
        const ApproximateMap met = conflicts.pairs(w, r);
        const Map same = conflicts.in_equal(met.all, w, r, own);
        if (yes(isl_map_is_empty(same.get()))) return;
        const Witness at = witness(same, conflicts.dims(w.insn), conflicts.dims(r.insn));
        std::map<std::string, std::int64_t> values = at.params;
        values.insert(at.b.begin(), at.b.end());
        const std::vector<std::string> names(loops.begin(), loops.end());
        const std::string instance = instance_text(id, conflicts.dims(w.insn), at.a);
        refuse(met.exact ? "repeats-update" : "not-proved", insn.at,
               "`{}` {} `{}`, which it writes: in one iteration of {} it would read what it wrote "
               "in another one{}",
               instance, met.exact ? "reads" : "may read", element_text(r, values),
               quoted_list(names), parameters_text(at.params));
      });
    });
  }

  /// `after`, or with the changed instructions before or behind the statements of the loops that
  /// they came into or left: the first of these that keeps every value.
  Kernel placed(const Kernel& after) {
    std::exception_ptr first;
    for (const Kernel& k : {after, moved(after, true), moved(after, false)}) try {
        Kernel out;
        within_budget(before_.at, "instructions in other loops keep every value", [&] {
          check_stand_ins(before_, k, stand_ins(k));
          out = proved(k);
        });
        return out;
      } catch (const Refused&) {
        if (!first) first = std::current_exception();
      }
    std::rethrow_exception(first);
  }

  /// The changed instructions, in their order, before the first of the other statements of their
  /// loops, or behind the last.
  Kernel moved(const Kernel& after, bool to_front) const {
    std::set<std::string> loops;
    for (const auto& [id, inames] : wanted_) {
      const std::set<std::string>& old = before_.find_insn(id)->inames;
      for (const auto& some : {without(old, inames), without(inames, old)})
        loops.insert(some.begin(), some.end());
    }
    std::vector<InsnPtr> some, rest;
    for (const InsnPtr& i : after.instructions)
      (wanted_.contains(i->id) ? some : rest).push_back(i);
    const auto in_loops = [&](const InsnPtr& i) {
      return std::any_of(i->inames.begin(), i->inames.end(),
                         [&](const std::string& n) { return loops.contains(n); });
    };
    const auto at = to_front ? std::find_if(rest.begin(), rest.end(), in_loops)
                             : std::find_if(rest.rbegin(), rest.rend(), in_loops).base();
    rest.insert(at, some.begin(), some.end());
    Kernel out = after;
    out.instructions = std::move(rest);
    return out;
  }

  /// Each changed instance in the place of those that it repeats, or that it is done for. What
  /// others read of it, they find from the first one on: `require_no_write_between` says that it
  /// stays. What writes is there twice, since two stand-ins are compared: so are instances of one
  /// statement with one another.
  std::vector<StandIn> stand_ins(const Kernel& after) const {
    const std::shared_ptr<const Reference> was = ordered(before_), is = ordered(after);
    const std::vector<int> owner = owners(after, is->order);
    std::vector<StandIn> out;
    for (int s = 0; s < is->order.size(); ++s) {
      if (!wanted_.contains(after.instructions[std::size_t(owner[std::size_t(s)])]->id)) continue;
      const std::string& id = is->order.insn(s).id;
      const int w = was->order.find(id);
      ensure(w >= 0, "the parts of a reduction have other names in other loops");
      const std::vector<std::string>&now = is->order.dims(s), &then = was->order.dims(w);
      Map all = in_both(now, then);
      StandIn reads{id, id, all, {}}, writes{id, id, {}, {}};
      all = isl_map_intersect_domain(all.take(), is->order.domain(s).all.take());
      all = isl_map_intersect_range(all.take(), was->order.domain(w).all.take());
      const bool fewer = now.size() < then.size();
      require_first(fewer ? was->order.domain(w).all : is->order.domain(s).all, was->order.insn(w));
      if (fewer) {
        writes.relation = isl_map_lexmin(all.take());
        require_no_write_between(*was, w, now);
      } else {
        writes.relation = isl_map_reverse(isl_map_lexmin(isl_map_reverse(all.take())));
        require_no_write_between(*is, s, then);
      }
      for (const Access& a : is->accesses[std::size_t(s)])
        if (has_variable(before_, a.variable)) (a.write ? writes : reads).accesses.push_back(a);
      out.push_back(std::move(reads));
      out.insert(out.end(), 2, writes);
    }
    return out;
  }

  /// { now -> then } with equal values of the inames that both have.
  static Map in_both(const std::vector<std::string>& now, const std::vector<std::string>& then) {
    Map out = universal_map(now, then);
    for (std::size_t i = 0; i < now.size(); ++i)
      if (const auto it = std::find(then.begin(), then.end(), now[i]); it != then.end())
        out = equate(std::move(out), i, std::size_t(it - then.begin()));
    return out;
  }

  /// What stands for all instances is the first one.
  static void require_first(const Set& instances, const Instruction& insn) {
    const std::vector<std::string> dims = dim_names(instances);
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (!has_lower_bound(instances, static_cast<unsigned>(d)))
        refuse("not-proved", insn.at, "the first iteration of `{}` around `{}` depends on data",
               dims[d], insn.id);
  }

  /// Between two instances of the statement with equal `same`, nothing else must write what they
  /// write: the later one would bring their value back.
  void require_no_write_between(const Reference& r, int s,
                                const std::vector<std::string>& same) const {
    const RunOrder& order = r.order;
    Conflicts conflicts(order.kernel());
    Map repeats = universal_map(order.dims(s), order.dims(s));
    for (std::size_t i = 0; i < order.dims(s).size(); ++i)
      if (std::find(same.begin(), same.end(), order.dims(s)[i]) != same.end())
        repeats = equate(std::move(repeats), i, i);
    for (const Access& own : r.accesses[std::size_t(s)]) {
      if (!own.write || !has_variable(before_, own.variable)) continue;
      for (const AccessAt& at : r.by_variable().at(own.variable)) {
        const Access& other = r.at(at);
        if (!other.write || plainly_apart(own, other)) continue;
        const ApproximateMap met = conflicts.pairs({own, s}, {other, at.insn});
        Map later =
            isl_map_intersect(met.all.copy(), order.before(s, at.insn, is_never_parallel).take());
        if (at.insn == s) later = isl_map_subtract(later.take(), repeats.copy());
        const Map earlier = isl_map_intersect(isl_map_reverse(met.all.copy()),
                                              order.before(at.insn, s, is_never_parallel).take());
        Map around = compose(later, earlier);
        around = isl_map_intersect(around.take(), repeats.copy());
        if (yes(isl_map_is_empty(around.get()))) continue;
        const Witness w = witness(around, order.dims(s), order.dims(s));
        std::map<std::string, std::int64_t> values = w.params;
        values.insert(w.a.begin(), w.a.end());
        const Instruction &insn = order.insn(s), &between = order.insn(at.insn);
        Diagnostic d;
        d.code = met.exact ? "repeats-update" : "not-proved";
        d.text =
            fmt::format("{} and {} write {}, and `{}` {} it between them{}",
                        instance_text(insn.id, order.dims(s), w.a),
                        instance_text(insn.id, order.dims(s), w.b), element_text(own, values),
                        between.id, met.exact ? "writes" : "may write", parameters_text(w.params));
        d.where = {insn.at, {}};
        if (between.at) d.notes.push_back({between.at, fmt::format("`{}` is here", between.id)});
        throw Refused(std::move(d));
      }
    }
  }

  const Kernel& before_;
  const InsnInames& wanted_;
  bool guard_;
};

}  // namespace

Kernel with_insn_inames(const Kernel& k, const InsnInames& wanted, bool guard, Proof proof) {
  const Kernel own = k.reference && proof == Proof::Made ? rebase(proved(k)) : k;
  return InsnLoops(own, wanted, guard).run(proof);
}

}  // namespace moonloop
