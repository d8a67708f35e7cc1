#include <algorithm>

#include "core/model/memo.h"
#include "core/order/order_reference.h"

/// Which kernels have the same order, recognized by the addresses of their parts.
namespace moonloop {

struct Ordered {
  Kernel kernel;
  bool in_sequence;
  std::shared_ptr<const Reference> order;
};

namespace {

bool same(const std::optional<Exprs>& a, const std::optional<Exprs>& b) {
  return a && b ? same_nodes(*a, *b) : !a && !b;
}

bool same(const Argument& a, const Argument& b) {
  return a.name == b.name && a.type == b.type && a.is_array == b.is_array &&
         a.constant == b.constant && a.order == b.order && a.intent == b.intent &&
         same(a.shape, b.shape) && same(a.strides, b.strides) && a.offset.same_as(b.offset);
}

bool same(const Temporary& a, const Temporary& b) {
  if (&a == &b) return true;
  return a.name == b.name && a.type == b.type && a.space == b.space && a.order == b.order &&
         a.read_only == b.read_only && a.initializer == b.initializer &&
         a.base_storage == b.base_storage && same(a.shape, b.shape) && same(a.strides, b.strides);
}

bool same(const Rule& a, const Rule& b) {
  return &a == &b || (a.body.same_as(b.body) && a.name == b.name && a.params == b.params);
}

bool same(const Claim& a, const Claim& b) {
  return a.kind == b.kind && a.names == b.names && a.inside == b.inside;
}
bool same(const Domain& a, const Domain& b) { return a.set.get() == b.set.get(); }

template <class List, class Same>
bool all_same(const Shared<List>& a, const Shared<List>& b, Same f) {
  return a.same_as(b) || std::equal(a.begin(), a.end(), b.begin(), b.end(), f);
}
template <class List, class Same>
bool all_same(const List& a, const List& b, Same f) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), f);
}

/// Whether all that determines the tree, the accesses and the private copies is the same.
bool same(const Kernel& a, const Kernel& b) {
  const auto alike = [](const auto& x, const auto& y) { return same(x, y); };
  return a.instructions == b.instructions && a.reference == b.reference &&
         a.index_type == b.index_type && a.assumptions.get() == b.assumptions.get() &&
         a.iname_tags == b.iname_tags && a.loop_order == b.loop_order &&
         a.priorities == b.priorities && all_same(a.domains, b.domains, alike) &&
         all_same(a.args, b.args, alike) && all_same(a.rules, b.rules, alike) &&
         all_same(a.claims, b.claims, alike) && a.records == b.records &&
         a.externals == b.externals && a.callees == b.callees &&
         all_same(a.temporaries, b.temporaries,
                  [](const auto& x, const auto& y) { return same(x.second, y.second); });
}

std::shared_ptr<const Reference> find(const Kernel& k, bool in_sequence) {
  const auto& all = memo().orders;
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& o) {
    return o->in_sequence == in_sequence && same(o->kernel, k);
  });
  return it == all.end() ? nullptr : (*it)->order;
}

template <class Make>
std::shared_ptr<const Reference> remembered(const Kernel& k, bool in_sequence, Make make) {
  constexpr std::size_t kMost = 8;
  if (auto known = find(k, in_sequence)) return known;
  auto order = std::make_shared<const Reference>(make());
  Kernel key = k;
  key.trace = {};
  auto& all = memo().orders;
  all.push_front(std::make_shared<const Ordered>(Ordered{std::move(key), in_sequence, order}));
  if (all.size() > kMost) all.pop_back();
  return order;
}

}  // namespace

std::shared_ptr<const Reference> ordered(const Kernel& k) {
  return remembered(k, false, [&] { return nest(k); });
}

std::shared_ptr<const RunOrder> order_of(const Kernel& k) {
  const std::shared_ptr<const Reference> known = ordered(k);
  return {known, &known->order};
}

std::shared_ptr<const Reference> reference_of(const Kernel& k) {
  if (k.reference) return k.reference;
  const bool plain = std::none_of(k.iname_tags.begin(), k.iname_tags.end(),
                                  [](const auto& t) { return spreads(&t.second); });
  if (plain) return ordered(k);
  return remembered(k, true, [&] { return nest_in_sequence(k); });
}

}  // namespace moonloop
