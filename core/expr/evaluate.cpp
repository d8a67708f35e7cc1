#include "core/expr/evaluate.h"

#include <algorithm>

#include "core/base/diagnostic.h"
#include "core/expr/integers.h"

namespace moonloop {
namespace {

class Evaluator {
 public:
  Evaluator(const Integers& values, const std::string& what) : values_(values), what_(what) {}

  std::int64_t value(const Expr& e) const {
    return e.visit(overload{
        [](const IntLit& x) { return x.value; },
        [](const BoolLit& x) { return std::int64_t{x.value}; },
        [&](const Var& x) { return variable(x, e); }, [&](const Unary& x) { return unary(x); },
        [&](const Binary& x) { return binary(x, e); }, [&](const Nary& x) { return nary(x); },
        [&](const Compare& x) { return std::int64_t{compare(x)}; },
        [&](const Select& x) { return value(x.cond) ? value(x.yes) : value(x.no); },
        [&](const Call& x) { return called(x, e); }, [&](const Cast& x) { return cast(x, e); },
        [&](const FloatLit&) { return other(e); }, [&](const ComplexLit&) { return other(e); },
        [&](const Load&) { return other(e); }, [&](const Field&) { return other(e); },
        [&](const Reduce&) { return other(e); }, [&](const Slice&) { return other(e); },
        [&](const SubArray&) { return other(e); }});
  }

 private:
  [[noreturn]] std::int64_t other(const Expr& e) const {
    fail("data-dependent-size", e.at(), "{} is `{}`, which is not known before the kernel runs",
         what_, to_string(e));
  }

  std::int64_t variable(const Var& x, const Expr& e) const {
    const auto it = values_.find(x.name);
    if (it == values_.end())
      fail("missing-parameter", e.at(), "{} needs a value of `{}`; give `-p {}=VALUE`", what_,
           x.name, x.name);
    return it->second;
  }

  std::int64_t unary(const Unary& x) const {
    const std::int64_t a = value(x.arg);
    switch (x.op) {
      case UnaryOp::Neg:
      case UnaryOp::Sub: return checked_mul(a, -1, what_);
      case UnaryOp::Not: return a == 0;
      case UnaryOp::BitNot: return ~a;
    }
    throw InternalError("evaluate: no such operator");
  }

  std::int64_t binary(const Binary& x, const Expr& e) const {
    const std::int64_t a = value(x.left), b = value(x.right);
    switch (x.op) {
      case BinaryOp::FloorDiv:
      case BinaryOp::Mod: {
        if (b == 0)
          fail("division-by-zero", e.at(), "{} divides by zero: `{}`", what_, to_string(e));
        if (b == -1) return x.op == BinaryOp::Mod ? 0 : checked_mul(a, -1, what_);
        return x.op == BinaryOp::Mod ? floor_mod(a, b) : floor_div(a, b);
      }
      case BinaryOp::Pow: return power(a, b, e);
      case BinaryOp::Shl:
        if (b < 0 || b > 62) return other(e);
        return checked_mul(a, std::int64_t{1} << b, what_);
      case BinaryOp::Shr: return b < 0 || b > 63 ? other(e) : a >> b;
      case BinaryOp::Div: return other(e);
    }
    throw InternalError("evaluate: no such operator");
  }

  std::int64_t power(std::int64_t base, std::int64_t exponent, const Expr& e) const {
    if (exponent < 0) return other(e);
    std::int64_t out = 1;
    for (; exponent > 0 && base != 1 && out != 0; --exponent) {
      if (base == -1) return exponent % 2 ? -1 : 1;
      out = checked_mul(out, base, what_);
    }
    return out;
  }

  std::int64_t nary(const Nary& x) const {
    std::int64_t out = value(x.terms.front());
    if (x.op == NaryOp::And || x.op == NaryOp::Or) {
      const bool stops = x.op == NaryOp::Or;
      for (const Expr& t : x.terms)
        if ((value(t) != 0) == stops) return stops;
      return !stops;
    }
    for (std::size_t i = 1; i < x.terms.size(); ++i) {
      const std::int64_t b = value(x.terms[i]);
      switch (x.op) {
        case NaryOp::Add: out = checked_add(out, b, what_); break;
        case NaryOp::Mul: out = checked_mul(out, b, what_); break;
        case NaryOp::BitAnd: out &= b; break;
        case NaryOp::BitOr: out |= b; break;
        case NaryOp::BitXor: out ^= b; break;
        case NaryOp::And:
        case NaryOp::Or: break;
      }
    }
    return out;
  }

  bool compare(const Compare& x) const { return holds(x.op, value(x.left), value(x.right)); }

  std::int64_t called(const Call& x, const Expr& e) const {
    const bool least = x.name == "min" || x.name == "minimum";
    if ((least || x.name == "max" || x.name == "maximum") && !x.args.empty()) {
      std::int64_t out = value(x.args.front());
      for (const Expr& a : x.args) out = least ? std::min(out, value(a)) : std::max(out, value(a));
      return out;
    }
    if (x.name == "abs" && x.args.size() == 1) {
      const std::int64_t a = value(x.args[0]);
      return a < 0 ? checked_mul(a, -1, what_) : a;
    }
    if (x.name == "if" && x.args.size() == 3)
      return value(x.args[0]) ? value(x.args[1]) : value(x.args[2]);
    return other(e);
  }

  /// A cast that changes the value would make an unintended size.
  std::int64_t cast(const Cast& x, const Expr& e) const {
    if (x.type.is_record() || !is_integer(x.type.scalar)) return other(e);
    const std::int64_t a = value(x.arg);
    const int bits = 8 * size_of(x.type.scalar);
    const bool fits = is_unsigned(x.type.scalar)
                          ? a >= 0 && (bits == 64 || a >> bits == 0)
                          : bits == 64 || (a >> (bits - 1)) == (a < 0 ? -1 : 0);
    if (!fits) fail("size-overflow", e.at(), "{} does not fit in {}: {}", what_, x.type.str(), a);
    return a;
  }

  const Integers& values_;
  const std::string& what_;
};

}  // namespace

std::int64_t checked_mul(std::int64_t a, std::int64_t b, const std::string& what) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r))
    fail("size-overflow", {}, "{} overflows 64 bits: {} * {}", what, a, b);
  return r;
}

std::int64_t checked_add(std::int64_t a, std::int64_t b, const std::string& what) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r))
    fail("size-overflow", {}, "{} overflows 64 bits: {} + {}", what, a, b);
  return r;
}

std::int64_t evaluate(const Expr& e, const Integers& values, const std::string& what) {
  return Evaluator(values, what).value(e);
}

}  // namespace moonloop
