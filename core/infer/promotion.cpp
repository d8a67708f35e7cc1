#include "core/infer/promotion.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/infer/typing.h"

namespace moonloop {
namespace {

using Weak = Typed::Weak;

bool is_numeric_context(const std::optional<Type>& wanted) {
  return wanted && !wanted->is_record() && (is_real(wanted->scalar) || is_complex(wanted->scalar));
}

bool fits(std::int64_t v, Scalar s, bool wraps) {
  const int bits = 8 * size_of(s);
  if (is_unsigned(s))
    return (v >= 0 && (bits == 64 || v < (std::int64_t{1} << bits))) ||
           (v < 0 && wraps && (bits == 64 || v > -(std::int64_t{1} << bits)));
  return bits == 64 ||
         (v >= -(std::int64_t{1} << (bits - 1)) && v < (std::int64_t{1} << (bits - 1)));
}

Scalar int_literal_type(const std::optional<std::int64_t>& v) {
  return !v || fits(*v, Scalar::I32, false) ? Scalar::I32 : Scalar::I64;
}

/// The value of an operation on integer literals, when it fits.
std::optional<std::int64_t> folded(NaryOp op, const Typed& a, const Typed& b) {
  if (!a.value || !b.value) return std::nullopt;
  std::int64_t v = 0;
  const bool over = op == NaryOp::Mul ? __builtin_mul_overflow(*a.value, *b.value, &v)
                                      : __builtin_add_overflow(*a.value, *b.value, &v);
  return over ? std::nullopt : std::optional(v);
}

bool is_shift(BinaryOp op) { return op == BinaryOp::Shl || op == BinaryOp::Shr; }
bool is_bits(NaryOp op) {
  return op == NaryOp::BitAnd || op == NaryOp::BitOr || op == NaryOp::BitXor;
}

}  // namespace

bool integral(const Type& t) {
  return !t.is_record() && (is_integer(t.scalar) || t.scalar == Scalar::Bool);
}

std::optional<Type> integer_context(const std::optional<Type>& wanted) {
  return wanted && !wanted->is_record() && is_integer(wanted->scalar) ? wanted : std::nullopt;
}

bool exact_single(double v) {
  return std::isnan(v) || static_cast<double>(static_cast<float>(v)) == v;
}

Typed strong(Type t) { return {std::move(t), Weak::No, std::nullopt, true}; }

Typed weak_int(std::optional<std::int64_t> value, const std::optional<Type>& wanted) {
  Typed t{int_literal_type(value), Weak::Int, value, true};
  if (is_numeric_context(wanted)) {
    t.type = computed_as(real_part(wanted->scalar));
  } else if (wanted && !wanted->is_record() && is_integer(wanted->scalar) &&
             size_of(wanted->scalar) >= 4 && (!value || fits(*value, wanted->scalar, true))) {
    t.type = wanted->scalar;
  }
  return t;
}

Typed weak_real(bool complex, bool fits_single, const std::optional<Type>& wanted) {
  Scalar s = fits_single ? Scalar::F32 : Scalar::F64;
  if (is_numeric_context(wanted)) s = computed_as(real_part(wanted->scalar)).scalar;
  if (complex) s = single_or_double_complex(s);
  return {s, complex ? Weak::Complex : Weak::Float, std::nullopt, fits_single};
}

Type computed_as(const Type& t) { return t == Type(Scalar::F16) ? Type(Scalar::F32) : t; }

Scalar promote(Scalar a, Scalar b) {
  if (a == Scalar::F16) a = Scalar::F32;
  if (b == Scalar::F16) b = Scalar::F32;
  if (a == b) return a == Scalar::Bool ? Scalar::I32 : a;
  if (a == Scalar::Bool) return b;
  if (b == Scalar::Bool) return a;
  if (is_integer(a) && is_integer(b)) {
    if (is_unsigned(a) == is_unsigned(b)) return size_of(a) > size_of(b) ? a : b;
    const Scalar u = is_unsigned(a) ? a : b, s = is_unsigned(a) ? b : a;
    if (size_of(s) > size_of(u)) return s;
    switch (size_of(u)) {
      case 1: return Scalar::I16;
      case 2: return Scalar::I32;
      case 4: return Scalar::I64;
      default: return Scalar::F64;
    }
  }
  const bool complex = is_complex(a) || is_complex(b);
  const auto is_single = [](Scalar s) {
    if (is_integer(s)) return size_of(s) <= 2 || s == Scalar::I32;
    return real_part(s) == Scalar::F32;
  };
  const bool single = is_single(a) && is_single(b);
  if (complex) return single ? Scalar::C64 : Scalar::C128;
  return single ? Scalar::F32 : Scalar::F64;
}

Typed combine(std::span<const Typed> operands, const std::optional<Type>& wanted, bool wraps) {
  std::optional<Scalar> sized;
  bool weak_any = false, weak_float = false, weak_complex = false, fits_single = true;
  for (const Typed& t : operands) {
    if (t.weak == Weak::No) {
      if (t.type.is_record()) return t;
      sized = sized ? promote(*sized, t.type.scalar) : computed_as(t.type).scalar;
      continue;
    }
    weak_any = true;
    weak_float |= t.weak == Weak::Float || t.weak == Weak::Complex;
    weak_complex |= t.weak == Weak::Complex;
    if (t.weak != Weak::Int) fits_single &= t.fits_single;
  }
  if (!weak_any) return strong(*sized);
  if (!sized) {
    if (weak_float) return weak_real(weak_complex, fits_single, wanted);
    std::optional<std::int64_t> value;
    if (operands.size() == 1) value = operands[0].value;
    Typed t = weak_int(value, wanted);
    if (operands.size() > 1)  // the widest of them
      for (const Typed& o : operands)
        if (integral(t.type) && integral(o.type)) t.type = promote(t.type.scalar, o.type.scalar);
    return t;
  }
  Scalar s = *sized;
  if (weak_float) {
    const bool real_partner = !integral(s);
    if (real_partner && real_part(s) == Scalar::F64) {
      if (weak_complex) s = Scalar::C128;
    } else {
      const Scalar literal = weak_real(weak_complex, fits_single, wanted).type.scalar;
      s = promote(s, literal);
    }
    return strong(s);
  }
  if (!integral(s)) return strong(s);
  for (const Typed& t : operands)
    if (t.weak == Weak::Int) {
      const bool adapts =
          size_of(s) >= 4 && is_integer(s) && (!t.value || fits(*t.value, s, wraps));
      if (!adapts) s = promote(s, int_literal_type(t.value));
    }
  return strong(s);
}

Typed promoted(UnaryOp op, const Typed& arg, const std::optional<Type>& wanted) {
  if (op == UnaryOp::Not) return strong(Scalar::Bool);
  const bool negates = op == UnaryOp::Neg || op == UnaryOp::Sub;
  if (arg.weak == Weak::Int) {
    std::optional<std::int64_t> v;
    if (arg.value && *arg.value != std::numeric_limits<std::int64_t>::min())
      v = negates ? -*arg.value : ~*arg.value;
    return weak_int(v, negates ? wanted : integer_context(wanted));
  }
  Typed t = arg;
  if (op == UnaryOp::Neg && t.type == Type(Scalar::Bool)) t.type = Scalar::I32;
  if (op != UnaryOp::Sub) t.type = computed_as(t.type);  // else it has not been computed yet
  return t;
}

std::optional<Typed> promoted(BinaryOp op, const Typed& l, const Typed& r,
                              const std::optional<Type>& wanted) {
  const bool maybe_ints = is_shift(op) || op == BinaryOp::FloorDiv || op == BinaryOp::Mod;
  const bool literals = l.weak == Weak::Int && r.weak == Weak::Int;
  if (op == BinaryOp::Div && literals) {
    const bool single = l.value && r.value && *r.value != 0 &&
                        exact_single(static_cast<double>(*l.value) / static_cast<double>(*r.value));
    return weak_real(false, single, wanted);
  }
  const bool negative_power = op == BinaryOp::Pow && r.weak == Weak::Int && r.value && *r.value < 0;
  const std::array<Typed, 2> both{l, r};
  Typed t = combine(both, maybe_ints ? integer_context(wanted) : wanted);
  t.value = std::nullopt;
  if (op == BinaryOp::Div || negative_power) {
    const bool ints =
        (l.weak == Weak::Int || integral(l.type)) && (r.weak == Weak::Int || integral(r.type));
    if (ints) return literals ? weak_real(false, false, wanted) : strong(Scalar::F64);
  }
  if (is_shift(op) && !integral(t.type)) return std::nullopt;
  if (t.type == Type(Scalar::Bool)) t.type = Scalar::I32;
  if (maybe_ints && t.weak == Weak::Float) return weak_real(false, t.fits_single, wanted);
  return t;
}

std::optional<Typed> promoted(NaryOp op, const Typed& before, const Typed& term,
                              const std::optional<Type>& wanted) {
  if (op == NaryOp::And || op == NaryOp::Or) return strong(Scalar::Bool);
  const bool bits = is_bits(op);
  if (bits && before.type == Type(Scalar::Bool) && term.type == Type(Scalar::Bool))
    return strong(Scalar::Bool);
  const std::array<Typed, 2> both{before, term};
  const Typed t = combine(both, bits ? integer_context(wanted) : wanted, true);
  if (bits && !integral(t.type)) return std::nullopt;
  if (t.weak == Weak::Int && !bits) return weak_int(folded(op, before, term), wanted);
  return t;
}

Sides compared(const Typed& l, const Typed& r) {
  const std::array<Typed, 2> both{l, r};
  const Type t = combine(both, std::nullopt).type;
  const auto is_integral = [](const Typed& x) { return x.weak == Weak::Int || integral(x.type); };
  if (integral(t) || !is_integral(l) || !is_integral(r)) return {t, t};
  if (l.type == Type(Scalar::U64)) return {Scalar::U64, Scalar::I64};
  return {Scalar::I64, Scalar::U64};
}

Typed chosen(const Typed& yes, const Typed& no, const std::optional<Type>& wanted) {
  if (yes.weak == Weak::No && no.weak == Weak::No && yes.type == no.type)
    return strong(computed_as(yes.type));
  const std::array<Typed, 2> both{yes, no};
  return combine(both, wanted);
}

}  // namespace moonloop
