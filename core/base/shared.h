#pragma once
#include <memory>
#include <utility>

namespace moonloop {

/// What was found out about an object, kept with it. A copy, which may become another object,
/// begins without.
template <class T>
class KeptWith {
 public:
  KeptWith() = default;
  KeptWith(const KeptWith&) {}
  KeptWith& operator=(const KeptWith&) {
    value_ = nullptr;
    return *this;
  }
  ~KeptWith() = default;
  const std::shared_ptr<const T>& get() const { return value_; }
  void set(std::shared_ptr<const T> value) const { value_ = std::move(value); }

 private:
  mutable std::shared_ptr<const T> value_;
};

/// A list that the copies of what it is part of have in common until one of them changes it: then
/// that one gets its own. Whoever asks an object that is not const is taken to change it. A
/// reference that such an object gave is good for writing until the object is copied.
template <class List>
class Shared {
 public:
  Shared() = default;
  Shared(List list) : list_(std::make_shared<List>(std::move(list))) {}  // NOLINT: a list is one
  operator const List&() const { return get(); }                         // NOLINT

  auto begin() const { return get().begin(); }
  auto end() const { return get().end(); }
  auto begin() { return own().begin(); }
  auto end() { return own().end(); }
  auto size() const { return get().size(); }
  bool empty() const { return get().empty(); }
  auto data() const { return get().data(); }
  decltype(auto) front() const { return get().front(); }
  decltype(auto) back() const { return get().back(); }
  decltype(auto) back() { return own().back(); }

  template <class Key>
  decltype(auto) operator[](const Key& key) const {
    return get()[key];
  }
  template <class Key>
  decltype(auto) operator[](const Key& key) {
    return own()[key];
  }
  template <class Key>
  decltype(auto) at(const Key& key) const {
    return get().at(key);
  }
  template <class Key>
  decltype(auto) at(const Key& key) {
    return own().at(key);
  }
  template <class Key>
  auto find(const Key& key) const {
    return get().find(key);
  }
  template <class Key>
  bool contains(const Key& key) const {
    return get().contains(key);
  }

  template <class T>
  void push_back(T&& value) {
    own().push_back(std::forward<T>(value));
  }
  template <class... Args>
  auto emplace(Args&&... args) {
    return own().emplace(std::forward<Args>(args)...);
  }
  template <class... Args>
  auto try_emplace(Args&&... args) {
    return own().try_emplace(std::forward<Args>(args)...);
  }
  template <class... Args>
  auto insert_or_assign(Args&&... args) {
    return own().insert_or_assign(std::forward<Args>(args)...);
  }
  template <class Key>
  void erase(const Key& key) {
    own().erase(key);
  }
  void clear() { list_ = nullptr; }
  template <class Test>
  friend void erase_if(Shared& list, Test test) {
    std::erase_if(list.own(), test);
  }

  /// Whether the two are one list; others may be equal too.
  bool same_as(const Shared& o) const { return list_ == o.list_; }
  bool operator==(const Shared& o) const { return same_as(o) || get() == o.get(); }
  bool operator==(const List& o) const { return get() == o; }

 private:
  const List& get() const {
    static const List none;
    return list_ ? *list_ : none;
  }
  List& own() {
    if (!list_)
      list_ = std::make_shared<List>();
    else if (list_.use_count() > 1)
      list_ = std::make_shared<List>(*list_);
    return *list_;
  }

  std::shared_ptr<List> list_;  // null: empty
};

}  // namespace moonloop
