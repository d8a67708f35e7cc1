#pragma once
#include <compare>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace moonloop {

/// Results computed about an object, kept with it. A copy, which may become another object, begins
/// without them.
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

/// Walks over items that copies of a container have in common (`Items`: a container of pointers to
/// them, const or not). An item that is reached through a container that is not const is taken to
/// change: then the container gets its own.
template <class Items>
class SharedWalk {
  static constexpr bool kConst = std::is_const_v<Items>;
  using Base = decltype(std::declval<Items&>().begin());

 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = typename Items::value_type::element_type;
  using difference_type = std::ptrdiff_t;
  using reference = std::conditional_t<kConst, const value_type&, value_type&>;
  using pointer = std::remove_reference_t<reference>*;

  SharedWalk() = default;
  explicit SharedWalk(Base at) : at_(at) {}
  template <class Other>
  requires(kConst && !std::is_const_v<Other>) SharedWalk(const SharedWalk<Other>& other)
      : at_(other.base()) {}  // NOLINT: as of any container
  Base base() const { return at_; }

  reference operator*() const {
    if constexpr (!kConst)
      if (at_->use_count() > 1) *at_ = std::make_shared<value_type>(**at_);
    return **at_;
  }
  pointer operator->() const { return &**this; }
  reference operator[](difference_type n) const { return *(*this + n); }
  SharedWalk& operator++() { return ++at_, *this; }
  SharedWalk operator++(int) { return SharedWalk(at_++); }
  SharedWalk& operator--() { return --at_, *this; }
  SharedWalk operator--(int) { return SharedWalk(at_--); }
  SharedWalk& operator+=(difference_type n) { return at_ += n, *this; }
  SharedWalk& operator-=(difference_type n) { return at_ -= n, *this; }
  friend SharedWalk operator+(SharedWalk a, difference_type n) { return a += n; }
  friend SharedWalk operator+(difference_type n, SharedWalk a) { return a += n; }
  friend SharedWalk operator-(SharedWalk a, difference_type n) { return a -= n; }
  friend difference_type operator-(const SharedWalk& a, const SharedWalk& b) {
    return a.at_ - b.at_;
  }
  friend bool operator==(const SharedWalk& a, const SharedWalk& b) { return a.at_ == b.at_; }
  friend auto operator<=>(const SharedWalk& a, const SharedWalk& b) { return a.at_ <=> b.at_; }

 private:
  Base at_;
};

/// A list whose copies share their items until one of them changes an item; that copy then gets its
/// own.
template <class T>
class SharedItems {
  using Items = std::vector<std::shared_ptr<T>>;

 public:
  using value_type = T;
  using iterator = SharedWalk<Items>;
  using const_iterator = SharedWalk<const Items>;

  SharedItems() = default;
  SharedItems(std::initializer_list<T> items) {
    for (const T& x : items) push_back(x);
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  iterator begin() { return iterator(items_.begin()); }
  iterator end() { return iterator(items_.end()); }
  const_iterator begin() const { return const_iterator(items_.begin()); }
  const_iterator end() const { return const_iterator(items_.end()); }
  T& operator[](std::size_t i) { return begin()[std::ptrdiff_t(i)]; }
  const T& operator[](std::size_t i) const { return *items_[i]; }
  const T& front() const { return *items_.front(); }
  const T& back() const { return *items_.back(); }
  T& back() { return end()[-1]; }
  void push_back(T item) { items_.push_back(std::make_shared<T>(std::move(item))); }
  /// Adds an item of another list, shared with it.
  void push_back(const_iterator item) { items_.push_back(*item.base()); }
  void reserve(std::size_t size) { items_.reserve(size); }
  void clear() { items_.clear(); }
  template <class Test>
  friend std::size_t erase_if(SharedItems& list, Test test) {
    return std::erase_if(list.items_,
                         [&](const std::shared_ptr<T>& x) { return test(std::as_const(*x)); });
  }

 private:
  Items items_;
};

/// A list shared by the copies of the object that it is part of, until one of them changes it; that
/// copy then gets its own. Any access through an object that is not const counts as a change. A
/// reference from such an object may be written through until the object is copied.
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
    using std::erase_if;
    erase_if(list.own(), test);
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
