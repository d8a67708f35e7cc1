#include "frontends/fortran/intrinsics.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/base/diagnostic.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/sections.h"

namespace moonloop::fortran {
namespace {

/// Functions that are the same under another name or their own.
const std::map<std::string, std::string>& renamed() {
  static const std::map<std::string, std::string> kNames{
      {"abs", "abs"},           {"acos", "acos"},
      {"acosh", "acosh"},       {"aimag", "imag"},
      {"asin", "asin"},         {"asinh", "asinh"},
      {"atan2", "atan2"},       {"atanh", "atanh"},
      {"conjg", "conj"},        {"cos", "cos"},
      {"cosh", "cosh"},         {"erf", "erf"},
      {"erfc", "erfc"},         {"exp", "exp"},
      {"hypot", "hypot"},       {"log", "log"},
      {"log10", "log10"},       {"max", "max"},
      {"min", "min"},           {"sin", "sin"},
      {"sinh", "sinh"},         {"sqrt", "sqrt"},
      {"tan", "tan"},           {"tanh", "tanh"},
      {"gamma", "tgamma"},      {"log_gamma", "lgamma"},
      {"aint", "trunc"},        {"anint", "round"},
      {"floor", "floor"},       {"ceiling", "ceil"},
      {"nint", "round"},        {"isnan", "isnan"},
      {"ieee_is_nan", "isnan"}, {"ieee_is_finite", "isfinite"}};
  return kNames;
}

/// The number that a class of `ieee_arithmetic`, as Flang counts them, has alone.
std::optional<Expr> ieee_value(const Expr& which, const Span& at) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (as_int(without_casts(which)).value_or(0)) {
    case 2: return Expr(FloatLit{std::numeric_limits<double>::quiet_NaN(), {}}, at);
    case 3: return Expr(FloatLit{-kInfinity, {}}, at);
    case 6: return Expr(FloatLit{-0.0, {}}, at);
    case 7: return Expr(FloatLit{0.0, {}}, at);
    case 10: return Expr(FloatLit{kInfinity, {}}, at);
    default: return std::nullopt;
  }
}

Expr choice(const Expr& c, const Expr& yes, const Expr& no, const Span& at) {
  return Expr(Select{c, yes, no}, at);
}

/// Integers of one kind as rows of bits. A shift may be as wide as the integer is.
class Bits {
 public:
  Bits(Scalar kind, const Span& at) : kind_(kind), at_(at) {}

  Expr left(const Expr& i, const Expr& by) const {
    return where_narrower(by, shifted(BinaryOp::Shl, i, by), lit(0));
  }
  Expr right(const Expr& i, const Expr& by) const {
    return where_narrower(by, shifted(BinaryOp::Shr, i, by), lit(0));
  }
  /// With copies of the sign.
  Expr sign_right(const Expr& i, const Expr& by) const {
    const auto n = as_int(by);
    const Expr most = lit(width() - 1);
    const Expr fits = !n ? call("min", {by, most}, at_) : *n < width() ? by : most;
    return Expr(Binary{BinaryOp::Shr, i, fits}, at_);
  }
  Expr either_way(const Expr& i, const Expr& by) const {
    if (const auto n = as_int(by)) return *n < 0 ? right(i, lit(-*n)) : left(i, by);
    return choice(Expr(Compare{CompareOp::Ge, by, lit(0)}, at_), left(i, by),
                  right(i, Expr(Unary{UnaryOp::Neg, by}, at_)), at_);
  }
  /// The last `size` bits, turned round to the left.
  Expr around(const Expr& i, const Expr& by, const Expr& size) const {
    const auto n = as_int(by), all = as_int(size);
    if (all && *all < 1) return i;
    const Expr to_left =
        n && all ? lit((*n % *all + *all) % *all) : Expr(Binary{BinaryOp::Mod, by, size}, at_);
    const Expr rest = all == width() ? lit(0) : left(lit(-1), size);  // that stay
    const Expr part = all == width() ? i : both(i, other(rest));
    const Expr turned = any(left(part, to_left), right(part, difference(size, to_left, at_)));
    return all == width() ? turned : any(both(i, rest), both(turned, other(rest)));
  }
  Expr around(const Expr& i, const Expr& by) const { return around(i, by, lit(width())); }
  Expr both(const Expr& a, const Expr& b) const { return Expr(Nary{NaryOp::BitAnd, {a, b}}, at_); }
  Expr any(const Expr& a, const Expr& b) const { return Expr(Nary{NaryOp::BitOr, {a, b}}, at_); }
  Expr other(const Expr& a) const { return Expr(Unary{UnaryOp::BitNot, a}, at_); }

 private:
  int width() const { return 8 * size_of(kind_); }
  Type row() const {
    switch (kind_) {
      case Scalar::I8: return Scalar::U8;
      case Scalar::I16: return Scalar::U16;
      case Scalar::I64: return Scalar::U64;
      default: return Scalar::U32;
    }
  }
  Expr shifted(BinaryOp op, const Expr& i, const Expr& by) const {
    const auto as_row = [&](const Expr& e) { return Expr(Cast{row(), e}, at_); };
    return Expr(Cast{Type(kind_), Expr(Binary{op, as_row(i), as_row(by)}, at_)}, at_);
  }
  Expr where_narrower(const Expr& by, const Expr& yes, const Expr& no) const {
    if (const auto n = as_int(by)) return *n < width() ? yes : no;
    return choice(Expr(Compare{CompareOp::Lt, by, lit(width())}, at_), yes, no, at_);
  }

  Scalar kind_;
  const Span& at_;
};

}  // namespace

std::optional<Expr> elemental(const std::string& name, const Exprs& args, bool integers,
                              const Span& at) {
  const auto binary = [&](BinaryOp op) { return Expr(Binary{op, args.at(0), args.at(1)}, at); };
  const auto bits = [&](NaryOp op) { return Expr(Nary{op, {args.at(0), args.at(1)}}, at); };
  if (name == "atan") return call(args.size() == 2 ? "atan2" : "atan", args, at);
  if (const auto it = renamed().find(name); it != renamed().end())
    return call(it->second, args, at);
  if (name == "mod") return call(integers ? "truncmod" : "fmod", args, at);
  if (name == "modulo") return binary(BinaryOp::Mod);
  if (name == "dim") {
    const Expr less(Compare{CompareOp::Gt, args.at(0), args.at(1)}, at);
    return integers ? choice(less, difference(args[0], args[1], at), lit(0), at)
                    : call("fdim", args, at);
  }
  if (name == "sign") {
    if (!integers) return call("copysign", args, at);
    const Expr size = call("abs", {args.at(0)}, at);
    return choice(Expr(Compare{CompareOp::Ge, args.at(1), lit(0)}, at), size,
                  Expr(Unary{UnaryOp::Neg, size}, at), at);
  }
  if (name.starts_with("bessel_")) {
    const char *first = "bessel_jn", *second = "bessel_yn";
    const std::string kind = name.substr(7);
    if (kind == "j0" || kind == "j1") return call(first, {lit(kind[1] - '0'), args.at(0)}, at);
    if (kind == "y0" || kind == "y1") return call(second, {lit(kind[1] - '0'), args.at(0)}, at);
    if (args.size() == 2) return call(kind == "jn" ? first : second, args, at);
  }
  if (name == "merge") return choice(args.at(2), args.at(0), args.at(1), at);
  if (name == "iand") return bits(NaryOp::BitAnd);
  if (name == "ior") return bits(NaryOp::BitOr);
  if (name == "ieor") return bits(NaryOp::BitXor);
  if (name == "ieee_value") return ieee_value(args.at(1), at);
  if (name == "not") return Expr(Unary{UnaryOp::BitNot, args.at(0)}, at);
  return std::nullopt;
}

std::optional<Expr> on_bits(const std::string& name, const Exprs& args, Scalar kind,
                            const Span& at) {
  const Bits bits(kind, at);
  const auto arg = [&](std::size_t i) { return args.at(i); };
  if (name == "shiftl") return bits.left(arg(0), arg(1));
  if (name == "shiftr") return bits.right(arg(0), arg(1));
  if (name == "shifta") return bits.sign_right(arg(0), arg(1));
  if (name == "ishft") return bits.either_way(arg(0), arg(1));
  if (name == "ishftc")
    return args.size() > 2 && arg(2) ? bits.around(arg(0), arg(1), arg(2))
                                     : bits.around(arg(0), arg(1));
  if (name == "ibset") return bits.any(arg(0), bits.left(lit(1), arg(1)));
  if (name == "ibclr") return bits.both(arg(0), bits.other(bits.left(lit(1), arg(1))));
  if (name == "ibits")
    return bits.both(bits.right(arg(0), arg(1)), bits.other(bits.left(lit(-1), arg(2))));
  if (name == "merge_bits")
    return bits.any(bits.both(arg(0), arg(2)), bits.both(arg(1), bits.other(arg(2))));
  if (name == "btest") {
    const Expr bit = bits.both(Expr(Binary{BinaryOp::Shr, arg(0), arg(1)}, at), lit(1));
    return Expr(Compare{CompareOp::Ne, bit, lit(0)}, at);
  }
  return std::nullopt;
}

std::optional<Expr> made_of_arrays(const std::string& name, const Exprs& args, int rank,
                                   const Span& at) {
  const auto arg = [&](std::size_t i) { return i < args.size() ? args[i] : Expr(); };
  const auto form_unless = [&](bool known) {
    if (!known)
      fail("unsupported", at, "this form of `{}` is not supported in Fortran kernels", name);
  };
  const auto made = [&](Exprs with) { return call(kMade + name, std::move(with), at); };
  const auto or_absent = [&](const Expr& e) { return e ? e : call(kAbsent, {}, at); };
  const Expr always(BoolLit{true});
  if (name == "maxloc" || name == "minloc" || name == "findloc") {
    const std::size_t first = name == "findloc" ? 2 : 1;  // of those behind the value
    const Expr dim = without_casts(arg(first)), mask = arg(first + 1), back = arg(first + 3);
    form_unless(!dim || as_int(dim).has_value());
    Exprs with{args[0], mask ? mask : always, dim ? dim : lit(rank == 0 ? 1 : 0),
               back ? back : Expr(BoolLit{false})};
    if (first == 2) with.push_back(args[1]);
    return made(std::move(with));
  }
  if (name == "iall" || name == "iany" || name == "iparity" || name == "parity") {
    form_unless(rank == 0);
    return made({args[0], arg(2) ? arg(2) : always});
  }
  if (name == "cshift" || name == "eoshift") {
    const Expr dim = without_casts(arg(name == "cshift" ? 2 : 3));
    form_unless(!dim || as_int(dim).has_value());
    Exprs with{args[0], without_casts(args[1]), dim ? dim : lit(1)};
    if (name == "eoshift") with.push_back(or_absent(arg(2)));
    return made(std::move(with));
  }
  if (name == "pack") return made({args[0], args[1], or_absent(arg(2))});
  if (name != "reshape") return std::nullopt;
  const auto *shape = args[1].as<Call>(), *order = arg(3) ? arg(3).as<Call>() : nullptr;
  form_unless(shape && shape->name == kValues && std::ssize(shape->args) == rank);
  Exprs with{args[0], lit(rank)};
  for (const Expr& n : shape->args) with.push_back(without_casts(n));
  with.push_back(or_absent(arg(2)));
  for (int i = 0; i < rank; ++i) {  // the axes by how fast they run
    const auto n = static_cast<std::size_t>(i);
    const Expr axis = !arg(3)                           ? lit(i + 1)
                      : order && n < order->args.size() ? without_casts(order->args[n])
                                                        : Expr();
    form_unless(axis && as_int(axis).has_value());
    with.push_back(axis);
  }
  return made(std::move(with));
}

Expr same_letter(const Expr& a, const Expr& b, const Span& at) {
  const auto is = [&](std::int64_t code) { return Expr(Compare{CompareOp::Eq, a, lit(code)}, at); };
  const auto large = [&](const Expr& e) {
    const Expr small = conjunction({Expr(Compare{CompareOp::Ge, e, lit('a')}, at),
                                    Expr(Compare{CompareOp::Le, e, lit('z')}, at)});
    return choice(small, Expr(Nary{NaryOp::Add, {e, lit('A' - 'a')}}, at), e, at);
  };
  const auto code = as_int(b);
  if (!code) return Expr(Compare{CompareOp::Eq, large(a), large(b)}, at);
  const auto letter = [&](char first, char last) { return *code >= first && *code <= last; };
  const std::int64_t other = letter('A', 'Z')   ? *code + ('a' - 'A')
                             : letter('a', 'z') ? *code - ('a' - 'A')
                                                : *code;
  if (other == *code) return is(*code);
  return Expr(Nary{NaryOp::Or, {is(*code), is(other)}}, at);
}

Assignment whole_complex(const Call& part, const Expr& value, int kind, const Span& at) {
  const Expr z = part.args.at(0);
  const bool real = part.name == "real";
  const Expr other = moonloop::call(real ? "imag" : "real", {z}, at);
  const Expr unit(ComplexLit{0, 1, kind == 4 ? moonloop::Scalar::C64 : moonloop::Scalar::C128}, at);
  const Expr imaginary(Nary{NaryOp::Mul, {real ? other : value, unit}}, at);
  return {z, Expr(Nary{NaryOp::Add, {real ? value : other, imaginary}}, at)};
}

}  // namespace moonloop::fortran
