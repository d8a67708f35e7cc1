#include "transforms/scan_terms.h"

#include <algorithm>

#include "core/model/domain.h"
#include "core/model/lookup.h"
#include "core/order/order.h"
#include "core/rewrite/iname_rewrite.h"
#include "core/sets/coalesce.h"
#include "core/sets/syntactic_gist.h"

namespace moonloop {
namespace {

using Names = std::vector<std::string>;

/// { [from] -> [the other dimensions] } of a set whose first dimensions are `from`.
Map as_map(Set s, const Names& from) {
  Map m = isl_map_from_range(s.take());
  return isl_map_move_dims(m.take(), isl_dim_in, 0, isl_dim_out, 0, unsigned(from.size()));
}

Set as_set(const Map& m, const Names& dims) {
  Set s = isl_set_flatten(isl_map_wrap(m.copy()));
  for (std::size_t d = 0; d < dims.size(); ++d)
    s = isl_set_set_dim_name(s.take(), isl_dim_set, unsigned(d), dims[d].c_str());
  return s;
}

/// { later -> earlier }, both in the space of the map's domain.
Map earlier_than(const Map& m) {
  Space space = isl_set_get_space(Set(isl_map_domain(m.copy())).get());
  return isl_map_lex_gt(space.take());
}

Names joined(const Names& a, const Names& b) {
  Names out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

Names without(const std::set<std::string>& all, const Names& some) {
  Names out;
  for (const std::string& n : all)
    if (std::find(some.begin(), some.end(), n) == some.end()) out.push_back(n);
  return out;
}

/// `f[i=3]` and `f[i=4]`, of a map { earlier -> later }.
std::string two_instances(const Map& m, const std::string& id, const Names& sweep) {
  const Witness w = witness(m, sweep, sweep);
  return "`" + instance_text(id, sweep, w.a) + "` and `" + instance_text(id, sweep, w.b) + "`" +
         parameters_text(w.params);
}

}  // namespace

Set new_terms(const Kernel& k, const Instruction& insn, const Names& sweep, const Names& reduced,
              bool ordered, const Span& at) {
  const Names outer = without(insn.inames, sweep);
  const Names dims = joined(sweep, reduced);
  Set points = dims_to_params(domain_of(k, joined(outer, dims)), outer);
  points = to_dims(std::move(points), dims);
  const Set instances = all_to_params(domain_of(k, joined(outer, sweep)));
  if (!sweep.empty()) {
    const Map terms = as_map(points, sweep);
    const Map before = earlier_than(terms);
    Map old = isl_map_apply_range(before.copy(), terms.copy());
    Set all = dims_to_params(domain_of(k, joined(outer, sweep)), outer);
    old = isl_map_intersect_domain(old.take(), to_dims(std::move(all), sweep).take());
    const Map lost = isl_map_subtract(old.copy(), terms.copy());
    if (!yes(isl_map_is_empty(lost.get()))) {
      Map pairs = isl_map_apply_range(terms.copy(), isl_map_reverse(lost.copy()));
      pairs = isl_map_intersect(pairs.take(), isl_map_reverse(before.copy()));
      refuse("not-a-scan", at,
             "the terms of a scan grow from one iteration to the next, but of {} the later one "
             "lacks a term of the earlier one",
             two_instances(pairs, insn.id, sweep));
    }
    const Map fresh = isl_map_subtract(terms.copy(), old.copy());
    if (ordered) {
      Space space = isl_set_get_space(Set(isl_map_range(terms.copy())).get());
      const Map greater = isl_map_lex_gt(space.take());  // { term -> smaller one }
      Map wrong = isl_map_apply_range(old.copy(), greater.copy());
      wrong = isl_map_intersect(wrong.take(), fresh.copy());
      if (!yes(isl_map_is_empty(wrong.get()))) {
        const Set at_fault = isl_map_domain(wrong.copy());
        const Map same = isl_set_identity(at_fault.copy());
        const Witness w = witness(same, sweep, sweep);
        refuse(
            "not-a-scan", at,
            "the order of a segmented reduction matters, but `{}`{} has new terms before old ones",
            instance_text(insn.id, sweep, w.a), parameters_text(w.params));
      }
    }
    points = as_set(coalesce(fresh.copy()), dims);
    points = dims_to_params(std::move(points), sweep);
    points = to_dims(std::move(points), reduced);
  }
  return tidy(gist_of_loops(points, instances));
}

ItemRange item_range(const Kernel& k, const std::string& item, const Span& at) {
  const Set own = domain_of(k, {item});
  const LocalSpace space = isl_local_space_from_space(isl_set_get_space(own.get()));
  const Aff x = isl_aff_var_on_domain(space.copy(), isl_dim_set, 0);
  const Val low = isl_set_min_val(own.get(), x.get()), high = isl_set_max_val(own.get(), x.get());
  if (!yes(isl_val_is_int(low.get())) || !yes(isl_val_is_int(high.get())))
    refuse("unsupported", at, "the number of work-items `{}` of the scan has no constant bound",
           item);
  return {to_int(low), to_int(high) - to_int(low) + 1};
}

ScanItems scan_items(const Kernel& k, const Instruction& insn, const std::string& item,
                     const Names& outer, const Span& at) {
  Names given = without(insn.inames, joined(outer, {item}));
  const Names dims = joined(outer, {item});
  const ItemRange range = item_range(k, item, at);
  ScanItems out{range.first, range.count, {}};
  Set points = to_dims(dims_to_params(domain_of(k, joined(given, dims)), given), dims);
  const auto with = [&](const Expr& cond) {
    return Set(isl_set_intersect(points.copy(), to_condition(cond, dims).value().take()));
  };
  // Without gaps: each but the first has one before it.
  Map next = isl_map_universe(isl_space_map_from_set(isl_set_get_space(points.get())));
  next = to_map(
             [&] {
               Exprs to;
               for (const std::string& o : outer) to.push_back(var(o));
               to.push_back(index_add({var(item), lit(1)}));
               return to;
             }(),
             dims)
             .value();
  Set follows = isl_set_apply(points.copy(), next.copy());
  follows = to_dims(
      [&] {
        Set s = follows;
        for (std::size_t d = 0; d < dims.size(); ++d)
          s = isl_set_set_dim_name(s.take(), isl_dim_set, unsigned(d), dims[d].c_str());
        return s;
      }(),
      dims);
  const Set later = with(Expr(Compare{CompareOp::Gt, var(item), lit(out.first)}));
  if (!yes(isl_set_is_subset(later.get(), follows.get())))
    refuse("not-a-scan", at, "the values of the work-items `{}` have gaps", item);
  const Set last =
      to_dims(with(Expr(Compare{CompareOp::Eq, var(item), lit(out.first + out.count - 1)})), outer);
  const Set any = to_dims(points, outer);
  if (!outer.empty()) {
    const Set partial = isl_set_subtract(any.copy(), last.copy());
    const Map after = isl_map_lex_lt(isl_set_get_space(any.get()));
    Map pairs = isl_map_intersect_domain(after.copy(), partial.copy());
    pairs = isl_map_intersect_range(pairs.take(), any.copy());
    if (!yes(isl_map_is_empty(pairs.get())))
      refuse("not-a-scan", at, "of {} the earlier one has not all work-items",
             two_instances(pairs, insn.id, outer));
  }
  Set known = all_to_params(domain_of(k, joined(given, outer)));
  Set all = gist_params(all_to_params(last), known);
  out.all = from_set(tidy(std::move(all)));
  return out;
}

}  // namespace moonloop
