#pragma once
#include <algorithm>
#include <map>
#include <string>

#include "cost/predict.h"

/// Times of parts of a kernel put together.
namespace moonloop::cost {

/// What a part of a kernel needs of each thing that can bound it.
class Needs {
 public:
  void add(const std::string& name, double seconds, double amount = 0,
           const std::string& unit = "") {
    if (seconds <= 0) return;
    Bound& b = all_[name];
    b.name = name;
    b.seconds += seconds;
    b.amount += amount;
    b.unit = unit;
  }
  const std::map<std::string, Bound>& all() const { return all_; }

 private:
  std::map<std::string, Bound> all_;
};

/// Collects the bounds of a prediction.
class Totals {
 public:
  /// A part whose needs are served at the same time: the longest one binds.
  /// \return its seconds
  double overlapped(const Needs& needs) {
    const Bound* longest = nullptr;
    for (const auto& [name, b] : needs.all()) {
      plus(b);
      if (!longest || b.seconds > longest->seconds) longest = &b;
    }
    if (!longest) return 0;
    bounds_[longest->name].binding += longest->seconds;
    return longest->seconds;
  }
  /// A part that nothing else is done during.
  void alone(const std::string& name, double seconds, double amount = 0) {
    if (seconds <= 0) return;
    plus({name, seconds, 0, amount, ""});
    bounds_[name].binding += seconds;
  }

  /// The longest first.
  void write(Prediction& to) const {
    for (const auto& [name, b] : bounds_) {
      to.seconds += b.binding;
      to.bounds.push_back(b);
    }
    std::stable_sort(to.bounds.begin(), to.bounds.end(), [](const Bound& a, const Bound& b) {
      return a.binding != b.binding ? a.binding > b.binding : a.seconds > b.seconds;
    });
  }

 private:
  void plus(const Bound& b) {
    Bound& to = bounds_[b.name];
    to.name = b.name;
    to.seconds += b.seconds;
    to.amount += b.amount;
    to.unit = b.unit;
  }
  std::map<std::string, Bound> bounds_;
};

}  // namespace moonloop::cost
