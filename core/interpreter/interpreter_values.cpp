#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/half.h"
#include "core/infer/typing.h"
#include "core/interpreter/interpreter_bounds.h"
#include "core/interpreter/interpreter_scalars.h"

namespace moonloop::interp {

void Access::leave(const Axis& axis, std::int64_t index) const {
  throw OutOfBounds{&shown, static_cast<std::size_t>(&axis - axes.data()), index, axis.extent};
}

namespace {

/// A value as rounded to float16 for storage.
double as_half(double v) { return half_value(half_bits(v)); }

}  // namespace

Value constant(const Type& t, std::int64_t i) {
  if (holds_int(t))
    return with_int(t.scalar, [&](auto zero) {
      const std::int64_t v = wrapped<decltype(zero)>(static_cast<std::uint64_t>(i));
      return int_value(t, [v] { return v; });
    });
  if (t == Type(Scalar::F16)) return constant(t, Complex(static_cast<double>(i), 0));
  if (holds_real(t))
    return with_real(t.scalar, [&](auto zero) {
      const double v = static_cast<double>(static_cast<decltype(zero)>(i));
      return exact_real(t, [v] { return v; });
    });
  return constant(t, Complex(static_cast<double>(i), 0));
}

Value constant(const Type& t, Complex c) {
  if (holds_complex(t))
    return with_real(t.scalar, [&](auto zero) {
      const Complex v = widen(narrow<decltype(zero)>(c));
      return exact_complex(t, [v] { return v; });
    });
  if (t == Type(Scalar::F16)) return exact_real(t, [v = as_half(c.real())] { return v; });
  if (holds_real(t))
    return with_real(t.scalar, [&](auto zero) {
      const double v = static_cast<double>(static_cast<decltype(zero)>(c.real()));
      return exact_real(t, [v] { return v; });
    });
  throw InternalError("interpreter: a real constant of type " + t.str());
}

Value slot(const Type& t, const std::int64_t* at) {
  return int_value(t, [at] { return *at; });
}

namespace {

struct AddressOf final : AddressNode {
  Access access;
  explicit AddressOf(Access a) : access(std::move(a)) {}
  char* get() const override { return access.at(); }
  BoundedRecord bounded(const Accuracy& a) const override {
    return {access.bounded(a), access.shadow};
  }
};

template <class R>
Complex read_complex(const char* p) {
  return {static_cast<double>(read<R>(p)), static_cast<double>(read<R>(p + sizeof(R)))};
}

/// An element without bounds, or in a run without bounds. `at` gives its address.
template <class At>
Value load_at(const Type& t, At at) {
  if (holds_int(t))
    return with_int(t.scalar, [&](auto zero) {
      using T = decltype(zero);
      return int_value(t, [at = std::move(at)] {
        if constexpr (std::is_same_v<T, bool>) {
          return std::int64_t{read<std::uint8_t>(at()) != 0};
        } else {
          return static_cast<std::int64_t>(read<T>(at()));
        }
      });
    });
  if (t == Type(Scalar::F16))
    return exact_real(
        t, [at = std::move(at)] { return double{half_value(read<std::uint16_t>(at()))}; });
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_real(t))
      return exact_real(t, [at = std::move(at)] { return static_cast<double>(read<R>(at())); });
    return exact_complex(t, [at = std::move(at)] { return read_complex<R>(at()); });
  });
}

/// An element whose bound is in the access's shadow, or whose place varies. `read` returns the
/// number at an address.
template <class Node, class Read>
struct BoundedLoad final : Node {
  using Number = typename Node::Number;
  Access access;
  Read read;
  BoundedLoad(Access a, Read r) : access(std::move(a)), read(std::move(r)) {}
  Number get() const override { return read(access.at()); }
  bool varies() const { return true; }  // of integers
  Bounded<Number> bounded(const Accuracy& a) const override {
    const auto [p, sure] = access.bounded(a);
    return {read(p), !sure ? kUndecided : access.shadow ? access.shadow->at(p) : 0};
  }
};

template <class Node, class Read>
Value bounded_load(const Type& t, Access a, Read read) {
  return value_of<Node>(t,
                        std::make_unique<BoundedLoad<Node, Read>>(std::move(a), std::move(read)));
}

Value load_bounded(const Type& t, Access a) {
  if (holds_int(t))
    return with_int(t.scalar, [&](auto zero) {
      using T =
          std::conditional_t<std::is_same_v<decltype(zero), bool>, std::uint8_t, decltype(zero)>;
      return bounded_load<IntNode>(t, std::move(a), [](const char* p) {
        return wrapped<decltype(zero)>(static_cast<std::uint64_t>(read<T>(p)));
      });
    });
  if (t == Type(Scalar::F16))
    return bounded_load<RealNode>(
        t, std::move(a), [](const char* p) { return double{half_value(read<std::uint16_t>(p))}; });
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_real(t))
      return bounded_load<RealNode>(t, std::move(a),
                                    [](const char* p) { return static_cast<double>(read<R>(p)); });
    return bounded_load<ComplexNode>(t, std::move(a), read_complex<R>);
  });
}

/// Shares an Access between a lambda's copies; nodes are never copied after they are built.
struct Shared {
  std::shared_ptr<const Access> access;
  char* operator()() const { return access->at(); }
};
struct Fixed {
  char* p;
  char* operator()() const { return p; }
};

}  // namespace

Value load(const Type& t, Access a) {
  if (t.is_record()) {
    Value v;
    v.type = t;
    v.a = std::make_unique<AddressOf>(std::move(a));
    return v;
  }
  if (a.shadow || a.varies()) return load_bounded(t, std::move(a));
  if (a.axes.empty()) return load_at(t, Fixed{*a.data + a.offset});
  return load_at(t, Shared{std::make_shared<const Access>(std::move(a))});
}

// ---- Conversions.

namespace {

template <class T>
std::int64_t truncated(double v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v != 0;
  } else {
    if (std::isnan(v)) return 0;
    const double t = std::trunc(v);  // beyond the range is undefined; the nearest value is as good
    if (t <= static_cast<double>(std::numeric_limits<T>::min()))
      return static_cast<std::int64_t>(std::numeric_limits<T>::min());
    if (t >= static_cast<double>(std::numeric_limits<T>::max()))
      return static_cast<std::int64_t>(std::numeric_limits<T>::max());
    return static_cast<std::int64_t>(static_cast<T>(t));
  }
}

/// Whether the conversion is defined.
template <class T>
bool fits(double v) {
  const double t = std::trunc(v);  // false for a NaN, and for the first number beyond the largest
  return t >= static_cast<double>(std::numeric_limits<T>::min()) &&
         t < std::ldexp(1.0, std::numeric_limits<T>::digits);
}

/// Every value of `from` is one of `to`, in the same representation.
bool contains(Scalar to, Scalar from) {
  if (to == from || from == Scalar::Bool) return true;
  if (to == Scalar::Bool) return false;
  if (size_of(to) == 8) return true;  // the bits are the same
  if (is_unsigned(to)) return is_unsigned(from) && size_of(to) >= size_of(from);
  return is_unsigned(from) ? size_of(to) > size_of(from) : size_of(to) >= size_of(from);
}

Value to_int(Value v, const Type& to) {
  if (v.i) {
    if (contains(to.scalar, v.type.scalar)) {
      v.type = to;
      return v;
    }
    return with_int(to.scalar, [&](auto zero) {
      using T = decltype(zero);
      const std::vector<const IntNode*> parts{v.i.get()};
      return with_parts(int_value(to,
                                  [x = std::move(v.i)] {
                                    return wrapped<T>(static_cast<std::uint64_t>(x->get()));
                                  }),
                        parts, true);
    });
  }
  if (v.c && to.scalar == Scalar::Bool)
    return decided_int(
        to, [](const Complex& z) { return std::int64_t{z != Complex()}; },
        [](const Accuracy&, std::int64_t, const BoundedComplex& x) {
          return comparison_bound(x, BoundedComplex{Complex(), 0});
        },
        std::move(v.c));
  if (v.c) {
    const Type real = real_part(v.type.scalar);
    v = convert(std::move(v), real);
  }
  return with_int(to.scalar, [&](auto zero) {
    using T = decltype(zero);
    return decided_int(
        to, truncated<T>,
        [](const Accuracy&, std::int64_t z, const BoundedReal& x) {
          if (std::is_same_v<T, bool>) return x.e == 0 ? 0 : comparison_bound(x, BoundedReal{0, 0});
          if (!(x.e < kUndecided) || !fits<T>(x.v - x.e) || !fits<T>(x.v + x.e)) return kUndecided;
          if (x.e == 0) return 0.0;
          return stepped(static_cast<double>(z), static_cast<double>(truncated<T>(x.v - x.e)),
                         static_cast<double>(truncated<T>(x.v + x.e)));
        },
        std::move(v.r));
  });
}

/// The bound of an inexact operand's conversion that is not finite.
double not_finite(const BoundedReal& x) { return beyond(x.v, x); }
template <class V>
double not_finite(const Bounded<V>&) {
  return kUndecided;
}

Value to_real(Value v, const Type& to) {
  if (to == Type(Scalar::F16)) {  // rounded once
    Value exact = v.r ? std::move(v) : to_real(std::move(v), Scalar::F64);
    return real_value(to, as_half, half_bound, std::move(exact.r));
  }
  if (v.r && (v.type == to || to == Type(Scalar::F64))) {
    v.type = to;
    return v;
  }
  return with_real(to.scalar, [&](auto zero) {
    using R = decltype(zero);
    const auto rule = [](const Accuracy& a, double z, const auto& x) {
      if (x.e == 0) return 0.0;
      return std::isfinite(z) ? x.e + rounded_apart<R>(a, std::fabs(z)) : not_finite(x);
    };
    const auto cut = [](double x) { return static_cast<double>(static_cast<R>(x)); };
    if (v.r) return real_value(to, cut, rule, std::move(v.r));
    if (v.c)
      return real_value(
          to, [cut](const Complex& z) { return cut(z.real()); }, rule, std::move(v.c));
    if (v.type == Type(Scalar::U64))
      return real_value(
          to,
          [](std::int64_t x) {
            return static_cast<double>(static_cast<R>(static_cast<std::uint64_t>(x)));
          },
          rule, std::move(v.i));
    return real_value(
        to, [](std::int64_t x) { return static_cast<double>(static_cast<R>(x)); }, rule,
        std::move(v.i));
  });
}

Value to_complex(Value v, const Type& to) {
  return with_real(to.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (v.c)
      return complex_value(
          to, [](const Complex& z) { return widen(narrow<R>(z)); },
          [](const Accuracy& a, const Complex& z, const BoundedComplex& x) {
            return x.e == 0 ? 0 : checked(z, x.e + rounded_apart<R>(a, std::abs(z)), x);
          },
          std::move(v.c));
    Value re = to_real(std::move(v), Type(real_part(to.scalar)));
    return complex_value(
        to, [](double x) { return Complex(x, 0); },
        [](const Accuracy&, const Complex&, const BoundedReal& x) { return x.e; }, std::move(re.r));
  });
}

}  // namespace

Value convert(Value v, const Type& to) {
  if (v.type == to) return v;
  if (to.is_record() || v.type.is_record())
    throw InternalError("interpreter: a conversion from " + v.type.str() + " to " + to.str());
  if (holds_int(to)) return to_int(std::move(v), to);
  if (holds_real(to)) return to_real(std::move(v), to);
  return to_complex(std::move(v), to);
}

IntPtr truth(Value v) {
  if (v.type == Type(Scalar::Bool)) return std::move(v.i);
  return std::move(convert(std::move(v), Scalar::Bool).i);
}

// ---- Stores.

namespace {

template <class Get, class Put>
struct StoreAs final : Store {
  Access to;
  Get value;
  Put put;
  decltype(std::declval<Get>()()) held{};
  char* where = nullptr;
  StoreAs(Access a, Get g, Put p) : to(std::move(a)), value(std::move(g)), put(std::move(p)) {}
  void prepare() override {
    held = value();
    where = to.at();
  }
  void commit() override { put(where, held); }
};

template <class Get, class Put>
std::unique_ptr<Store> make_store(Access to, Get get, Put put) {
  return std::make_unique<StoreAs<Get, Put>>(std::move(to), std::move(get), std::move(put));
}

}  // namespace

std::unique_ptr<Store> store(Access to, const Type& t, Value value) {
  if (to.shadow) return bounded_store(std::move(to), t, std::move(value));
  if (t.is_record()) {
    const auto size = static_cast<std::size_t>(t.size());
    // Through a copy: with several assignees one may be the source of another.
    return make_store(
        std::move(to),
        [v = std::move(value.a), size] {
          const char* p = v->get();
          return std::vector<char>(p, p + size);
        },
        [](char* p, const std::vector<char>& bytes) {
          std::memcpy(p, bytes.data(), bytes.size());
        });
  }
  if (holds_int(t))
    return with_int(t.scalar, [&](auto zero) {
      using T =
          std::conditional_t<std::is_same_v<decltype(zero), bool>, std::uint8_t, decltype(zero)>;
      return make_store(
          std::move(to), [v = std::move(value.i)] { return v->get(); },
          [](char* p, std::int64_t v) { write<T>(p, v); });
    });
  if (t == Type(Scalar::F16))
    return make_store(
        std::move(to), [v = std::move(value.r)] { return v->get(); },
        [](char* p, double v) { write<std::uint16_t>(p, half_bits(static_cast<float>(v))); });
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_real(t))
      return make_store(
          std::move(to), [v = std::move(value.r)] { return v->get(); },
          [](char* p, double v) { write<R>(p, v); });
    return make_store(
        std::move(to), [v = std::move(value.c)] { return v->get(); },
        [](char* p, Complex v) {
          write<R>(p, v.real());
          write<R>(p + sizeof(R), v.imag());
        });
  });
}

}  // namespace moonloop::interp
