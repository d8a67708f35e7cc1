#include "codegen/plan/counted_values.h"

#include <set>

#include "core/model/affine.h"
#include "core/sets/coalesce.h"
#include "core/sets/named_sets.h"

namespace moonloop {
namespace {

/// Whether the number is told without cases: others make guards dear, and shorter by little.
bool is_plain(const Expr& number) {
  bool cases = false;
  walk(number, [&](const Expr& e) { return !(cases |= e.as<Call>() || e.as<Select>()); });
  return !cases;
}

}  // namespace

Set CountedValues::values(int launch, const std::string& iname) {
  const HardwareIname& own = plan_.hardware.at(iname);
  const auto [known, fresh] =
      known_.try_emplace({launch, own.group, own.axis, to_string(own.first)}, iname, Set());
  auto& [name, values] = known->second;
  if (fresh) values = count(plan_.launches[static_cast<std::size_t>(launch)], iname);
  return all_to_params(rename_dims(values, {{name, iname}}));
}

Set CountedValues::count(const LaunchPlan& launch, const std::string& iname) const {
  const HardwareIname& own = plan_.hardware.at(iname);
  const auto from = [&](const Expr& first, const Expr& extent) {
    const Expr end = index_add({first, extent});
    return to_condition(conjunction({Expr(Compare{CompareOp::Le, first, var(iname)}),
                                     Expr(Compare{CompareOp::Lt, var(iname), end})}),
                        {iname});
  };
  const Expr& skipped = launch.skipped.at(static_cast<std::size_t>(own.axis));
  const Expr& number = launch.number(own.group, own.axis);
  if (own.group && skipped && is_plain(skipped) && is_plain(number))
    if (const auto left = from(index_add({own.first, skipped}), number)) return *left;
  Set out;
  std::set<std::string> extents;
  for (const std::string& n : launch.inames) {
    const HardwareIname& h = plan_.hardware.at(n);
    if (h.group != own.group || h.axis != own.axis) continue;
    if (!extents.insert(to_string(h.extent)).second) continue;
    const auto values = from(own.first, h.extent);
    if (!values) return universe({iname});
    out = out ? Set(isl_set_union(out.take(), values->copy())) : *values;
  }
  if (launch.at_least_one(own.group, own.axis)) {
    const auto first = to_condition(Expr(Compare{CompareOp::Eq, own.first, var(iname)}), {iname});
    if (!first) return universe({iname});
    out = isl_set_union(out.take(), first->copy());
  }
  return coalesce(out.take());
}

}  // namespace moonloop
