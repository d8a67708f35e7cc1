#include <algorithm>

#include "core/model/domain.h"
#include "core/order/legality.h"

// Segmented reductions, whose terms stay in order, and the work-items that share one.
namespace moonloop {

std::optional<OrderedParts> ordered_parts(const RunOrder& order, int s) {
  const Instruction& update = order.insn(s);
  if (update.role != ReductionRole::Update || combines_items(update) || order.items(s).empty())
    return {};
  for (int start = 0; start < order.size(); ++start) {
    const Instruction& init = order.insn(start);
    if (init.role != ReductionRole::Init ||
        written_name(init.lhs[0]) != written_name(update.lhs[0]))
      continue;
    std::vector<std::string> own;
    for (const std::string& i : order.items(s))
      if (!init.inames.count(i)) own.push_back(i);
    if (own.size() != 1 || !is_work_item(order.kernel().tag(own[0]))) return {};  // lanes do not
    return OrderedParts{own[0], order.common_loops(start, s)};
  }
  return {};
}

std::optional<OrderedParts> Legality::parts_of(const Pair& p, const RunOrder& order, int s) {
  // An update writes only its accumulator.
  const bool meet = p.x && p.a == p.b && p.x->variable == p.y->variable;
  return meet && (p.x->write || p.y->write) ? ordered_parts(order, s) : std::nullopt;
}

Map Legality::parts_before(const RunOrder& order, int s, const OrderedParts& parts,
                           bool (*unordered)(const InameTag*)) {
  const std::vector<std::string>& dims = order.dims(s);
  Map whole = universal_map(dims, dims);  // pairs within one run of the reduction
  std::size_t item = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == parts.iname)
      item = i;
    else if (i < parts.outer || i >= order.loops(s).size())
      whole = equate(std::move(whole), i, i);
  }
  const Map one = equate(whole, item, item);
  const Map before = order.before(s, s, unordered);
  const Map other = isl_map_subtract(whole.copy(), one.copy());  // work-items
  return isl_map_union(isl_map_subtract(before.copy(), other.copy()),
                       order_lt(whole, item, item).take());
}

/// Code that runs the parts of such a reduction one after the other has to keep the order as well.
void Legality::check_parts() const {
  Kernel plain = without_ordered_parts(k_, *present_);
  if (plain.iname_tags.size() == k_.iname_tags.size()) return;
  if (compares_) return check_kept_order(ref_->order.kernel(), plain);
  plain.reference = ref_;  // its meaning stays, whatever its loops would say by themselves
  check_legal(plain);
}

}  // namespace moonloop
