#include "cost/choose.h"

#include <algorithm>
#include <map>

namespace moonloop::cost {
namespace {

class Search {
 public:
  explicit Search(const std::function<std::size_t(std::int64_t)>& choice) : choice_(choice) {}

  std::size_t at(std::int64_t value) {
    const auto it = known_.find(value);
    return it != known_.end() ? it->second : known_[value] = choice_(value);
  }

  void between(std::int64_t low, std::int64_t high, bool look_inside, std::vector<Crossover>& out) {
    if (high - low < 1) return;
    if (high - low == 1) {
      if (at(low) != at(high)) out.push_back({high, at(low), at(high)});
      return;
    }
    const std::int64_t middle = low + (high - low) / 2;
    if (at(low) == at(high) && !(look_inside && at(middle) != at(low))) return;
    between(low, middle, false, out);
    between(middle, high, false, out);
  }

 private:
  const std::function<std::size_t(std::int64_t)>& choice_;
  std::map<std::int64_t, std::size_t> known_;
};

}  // namespace

std::size_t fastest(const std::vector<double>& seconds) {
  return static_cast<std::size_t>(std::min_element(seconds.begin(), seconds.end()) -
                                  seconds.begin());
}

std::vector<Crossover> crossovers(std::int64_t first, std::int64_t last,
                                  const std::function<std::size_t(std::int64_t)>& choice) {
  std::vector<Crossover> out;
  Search search(choice);
  for (std::int64_t low = first; low < last;) {
    const std::int64_t high = low > last / 2 ? last : std::max(2 * low, low + 1);
    search.between(low, high, true, out);
    low = high;
  }
  return out;
}

}  // namespace moonloop::cost
