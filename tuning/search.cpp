#include "tuning/search.h"

#include <algorithm>
#include <cmath>

namespace moonloop::tuning {
namespace {

constexpr std::size_t kParents = 6;  // of which the next combinations are made
constexpr int kPatience = 50;        // proposals in vain before a branch is taken

std::string key_of(const KnobValues& values) {
  std::string out;
  for (const auto& [name, value] : values) out += name + "=" + to_lua(value) + "\n";
  return out;
}

}  // namespace

KnobValues values_of(const std::vector<Choice>& knobs) {
  KnobValues out;
  for (const Choice& k : knobs) out[k.name] = k.chosen;
  return out;
}

std::optional<KnobValues> Search::next() {
  looking_ = false;
  if (measured_ + turns_ >= most_) return std::nullopt;
  if (!begun_) {
    begun_ = true;
    fixed_ = 0;
    return KnobValues{};
  }
  if (guided_ && looks_ > 0) {
    if (auto values = to_look_at()) {
      looking_ = true;
      return values;
    }
    looks_ = 0;
    std::stable_sort(ranked_.begin(), ranked_.end(),
                     [](const Looked& a, const Looked& b) { return a.predicted < b.predicted; });
    if (!ranked_.empty()) first_changes_ = 0;
  }
  if (!ranked_.empty() && from_ranked_ < std::max<std::size_t>(most_ / 2, 1)) {
    ++from_ranked_;
    KnobValues values = std::move(ranked_.front().values);
    ranked_.pop_front();
    fixed_.reset();
    return values;
  }
  if (open_.empty()) return std::nullopt;
  if (guided_ && first_changes_ == 0)
    if (auto values = evolved()) {
      fixed_.reset();
      return values;
    }
  if (first_changes_ > 0) --first_changes_;
  return from_branch();
}

/// Changes of the defaults, at most for half of the looks, then values of which each is a random
/// one; nothing when there were `looks_`, or all of them seem to be known.
std::optional<KnobValues> Search::to_look_at() {
  if (looked_ >= looks_) return std::nullopt;
  if (looked_first_ < std::min(first_changes_, looks_ / 2)) return open_[looked_first_++].values;
  for (int i = 0; i < kPatience && !shapes_.empty(); ++i) {
    KnobValues values;
    for (const Choice& k : shapes_[below(shapes_.size())])
      values[k.name] = k.values[below(k.values.size())];
    const std::string key = key_of(values);
    if (seen_.count(key) == 0 && looked_at_.insert(key).second) return values;
  }
  return std::nullopt;
}

void Search::looked(const std::vector<Choice>& knobs, std::optional<double> predicted) {
  ++looked_;
  const KnobValues values = values_of(knobs);
  const bool fresh = std::none_of(ranked_.begin(), ranked_.end(), [&](const Looked& l) {
    return key_of(l.values) == key_of(values);
  });
  if (!predicted || !fresh) return;
  looked_at_.insert(key_of(values));
  ranked_.push_back({values, *predicted});
  shapes_.push_back(knobs);
}

KnobValues Search::from_branch() {
  Branch b = std::move(open_.front());
  open_.pop_front();
  fixed_ = b.fixed;
  return std::move(b.values);
}

bool Search::declared(const std::vector<Choice>& knobs) {
  const bool defaults = seen_.empty();
  if (fixed_) {
    KnobValues before;
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      if (i >= *fixed_)
        for (const Value& v : knobs[i].values) {
          if (same_knob_value(v, knobs[i].chosen)) continue;
          open_.push_back({before, i + 1});
          open_.back().values[knobs[i].name] = v;
        }
      before[knobs[i].name] = knobs[i].chosen;
    }
  }
  guided_ = guided_ || measured_ + turns_ + 1 + open_.size() > most_;
  if (defaults) first_changes_ = std::min(open_.size(), most_ / 2);
  current_ = knobs;
  const bool fresh = seen_.insert(key_of(values_of(knobs))).second;
  in_vain_ = fresh ? 0 : in_vain_ + 1;
  if (fresh && looks_ > 0) shapes_.push_back(knobs);
  if (fresh) ++turns_;
  return fresh;
}

void Search::measured(const std::vector<Choice>& knobs, double cost) {
  --turns_;
  ++measured_;
  if (!std::isfinite(cost)) return;
  const auto at = std::upper_bound(best_.begin(), best_.end(), cost,
                                   [](double c, const Known& k) { return c < k.cost; });
  best_.insert(at, {knobs, cost});
}

std::size_t Search::expected() const { return std::min(most_, measured_ + turns_ + open_.size()); }

const Search::Known& Search::one_of_the_best() {
  const std::size_t n = std::min(best_.size(), kParents);
  return best_[std::min(below(n), below(n))];  // the better, the more often
}

/// Half of the time a neighbour in the list.
const Value& Search::other_value(const Choice& knob) {
  const std::size_t n = knob.values.size();
  const auto is_chosen = [&](const Value& v) { return same_knob_value(v, knob.chosen); };
  const auto at = static_cast<std::size_t>(
      std::find_if(knob.values.begin(), knob.values.end(), is_chosen) - knob.values.begin());
  if (below(2) == 0) {
    if (at == 0) return knob.values[1];
    return at + 1 < n && below(2) == 0 ? knob.values[at + 1] : knob.values[at - 1];
  }
  return knob.values[(at + 1 + below(n - 1)) % n];
}

/// Nothing where what the best ones lead to is known.
std::optional<KnobValues> Search::evolved() {
  if (best_.empty()) return std::nullopt;
  for (; in_vain_ < kPatience; ++in_vain_) {
    const Known& parent = one_of_the_best();
    KnobValues values = values_of(parent.knobs);
    if (below(3) == 0)
      for (const Choice& k : one_of_the_best().knobs)
        if (below(2) == 0) values[k.name] = k.chosen;
    std::vector<const Choice*> open;
    for (const Choice& k : parent.knobs)
      if (k.values.size() > 1) open.push_back(&k);
    for (std::size_t n = open.empty() ? 0 : 1 + below(2); n > 0; --n) {
      const Choice& k = *open[below(open.size())];
      values[k.name] = other_value(k);
    }
    if (seen_.count(key_of(values)) == 0) return values;
  }
  in_vain_ = 0;
  return std::nullopt;
}

}  // namespace moonloop::tuning
