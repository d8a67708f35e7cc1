#include <algorithm>
#include <array>

#include "core/order/legality.h"
#include "core/order/two_instances.h"

/// Shows without isl that two accesses keep their order: from the constraints of their instances,
/// as far as these are linear.
namespace moonloop {

/// Present instances that access one element, and how much later the second one is along each loop
/// of the reference that counts.
struct Legality::LinearPairs {
  TwoInstances two;
  std::vector<LinearForm> order;
  std::array<TwoInstances::Names, 2> origins;  // the inames of the reference
};

std::optional<Legality::LinearPairs> Legality::linear_pairs(const Pair& p) const {
  const RunOrder &was = ref_->order, &is = *present_;
  const std::array<int, 2> before{p.a, p.b}, today{now(p.a), now(p.b)};
  if (p.commutes || parts_of(p, was, p.a) || parts_of(p, is, today[0])) return std::nullopt;
  LinearPairs out;
  TwoInstances& two = out.two;
  const auto fixed = [&](const std::string& name) {
    return !ref_->variables.has(name) && !is.kernel().find_temporary(name) &&
           !was.kernel().has_iname(name) && !is.kernel().has_iname(name);
  };
  auto& origins = out.origins;
  for (int side = 0; side < 2; ++side) {
    const ApproximateSet points = is.domain(today[side]);
    if (!two.add(side, is.dims(today[side]), points.all)) return std::nullopt;
    two.exact = two.exact && points.exact;
    for (const std::string& d : was.dims(before[side])) {
      auto v = two.value(origin(before[side], d), two.values(side), fixed);
      if (!v) return std::nullopt;
      origins[side].emplace(d, std::move(*v));
    }
  }
  const auto later = [&](const std::string& name) {
    return weighted_sum(1, origins[1].at(name), -1, origins[0].at(name));
  };
  std::vector<LinearForm> zero;
  for (const std::string& i : p.equal) {
    auto d = later(i);
    if (!d) return std::nullopt;
    zero.push_back(std::move(*d));
  }
  const std::size_t common = was.common_loops(p.a, p.b);
  std::vector<std::string> loops(was.loops(p.a).begin(), was.loops(p.a).begin() + long(common));
  if (p.a == p.b) loops = was.dims(p.a);  // in work-items of one statement as well
  for (const std::string& i : loops) {
    if (std::find(p.equal.begin(), p.equal.end(), i) != p.equal.end()) continue;
    auto d = later(i);
    if (!d) return std::nullopt;
    out.order.push_back(std::move(*d));
  }
  for (const LinearForm& f : zero) two.proof.zero(f);
  if (p.x) two.meet(*p.x, origins[0], *p.y, origins[1], ref_->variables, fixed);
  return out;
}

bool Legality::plainly_kept(const Pair& p) const {
  std::optional<LinearPairs> pairs = linear_pairs(p);
  if (!pairs) return false;
  TwoInstances& two = pairs->two;
  const RunOrder& is = *present_;
  const int a = now(p.a), b = now(p.b);
  std::vector<LoopLag> distances;
  for (std::size_t i = 0; i < is.common_loops(a, b); ++i) {
    const std::string& name = is.loops(a)[i];
    auto d = weighted_sum(1, two.values(1).at(name), -1, two.values(0).at(name));
    if (!d) return false;
    distances.push_back({std::move(*d), !is_parallel(is.kernel().tag(name)) || is.trusts(name)});
  }
  two.take_in();
  return keeps_order(std::move(two.proof), pairs->order, ref_->order.first(p.a, p.b), distances,
                     is.first(a, b))
      .value_or(false);
}

std::optional<bool> Legality::plainly_none(const Pair& p, std::size_t depth) const {
  std::optional<LinearPairs> pairs = linear_pairs(p);
  if (!pairs) return std::nullopt;
  TwoInstances& two = pairs->two;
  for (std::size_t i = 0; i < depth; ++i) {
    const std::string& name = present_->loops(now(p.a))[i];
    const auto d = weighted_sum(1, two.values(1).at(name), -1, two.values(0).at(name));
    if (!d) return std::nullopt;
    two.proof.zero(*d);
  }
  const RunOrder& was = ref_->order;
  for (int side = 0; side < 2; ++side) {  // and instances of the reference
    const int s = side == 0 ? p.a : p.b;
    const ApproximateSet points = was.domain(s);
    if (!two.add(2 + side, was.dims(s), points.all)) return std::nullopt;
    two.exact = two.exact && points.exact;
    for (const std::string& d : was.dims(s)) {
      const auto apart =
          weighted_sum(1, two.values(2 + side).at(d), -1, pairs->origins[side].at(d));
      if (!apart) return std::nullopt;
      two.proof.zero(*apart);
    }
  }
  two.take_in();
  const std::optional<bool> none =
      keeps_order(std::move(two.proof), pairs->order, ref_->order.first(p.a, p.b), {}, false);
  return two.exact || none == true ? none : std::nullopt;
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
