#include <cmath>
#include <map>
#include <optional>

#include "core/interpreter_scalars.h"

namespace moonloop::interp {
namespace {

template <class R>
struct Real1 {
  const char* name;
  R (*f)(R);
};
template <class R>
struct Real2 {
  const char* name;
  R (*f)(R, R);
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
  static const Real1<R> kTable[] = {{"abs", [](R x) { return std::fabs(x); }},
                                    {"acos", [](R x) { return std::acos(x); }},
                                    {"acosh", [](R x) { return std::acosh(x); }},
                                    {"asin", [](R x) { return std::asin(x); }},
                                    {"asinh", [](R x) { return std::asinh(x); }},
                                    {"atan", [](R x) { return std::atan(x); }},
                                    {"atanh", [](R x) { return std::atanh(x); }},
                                    {"cbrt", [](R x) { return std::cbrt(x); }},
                                    {"ceil", [](R x) { return std::ceil(x); }},
                                    {"conj", [](R x) { return x; }},
                                    {"cos", [](R x) { return std::cos(x); }},
                                    {"cosh", [](R x) { return std::cosh(x); }},
                                    {"erf", [](R x) { return std::erf(x); }},
                                    {"erfc", [](R x) { return std::erfc(x); }},
                                    {"exp", [](R x) { return std::exp(x); }},
                                    {"expm1", [](R x) { return std::expm1(x); }},
                                    {"fabs", [](R x) { return std::fabs(x); }},
                                    {"floor", [](R x) { return std::floor(x); }},
                                    {"imag", [](R) { return R{0}; }},
                                    {"lgamma", [](R x) { return std::lgamma(x); }},
                                    {"log", [](R x) { return std::log(x); }},
                                    {"log10", [](R x) { return std::log10(x); }},
                                    {"log1p", [](R x) { return std::log1p(x); }},
                                    {"log2", [](R x) { return std::log2(x); }},
                                    {"real", [](R x) { return x; }},
                                    {"round", [](R x) { return std::round(x); }},
                                    {"rsqrt", rsqrt<R>},
                                    {"sin", [](R x) { return std::sin(x); }},
                                    {"sinh", [](R x) { return std::sinh(x); }},
                                    {"sqrt", [](R x) { return std::sqrt(x); }},
                                    {"tan", [](R x) { return std::tan(x); }},
                                    {"tanh", [](R x) { return std::tanh(x); }},
                                    {"tgamma", [](R x) { return std::tgamma(x); }},
                                    {"trunc", [](R x) { return std::trunc(x); }}};
  for (const auto& row : kTable)
    if (name == row.name) return &row;
  return nullptr;
}

template <class R>
const Real2<R>* find_real2(const std::string& name) {
  static const Real2<R> kTable[] = {{"atan2", [](R x, R y) { return std::atan2(x, y); }},
                                    {"copysign", [](R x, R y) { return std::copysign(x, y); }},
                                    {"fdim", [](R x, R y) { return std::fdim(x, y); }},
                                    {"fmax", [](R x, R y) { return std::fmax(x, y); }},
                                    {"fmin", [](R x, R y) { return std::fmin(x, y); }},
                                    {"fmod", [](R x, R y) { return std::fmod(x, y); }},
                                    {"hypot", [](R x, R y) { return std::hypot(x, y); }},
                                    {"max", [](R x, R y) { return std::fmax(x, y); }},
                                    {"maximum", [](R x, R y) { return std::fmax(x, y); }},
                                    {"min", [](R x, R y) { return std::fmin(x, y); }},
                                    {"minimum", [](R x, R y) { return std::fmin(x, y); }}};
  for (const auto& row : kTable)
    if (name == row.name) return &row;
  return nullptr;
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

Value int_function(const std::string& name, const Type& t, std::vector<Value> args) {
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

template <class R>
Value real_function(const std::string& name, const Type& t, std::vector<Value> args) {
  if (args.size() == 1) {
    const auto* row = find_real1<R>(name);
    if (!row) missing(name);
    return real_value(t, [f = row->f, x = std::move(args[0].r)] {
      return static_cast<double>(f(static_cast<R>(x->get())));
    });
  }
  if (name == "pow") return binary(BinaryOp::Pow, t, std::move(args[0]), std::move(args[1]), false);
  if (name == "fma" || name == "mad" || name == "clamp") {
    const auto node = [&](auto f) {
      return real_value(
          t, [f, a = std::move(args[0].r), b = std::move(args[1].r), c = std::move(args[2].r)] {
            return static_cast<double>(
                f(static_cast<R>(a->get()), static_cast<R>(b->get()), static_cast<R>(c->get())));
          });
    };
    if (name == "clamp")
      return node([](R v, R lo, R hi) { return std::fmin(std::fmax(v, lo), hi); });
    return node([](R a, R b, R c) { return std::fma(a, b, c); });
  }
  const auto* row = find_real2<R>(name);
  if (!row) missing(name);
  std::vector<RealPtr> all;
  for (Value& a : args) all.push_back(std::move(a.r));
  return real_value(t, [f = row->f, all = std::move(all)] {
    R v = static_cast<R>(all[0]->get());
    for (std::size_t i = 1; i < all.size(); ++i) v = f(v, static_cast<R>(all[i]->get()));
    return static_cast<double>(v);
  });
}

template <class R>
Value complex_function(const std::string& name, const Type& result, std::vector<Value> args) {
  if (name == "pow")
    return binary(BinaryOp::Pow, result, std::move(args[0]), std::move(args[1]), false);
  ComplexPtr x = std::move(args[0].c);
  if (name == "abs")
    return real_value(
        result, [x = std::move(x)] { return static_cast<double>(std::abs(narrow<R>(x->get()))); });
  if (name == "real") return real_value(result, [x = std::move(x)] { return x->get().real(); });
  if (name == "imag") return real_value(result, [x = std::move(x)] { return x->get().imag(); });
  const auto* row = find_complex1<R>(name);
  if (!row) missing(name);
  return complex_value(result,
                       [f = row->f, x = std::move(x)] { return widen(f(narrow<R>(x->get()))); });
}

Value test(const std::string& name, Value x) {
  if (x.i) return constant(Scalar::Bool, std::int64_t{name == "isfinite"});
  const auto node = [&](auto f) {
    return int_value(Scalar::Bool, [f, x = std::move(x.r)] { return std::int64_t{f(x->get())}; });
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
    Value v = real_value(Scalar::F64, [f, n = std::move(args[0].i), x = std::move(x.r)] {
      return f(static_cast<int>(n->get()), x->get());
    });
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
