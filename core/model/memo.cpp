#include "core/model/memo.h"

#include <fmt/format.h>

#include <cstring>

#include "core/sets/linear_proof.h"

namespace moonloop {

namespace {

std::string name_of(const void* address) {
  std::string out(1 + sizeof address, '@');
  std::memcpy(out.data() + 1, &address, sizeof address);
  return out;
}

}  // namespace

const isl_set* Memo::hold(const Set& s) {
  held_.emplace(s.get(), s);
  return s.get();
}

std::string Memo::name(const Set& s) { return name_of(hold(s)); }

std::string Memo::name(const Map& m) {
  held_maps_.emplace(m.get(), m);
  return name_of(m.get());
}

std::size_t Memo::shape(const Set& s) {
  const auto known = shapes_.find(s.get());
  if (known != shapes_.end()) return known->second;
  held_.emplace(s.get(), s);
  return shapes_[s.get()] = shape_of_new(s);
}

std::size_t Memo::shape(const Map& m) {
  if (const auto known = map_shapes_.find(m.get()); known != map_shapes_.end())
    return known->second;
  const std::size_t shape = shape_of_new(isl_set_flatten(isl_map_wrap(m.copy())));
  if (holds(m)) map_shapes_.emplace(m.get(), shape);
  return shape;
}

std::size_t Memo::shape_of_new(const Set& s) {
  Set plain = s;
  for (int d = 0; d < count(isl_set_dim(s.get(), isl_dim_set)); ++d)
    plain =
        isl_set_set_dim_name(plain.take(), isl_dim_set, unsigned(d), fmt::format("d{}", d).c_str());
  const std::uint32_t hash = isl_set_get_hash(plain.get());
  const auto [first, last] = distinct_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (yes(isl_set_plain_is_equal(it->second.first.get(), plain.get()))) return it->second.second;
  const std::size_t number = distinct_.size();
  distinct_.emplace(hash, std::pair(plain, number));
  return number;
}

std::shared_ptr<const LinearRows> Memo::rows_of(const Set& s) {
  const auto [it, fresh] = rows.try_emplace(hold(s));
  if (fresh)
    if (auto found = linear_rows(s))
      it->second = std::make_shared<const LinearRows>(std::move(*found));
  return it->second;
}

void Memo::limit() {
  constexpr std::size_t kMost = 20'000;
  if (texts.size() + made_sets_.size() + made_maps_.size() + nests.size() + proofs.size() +
          questions.size() + covered.size() + held_.size() + distinct_.size() + maps.size() +
          conditions.size() + values.size() + ranges.size() + trips.size() + footprints.size() +
          held_maps_.size() <
      kMost)
    return;
  homes.clear();
  texts.clear();
  nests.clear();
  proofs.clear();
  questions.clear();
  covered.clear();
  kept.clear();
  orders.clear();
  maps.clear();
  conditions.clear();
  values.clear();
  ranges.clear();
  trips.clear();
  made_maps_.clear();
  made_sets_.clear();
  footprints.clear();
  held_.clear();
  held_maps_.clear();
  map_shapes_.clear();
  shapes_.clear();
  distinct_.clear();
  rows.clear();
}

Memo& memo() {
  thread_local Memo m;
  return m;
}

}  // namespace moonloop
