#include <algorithm>
#include <array>

#include "core/order/legality.h"
#include "core/order/two_instances.h"

/// Shows without isl that two accesses keep their order: from the constraints of their instances,
/// as far as these are linear.
namespace moonloop {

bool Legality::plainly_kept(const Pair& p) const {
  const RunOrder &was = ref_->order, &is = *present_;
  const std::array<int, 2> before{p.a, p.b}, today{now(p.a), now(p.b)};
  if (p.commutes || parts_of(p, was, p.a) || parts_of(p, is, today[0])) return false;
  TwoInstances two;
  const auto fixed = [&](const std::string& name) {
    return !ref_->variables.has(name) && !is.kernel().find_temporary(name) &&
           !was.kernel().has_iname(name) && !is.kernel().has_iname(name);
  };
  std::array<TwoInstances::Names, 2> origins;
  for (int side = 0; side < 2; ++side) {
    if (!two.add(side, is.dims(today[side]), is.domain(today[side]).all)) return false;
    for (const std::string& d : was.dims(before[side])) {
      auto v = two.value(origin(before[side], d), two.values(side), fixed);
      if (!v) return false;
      origins[side].emplace(d, std::move(*v));
    }
  }
  const auto later = [&](const std::string& name) {
    return weighted_sum(1, origins[1].at(name), -1, origins[0].at(name));
  };
  std::vector<LinearForm> zero, order;
  for (const std::string& i : p.equal) {
    auto d = later(i);
    if (!d) return false;
    zero.push_back(std::move(*d));
  }
  const std::size_t common = was.common_loops(p.a, p.b);
  std::vector<std::string> loops(was.loops(p.a).begin(), was.loops(p.a).begin() + long(common));
  if (p.a == p.b) loops = was.dims(p.a);  // in work-items of one statement as well
  for (const std::string& i : loops) {
    if (std::find(p.equal.begin(), p.equal.end(), i) != p.equal.end()) continue;
    auto d = later(i);
    if (!d) return false;
    order.push_back(std::move(*d));
  }
  std::vector<LoopLag> distances;
  const std::size_t shared = is.common_loops(today[0], today[1]);
  for (std::size_t i = 0; i < shared; ++i) {
    const std::string& name = is.loops(today[0])[i];
    auto d = weighted_sum(1, two.values(1).at(name), -1, two.values(0).at(name));
    if (!d) return false;
    distances.push_back({std::move(*d), !is_parallel(is.kernel().tag(name)) || is.trusts(name)});
  }
  for (const LinearForm& f : zero) two.proof.zero(f);
  if (p.x) two.meet(*p.x, origins[0], *p.y, origins[1], ref_->variables, fixed);
  two.take_in();
  return keeps_order(std::move(two.proof), order, was.first(p.a, p.b), distances,
                     is.first(today[0], today[1]))
      .value_or(false);
}

std::optional<bool> Legality::nest_plainly_keeps(
    const Pair& p, const Exprs& values, const std::vector<std::string>& shared, std::size_t loops,
    const std::vector<std::string>& dims, const Set& domain, std::size_t present_loops) const {
  TwoInstances two;
  const auto fixed = [&](const std::string& name) {
    return !ref_->variables.has(name) && !k_.find_temporary(name) && !k_.has_iname(name);
  };
  for (int side = 0; side < 2; ++side)
    if (!two.add(side, dims, domain)) return std::nullopt;
  const auto apart = [&](const Expr& e) -> std::optional<LinearForm> {
    const auto first = two.value(e, two.values(0), fixed),
               second = two.value(e, two.values(1), fixed);
    return first && second ? weighted_sum(1, *second, -1, *first) : std::nullopt;
  };
  std::vector<LinearForm> order;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    const bool equal = std::find(p.equal.begin(), p.equal.end(), shared[i]) != p.equal.end();
    // Work-items order one statement alone; updates that commute differ in them.
    if (!equal && i >= loops && p.a != p.b && !p.commutes) continue;
    auto later = apart(values[i]);
    if (!later) return std::nullopt;
    if (equal)
      two.proof.zero(*later);
    else
      order.push_back(std::move(*later));
  }
  std::vector<LoopLag> distances;
  for (std::size_t i = 0; i < present_loops; ++i) {
    auto later = apart(var(dims[i]));
    if (!later) return std::nullopt;
    distances.push_back({std::move(*later), !at_once(dims[i], p.commutes)});
  }
  two.take_in();
  const bool first = present_->first(now(p.a), now(p.b));
  const std::optional<bool> kept =
      p.commutes
          ? keeps_apart(two.proof, order, distances, first || combines_items(ref_->order.insn(p.a)))
          : keeps_order(std::move(two.proof), order, ref_->order.first(p.a, p.b), distances, first);
  return two.exact || kept == true ? kept : std::nullopt;
}

}  // namespace moonloop
