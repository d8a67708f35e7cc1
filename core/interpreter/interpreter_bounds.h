#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/interpreter/interpreter_nodes.h"

/// How far apart operations bring two executions: the rules of core/interpreter/error_bounds.h.
/// Each is called as rule(accuracy, result, operands with bounds …) and returns the result's bound.
namespace moonloop::interp {

inline constexpr double kUndecided = std::numeric_limits<double>::infinity();

/// Half the distance from 1 to the next number.
template <class R>
inline constexpr double kUnit = static_cast<double>(std::numeric_limits<R>::epsilon()) / 2;
inline constexpr double kHalfUnit = 0x1p-11;  // of float16
inline constexpr double kHalfUnderflow = 0x1p-24;

inline double size_of_number(std::int64_t v) { return std::fabs(static_cast<double>(v)); }
inline double size_of_number(double v) { return std::fabs(v); }
inline double size_of_number(const Complex& v) { return std::abs(v); }

/// The error of results that are too small.
template <class R>
double underflow(const Accuracy& a, double size) {
  using L = std::numeric_limits<R>;
  if (size >= static_cast<double>(L::min())) return 0;
  return static_cast<double>(a.device ? L::min() : L::denorm_min());
}

/// Two results that are each rounded.
template <class R>
double rounded_apart(const Accuracy& a, double size) {
  return 2 * kUnit<R> * size + underflow<R>(a, size);
}

inline bool finite(double v) { return std::isfinite(v); }
inline bool finite(const Complex& v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); }

/// The bound of a result that is not finite, or whose bound is not, from inexact operands. A NaN
/// stays one whatever is done to it, and so does an infinity beside finite numbers.
template <class V, class... B>
double beyond(const V& z, const B&... operands) {
  if constexpr (std::is_same_v<V, double>) {
    const bool decided = ((operands.e < kUndecided) && ...);
    if (std::isnan(z) && ((std::isnan(operands.v) && operands.e < kUndecided) || ...)) return 0;
    if (std::isinf(z) && decided && ((std::isinf(operands.v)) || ...) &&
        ((std::fabs(operands.v) > operands.e) && ...))
      return 0;
  }
  return kUndecided;
}
/// `e`, unless something there is not finite.
template <class V, class... B>
double checked(const V& z, double e, const B&... operands) {
  return e < kUndecided && finite(z) ? e : beyond(z, operands...);
}

template <class R>
struct SumRule {
  template <class V>
  double operator()(const Accuracy& a, const V& z, const Bounded<V>& x, const Bounded<V>& y) const {
    const double e = x.e + y.e;
    if (e == 0) return 0;
    return checked(z, e + rounded_apart<R>(a, size_of_number(z)), x, y);
  }
};

/// What a factor of float32 loses where it is rounded to tf32: a half is rounded away from zero.
inline double lost_by_tf32(const BoundedReal& x) {
  if (!std::isfinite(x.v)) return 0;
  if (std::fabs(x.v) < std::numeric_limits<float>::min()) return std::fabs(x.v);
  if (x.e != 0) return kHalfUnit * (std::fabs(x.v) + x.e);
  int exponent = 0;
  const double fraction = std::frexp(x.v, &exponent);
  return std::fabs(std::ldexp(std::round(std::ldexp(fraction, 11)) / 2048 - fraction, exponent));
}

template <class R>
struct ProductRule {
  double operator()(const Accuracy& a, double z, const BoundedReal& x, const BoundedReal& y) const {
    if constexpr (std::is_same_v<R, float>)
      if (a.tf32) return bound(a, z, {x.v, x.e + lost_by_tf32(x)}, {y.v, y.e + lost_by_tf32(y)});
    return bound(a, z, x, y);
  }
  static double bound(const Accuracy& a, double z, const BoundedReal& x, const BoundedReal& y) {
    const double p = std::fabs(x.v), q = std::fabs(y.v), size = std::fabs(z);
    if (x.e == 0 && y.e == 0) {
      if (!a.contract || p == 1 || q == 1 || p == 0 || q == 0 || !std::isfinite(z)) return 0;
      return kUnit<R> * size + underflow<R>(a, size);
    }
    return checked(z, p * y.e + q * x.e + x.e * y.e + rounded_apart<R>(a, size), x, y);
  }
  /// (ab - cd) + (ad + bc)i, where each product may be rounded or not.
  double operator()(const Accuracy& a, const Complex& z, const BoundedComplex& x,
                    const BoundedComplex& y) const {
    const double p = std::abs(x.v), q = std::abs(y.v);
    if (x.e == 0 && y.e == 0 && (!a.contract || !finite(z))) return 0;
    return checked(
        z, p * y.e + q * x.e + x.e * y.e + 6 * kUnit<R> * p * q + 2 * underflow<R>(a, p * q), x, y);
  }
};

/// `ulps`: the error of a division that is not rounded correctly.
template <class R>
struct QuotientRule {
  double operator()(const Accuracy& a, double z, const BoundedReal& x, const BoundedReal& y) const {
    const bool single = std::is_same_v<R, float>;
    double loose = a.device && single ? 5 * kUnit<R> * std::fabs(z) : 0;  // 2.5 ulps
    if (a.reciprocals) loose += 2 * kUnit<R> * std::fabs(z) + underflow<R>(a, std::fabs(z));
    if (x.e == 0 && y.e == 0) {
      if (a.reciprocals) loose += kUnit<R> * std::fabs(z);
      return std::isfinite(z) ? loose : 0;
    }
    const double q = std::fabs(y.v);
    if (q <= y.e) return kUndecided;
    return checked(
        z, (x.e + std::fabs(z) * y.e) / (q - y.e) + rounded_apart<R>(a, std::fabs(z)) + loose, x,
        y);
  }
  double operator()(const Accuracy& a, const Complex& z, const BoundedComplex& x,
                    const BoundedComplex& y) const {
    const double loose = 24 * kUnit<R> * std::abs(z) + underflow<R>(a, std::abs(z));
    if (x.e == 0 && y.e == 0) return finite(z) ? loose : 0;
    const double q = std::abs(y.v);
    if (q <= y.e) return kUndecided;
    return checked(z, (x.e + std::abs(z) * y.e) / (q - y.e) + loose, x, y);
  }
};

/// A step function of `x`, whose values at both ends of x's range are `low` and `high`.
inline double stepped(double z, double low, double high) {
  if (low == high) return 0;
  const double e = std::max(std::fabs(high - z), std::fabs(z - low));
  return e < kUndecided ? e : kUndecided;
}

/// The values agree wherever x and y are in their ranges.
template <class V>
double comparison_bound(const Bounded<V>& x, const Bounded<V>& y) {
  const double e = x.e + y.e;
  if (e == 0) return 0;
  if constexpr (std::is_same_v<V, double>)
    if ((std::isnan(x.v) && x.e < kUndecided) || (std::isnan(y.v) && y.e < kUndecided)) return 0;
  if constexpr (std::is_same_v<V, std::int64_t>)
    return std::fabs(static_cast<double>(x.v) - static_cast<double>(y.v)) > e ? 0 : 1;
  else
    return size_of_number(x.v - y.v) > e ? 0 : 1;
}

/// Rounding to float16: compilers may leave it out.
inline double half_bound(const Accuracy& a, double z, const BoundedReal& x) {
  if (z == x.v && x.e != 0) return x.e;  // rounded before
  if (x.e == 0) return a.contract && z != x.v && std::isfinite(z) ? kHalfUnit * std::fabs(z) : 0;
  return checked(z, x.e + 2 * kHalfUnit * std::fabs(z) + kHalfUnderflow, x);
}

/// `v`, an integer made of `parts`. Where these vary their bounds add up (`adds`), or it is
/// undecided.
Value with_parts(Value v, std::vector<const IntNode*> parts, bool adds);

}  // namespace moonloop::interp
