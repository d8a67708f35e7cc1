#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace moonloop {

/// Numbers by names that the caller keeps: the characters have to outlive it. A table without an
/// allocation for each name, for indices that are rebuilt often.
class NameIndex {
 public:
  static constexpr int kNone = -1;
  static std::size_t hash_of(std::string_view name) { return std::hash<std::string_view>{}(name); }

  NameIndex() = default;
  /// `expected`: how many names there will be, about.
  explicit NameIndex(std::size_t expected) { resize(2 * expected); }

  /// The number of `name`, which gets `number` unless it has one.
  int add(std::string_view name, int number) { return add(name, hash_of(name), number); }
  int add(std::string_view name, std::size_t hash, int number) {
    if (2 * (taken_ + 1) > slots_.size()) resize(2 * slots_.size());
    Slot& s = slots_[place(name, hash)];
    if (s.number != kNone) return s.number;
    ++taken_;
    s = {name, hash, number};
    return number;
  }
  /// kNone where it has no number.
  int find(std::string_view name) const { return find(name, hash_of(name)); }
  int find(std::string_view name, std::size_t hash) const {
    return slots_.empty() ? kNone : slots_[place(name, hash)].number;
  }
  bool contains(std::string_view name) const { return find(name) != kNone; }

 private:
  struct Slot {
    std::string_view name;
    std::size_t hash = 0;
    int number = kNone;
  };

  /// The slot that holds `name`, or that would.
  std::size_t place(std::string_view name, std::size_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& s = slots_[i];
      if (s.number == kNone || (s.hash == hash && s.name == name)) return i;
    }
  }
  void resize(std::size_t wanted) {
    std::size_t size = 8;
    while (size < wanted) size *= 2;
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.number != kNone) slots_[place(s.name, s.hash)] = s;
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  std::size_t taken_ = 0;
};

}  // namespace moonloop
