#include <cmath>
#include <map>
#include <optional>

#include "core/interpreter/interpreter_bounds.h"
#include "core/interpreter/interpreter_scalars.h"

namespace moonloop::interp {
namespace {

/// How a function passes on the bound e of its argument.
enum class Pass {
  Contracts,   // by at most as much; of several arguments the largest
  Difference,  // by at most the sum of theirs
  Steps,       // as its values at both ends say, which are exact
  Ends,        // as those say; it is monotonic
  Slope,       // as its slope around says, doubled
  Erf,         // times 2/sqrt(pi)
  Exp,
  Log,  // log(x)/c with c >= ln 2
  Sqrt,
  Rsqrt,
  Angle,      // atan2
  Sign,       // copysign
  Remainder,  // fmod
};

/// The last two are the largest errors in ulps of glibc (its manual, "Known Maximum Errors in Math
/// Functions") and of OpenCL (OpenCL C 1.2, section 7.4; single
/// precision's where it has two).
template <class R>
struct Real1 {
  const char* name;
  R (*f)(R);
  Pass pass;
  double host, device;
};
template <class R>
struct Real2 {
  const char* name;
  R (*f)(R, R);
  Pass pass;
  double host, device;
};
template <class R>
struct Complex1 {
  const char* name;
  std::complex<R> (*f)(const std::complex<R>&);
};

template <class R>
R rsqrt(R x) {
  return R{1} / std::sqrt(x);
}

template <class R>
const Real1<R>* find_real1(const std::string& name) {
  static const Real1<R> kTable[] = {
      {"abs", [](R x) { return std::fabs(x); }, Pass::Contracts, 0, 0},
      {"acos", [](R x) { return std::acos(x); }, Pass::Ends, 1, 4},
      {"acosh", [](R x) { return std::acosh(x); }, Pass::Ends, 2, 4},
      {"asin", [](R x) { return std::asin(x); }, Pass::Ends, 1, 4},
      {"asinh", [](R x) { return std::asinh(x); }, Pass::Contracts, 2, 4},
      {"atan", [](R x) { return std::atan(x); }, Pass::Contracts, 1, 5},
      {"atanh", [](R x) { return std::atanh(x); }, Pass::Ends, 2, 5},
      {"cbrt", [](R x) { return std::cbrt(x); }, Pass::Ends, 4, 4},
      {"ceil", [](R x) { return std::ceil(x); }, Pass::Steps, 0, 0},
      {"conj", [](R x) { return x; }, Pass::Contracts, 0, 0},
      {"cos", [](R x) { return std::cos(x); }, Pass::Contracts, 1, 4},
      {"cosh", [](R x) { return std::cosh(x); }, Pass::Slope, 2, 4},
      {"erf", [](R x) { return std::erf(x); }, Pass::Erf, 1, 16},
      {"erfc", [](R x) { return std::erfc(x); }, Pass::Erf, 5, 16},
      {"exp", [](R x) { return std::exp(x); }, Pass::Exp, 1, 3},
      {"expm1", [](R x) { return std::expm1(x); }, Pass::Ends, 3, 3},
      {"fabs", [](R x) { return std::fabs(x); }, Pass::Contracts, 0, 0},
      {"floor", [](R x) { return std::floor(x); }, Pass::Steps, 0, 0},
      {"imag", [](R) { return R{0}; }, Pass::Steps, 0, 0},
      {"lgamma", [](R x) { return std::lgamma(x); }, Pass::Slope, 5, 64},
      {"log", [](R x) { return std::log(x); }, Pass::Log, 1, 3},
      {"log10", [](R x) { return std::log10(x); }, Pass::Log, 2, 3},
      {"log1p", [](R x) { return std::log1p(x); }, Pass::Ends, 1, 2},
      {"log2", [](R x) { return std::log2(x); }, Pass::Log, 2, 3},
      {"real", [](R x) { return x; }, Pass::Contracts, 0, 0},
      {"round", [](R x) { return std::round(x); }, Pass::Steps, 0, 0},
      {"rsqrt", [](R x) { return rsqrt(x); }, Pass::Rsqrt, 1, 2},
      {"sin", [](R x) { return std::sin(x); }, Pass::Contracts, 1, 4},
      {"sinh", [](R x) { return std::sinh(x); }, Pass::Ends, 2, 4},
      {"sqrt", [](R x) { return std::sqrt(x); }, Pass::Sqrt, 0, 3},
      {"tan", [](R x) { return std::tan(x); }, Pass::Slope, 1, 5},
      {"tanh", [](R x) { return std::tanh(x); }, Pass::Contracts, 2, 5},
      {"tgamma", [](R x) { return std::tgamma(x); }, Pass::Slope, 10, 16},
      {"trunc", [](R x) { return std::trunc(x); }, Pass::Steps, 0, 0}};
  for (const auto& row : kTable)
    if (name == row.name) return &row;
  return nullptr;
}

template <class R>
const Real2<R>* find_real2(const std::string& name) {
  static const Real2<R> kTable[] = {
      {"atan2", [](R x, R y) { return std::atan2(x, y); }, Pass::Angle, 1, 6},
      {"copysign", [](R x, R y) { return std::copysign(x, y); }, Pass::Sign, 0, 0},
      {"fdim", [](R x, R y) { return std::fdim(x, y); }, Pass::Difference, 0, 0},
      {"fmax", [](R x, R y) { return std::fmax(x, y); }, Pass::Contracts, 0, 0},
      {"fmin", [](R x, R y) { return std::fmin(x, y); }, Pass::Contracts, 0, 0},
      {"fmod", [](R x, R y) { return std::fmod(x, y); }, Pass::Remainder, 0, 0},
      {"hypot", [](R x, R y) { return std::hypot(x, y); }, Pass::Difference, 1, 4},
      {"max", [](R x, R y) { return std::fmax(x, y); }, Pass::Contracts, 0, 0},
      {"maximum", [](R x, R y) { return std::fmax(x, y); }, Pass::Contracts, 0, 0},
      {"min", [](R x, R y) { return std::fmin(x, y); }, Pass::Contracts, 0, 0},
      {"minimum", [](R x, R y) { return std::fmin(x, y); }, Pass::Contracts, 0, 0}};
  for (const auto& row : kTable)
    if (name == row.name) return &row;
  return nullptr;
}

/// The error of both executions together: this one, and one of generated code, which on the host
/// may call glibc's functions for vectors.
template <class R, class Row>
double own_error(const Row& row, const Accuracy& a, double z) {
  constexpr double kVectors = 4;
  static const std::set<std::string_view> kHaveVectors{"cos", "exp", "log", "sin"};
  const double host = kHaveVectors.count(row.name) > 0 ? kVectors : row.host;
  double ulps = row.host + (a.device ? row.device : host);
  if (row.pass == Pass::Sqrt && !(a.device && std::is_same_v<R, float>)) ulps = 0;
  if (ulps == 0 || !std::isfinite(z)) return 0;
  return 2 * ulps * kUnit<R> * std::fabs(z) + underflow<R>(a, std::fabs(z));
}

/// How far f goes from z = f(x.v) within x's bound, which is not 0.
template <class R, class F>
double passed(Pass pass, const F& f, double z, const BoundedReal& x) {
  const double e = x.e;
  const auto at = [&](double p) { return static_cast<double>(f(static_cast<R>(p))); };
  const auto below = [](double p) {
    return std::nextafter(static_cast<R>(p), -static_cast<R>(kUndecided));
  };
  const auto above = [](double p) {
    return std::nextafter(static_cast<R>(p), static_cast<R>(kUndecided));
  };
  switch (pass) {
    case Pass::Contracts:
    case Pass::Difference: return e;
    case Pass::Steps: return stepped(z, at(x.v - e), at(x.v + e));
    case Pass::Ends: {
      const double low = at(below(x.v - e)), high = at(above(x.v + e));
      return std::max(std::fabs(high - z), std::fabs(z - low));
    }
    case Pass::Slope: {
      const double h = std::max(e, 0x1p-12 * std::max(std::fabs(x.v), 0x1p-12));
      const double rise = std::max(std::fabs(at(x.v + h) - z), std::fabs(z - at(x.v - h)));
      return 2 * rise * (e / h);
    }
    case Pass::Erf: return 1.13 * e;
    case Pass::Exp: return std::fabs(z) * (e < 0.1 ? e * (1 + e) : std::expm1(e));
    case Pass::Log: return e < x.v ? 1.443 * e / (x.v - e) : kUndecided;
    case Pass::Sqrt: return e <= x.v ? e / z : kUndecided;
    case Pass::Rsqrt: return e < x.v ? z * e / (x.v - e) : kUndecided;
    case Pass::Angle:
    case Pass::Sign:
    case Pass::Remainder: break;
  }
  throw InternalError("interpreter: a function of two arguments");
}

template <class R>
double passed(const Real2<R>& row, const Accuracy& a, double z, const BoundedReal& x,
              const BoundedReal& y) {
  switch (row.pass) {
    case Pass::Contracts: return std::max(x.e, y.e);
    case Pass::Angle: {
      const double radius = std::hypot(x.v, y.v), e = x.e + y.e;
      const bool cut = y.v <= y.e && std::fabs(x.v) <= x.e;
      return radius > e && !cut ? e / (radius - e) : 6.3;
    }
    case Pass::Sign: return std::fabs(y.v) > y.e || y.e == 0 ? x.e : x.e + 2 * std::fabs(z);
    case Pass::Remainder: {
      const double q = x.v / y.v, e = QuotientRule<R>()(a, q, x, y);
      if (!(e < kUndecided) || std::trunc(q - e) != std::trunc(q + e))
        return std::fabs(y.v) + y.e + x.e;
      return x.e + std::fabs(std::trunc(q)) * y.e;
    }
    case Pass::Difference:
    case Pass::Steps:
    case Pass::Ends:
    case Pass::Slope:
    case Pass::Erf:
    case Pass::Exp:
    case Pass::Log:
    case Pass::Sqrt:
    case Pass::Rsqrt: break;
  }
  return x.e + y.e;
}

/// A complex function's: first order, doubled; it is differentiable.
template <class R, class F>
double passed(const F& f, const Complex& z, const BoundedComplex& x) {
  const double h = std::max(x.e, 0x1p-12 * std::max(std::abs(x.v), 0x1p-12));
  const Complex there = widen(f(narrow<R>(x.v + h)));
  return 2 * std::abs(there - z) * (x.e / h);
}

template <class R>
const Complex1<R>* find_complex1(const std::string& name) {
  using C = const std::complex<R>&;
  using O = std::complex<R>;
  static const Complex1<R> kTable[] = {{"acos", [](C x) -> O { return std::acos(x); }},
                                       {"acosh", [](C x) -> O { return std::acosh(x); }},
                                       {"asin", [](C x) -> O { return std::asin(x); }},
                                       {"asinh", [](C x) -> O { return std::asinh(x); }},
                                       {"atan", [](C x) -> O { return std::atan(x); }},
                                       {"atanh", [](C x) -> O { return std::atanh(x); }},
                                       {"conj", [](C x) -> O { return std::conj(x); }},
                                       {"cos", [](C x) -> O { return std::cos(x); }},
                                       {"cosh", [](C x) -> O { return std::cosh(x); }},
                                       {"exp", [](C x) -> O { return std::exp(x); }},
                                       {"log", [](C x) -> O { return std::log(x); }},
                                       {"sin", [](C x) -> O { return std::sin(x); }},
                                       {"sinh", [](C x) -> O { return std::sinh(x); }},
                                       {"sqrt", [](C x) -> O { return std::sqrt(x); }},
                                       {"tan", [](C x) -> O { return std::tan(x); }},
                                       {"tanh", [](C x) -> O { return std::tanh(x); }}};
  for (const auto& row : kTable)
    if (name == row.name) return &row;
  return nullptr;
}

[[noreturn]] void missing(const std::string& name) {
  throw InternalError("interpreter: no function `" + name + "` for these types");
}

Value plain_int_function(const std::string& name, const Type& t, std::vector<Value> args) {
  const bool is_u64 = t == Type(Scalar::U64);
  const auto less = [is_u64](std::int64_t a, std::int64_t b) {
    return is_u64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
  };
  if (name == "conj" || name == "real") return std::move(args[0]);
  if (name == "imag") return constant(t, std::int64_t{0});
  if (name == "abs")
    return int_value(t, [is_u64, x = std::move(args[0].i)] {
      const std::int64_t v = x->get();
      return is_u64 || v >= 0 ? v : static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(v));
    });
  if (name == "pow") return binary(BinaryOp::Pow, t, std::move(args[0]), std::move(args[1]), false);
  if (name == "clamp")
    return int_value(
        t, [less, x = std::move(args[0].i), lo = std::move(args[1].i), hi = std::move(args[2].i)] {
          const std::int64_t v = x->get(), l = lo->get(), h = hi->get();
          const std::int64_t up = less(v, l) ? l : v;
          return less(h, up) ? h : up;
        });
  if (name == "truncdiv" || name == "truncmod")
    return int_value(t, [quotient = name == "truncdiv", is_u64, x = std::move(args[0].i),
                         y = std::move(args[1].i)] {
      const std::int64_t a = x->get(), b = y->get();
      if (b == 0) throw DivisionByZero{};
      const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
      if (is_u64) return static_cast<std::int64_t>(quotient ? ua / ub : ua % ub);
      if (b == -1) return quotient ? static_cast<std::int64_t>(0 - ua) : 0;
      return quotient ? a / b : a % b;
    });
  const bool min = name == "min" || name == "minimum";
  if (!min && name != "max" && name != "maximum") missing(name);
  std::vector<IntPtr> all;
  for (Value& a : args) all.push_back(std::move(a.i));
  return int_value(t, [min, less, all = std::move(all)] {
    std::int64_t v = all[0]->get();
    for (std::size_t i = 1; i < all.size(); ++i) {
      const std::int64_t next = all[i]->get();
      if (min ? less(next, v) : less(v, next)) v = next;
    }
    return v;
  });
}

Value int_function(const std::string& name, const Type& t, std::vector<Value> args) {
  std::vector<const IntNode*> parts;
  for (const Value& a : args) parts.push_back(a.i.get());
  const bool adds = name != "truncdiv" && name != "truncmod" && name != "pow";
  Value v = plain_int_function(name, t, std::move(args));
  if (parts.size() == 1 && v.i.get() == parts[0]) return v;
  if (name == "imag") return v;  // its argument is gone
  return with_parts(std::move(v), std::move(parts), adds);
}

template <class R>
double of_row(const Real2<R>& row, const Accuracy& a, double z, const BoundedReal& x,
              const BoundedReal& y) {
  const double own = own_error<R>(row, a, z);
  if (x.e == 0 && y.e == 0) return own;
  const bool exact = row.pass == Pass::Contracts || row.pass == Pass::Sign;
  const double apart = exact ? 0 : rounded_apart<R>(a, std::fabs(z));
  return checked(z, passed(row, a, z, x, y) + own + apart, x, y);
}

/// More than two arguments of min and max, from left to right.
template <class R>
struct Extremum final : RealNode {
  const Real2<R>* row = nullptr;
  std::vector<RealPtr> terms;
  double join(double x, double y) const {
    return static_cast<double>(row->f(static_cast<R>(x), static_cast<R>(y)));
  }
  double get() const override {
    double v = terms[0]->get();
    for (std::size_t i = 1; i < terms.size(); ++i) v = join(v, terms[i]->get());
    return v;
  }
  BoundedReal bounded(const Accuracy& a) const override {
    BoundedReal x = terms[0]->bounded(a);
    for (std::size_t i = 1; i < terms.size(); ++i) {
      const BoundedReal y = terms[i]->bounded(a);
      const double z = join(x.v, y.v);
      x = {z, of_row(*row, a, z, x, y)};
    }
    return x;
  }
};

template <class R>
Value real_function(const std::string& name, const Type& t, std::vector<Value> args) {
  if (args.size() == 1) {
    const auto* row = find_real1<R>(name);
    if (!row) missing(name);
    return real_value(
        t, [f = row->f](double x) { return static_cast<double>(f(static_cast<R>(x))); },
        [row, exact = row->host == 0 && row->pass != Pass::Sqrt](const Accuracy& a, double z,
                                                                 const BoundedReal& x) {
          const double own = own_error<R>(*row, a, z);
          if (x.e == 0) return own;
          const double apart = exact ? 0 : rounded_apart<R>(a, std::fabs(z));
          return checked(z, passed<R>(row->pass, row->f, z, x) + own + apart, x);
        },
        std::move(args[0].r));
  }
  if (name == "pow") return binary(BinaryOp::Pow, t, std::move(args[0]), std::move(args[1]), false);
  using B = const BoundedReal&;
  if (name == "fma" || name == "mad" || name == "clamp") {
    const auto node = [&](auto f, auto rule) {
      return real_value(
          t,
          [f](double a, double b, double c) {
            return static_cast<double>(f(static_cast<R>(a), static_cast<R>(b), static_cast<R>(c)));
          },
          rule, std::move(args[0].r), std::move(args[1].r), std::move(args[2].r));
    };
    if (name == "clamp")
      return node(
          [](R v, R lo, R hi) { return std::fmin(std::fmax(v, lo), hi); },
          [](const Accuracy&, double z, B v, B lo, B hi) {
            return v.e + lo.e + hi.e == 0 ? 0 : checked(z, std::max({v.e, lo.e, hi.e}), v, lo, hi);
          });
    return node([](R a, R b, R c) { return std::fma(a, b, c); },
                [loose = name == "mad"](const Accuracy& acc, double z, B a, B b, B c) {
                  const double product = std::fabs(a.v * b.v), size = std::fabs(z);
                  const double e = std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e + c.e;
                  if (e == 0 && !loose) return 0.0;
                  const double split = loose ? kUnit<R> * product : 0;  // two operations
                  return checked(z, e + split + rounded_apart<R>(acc, size), a, b, c);
                });
  }
  const auto* row = find_real2<R>(name);
  if (!row) missing(name);
  if (args.size() == 2)
    return real_value(
        t,
        [f = row->f](double x, double y) {
          return static_cast<double>(f(static_cast<R>(x), static_cast<R>(y)));
        },
        [row](const Accuracy& a, double z, B x, B y) { return of_row(*row, a, z, x, y); },
        std::move(args[0].r), std::move(args[1].r));
  auto node = std::make_unique<Extremum<R>>();
  node->row = row;
  for (Value& a : args) node->terms.push_back(std::move(a.r));
  return value_of<RealNode>(t, std::move(node));
}

template <class R>
Value complex_function(const std::string& name, const Type& result, std::vector<Value> args) {
  if (name == "pow")
    return binary(BinaryOp::Pow, result, std::move(args[0]), std::move(args[1]), false);
  ComplexPtr x = std::move(args[0].c);
  using B = const BoundedComplex&;
  const auto part = [](const Accuracy&, double, B z) { return z.e; };
  if (name == "abs")
    return real_value(
        result, [](const Complex& z) { return static_cast<double>(std::abs(narrow<R>(z))); },
        [](const Accuracy& a, double z, B from) {
          return std::isfinite(z) ? from.e + (a.device ? 12 : 4) * kUnit<R> * z + underflow<R>(a, z)
                                  : from.e;
        },
        std::move(x));
  if (name == "real")
    return real_value(
        result, [](const Complex& z) { return z.real(); }, part, std::move(x));
  if (name == "imag")
    return real_value(
        result, [](const Complex& z) { return z.imag(); }, part, std::move(x));
  const auto* row = find_complex1<R>(name);
  if (!row) missing(name);
  const bool conjugates = name == "conj";
  return complex_value(
      result, [f = row->f](const Complex& z) { return widen(f(narrow<R>(z))); },
      [f = row->f, conjugates](const Accuracy& a, const Complex& z, B from) {
        if (conjugates) return from.e;
        const double size = std::abs(z);
        const double own = 64 * kUnit<R> * (size + (a.device ? 1 : 0)) + underflow<R>(a, size);
        if (from.e == 0) return finite(z) ? own : 0;
        return checked(z, passed<R>(f, z, from) + own, from);
      },
      std::move(x));
}

Value test(const std::string& name, Value x) {
  if (x.i) return constant(Scalar::Bool, std::int64_t{name == "isfinite"});
  const auto node = [&](auto f) {
    return decided_int(
        Scalar::Bool, [f](double v) { return std::int64_t{f(v)}; },
        [](const Accuracy&, std::int64_t, const BoundedReal& v) {
          return v.e < kUndecided ? 0.0 : 1.0;
        },
        std::move(x.r));
  };
  if (name == "isnan") return node([](double v) { return std::isnan(v); });
  if (name == "isinf") return node([](double v) { return std::isinf(v); });
  return node([](double v) { return std::isfinite(v); });
}

}  // namespace

Value function(const std::string& name, const Type& result, std::vector<Value> args) {
  if (name == "isnan" || name == "isinf" || name == "isfinite")
    return test(name, std::move(args[0]));
  if (name == "bessel_jn" || name == "bessel_yn") {
    double (*f)(int, double) = name == "bessel_jn" ? ::jn : ::yn;
    Value x = convert(std::move(args[1]), Scalar::F64);
    Value v = real_value(
        Scalar::F64, [f](std::int64_t n, double y) { return f(static_cast<int>(n), y); },
        [f](const Accuracy&, double z, const BoundedInt& n, const BoundedReal& y) {
          if (n.e > 0) return kUndecided;
          const double own = 0x1p-47;  // absolute, near a zero: some ten ulps of 1
          const auto order = static_cast<int>(n.v);
          const auto at = [&](double p) { return f(order, p); };
          const double e = y.e == 0 ? 0 : passed<double>(Pass::Slope, at, z, y);
          return y.e == 0 ? (std::isfinite(z) ? own * (1 + std::fabs(z)) : 0)
                          : checked(z, e + own * (1 + std::fabs(z)), y);
        },
        std::move(args[0].i), std::move(x.r));
    return convert(std::move(v), result);
  }
  const Type t = args[0].type;
  if (holds_int(t)) return int_function(name, result, std::move(args));
  return with_real(t.scalar, [&](auto zero) {
    using R = decltype(zero);
    if (holds_complex(t)) return complex_function<R>(name, result, std::move(args));
    return real_function<R>(name, result, std::move(args));
  });
}

}  // namespace moonloop::interp
