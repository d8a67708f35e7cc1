#include "codegen/print/c_expr.h"

#include <algorithm>
#include <cmath>

#include "codegen/plan/ast.h"
#include "codegen/print/ispc_library.h"
#include "core/base/diagnostic.h"
#include "core/expr/integers.h"
#include "core/infer/program_points.h"
#include "core/model/domain.h"

namespace moonloop {
namespace {

bool real(const Type& t) { return !t.is_record() && is_real(t.scalar); }
bool complex(const Type& t) { return !t.is_record() && is_complex(t.scalar); }

/// C computes narrower types in `int`.
Type promoted(const Type& t) {
  if (t.is_record()) return t;
  return integral(t) && size_of(t.scalar) < 4 ? Type(Scalar::I32) : t;
}

/// The same for products of unsigned operands, which may not fit an `int` and wrap.
Type wrapping(const Type& t) {
  return integral(t) && is_unsigned(t.scalar) && size_of(t.scalar) < 4 ? Type(Scalar::U32)
                                                                       : promoted(t);
}

bool is_number_literal(const Expr& e) {
  return e.as<IntLit>() || e.as<FloatLit>() || e.as<BoolLit>();
}

/// Something in memory: a variable, an element, or a field of one.
bool is_place(const Expr& e) {
  const auto* f = e.as<Field>();
  return f ? is_place(f->base) : e.as<Var>() || e.as<Load>();
}

/// A comparison of integers that are known.
std::optional<bool> constant_condition(const Expr& e) {
  const auto* c = e.as<Compare>();
  const auto a = c ? as_int(c->left) : std::nullopt, b = c ? as_int(c->right) : std::nullopt;
  return a && b ? std::optional(holds(c->op, *a, *b)) : std::nullopt;
}

/// The type in which C combines operands of types `a` and `b`.
Type combined_in_c(const Type& x, const Type& y) {
  const Type a = promoted(x), b = promoted(y);
  if (a == b) return a;
  if (complex(a) || complex(b)) {
    const auto single = [](const Type& t) {
      return integral(t) || real_part(t.scalar) == Scalar::F32;
    };
    return single(a) && single(b) ? Scalar::C64 : Scalar::C128;
  }
  if (a == Type(Scalar::F64) || b == Type(Scalar::F64)) return Scalar::F64;
  if (real(a) || real(b)) return Scalar::F32;
  const int sa = size_of(a.scalar), sb = size_of(b.scalar);
  if (sa != sb) return sa > sb ? a : b;
  return is_unsigned(a.scalar) ? a : b;
}

/// The same of ISPC, which promotes nothing, and where a truth value is any number.
Type combined_in_ispc(const Type& x, const Type& y) {
  static constexpr Scalar kGeneral[] = {Scalar::Bool, Scalar::F64, Scalar::U64, Scalar::I64,
                                        Scalar::F32,  Scalar::U32, Scalar::I32, Scalar::F16,
                                        Scalar::U16,  Scalar::I16, Scalar::U8,  Scalar::I8};
  for (const Scalar s : kGeneral)
    if (x == Type(s) || y == Type(s)) return s;
  return x;
}

}  // namespace

Type CExpr::combined(const Type& x, const Type& y) const {
  return in_ispc() ? combined_in_ispc(x, y) : combined_in_c(x, y);
}

/// With a cast in front. In ISPC the number of a truth value is not always 1.
CExpr::Piece CExpr::cast(const Piece& p, const Type& to) const {
  if (in_ispc() && p.type == Type(Scalar::Bool)) {
    const Piece number{wrap(p, Prec::Or) + " ? 1 : 0", Prec::Select, Scalar::I32};
    return to == number.type ? number : cast(number, to);
  }
  return {"(" + helpers_.type(to) + ")" + wrap(p, Prec::Unary), Prec::Unary, to};
}

CExpr::CExpr(const Plan& plan, CNames& names, Helpers& helpers)
    : plan_(plan),
      k_(plan.kernel),
      names_(names),
      helpers_(helpers),
      typer_(k_, types_, true),
      in_bounds_(claimed_in_bounds(k_)) {
  for (const Argument& a : k_.args) {
    types_[a.name] = a.type ? *a.type : Type(k_.index_type);
    args_[a.name] = &a;
  }
  bool arrays = false;  // only these are ever taken as flat
  for (const auto& [n, t] : k_.temporaries) {
    types_[n] = t.type;
    arrays |= t.shape && !t.shape->empty();
  }
  for (const Domain& d : k_.domains) {
    for (const std::string& n : d.inames()) {
      types_.emplace(n, Type(k_.index_type));
      inames_.insert(n);
    }
    for (const std::string& n : param_names(d.set)) types_.emplace(n, Type(k_.index_type));
  }
  if (!arrays) return;
  for (const InsnPtr& insn : k_.instructions) {
    const auto note = [&](const Expr& e) {
      walk(e, [&](const Expr& x) {
        if (const auto* l = x.as<Load>(); l && l->linear) linear_.insert(l->array);
        return true;
      });
    };
    for (const Expr& e : insn->lhs) note(e);
    if (insn->rhs) note(insn->rhs);
    for (const Expr& e : insn->predicates) note(e);
  }
}

Type CExpr::type(const Expr& e, const std::optional<Type>& wanted) const {
  const auto t = typer_.type(e, wanted);
  ensure(t.has_value(), "code generation meets an expression without a type");
  return t->type;
}

const Type& CExpr::type_of_name(const std::string& name) const {
  const auto it = types_.find(name);
  if (it == types_.end() || !it->second) throw InternalError("no type for `" + name + "`");
  return *it->second;
}

Expr CExpr::with_values(const Expr& e, const std::map<std::string, Expr>& values) const {
  return moonloop::with_values(e, values, [&](const Expr& v) {
    if (const auto n = as_int(v)) return Expr(IntLit{*n, k_.index_type});
    bool other = false;  // a parameter may have another type
    walk(v, [&](const Expr& x) {
      const auto* p = x.as<Var>();
      other = other || (p && !(type_of_name(p->name) == Type(k_.index_type)));
      return !other;
    });
    return other ? Expr(Cast{k_.index_type, v}) : v;
  });
}

std::string CExpr::wrap(const Piece& p, Prec min) {
  return p.prec < min ? "(" + p.text + ")" : p.text;
}

std::string CExpr::value(const Expr& e, const Type& to) { return converted(e, to, false).text; }
std::string CExpr::argument(const Expr& e, const Type& to) {
  return converted(e, to, helpers_.language() != Language::C).text;
}
std::string CExpr::operand(const Expr& e, const Type& to, Prec min) {
  return wrap(converted(e, to, true), min);
}

std::string CExpr::addend(const Expr& e, const Type& to) {
  const Piece p = print(e, to);
  const bool by_itself = !as_int(e) && combined(p.type, to) == to;
  return by_itself ? p.text : converted(e, to, true).text;
}

std::string CExpr::condition(const Expr& e) {
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::And) {
    std::string out;
    for (const Expr& t : n->terms) {
      const Piece p = is_index(t) ? print_index(t, false) : truth(t);
      out += (out.empty() ? "" : " && ") + wrap(p, Prec::BitOr);
    }
    return out;
  }
  return is_index(e) ? print_index(e, false).text : truth(e).text;
}

/// `e` as `to`. Without `explicitly`, C converts it anyway: an assignment or an argument.
CExpr::Piece CExpr::converted(const Expr& e, const Type& to, bool explicitly) {
  if (to == Type(Scalar::F16)) return stored_as_half(e);
  if (to == Type(Scalar::Bool) && !(type(e) == to)) {  // not by C, where an integer may store it
    const Piece p = truth(e);
    if (p.type == to) return p;
    return {wrap(p, Prec::Shift) + " != 0", Prec::Equal, to};
  }
  if (!to.is_record() && (is_pair(to) || (!is_number_literal(e) && is_pair(type(e, to)))))
    return converted_pair(e, to);
  const auto n = as_int(e);
  if (n && real(to) && !(e.as<IntLit>() && e.as<IntLit>()->type))
    return real_literal(static_cast<double>(*n), to);
  Piece p = print(e, to);
  if (p.type == to || to.is_record()) return p;
  if (in_ispc()) return as_int(e) && integral(to) && integral(p.type) ? p : cast(p, to);
  const Type from = type(e, to);
  // C's narrowing on assignment is ours, but for reals that become complex and back.
  const bool narrows_here = !explicitly;
  if (narrows_here) return p;
  if (promoted(to) == promoted(from) && promoted(p.type) == promoted(to) && promoted(to) == to)
    return p;
  return cast(p, to);
}

/// C computed in `int`; the value wraps to the narrower type.
CExpr::Piece CExpr::narrowed(const Piece& p, const Type& t) const {
  if (p.type == t || !integral(t) || size_of(t.scalar) >= 4) return {p.text, p.prec, t};
  return cast(p, t);
}

CExpr::Piece CExpr::literal(std::int64_t v, const Type& t) const {
  if (v == INT64_MIN) return {"(-9223372036854775807 - 1)", Prec::Postfix, Scalar::I64};
  std::string text = std::to_string(v);
  const bool wide = v > INT32_MAX || v < INT32_MIN;
  Type c = wide ? Scalar::I64 : Scalar::I32;
  if (integral(t) && is_unsigned(t.scalar) && size_of(t.scalar) >= 4 && v >= 0) {
    // A `long long` of OpenCL C has 128 bits.
    text += size_of(t.scalar) != 8 ? "u" : helpers_.language() == Language::OpenCL ? "ul" : "ull";
    c = t;
  }
  return {text, v < 0 ? Prec::Unary : Prec::Postfix, c};
}

CExpr::Piece CExpr::real_literal(double v, const Type& t) {
  const bool single = t == Type(Scalar::F32) || t == Type(Scalar::C64);
  const Type type = single ? Scalar::F32 : Scalar::F64;
  if (std::isnan(v) || std::isinf(v)) {
    helpers_.include("math.h");
    helpers_.use(std::isnan(v) ? Feature::NotANumber : Feature::Infinity);
    if (in_ispc())
      return {(v < 0 ? "-" : "") + ispc_special(std::isinf(v), type.scalar),
              v < 0 ? Prec::Unary : Prec::Postfix, type};
    std::string name = std::isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY";
    if (single) return {name, v < 0 ? Prec::Unary : Prec::Postfix, type};
    return {"(" + helpers_.type(type) + ")" + name, Prec::Unary, type};
  }
  std::string text = single ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += "f";
  if (!single && in_ispc()) text += "d";
  return {text, std::signbit(v) ? Prec::Unary : Prec::Postfix, type};
}

bool CExpr::stands_in(const Expr& what) const {
  return std::any_of(stand_ins_.begin(), stand_ins_.end(),
                     [&](const StandIn& s) { return equal(what, s.what); });
}

CExpr::Piece CExpr::print(const Expr& e, const std::optional<Type>& wanted) {
  for (const StandIn& s : stand_ins_)
    if (equal(e, s.what)) return loaded(s.text, type(e));
  return e.visit(overload{
      [&](const IntLit& x) -> Piece {
        const Type t = type(e, wanted);
        if (real(t) && (x.value > (1 << 24) || x.value < -(1 << 24)))
          return real_literal(static_cast<double>(x.value), t);
        Piece p = literal(x.value, t);
        return x.type && !(p.type == t) && integral(t) ? cast(p, t) : p;
      },
      [&](const FloatLit& x) -> Piece { return real_literal(x.value, type(e, wanted)); },
      [&](const ComplexLit& x) -> Piece {
        const Type t = type(e, wanted);
        helpers_.include("complex.h");
        const Type part = real_part(t.scalar);
        if (is_pair(t))
          return {complex_pair(helpers_.language(), t.scalar, real_literal(x.re, part).text,
                               real_literal(x.im, part).text),
                  Prec::Postfix, t};
        return {helpers_.complex_of_parts(t.scalar) + "(" + real_literal(x.re, part).text + ", " +
                    real_literal(x.im, part).text + ")",
                Prec::Postfix, t};
      },
      [&](const BoolLit& x) -> Piece {
        helpers_.include("stdbool.h");
        return {x.value ? "true" : "false", Prec::Postfix, Scalar::Bool};
      },
      [&](const Var& x) -> Piece { return loaded(place(e), type_of_name(x.name)); },
      [&](const Load& x) -> Piece { return loaded(place(e), type_of_name(x.array)); },
      [&](const Field& x) -> Piece {
        const Type t = type(e);
        const std::string text = is_place(x.base)
                                     ? place(e)  // else of a value: from a choice or a rule
                                     : wrap(print(x.base, {}), Prec::Postfix) + "." +
                                           field_name(helpers_.language(), x.name);
        if (helpers_.language() == Language::Cuda && is_pair(t))
          return {"(" + helpers_.type(t) + ")" + text, Prec::Unary, t};
        return loaded(text, t);
      },
      [&](const Unary& x) -> Piece { return print_unary(e, x, wanted); },
      [&](const Binary& x) -> Piece { return print_binary(e, x, wanted); },
      [&](const Nary& x) -> Piece { return print_nary(e, x, wanted); },
      [&](const Compare& x) -> Piece { return print_compare(e, x); },
      [&](const Select& x) -> Piece {
        if (const auto sum = as_sum(e)) return print(*sum, wanted);
        const Type t = type(e, wanted);
        if (const auto known = constant_condition(x.cond))
          return converted(*known ? x.yes : x.no, t, true);
        const Piece yes = converted(x.yes, t, true), no = converted(x.no, t, true);
        return {wrap(truth(x.cond), Prec::Or) + " ? " + wrap(yes, Prec::Or) + " : " +
                    wrap(no, Prec::Select),
                Prec::Select, is_pair(t) ? t : combined(yes.type, no.type)};
      },
      [&](const Call& x) -> Piece { return print_call(e, x, wanted); },
      [&](const Reduce&) -> Piece { throw InternalError("a reduction in a realized kernel"); },
      [&](const Cast& x) -> Piece {
        if (x.type == Type(Scalar::F16)) return rounded_to_half(x.arg);
        if (x.type == Type(Scalar::Bool)) return converted(x.arg, x.type, true);
        if (is_pair(x.type) || is_pair(type(x.arg, x.type))) return converted_pair(x.arg, x.type);
        const Piece p = print(x.arg, x.type);
        return p.type == x.type ? p : cast(p, x.type);
      },
      [&](const Slice&) -> Piece {
        fail("unsupported", e.at(), "slices as arguments of functions are not supported yet");
      },
      [&](const SubArray&) -> Piece {
        fail("unsupported", e.at(), "arrays as arguments of functions are not supported yet");
      }});
}

CExpr::Piece CExpr::print_unary(const Expr& e, const Unary& x, const std::optional<Type>& wanted) {
  if (x.op == UnaryOp::Not)
    return {"!" + wrap(truth(x.arg), Prec::Unary), Prec::Unary, Scalar::Bool};
  const Type t = type(e, wanted);
  if (t == Type(Scalar::Bool))  // all its bits
    return {"!" + wrap(truth(x.arg), Prec::Unary), Prec::Unary, t};
  if (is_pair(t)) return pair_call("neg", t, {value(x.arg, t)});
  Piece p = converted(x.arg, t, true);
  std::string inner = wrap(p, Prec::Unary);
  if (inner[0] == '-') inner = "(" + inner + ")";
  return narrowed({(x.op == UnaryOp::BitNot ? "~" : "-") + inner, Prec::Unary, promoted(p.type)},
                  t);
}

/// Division as C has it, or its rest.
CExpr::Piece CExpr::truncated(const Expr& left, const Expr& right, bool quotient, const Type& t) {
  const Type own = in_ispc() ? promoted(t) : t;
  const Piece l = converted(left, own, true), r = converted(right, own, true);
  return narrowed({wrap(l, Prec::Product) + (quotient ? " / " : " % ") + wrap(r, Prec::Unary),
                   Prec::Product, combined(l.type, r.type)},
                  t);
}

/// Floor division and its rest.
CExpr::Piece CExpr::division(const Expr& left, const Expr& right, bool quotient, const Type& t) {
  if (!real(t) && (is_unsigned(t.scalar) || (not_negative(left) && positive(right))))
    return truncated(left, right, quotient, t);
  return {helpers_.function(quotient ? "floor_div" : "floor_mod", t.scalar) + "(" + value(left, t) +
              ", " + value(right, t) + ")",
          Prec::Postfix, t};
}

/// Whether the quotient is one that a GPU of CUDA's takes much longer for where the dividend is 0,
/// as it is wherever nothing moves, and may be 0. A product does for a divisor that is a power of
/// 2; what stays the same in a loop, the compiler takes out of it where it is no choice.
bool CExpr::is_slow_for_zeros(const Expr& e, const Binary& x, const Type& t) const {
  if (helpers_.language() != Language::Cuda || !(t == Type(Scalar::F64))) return false;
  if (changing_) {
    std::set<std::string> names;
    const auto add = [&](const Expr& part) {
      collect_vars(part, names);
      collect_reads(part, names);
    };
    add(e);
    for (const auto& [iname, value] : values_)
      if (names.contains(iname)) add(value);
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& n) { return changing_->contains(n); }))
      return false;
  }
  const auto number = [](const Expr& e) -> std::optional<double> {
    if (const auto n = as_int(e)) return static_cast<double>(*n);
    const auto* f = e.as<FloatLit>();
    return f ? std::optional(f->value) : std::nullopt;
  };
  const auto dividend = number(x.left), divisor = number(x.right);
  int exponent = 0;
  const bool power = divisor && std::abs(std::frexp(*divisor, &exponent)) == 0.5;
  return !(dividend && *dividend != 0) && !power;
}

CExpr::Piece CExpr::print_binary(const Expr& e, const Binary& x,
                                 const std::optional<Type>& wanted) {
  const Type t = type(e, wanted);
  if (is_pair(t) && x.op == BinaryOp::Div) return print_pair_binary(x, t);
  switch (x.op) {
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod: return division(x.left, x.right, x.op == BinaryOp::FloorDiv, t);
    case BinaryOp::Pow: return print_power(e, x.left, x.right, wanted);
    case BinaryOp::Div: {
      if (is_slow_for_zeros(e, x, t))
        return {helpers_.function("quotient", t.scalar) + "(" + value(x.left, t) + ", " +
                    value(x.right, t) + ")",
                Prec::Postfix, t};
      Piece l = print(x.left, t), r = print(x.right, t);
      if (!(combined(l.type, r.type) == t)) {
        const auto* number = x.left.as<IntLit>();
        l = number ? real_literal(static_cast<double>(number->value), t)
                   : converted(x.left, t, true);
        if (!(l.type == t)) l = converted(x.left, t, true);
        if (!(combined(l.type, r.type) == t)) r = converted(x.right, t, true);
      }
      return {wrap(l, Prec::Product) + " / " + wrap(r, Prec::Unary), Prec::Product, t};
    }
    case BinaryOp::Shl:
    case BinaryOp::Shr: return print_shift(e, x, wanted);
  }
  throw InternalError("no such operator");
}

namespace {

/// It is at least 0 and less than `width`.
bool counts_within(const Expr& e, std::int64_t width) {
  const auto within = [&](const Expr& x, std::int64_t most) {
    const auto n = as_int(x);
    return n && *n >= 0 && *n <= most;
  };
  if (within(e, width - 1)) return true;
  if (const auto* c = e.as<Cast>())
    return counts_within(c->arg, std::min<std::int64_t>(width, 128));
  if (const auto* n = e.as<Nary>(); n && n->op == NaryOp::BitAnd)
    return std::any_of(n->terms.begin(), n->terms.end(),
                       [&](const Expr& t) { return within(t, width - 1); });
  const auto* b = e.as<Binary>();
  return b && b->op == BinaryOp::Mod && within(b->right, width);
}

}  // namespace

/// As C has it where the count is known to be less than the width.
CExpr::Piece CExpr::print_shift(const Expr& e, const Binary& x, const std::optional<Type>& wanted) {
  const Computation c = computation(e, wanted);
  const Type& t = c.result;
  const bool left = x.op == BinaryOp::Shl;
  if (!counts_within(x.right, 8 * size_of(t.scalar)))
    return {helpers_.function(left ? "shift_left" : "shift_right", t.scalar) + "(" +
                value(x.left, t) + ", " + value(x.right, c.operands[1]) + ")",
            Prec::Postfix, t};
  const Piece l = converted(x.left, t, true),
              r = in_ispc() ? converted(x.right, t, true) : print(x.right, {});
  const auto side = [](const Piece& p) {  // compilers warn of sums in shifts
    return p.prec == Prec::Sum ? "(" + p.text + ")" : wrap(p, Prec::Product);
  };
  return narrowed({side(l) + (left ? " << " : " >> ") + side(r), Prec::Shift, promoted(l.type)}, t);
}

/// The whole number that an exponent is written as, `2` or `2.0`; nothing beyond those whose powers
/// are products.
static std::optional<int> small_power(const Expr& exponent) {
  constexpr int kMost = 8;
  if (const Expr* of = negated(exponent)) {
    const auto n = small_power(*of);
    return n ? std::optional(-*n) : std::nullopt;
  }
  const auto* f = exponent.as<FloatLit>();
  const double n = f ? f->value : double(as_int(exponent).value_or(0));
  if (n == 0 || n != std::trunc(n) || std::fabs(n) > kMost) return std::nullopt;
  return int(n);
}

/// The function of a power above 1: `square`, …, `power8`.
static std::string power_function(int n) {
  return n == 2 ? "square" : n == 3 ? "cube" : n == 4 ? "fourth" : "power" + std::to_string(n);
}

CExpr::Piece CExpr::print_power(const Expr& e, const Expr& base, const Expr& exponent,
                                const std::optional<Type>& wanted) {
  const Type t = type(e, wanted);
  const auto n = small_power(exponent);
  if (n && is_product(*n, t)) {
    const bool simple = base.as<Var>() || base.as<Load>();
    if (n == 2 && simple) {
      const std::string x = wrap(converted(base, t, true), Prec::Product);
      return is_pair(t) ? pair_call("mul", t, {x, x}) : Piece{x + "*" + x, Prec::Product, t};
    }
    if (is_pair(t)) return pair_call(power_function(*n), t, {value(base, t)});
    if (n == 1) return converted(base, t, true);
    std::string x = *n > 0 ? value(base, t) : "";
    if (*n < 0) {
      x = constant(lit(1), t) + "/" + wrap(converted(base, t, true), Prec::Postfix);
      if (n == -1) return {x, Prec::Product, t};
    }
    return {helpers_.function(power_function(std::abs(*n)), t.scalar) + "(" + x + ")",
            Prec::Postfix, t};
  }
  if (integral(t))
    return narrowed({helpers_.function("power", wrapping(t).scalar) + "(" + value(base, t) + ", " +
                         value(exponent, t) + ")",
                     Prec::Postfix, wrapping(t)},
                    t);
  if (is_pair(t)) return print_pair_binary(Binary{BinaryOp::Pow, base, exponent}, t);
  const Type whole = type(exponent, {});
  if (integral(whole) && whole.scalar != Scalar::U64 && t.scalar != Scalar::F16) {
    const bool word = promoted(whole) == Type(Scalar::I32) && !complex(t);
    const Type n = word ? Scalar::I32 : Scalar::I64;
    return {helpers_.function(word ? "int_power" : "long_power", t.scalar) + "(" + value(base, t) +
                ", " + value(exponent, n) + ")",
            Prec::Postfix, t};
  }
  helpers_.include(complex(t) ? "complex.h" : "math.h");
  if (!complex(t)) helpers_.vectorize(helpers_.math("pow", t.scalar), t.scalar);
  return {
      helpers_.math("pow", t.scalar) + "(" + argument(base, t) + ", " + argument(exponent, t) + ")",
      Prec::Postfix, t};
}

bool CExpr::is_product(int power, const Type& t) const {
  if (integral(t)) return power >= 2 && power <= 4 && size_of(t.scalar) >= 4;
  if (power >= 2) return true;
  return t.scalar == Scalar::F32 || t.scalar == Scalar::F64;
}

CExpr::Piece CExpr::print_nary(const Expr& e, const Nary& x, const std::optional<Type>& wanted) {
  if (x.op == NaryOp::And || x.op == NaryOp::Or) {
    std::string out;
    for (const Expr& t : x.terms)
      out += (out.empty()           ? ""
              : x.op == NaryOp::And ? " && "
                                    : " || ") +
             wrap(truth(t), Prec::BitOr);  // && within || in parentheses, as compilers ask
    return {out, x.op == NaryOp::And ? Prec::And : Prec::Or, Scalar::Bool};
  }
  const Computation c = computation(e, wanted);
  const Type& t = c.result;
  if (is_pair(t)) return print_pairs(x, c);
  struct Sign {
    const char *plus, *minus;
    Prec prec, inner, next;
  };
  Sign sign{" + ", " - ", Prec::Sum, Prec::Sum, Prec::Product};
  switch (x.op) {
    case NaryOp::Add: break;
    case NaryOp::Mul: sign = {" * ", nullptr, Prec::Product, Prec::Product, Prec::Unary}; break;
    case NaryOp::BitAnd: sign = {" & ", nullptr, Prec::BitAnd, Prec::Unary, Prec::Unary}; break;
    case NaryOp::BitOr: sign = {" | ", nullptr, Prec::BitOr, Prec::Unary, Prec::Unary}; break;
    case NaryOp::BitXor: sign = {" ^ ", nullptr, Prec::BitXor, Prec::Unary, Prec::Unary}; break;
    case NaryOp::And:
    case NaryOp::Or: break;
  }
  if (x.op == NaryOp::Mul) sign.plus = "*";
  const bool product = x.op == NaryOp::Mul;
  Piece out;
  Type step = c.operands[0];  // the type of `out`, which C may compute in a wider one
  for (std::size_t i = 0; i < x.terms.size(); ++i) {
    const auto* u = x.terms[i].as<Unary>();
    const bool minus = u && u->op == UnaryOp::Sub;
    const Expr& term = minus ? u->arg : x.terms[i];
    Piece p = print(term, c.contexts[i]);
    if (i == 0) {
      out = std::move(p);
      continue;
    }
    if (!(c.operands[i] == step)) out = narrowed(out, step);
    step = c.operands[i];
    // C has to compute in our type: it converts narrower operands by itself, but neither signed
    // ones with unsigned ones as we do, nor `int`s with others.
    const bool may_wrap = product && 8 * size_of(step.scalar) * static_cast<int>(i + 1) > 31;
    const Type own = may_wrap ? wrapping(step) : promoted(step);
    if (!(combined(out.type, p.type) == own)) {
      const auto* number = i == 1 ? x.terms[0].as<IntLit>() : nullptr;
      if (number && real(own))
        out = real_literal(static_cast<double>(number->value), own);
      else if (!(out.type == own))
        out = i == 1 ? converted(x.terms[0], own, true) : cast(out, own);
    }
    if (!(combined(own, p.type) == own)) p = cast(p, own);
    std::string text = wrap(p, sign.next);
    if (text[0] == '-') text = "(" + text + ")";
    if (out.prec < sign.inner) out.text = "(" + out.text + ")";
    out.text += minus ? sign.minus : sign.plus;  // in place: a sum may have many terms
    out.text += text;
    out.prec = sign.prec;
    out.type = own;
  }
  return narrowed(out, step);
}

Computation CExpr::computation(const Expr& e, const std::optional<Type>& wanted) const {
  auto c = typer_.computation(e, wanted);
  ensure(c.has_value(), "code generation meets an expression without a type");
  return std::move(*c);
}

/// `e` where C takes nonzero as true.
CExpr::Piece CExpr::truth(const Expr& e) {
  const Type t = type(e);
  if (is_pair(t)) {
    const std::string zero = complex_pair(helpers_.language(), t.scalar, "0", "0");
    return {"!" + pair_call("equal", t, {value(e, t), zero}).text, Prec::Unary, Scalar::Bool};
  }
  const Piece p = print(e, {});
  const bool as_it_is = helpers_.language() == Language::OpenCL ? !real(p.type)
                        : in_ispc()                             ? p.type == Type(Scalar::Bool)
                                                                : true;
  if (as_it_is) return p;
  return {wrap(p, Prec::Shift) + " != 0", Prec::Equal, Scalar::Bool};
}

namespace {

/// The comparison with its sides exchanged.
CompareOp mirrored(CompareOp op) {
  switch (op) {
    case CompareOp::Lt: return CompareOp::Gt;
    case CompareOp::Le: return CompareOp::Ge;
    case CompareOp::Gt: return CompareOp::Lt;
    case CompareOp::Ge: return CompareOp::Le;
    case CompareOp::Eq:
    case CompareOp::Ne: break;
  }
  return op;
}

}  // namespace

CExpr::Piece CExpr::print_compare(const Expr& e, const Compare& x) {
  const Computation c = computation(e, {});
  const Type &t = c.operands[0], &other = c.operands[1];
  CompareOp op = x.op;
  Piece l, r;
  if (is_pair(t)) {
    const Piece p = pair_call("equal", t, {value(x.left, t), value(x.right, t)});
    return {(x.op == CompareOp::Ne ? "!" : "") + p.text, Prec::Unary, Scalar::Bool};
  }
  if (!(t == other)) {  // int64 and uint64: C would compare them as unsigned
    const bool swapped = t == Type(Scalar::U64);
    const std::string left = value(x.left, t), right = value(x.right, other);
    l = {helpers_.function("compare", Scalar::I64) + "(" + (swapped ? right : left) + ", " +
             (swapped ? left : right) + ")",
         Prec::Postfix, Scalar::I32};
    r = {"0", Prec::Postfix, Scalar::I32};
    if (swapped) op = mirrored(op);
  } else {
    l = print(x.left, t);
    r = print(x.right, t);
    if (!(combined(l.type, r.type) == promoted(t))) {
      l = converted(x.left, promoted(t), true);
      if (!(combined(l.type, r.type) == promoted(t))) r = converted(x.right, promoted(t), true);
    }
  }
  const auto text = [](CompareOp op) {
    switch (op) {
      case CompareOp::Eq: return " == ";
      case CompareOp::Ne: return " != ";
      case CompareOp::Lt: return " < ";
      case CompareOp::Le: return " <= ";
      case CompareOp::Gt: return " > ";
      case CompareOp::Ge: return " >= ";
    }
    return "";
  };
  const Prec prec = x.op == CompareOp::Eq || x.op == CompareOp::Ne ? Prec::Equal : Prec::Relation;
  return {wrap(l, Prec::Shift) + text(op) + wrap(r, Prec::Shift), prec, Scalar::Bool};
}

bool has_nans_as_fortran(const Kernel& k) {
  std::set<std::string> names;
  bool any = false;
  for (const Claim& c : k.claims)
    if (c.kind == Claim::Kind::InBounds) any = true, names.insert(c.names.begin(), c.names.end());
  return any && std::all_of(k.args.begin(), k.args.end(), [&](const Argument& a) {
           return !a.is_array || names.count(a.name) || !a.shape || a.shape->empty();
         });
}

CExpr::Piece CExpr::extremum(bool min, const Exprs& args, const Type& t) {
  const std::string name = helpers_.extremum(min, t.scalar, has_nans_as_fortran(k_));
  std::string text = argument(args[0], t);
  for (std::size_t i = 1; i < args.size(); ++i)
    text = name + "(" + text + ", " + argument(args[i], t) + ")";
  return {text, Prec::Postfix, t};
}

}  // namespace moonloop
