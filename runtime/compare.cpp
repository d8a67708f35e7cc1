#include "runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "core/base/diagnostic.h"
#include "core/base/half.h"

namespace moonloop {
namespace {

using Complex = std::complex<double>;

bool is_exact(Scalar s) { return !is_real(s) && !is_complex(s); }

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

Complex number(Scalar s, const std::byte* at) {
  switch (s) {
    case Scalar::F16: return half_value(load<std::uint16_t>(at));
    case Scalar::F32: return load<float>(at);
    case Scalar::F64: return load<double>(at);
    case Scalar::C64: return Complex(load<std::complex<float>>(at));
    case Scalar::C128: return load<Complex>(at);
    case Scalar::Bool:
    case Scalar::I8:
    case Scalar::I16:
    case Scalar::I32:
    case Scalar::I64:
    case Scalar::U8:
    case Scalar::U16:
    case Scalar::U32:
    case Scalar::U64: break;
  }
  throw InternalError("compare: not a real number");
}

bool finite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

bool same_part(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// The other part of a NaN depends on how a real number and a complex one are multiplied.
bool is_nan(Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }

/// |x - y|; infinite when only one is a NaN or they are different infinities.
double distance(Complex x, Complex y) {
  if (is_nan(x) && is_nan(y)) return 0;
  if (same_part(x.real(), y.real()) && same_part(x.imag(), y.imag())) return 0;
  if (!finite(x) || !finite(y)) return std::numeric_limits<double>::infinity();
  return std::abs(x - y);
}

template <class T>
double integers_apart(const std::byte* x, const std::byte* y) {
  const T a = load<T>(x), b = load<T>(y);
  return a < b ? static_cast<double>(b) - static_cast<double>(a)
               : static_cast<double>(a) - static_cast<double>(b);
}

double distance(Scalar s, const std::byte* x, const std::byte* y) {
  switch (s) {
    case Scalar::Bool:
    case Scalar::U8: return integers_apart<std::uint8_t>(x, y);
    case Scalar::I8: return integers_apart<std::int8_t>(x, y);
    case Scalar::I16: return integers_apart<std::int16_t>(x, y);
    case Scalar::I32: return integers_apart<std::int32_t>(x, y);
    case Scalar::I64: return integers_apart<std::int64_t>(x, y);
    case Scalar::U16: return integers_apart<std::uint16_t>(x, y);
    case Scalar::U32: return integers_apart<std::uint32_t>(x, y);
    case Scalar::U64: return integers_apart<std::uint64_t>(x, y);
    case Scalar::F16:
    case Scalar::F32:
    case Scalar::F64:
    case Scalar::C64:
    case Scalar::C128: break;
  }
  return distance(number(s, x), number(s, y));
}

}  // namespace

Comparison compare(const Buffer& expected, const Buffer& found, const BoundAt& bound,
                   double factor) {
  const Layout& layout = expected.layout();
  ensure(layout.shape == found.layout().shape && layout.type == found.layout().type,
         "arrays of the same shape and type are compared");
  constexpr double second_order = 1 + 0x1p-16;  // omitted in the bounds
  const std::vector<Leaf> parts = leaves(layout.type);
  Comparison out;
  out.array = layout.name;
  out.elements = layout.elements();
  std::int64_t position = 0;
  Cursor f(found);
  for (Cursor e(expected); e; e.next(), f.next(), ++position) {
    bool same = true, rounded = false, undecided = false;
    double beyond = 0;
    for (const Leaf& part : parts) {
      const std::byte* y = e.at() + part.offset;
      const std::byte* x = f.at() + part.offset;
      const double allowed = factor == 0 ? 0 : factor * second_order * bound(y);
      rounded = rounded || allowed > 0;
      if (!(allowed < std::numeric_limits<double>::infinity())) {
        undecided = true;
        continue;
      }
      if (std::memcmp(x, y, static_cast<std::size_t>(size_of(part.scalar))) == 0) continue;
      const double d = distance(part.scalar, x, y);
      if (d > allowed || (is_exact(part.scalar) && allowed == 0)) {
        same = false;
        beyond = std::max(beyond, allowed);
      } else if (d > 0) {
        out.largest = std::max(out.largest, d / allowed);
      }
    }
    out.rounded += rounded;
    out.undecided += undecided;
    if (same) continue;
    if (out.different++ == 0) {
      out.first = position;
      out.index = index_text(layout.shape, position);
      out.expected = element_text(parts, e.at());
      out.found = element_text(parts, f.at());
      out.bound = beyond;
    }
  }
  return out;
}

Comparison compare(const Buffer& expected, const Buffer& found, const ErrorBounds& bounds,
                   double factor) {
  const auto it = bounds.arrays.find(expected.layout().name);
  const Shadow* shadow = it == bounds.arrays.end() ? nullptr : &it->second;
  return compare(
      expected, found,
      [shadow](const std::byte* at) {
        return shadow ? shadow->bounds[shadow->place(reinterpret_cast<const char*>(at))] : 0;
      },
      factor);
}

}  // namespace moonloop
