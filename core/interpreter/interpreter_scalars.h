#pragma once
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "core/base/diagnostic.h"
#include "core/interpreter/interpreter_nodes.h"

/// Dispatch from scalar types to C++ types, for the files that build the interpreter's nodes.
namespace moonloop::interp {

/// The number that stands at `p`, which is aligned or not.
template <class T>
T read(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// Puts `v` there, as a number of type T.
template <class T, class V>
void write(char* p, V v) {
  const T t = static_cast<T>(v);
  std::memcpy(p, &t, sizeof t);
}

/// Calls `f` with a value of the C++ type of an integer or bool.
template <class F>
auto with_int(Scalar s, F f) {
  switch (s) {
    case Scalar::Bool: return f(bool{});
    case Scalar::I8: return f(std::int8_t{});
    case Scalar::I16: return f(std::int16_t{});
    case Scalar::I32: return f(std::int32_t{});
    case Scalar::I64: return f(std::int64_t{});
    case Scalar::U8: return f(std::uint8_t{});
    case Scalar::U16: return f(std::uint16_t{});
    case Scalar::U32: return f(std::uint32_t{});
    case Scalar::U64: return f(std::uint64_t{});
    case Scalar::F16:
    case Scalar::F32:
    case Scalar::F64:
    case Scalar::C64:
    case Scalar::C128: break;
  }
  throw InternalError("interpreter: not an integer type");
}

/// Calls `f` with a float or a double: the precision of a real or complex type, for float16 the one
/// it is computed in.
template <class F>
auto with_real(Scalar s, F f) {
  if (s == Scalar::F16 || s == Scalar::F32 || s == Scalar::C64) return f(float{});
  if (s == Scalar::F64 || s == Scalar::C128) return f(double{});
  throw InternalError("interpreter: not a real type");
}

inline bool holds_int(const Type& t) {
  return !t.is_record() && (is_integer(t.scalar) || t.scalar == Scalar::Bool);
}
inline bool holds_real(const Type& t) { return !t.is_record() && is_real(t.scalar); }
inline bool holds_complex(const Type& t) { return !t.is_record() && is_complex(t.scalar); }

/// The low bits of `v` as a T, widened again.
template <class T>
std::int64_t wrapped(std::uint64_t v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != 0;
  } else {
    return static_cast<std::int64_t>(static_cast<T>(v));
  }
}

inline void set(Value& v, IntPtr p) { v.i = std::move(p); }
inline void set(Value& v, RealPtr p) { v.r = std::move(p); }
inline void set(Value& v, ComplexPtr p) { v.c = std::move(p); }
template <class Node>
Value value_of(const Type& t, std::unique_ptr<Node> p) {
  Value v;
  v.type = t;
  set(v, std::move(p));
  return v;
}

/// A node whose value `f` computes.
template <class F>
struct IntFn final : IntNode {
  F f;
  explicit IntFn(F g) : f(std::move(g)) {}
  std::int64_t get() const override { return f(); }
};
/// A number that is the same in each execution.
template <class Node, class F>
struct ExactFn final : Node {
  using Number = typename Node::Number;
  F f;
  explicit ExactFn(F g) : f(std::move(g)) {}
  Number get() const override { return f(); }
  Bounded<Number> bounded(const Accuracy&) const override { return {f(), 0}; }
};
/// f of other nodes, whose bound is rule(accuracy, result, operands with bounds …).
/// (core/interpreter/interpreter_bounds.h has the rules.)
template <class Node, class F, class Rule, class... Operands>
struct Operation final : Node {
  using Number = typename Node::Number;
  F f;
  Rule rule;
  std::tuple<std::unique_ptr<Operands>...> operands;
  Operation(F g, Rule r, std::unique_ptr<Operands>... of)
      : f(std::move(g)), rule(std::move(r)), operands(std::move(of)...) {}
  Number get() const override {
    return std::apply([&](const auto&... x) { return f(x->get()...); }, operands);
  }
  bool varies() const { return true; }  // of integers
  Bounded<Number> bounded(const Accuracy& a) const override {
    return std::apply([&](const auto&... x) { return apply(a, x->bounded(a)...); }, operands);
  }

 private:
  template <class... B>
  Bounded<Number> apply(const Accuracy& a, const B&... b) const {
    const Number v = f(b.v...);
    return {v, rule(a, v, b...)};
  }
};

template <class F>
Value int_value(const Type& t, F f) {
  return value_of<IntNode>(t, std::make_unique<IntFn<F>>(std::move(f)));
}
template <class F>
Value exact_real(const Type& t, F f) {
  return value_of<RealNode>(t, std::make_unique<ExactFn<RealNode, F>>(std::move(f)));
}
template <class F>
Value exact_complex(const Type& t, F f) {
  return value_of<ComplexNode>(t, std::make_unique<ExactFn<ComplexNode, F>>(std::move(f)));
}
template <class F, class Rule, class... P>
Value real_value(const Type& t, F f, Rule rule, std::unique_ptr<P>... operands) {
  return value_of<RealNode>(t, std::make_unique<Operation<RealNode, F, Rule, P...>>(
                                   std::move(f), std::move(rule), std::move(operands)...));
}
template <class F, class Rule, class... P>
Value complex_value(const Type& t, F f, Rule rule, std::unique_ptr<P>... operands) {
  return value_of<ComplexNode>(t, std::make_unique<Operation<ComplexNode, F, Rule, P...>>(
                                      std::move(f), std::move(rule), std::move(operands)...));
}
/// An integer that is computed from numbers with bounds.
template <class F, class Rule, class... P>
Value decided_int(const Type& t, F f, Rule rule, std::unique_ptr<P>... operands) {
  return value_of<IntNode>(t, std::make_unique<Operation<IntNode, F, Rule, P...>>(
                                  std::move(f), std::move(rule), std::move(operands)...));
}

template <class R>
std::complex<R> narrow(Complex c) {
  return {static_cast<R>(c.real()), static_cast<R>(c.imag())};
}
template <class R>
Complex widen(std::complex<R> c) {
  return {static_cast<double>(c.real()), static_cast<double>(c.imag())};
}

}  // namespace moonloop::interp
