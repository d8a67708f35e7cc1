#include "codegen/touch_set.h"

namespace moonloop {

TouchSet::Place TouchSet::place_of(const Touch& t) {
  for (std::size_t d = 0; d < t.index.size(); ++d)
    if (const auto n = as_int(t.index[d])) return {static_cast<int>(d), *n};
  return {-1, 0};
}

void TouchSet::add(const Touch& t) {
  if (!known_.insert(&t).second) return;
  all_.push_back(&t);
  const Place p = place_of(t);
  places_[t.variable][p.first][p.second].push_back(&t);
}

void TouchSet::add(const TouchSet& all) {
  for (const Touch* t : all.all_) add(*t);
}

void TouchSet::clear() { *this = TouchSet(); }

}  // namespace moonloop
