#include "core/sets/compose.h"

#include <algorithm>

namespace moonloop {
namespace {

/// Systems with no more integers that exist take about as long as isl counts.
constexpr double kFew = 12;

/// The most integers that exist in a part.
double integers_in(const Map& m) {
  int most = 0;
  const auto look = [](isl_basic_map* part, void* to) {
    int& all = *static_cast<int*>(to);
    all = std::max(all, static_cast<int>(isl_basic_map_dim(part, isl_dim_div)));
    isl_basic_map_free(part);
    return isl_stat_ok;
  };
  check(isl_map_foreach_basic_map(m.get(), look, &most));
  return most;
}

}  // namespace

Map compose(Map first, Map second) {
  const double integers = integers_in(first) + integers_in(second);
  if (integers > kFew) {
    const double parts = double(count(isl_map_n_basic_map(first.get()))) *
                         double(count(isl_map_n_basic_map(second.get())));
    for (double left = parts * integers * integers * integers; left > 0; --left)
      const Val operation = isl_val_one(isl());  // throws at the budget's end
  }
  return isl_map_apply_range(first.take(), second.take());
}

}  // namespace moonloop
