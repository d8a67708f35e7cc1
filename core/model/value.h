#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace moonloop {

/// An argument of a transform as the script gave it, like a Lua value. Transforms decode it through
/// the registry's table; a kernel's trace keeps it, so that the step can be replayed.
struct Value;
struct NamedValue;
using ValueList = std::vector<Value>;
using ValueDict = std::vector<NamedValue>;  // in sorted key order

struct Value {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, ValueList, ValueDict> v;

  bool is_nil() const { return v.index() == 0; }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&v);
  }
};

/// A pair whose type may be incomplete inside of Value, which std::pair's may not.
struct NamedValue {
  std::string first;
  Value second;
  NamedValue(std::string name, Value value) : first(std::move(name)), second(std::move(value)) {}
};

/// The value as a Lua expression: `{"a", "b"}`, `{outer_tag = "g.0"}`, `nil`.
std::string to_lua(const Value& v);

}  // namespace moonloop
