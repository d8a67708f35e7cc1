#pragma once
#include <stdexcept>
#include <type_traits>

#include "core/diagnostic.h"
#include "core/interpreter_nodes.h"

/// Dispatch from scalar types to C++ types, for the files that build the interpreter's nodes.
namespace moonloop::interp {

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

/// A node whose value `f` computes.
template <class F>
struct IntFn final : IntNode {
  F f;
  explicit IntFn(F g) : f(std::move(g)) {}
  std::int64_t get() const override { return f(); }
};
template <class F>
struct RealFn final : RealNode {
  F f;
  explicit RealFn(F g) : f(std::move(g)) {}
  double get() const override { return f(); }
};
template <class F>
struct ComplexFn final : ComplexNode {
  F f;
  explicit ComplexFn(F g) : f(std::move(g)) {}
  Complex get() const override { return f(); }
};

template <class F>
Value int_value(const Type& t, F f) {
  Value v;
  v.type = t;
  v.i = std::make_unique<IntFn<F>>(std::move(f));
  return v;
}
template <class F>
Value real_value(const Type& t, F f) {
  Value v;
  v.type = t;
  v.r = std::make_unique<RealFn<F>>(std::move(f));
  return v;
}
template <class F>
Value complex_value(const Type& t, F f) {
  Value v;
  v.type = t;
  v.c = std::make_unique<ComplexFn<F>>(std::move(f));
  return v;
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
