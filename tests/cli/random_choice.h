#pragma once
#include <random>
#include <string>
#include <vector>

namespace moonloop::test {

/// What writers of random programs choose by: the same for the same seed.
class RandomChoice {
 public:
  explicit RandomChoice(unsigned seed) : random_(seed) {}

 protected:
  /// Below `n`.
  int upto(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  std::string pick(const std::vector<std::string>& of) {
    return of[static_cast<std::size_t>(upto(static_cast<int>(of.size())))];
  }

  std::mt19937 random_;
};

}  // namespace moonloop::test
