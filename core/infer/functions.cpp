#include <algorithm>
#include <array>

#include "core/infer/infer.h"
#include "core/infer/typing.h"

namespace moonloop {
namespace {

constexpr std::array kFunctions{
    FnInfo{"abs", FnClass::Magnitude, 1},
    FnInfo{"acos", FnClass::RealOrComplex, 1},
    FnInfo{"acosh", FnClass::RealOrComplex, 1},
    FnInfo{"asin", FnClass::RealOrComplex, 1},
    FnInfo{"asinh", FnClass::RealOrComplex, 1},
    FnInfo{"atan", FnClass::RealOrComplex, 1},
    FnInfo{"atan2", FnClass::Real, 2},
    FnInfo{"atanh", FnClass::RealOrComplex, 1},
    FnInfo{"bessel_jn", FnClass::Bessel, 2},
    FnInfo{"bessel_yn", FnClass::Bessel, 2},
    FnInfo{"cbrt", FnClass::Real, 1},
    FnInfo{"ceil", FnClass::Real, 1},
    FnInfo{"clamp", FnClass::Promoting, 3},
    FnInfo{"conj", FnClass::Conjugate, 1},
    FnInfo{"copysign", FnClass::Real, 2},
    FnInfo{"cos", FnClass::RealOrComplex, 1},
    FnInfo{"cosh", FnClass::RealOrComplex, 1},
    FnInfo{"erf", FnClass::Real, 1},
    FnInfo{"erfc", FnClass::Real, 1},
    FnInfo{"exp", FnClass::RealOrComplex, 1},
    FnInfo{"expm1", FnClass::Real, 1},
    FnInfo{"fabs", FnClass::Real, 1},
    FnInfo{"fdim", FnClass::Real, 2},
    FnInfo{"floor", FnClass::Real, 1},
    FnInfo{"fma", FnClass::Real, 3},
    FnInfo{"fmax", FnClass::Real, 2},
    FnInfo{"fmin", FnClass::Real, 2},
    FnInfo{"fmod", FnClass::Real, 2},
    FnInfo{"hypot", FnClass::Real, 2},
    FnInfo{"imag", FnClass::Component, 1},
    FnInfo{"isfinite", FnClass::Test, 1},
    FnInfo{"isinf", FnClass::Test, 1},
    FnInfo{"isnan", FnClass::Test, 1},
    FnInfo{"lgamma", FnClass::Real, 1},
    FnInfo{"log", FnClass::RealOrComplex, 1},
    FnInfo{"log10", FnClass::Real, 1},
    FnInfo{"log1p", FnClass::Real, 1},
    FnInfo{"log2", FnClass::Real, 1},
    FnInfo{"mad", FnClass::Real, 3},
    FnInfo{"max", FnClass::Promoting, -1},
    FnInfo{"maximum", FnClass::Promoting, 2},
    FnInfo{"min", FnClass::Promoting, -1},
    FnInfo{"minimum", FnClass::Promoting, 2},
    FnInfo{"pow", FnClass::RealOrComplex, 2},
    FnInfo{"real", FnClass::Component, 1},
    FnInfo{"round", FnClass::Real, 1},
    FnInfo{"rsqrt", FnClass::Real, 1},
    FnInfo{"sin", FnClass::RealOrComplex, 1},
    FnInfo{"sinh", FnClass::RealOrComplex, 1},
    FnInfo{"sqrt", FnClass::RealOrComplex, 1},
    FnInfo{"tan", FnClass::RealOrComplex, 1},
    FnInfo{"tanh", FnClass::RealOrComplex, 1},
    FnInfo{"tgamma", FnClass::Real, 1},
    FnInfo{"trunc", FnClass::Real, 1},
    FnInfo{"truncdiv", FnClass::Integer, 2},
    FnInfo{"truncmod", FnClass::Integer, 2},
};

}  // namespace

const FnInfo* find_function(std::string_view name) {
  const auto it = std::lower_bound(kFunctions.begin(), kFunctions.end(), name,
                                   [](const FnInfo& f, std::string_view n) { return f.name < n; });
  return it != kFunctions.end() && it->name == name ? &*it : nullptr;
}

std::vector<std::string> function_names() {
  std::vector<std::string> out;
  for (const FnInfo& f : kFunctions) out.emplace_back(f.name);
  for (const char* special : {"address", "if", "indexof", "knows", "make_tuple"})
    out.emplace_back(special);
  std::sort(out.begin(), out.end());
  return out;
}

Scalar real_part(Scalar s) {
  if (s == Scalar::C64) return Scalar::F32;
  if (s == Scalar::C128) return Scalar::F64;
  return s;
}

Scalar single_or_double_complex(Scalar s) {
  return s == Scalar::F32 || s == Scalar::C64 ? Scalar::C64 : Scalar::C128;
}

Type reduced_type(ReduceOp op, std::size_t i, const Type& arg) {
  switch (op) {
    case ReduceOp::Any:
    case ReduceOp::All: return Scalar::Bool;
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
      if (i == 1) return arg;
      [[fallthrough]];
    case ReduceOp::Sum:
    case ReduceOp::Product: return arg == Type(Scalar::Bool) ? Type(Scalar::I32) : computed_as(arg);
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax:
      if (i == 1) return arg;
      [[fallthrough]];
    case ReduceOp::Min:
    case ReduceOp::Max:
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax: return computed_as(arg);
  }
  throw InternalError("reduced_type: no such reduction");
}

std::optional<Type> function_type(const std::string& name, const std::vector<Type>& args) {
  const FnInfo* f = find_function(name);
  if (!f || args.empty()) return std::nullopt;
  if (f->args < 0 ? args.size() < 2 : static_cast<int>(args.size()) != f->args) return std::nullopt;
  for (const Type& t : args)
    if (t.is_record()) return std::nullopt;
  Scalar common = computed_as(args[0]).scalar;
  for (std::size_t i = 1; i < args.size(); ++i) common = promote(common, args[i].scalar);
  const bool integral = is_integer(common) || common == Scalar::Bool;
  switch (f->cls) {
    case FnClass::Real:
      if (is_complex(common)) return std::nullopt;
      return integral ? Scalar::F64 : common;
    case FnClass::RealOrComplex:
      if (name == "pow" && integral) return common == Scalar::Bool ? Scalar::I32 : common;
      return integral ? Scalar::F64 : common;
    case FnClass::Promoting:
      if (is_complex(common)) return std::nullopt;
      return common == Scalar::Bool ? Scalar::I32 : common;
    case FnClass::Integer: return is_integer(common) ? std::optional<Type>(common) : std::nullopt;
    case FnClass::Magnitude: return common == Scalar::Bool ? Scalar::I32 : real_part(common);
    case FnClass::Component: return integral ? common : real_part(common);
    case FnClass::Conjugate: return common;
    case FnClass::Test:
      if (is_complex(common)) return std::nullopt;
      return Scalar::Bool;
    case FnClass::Bessel: {
      const Scalar order = args[0].scalar, x = computed_as(args[1]).scalar;
      if (!is_integer(order) || is_complex(x)) return std::nullopt;
      return is_real(x) ? x : Scalar::F64;
    }
  }
  throw InternalError("function_type: no such class of functions");
}

}  // namespace moonloop
