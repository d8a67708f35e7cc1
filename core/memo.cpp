#include "core/memo.h"

#include <fmt/format.h>

namespace moonloop {

std::string Memo::name(const Set& s) {
  held_.emplace(s.get(), s);
  return fmt::format("@{}", static_cast<const void*>(s.get()));
}

void Memo::limit() {
  constexpr std::size_t kMost = 20'000;
  if (domains.size() + nests.size() + proofs.size() + covered.size() < kMost) return;
  domains.clear();
  nests.clear();
  proofs.clear();
  covered.clear();
  kept.clear();
  orders.clear();
  held_.clear();
}

Memo& memo() {
  thread_local Memo m;
  return m;
}

}  // namespace moonloop
