#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/shared.h"

namespace moonloop {

/// A map from names that is walked in the order of insertion: large kernels have thousands of
/// variables, and walks in the order of names would jump about in memory. Copies share their
/// elements until one of them changes an element; that copy then gets its own. Any access through a
/// map that is not const counts as a change. Look-up: constant time, also of a string_view.
template <class T>
class NameMap {
 public:
  using value_type = std::pair<const std::string, T>;

 private:
  using Item = std::shared_ptr<value_type>;

 public:
  using iterator = SharedWalk<std::deque<Item>>;
  using const_iterator = SharedWalk<const std::deque<Item>>;

  NameMap() = default;
  NameMap(const NameMap&) = default;
  NameMap(NameMap&& o) noexcept { swap(o); }
  NameMap& operator=(NameMap o) noexcept {
    swap(o);
    return *this;
  }
  ~NameMap() = default;

  iterator begin() { return iterator(items_.begin()); }
  iterator end() { return iterator(items_.end()); }
  const_iterator begin() const { return const_iterator(items_.begin()); }
  const_iterator end() const { return const_iterator(items_.end()); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }

  iterator find(std::string_view name) {
    const Number n = *slot(slots_, name);
    return n == kFree ? end() : iterator(items_.begin() + (n - first_));
  }
  const_iterator find(std::string_view name) const {
    const Number n = *slot(slots_, name);
    return n == kFree ? end() : const_iterator(items_.begin() + (n - first_));
  }
  bool contains(std::string_view name) const { return find(name) != end(); }
  T& at(std::string_view name) { return find_in(*this, name)->second; }
  const T& at(std::string_view name) const { return find_in(*this, name)->second; }
  T& operator[](const std::string& name) { return try_emplace(name).first->second; }

  /// Adds an element unless there is one of that name; the element, and whether it is new.
  template <class... Args>
  std::pair<iterator, bool> try_emplace(std::string name, Args&&... args) {
    if (const auto it = find(name); it != end()) return {it, false};
    const auto at = static_cast<std::ptrdiff_t>(items_.size());
    items_.push_back(std::make_shared<value_type>(
        std::piecewise_construct, std::forward_as_tuple(std::move(name)),
        std::forward_as_tuple(std::forward<Args>(args)...)));
    if (2 * items_.size() > slots_.size()) {
      rebuild();
    } else {
      *slot(slots_, items_.back()->first) = first_ + static_cast<Number>(at);
    }
    return {iterator(items_.begin() + at), true};
  }
  template <class V>
  std::pair<iterator, bool> emplace(std::string name, V&& value) {
    return try_emplace(std::move(name), std::forward<V>(value));
  }
  /// Linear in the number of elements before it, or after it where these are fewer.
  void erase(std::string_view name) {
    const auto found = slot(slots_, name);
    if (*found == kFree) return;
    const auto at = static_cast<std::size_t>(*found - first_);
    const bool forward =
        at < items_.size() / 2;  // whether the ones before it move, or the ones after it
    free_slot(static_cast<std::size_t>(found - slots_.begin()));
    for (std::size_t i = at; forward ? i > 0 : i + 1 < items_.size(); forward ? --i : ++i) {
      Item& from = items_[forward ? i - 1 : i + 1];
      *slot(slots_, from->first) += forward ? 1 : -1;
      items_[i] = std::move(from);
    }
    if (forward)
      items_.pop_front(), ++first_;
    else
      items_.pop_back();
  }

 private:
  using Number = std::int32_t;
  static constexpr Number kFree = -1;

  template <class Map>
  static auto find_in(Map& map, std::string_view name) {
    const auto it = map.find(name);
    if (it == map.end()) throw std::out_of_range("no `" + std::string(name) + "`");
    return it;
  }
  void swap(NameMap& o) noexcept {
    std::swap(first_, o.first_);
    items_.swap(o.items_);
    slots_.swap(o.slots_);
  }

  /// The slot that holds the number of the element of that name, or that would.
  template <class Slots>
  auto slot(Slots& slots, std::string_view name) const {
    const std::size_t mask = slots.size() - 1;  // a power of two, at most half of them taken
    for (std::size_t i = std::hash<std::string_view>{}(name)&mask;; i = (i + 1) & mask)
      if (slots[i] == kFree || name_at(slots[i]) == name)
        return slots.begin() + static_cast<std::ptrdiff_t>(i);
  }
  const std::string& name_at(Number n) const {
    return items_[static_cast<std::size_t>(n - first_)]->first;
  }
  /// Fills the gap with later ones that belong there.
  void free_slot(std::size_t gap) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = (gap + 1) & mask; slots_[i] != kFree; i = (i + 1) & mask) {
      const std::size_t home = std::hash<std::string_view>{}(name_at(slots_[i])) & mask;
      if (((i - home) & mask) < ((i - gap) & mask)) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap] = kFree;
  }
  void rebuild() {
    first_ = 0;
    std::size_t size = 8;
    while (size < 4 * items_.size()) size *= 2;
    slots_.assign(size, kFree);
    for (std::size_t n = 0; n < items_.size(); ++n)
      *slot(slots_, items_[n]->first) = static_cast<Number>(n);
  }

  std::deque<Item> items_;
  Number first_ = 0;                                           // the number of the first element
  std::vector<Number> slots_ = std::vector<Number>(8, kFree);  // numbers of elements, by hash
};

}  // namespace moonloop
