#include "runtime/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "core/diagnostic.h"
#include "core/half.h"

namespace moonloop {
namespace {

using Complex = std::complex<double>;

/// What float16 may differ by where values close to each other are rounded apart, some steps long.
constexpr double kHalfSteps = 4 * 0x1p-10;

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
  throw InternalError("compare: an exact type has no tolerance");
}

/// The distance from 1 to the next number of the type that is computed with.
double epsilon(Scalar s) {
  return s == Scalar::F16 || s == Scalar::F32 || s == Scalar::C64
             ? static_cast<double>(std::numeric_limits<float>::epsilon())
             : std::numeric_limits<double>::epsilon();
}

bool finite(Complex z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }

/// Root mean square of one scalar of all elements; scaled, so that squares do not overflow.
double root_mean_square(const Buffer& b, const Leaf& leaf) {
  double most = 0, sum = 0, n = 0;
  for (Cursor c(b); c; c.next())
    if (const Complex z = number(leaf.scalar, c.at() + leaf.offset); finite(z))
      most = std::max(most, std::abs(z));
  if (most == 0 || !std::isfinite(most)) return 0;
  for (Cursor c(b); c; c.next())
    if (const Complex z = number(leaf.scalar, c.at() + leaf.offset); finite(z)) {
      sum += std::norm(z / most);
      n += 1;
    }
  return most * std::sqrt(sum / n);
}

bool same_part(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// |x - y| over the scale; 0 when equal, infinite when one is no number or they are infinities
/// apart.
double distance(Complex x, Complex y, double rms) {
  if (same_part(x.real(), y.real()) && same_part(x.imag(), y.imag())) return 0;
  if (!finite(x) || !finite(y)) return std::numeric_limits<double>::infinity();
  const double scale = std::max(std::abs(y), rms);
  return scale == 0 ? std::numeric_limits<double>::infinity() : std::abs(x - y) / scale;
}

}  // namespace

Comparison compare(const Buffer& expected, const Buffer& found, double factor, double depth) {
  const Layout& layout = expected.layout();
  ensure(layout.shape == found.layout().shape && layout.type == found.layout().type,
         "arrays of the same shape and type are compared");
  const std::vector<Leaf> parts = leaves(layout.type);
  Comparison out;
  out.array = layout.name;
  out.elements = layout.elements();
  std::vector<double> rms(parts.size(), 0), allowed(parts.size(), 0);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (is_exact(parts[p].scalar)) continue;
    rms[p] = factor > 0 ? root_mean_square(expected, parts[p]) : 0;
    allowed[p] = factor * epsilon(parts[p].scalar) * std::sqrt(std::max(depth, 1.0));
    if (factor > 0 && parts[p].scalar == Scalar::F16) allowed[p] += kHalfSteps;
    out.allowed = std::max(out.allowed, allowed[p]);
  }
  std::int64_t position = 0;
  Cursor f(found);
  for (Cursor e(expected); e; e.next(), f.next(), ++position) {
    bool same = true;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const std::byte* y = e.at() + parts[p].offset;
      const std::byte* x = f.at() + parts[p].offset;
      const Scalar s = parts[p].scalar;
      if (std::memcmp(x, y, static_cast<std::size_t>(size_of(s))) == 0) continue;
      if (is_exact(s)) {
        same = false;
        continue;
      }
      const double d = distance(number(s, x), number(s, y), rms[p]);
      out.largest = std::max(out.largest, d);
      if (d > allowed[p]) same = false;
    }
    if (same) continue;
    if (out.different++ == 0) {
      out.first = position;
      out.index = index_text(layout.shape, position);
      out.expected = element_text(parts, e.at());
      out.found = element_text(parts, f.at());
    }
  }
  return out;
}

}  // namespace moonloop
