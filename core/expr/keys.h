#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/expr/expr.h"

/// Keys of tables that consist of several parts: structs whose `fields()` ties all of these, which
/// are compared and hashed one by one.
namespace moonloop {

/// An expression as a part of a key. Equal: of the same structure, wherever they were written.
struct ExprKey {
  Expr e;
  friend bool operator==(const ExprKey& a, const ExprKey& b) { return equal(a.e, b.e); }
};
inline std::vector<ExprKey> keys_of(const Exprs& all) {
  std::vector<ExprKey> out;
  out.reserve(all.size());
  for (const Expr& e : all) out.push_back({e});
  return out;
}

template <class T>
concept HasFields = requires(const T& key) {
  key.fields();
};

/// The hash of all that a key consists of.
class FieldHash {
 public:
  std::size_t value() const { return h_; }

  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>
  void add(const T& x) { mix(std::hash<T>{}(x)); }
  void add(const std::string& x) { mix(std::hash<std::string>{}(x)); }
  void add(const ExprKey& x) { mix(hash(x.e)); }
  template <HasFields T>
  void add(const T& x) {
    add(x.fields());
  }
  template <class... T>
  void add(const std::tuple<T...>& all) {
    std::apply([&](const auto&... x) { (add(x), ...); }, all);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& x) {
    add(x.first), add(x.second);
  }
  template <class T>
  void add(const std::optional<T>& x) {
    add(x.has_value());
    if (x) add(*x);
  }
  template <class... T>
  void add(const std::variant<T...>& x) {
    add(x.index());
    std::visit([&](const auto& v) { add(v); }, x);
  }
  template <class T>
  void add(const std::vector<T>& all) {
    add(all.size());
    for (const T& x : all) add(x);
  }
  template <class T, std::size_t n>
  void add(const std::array<T, n>& all) {
    for (const T& x : all) add(x);
  }

 private:
  void mix(std::size_t v) { h_ ^= v + 0x9e3779b97f4a7c15U + (h_ << 6) + (h_ >> 2); }

  std::size_t h_ = 0;
};

struct KeyHash {
  template <HasFields T>
  std::size_t operator()(const T& key) const {
    FieldHash h;
    h.add(key);
    return h.value();
  }
};

}  // namespace moonloop
