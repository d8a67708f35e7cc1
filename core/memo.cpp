#include "core/memo.h"

#include <fmt/format.h>

#include <cstring>

namespace moonloop {

std::string Memo::name(const Set& s) {
  held_.emplace(s.get(), s);
  const isl_set* const address = s.get();
  std::string out(1 + sizeof address, '@');
  std::memcpy(out.data() + 1, &address, sizeof address);
  return out;
}

std::size_t Memo::shape(const Set& s) {
  const auto known = shapes_.find(s.get());
  if (known != shapes_.end()) return known->second;
  held_.emplace(s.get(), s);
  return shapes_[s.get()] = shape_of_new(s);
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

void Memo::limit() {
  constexpr std::size_t kMost = 20'000;
  if (texts.size() + domains.size() + nests.size() + proofs.size() + covered.size() + held_.size() +
          distinct_.size() <
      kMost)
    return;
  texts.clear();
  domains.clear();
  nests.clear();
  proofs.clear();
  covered.clear();
  kept.clear();
  orders.clear();
  held_.clear();
  shapes_.clear();
  distinct_.clear();
}

Memo& memo() {
  thread_local Memo m;
  return m;
}

}  // namespace moonloop
