#include "codegen/plan/access_set.h"

namespace moonloop {

AccessSet::Place AccessSet::place_of(const StatementAccess& t) {
  for (std::size_t d = 0; d < t.index.size(); ++d)
    if (const auto n = as_int(t.index[d])) return {static_cast<int>(d), *n};
  return {-1, 0};
}

void AccessSet::add(const StatementAccess& t) {
  if (!known_.insert(&t).second) return;
  all_.push_back(&t);
  const Place p = place_of(t);
  places_[t.variable][p.first][p.second].push_back(&t);
}

void AccessSet::add(const AccessSet& all) {
  for (const StatementAccess* t : all.all_) add(*t);
}

void AccessSet::clear() { *this = AccessSet(); }

}  // namespace moonloop
