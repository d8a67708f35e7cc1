#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace moonloop::differential {

/// Random numbers that are the same on every machine (Vigna's xorshift64*).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {
    for (int i = 0; i < 4; ++i) next();
  }
  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  int below(int n) { return static_cast<int>((next() >> 33) % static_cast<std::uint64_t>(n)); }
  int between(int from, int to) { return from + below(to - from + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& all) {
    return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }
  std::string pick(std::initializer_list<const char*> all) {
    return *(all.begin() + below(static_cast<int>(all.size())));
  }

 private:
  std::uint64_t state_;
};

}  // namespace moonloop::differential
