#include "codegen/c_expr.h"

#include <algorithm>
#include <cmath>

#include "codegen/ast.h"
#include "core/diagnostic.h"
#include "core/domain.h"

namespace moonloop {
namespace {

bool real(const Type& t) { return !t.is_record() && is_real(t.scalar); }
bool complex(const Type& t) { return !t.is_record() && is_complex(t.scalar); }
bool integral(const Type& t) {
  return !t.is_record() && (is_integer(t.scalar) || t.scalar == Scalar::Bool);
}

/// C computes in `int` what is narrower.
Type promoted(const Type& t) {
  if (t.is_record()) return t;
  return integral(t) && size_of(t.scalar) < 4 ? Type(Scalar::I32) : t;
}

bool is_number_literal(const Expr& e) {
  return e.as<IntLit>() || e.as<FloatLit>() || e.as<BoolLit>();
}

/// A comparison of integers that are known.
std::optional<bool> constant_condition(const Expr& e) {
  const auto* c = e.as<Compare>();
  const auto a = c ? as_int(c->left) : std::nullopt, b = c ? as_int(c->right) : std::nullopt;
  if (!a || !b) return std::nullopt;
  switch (c->op) {
    case CompareOp::Eq: return *a == *b;
    case CompareOp::Ne: return *a != *b;
    case CompareOp::Lt: return *a < *b;
    case CompareOp::Le: return *a <= *b;
    case CompareOp::Gt: return *a > *b;
    case CompareOp::Ge: return *a >= *b;
  }
  return std::nullopt;
}

/// The type in which C combines operands of types `a` and `b`.
Type combined(const Type& x, const Type& y) {
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

}  // namespace

CExpr::CExpr(const Plan& plan, CNames& names, Helpers& helpers)
    : plan_(plan), k_(plan.kernel), names_(names), helpers_(helpers), typer_(k_, types_) {
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
    for (const std::string& n : d.inames()) types_.emplace(n, Type(k_.index_type));
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

std::string CExpr::wrap(const Piece& p, Prec min) {
  return p.prec < min ? "(" + p.text + ")" : p.text;
}

std::string CExpr::value(const Expr& e, const Type& to) { return converted(e, to, false).text; }
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
      const Piece p = is_index(t) ? print_index(t, false) : print(t, {});
      out += (out.empty() ? "" : " && ") + wrap(p, Prec::BitOr);
    }
    return out;
  }
  return is_index(e) ? print_index(e, false).text : print(e, {}).text;
}

/// `e` as `to`. Without `explicitly`, C converts it anyway: an assignment or an argument.
CExpr::Piece CExpr::converted(const Expr& e, const Type& to, bool explicitly) {
  if (to == Type(Scalar::F16)) return stored_as_half(e);
  if (!to.is_record() && (is_pair(to) || (!is_number_literal(e) && is_pair(type(e, to)))))
    return converted_pair(e, to);
  const auto n = as_int(e);
  if (n && real(to) && !(e.as<IntLit>() && e.as<IntLit>()->type))
    return real_literal(static_cast<double>(*n), to);
  Piece p = print(e, to);
  if (p.type == to || to.is_record()) return p;
  const Type from = type(e, to);
  // C's narrowing on assignment is ours, but for reals that become complex and back.
  const bool narrows_here = !explicitly;
  if (narrows_here) return p;
  if (promoted(to) == promoted(from) && promoted(p.type) == promoted(to) && promoted(to) == to)
    return p;
  return {"(" + helpers_.type(to) + ")" + wrap(p, Prec::Unary), Prec::Unary, to};
}

/// C computed in `int`; the value wraps to the narrower type.
CExpr::Piece CExpr::narrowed(const Piece& p, const Type& t) const {
  if (p.type == t || !integral(t) || size_of(t.scalar) >= 4) return {p.text, p.prec, t};
  return {"(" + helpers_.type(t) + ")" + wrap(p, Prec::Unary), Prec::Unary, t};
}

CExpr::Piece CExpr::literal(std::int64_t v, const Type& t) const {
  if (v == INT64_MIN) return {"(-9223372036854775807 - 1)", Prec::Postfix, Scalar::I64};
  std::string text = std::to_string(v);
  const bool wide = v > INT32_MAX || v < INT32_MIN;
  Type c = wide ? Scalar::I64 : Scalar::I32;
  if (integral(t) && is_unsigned(t.scalar) && size_of(t.scalar) >= 4 && v >= 0) {
    text += size_of(t.scalar) == 8 ? "ull" : "u";
    c = t;
  }
  return {text, v < 0 ? Prec::Unary : Prec::Postfix, c};
}

CExpr::Piece CExpr::real_literal(double v, const Type& t) {
  const bool single = t == Type(Scalar::F32) || t == Type(Scalar::C64);
  const Type type = single ? Scalar::F32 : Scalar::F64;
  if (std::isnan(v) || std::isinf(v)) {
    helpers_.include("math.h");
    std::string name = std::isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY";
    if (single) return {name, v < 0 ? Prec::Unary : Prec::Postfix, type};
    return {"(double)" + name, Prec::Unary, type};
  }
  std::string text = single ? fmt::format("{}", static_cast<float>(v)) : fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += "f";
  return {text, std::signbit(v) ? Prec::Unary : Prec::Postfix, type};
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
        if (x.type && !(p.type == t) && integral(t))
          return {"(" + helpers_.type(t) + ")" + wrap(p, Prec::Unary), Prec::Unary, t};
        return p;
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
        return {std::string(t == Type(Scalar::C64) ? "CMPLXF(" : "CMPLX(") +
                    real_literal(x.re, part).text + ", " + real_literal(x.im, part).text + ")",
                Prec::Postfix, t};
      },
      [&](const BoolLit& x) -> Piece {
        helpers_.include("stdbool.h");
        return {x.value ? "true" : "false", Prec::Postfix, Scalar::Bool};
      },
      [&](const Var& x) -> Piece { return loaded(place(e), type_of_name(x.name)); },
      [&](const Load& x) -> Piece { return loaded(place(e), type_of_name(x.array)); },
      [&](const Field&) -> Piece {
        const Type t = type(e);
        if (helpers_.language() == Language::Cuda && is_pair(t))
          return {"(" + helpers_.type(t) + ")" + place(e), Prec::Unary, t};
        return loaded(place(e), t);
      },
      [&](const Unary& x) -> Piece { return print_unary(e, x, wanted); },
      [&](const Binary& x) -> Piece { return print_binary(e, x, wanted); },
      [&](const Nary& x) -> Piece { return print_nary(e, x, wanted); },
      [&](const Compare& x) -> Piece { return print_compare(e, x); },
      [&](const Select& x) -> Piece {
        const Type t = type(e, wanted);
        if (const auto known = constant_condition(x.cond))
          return converted(*known ? x.yes : x.no, t, true);
        const Piece yes = converted(x.yes, t, true), no = converted(x.no, t, true);
        Piece cond = print(x.cond, {});
        if (helpers_.language() == Language::OpenCL && real(cond.type))  // it takes integers alone
          cond = {wrap(cond, Prec::Relation) + " != 0", Prec::Equal, Scalar::Bool};
        return {wrap(cond, Prec::Or) + " ? " + wrap(yes, Prec::Or) + " : " + wrap(no, Prec::Select),
                Prec::Select, is_pair(t) ? t : combined(yes.type, no.type)};
      },
      [&](const Call& x) -> Piece { return print_call(e, x, wanted); },
      [&](const Reduce&) -> Piece { throw InternalError("a reduction in a realized kernel"); },
      [&](const Cast& x) -> Piece {
        if (x.type == Type(Scalar::F16)) return rounded_to_half(x.arg);
        if (is_pair(x.type) || is_pair(type(x.arg, x.type))) return converted_pair(x.arg, x.type);
        const Piece p = print(x.arg, x.type);
        if (p.type == x.type) return p;
        return {"(" + helpers_.type(x.type) + ")" + wrap(p, Prec::Unary), Prec::Unary, x.type};
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
    return {"!" + wrap(print(x.arg, {}), Prec::Unary), Prec::Unary, Scalar::Bool};
  const Type t = type(e, wanted);
  if (is_pair(t)) return pair_call("neg", t, {value(x.arg, t)});
  Piece p = converted(x.arg, t, true);
  std::string inner = wrap(p, Prec::Unary);
  if (inner[0] == '-') inner = "(" + inner + ")";
  return narrowed({(x.op == UnaryOp::Neg ? "-" : "~") + inner, Prec::Unary, promoted(p.type)}, t);
}

/// Division as C has it, or its rest.
CExpr::Piece CExpr::truncated(const Expr& left, const Expr& right, bool quotient, const Type& t) {
  const Piece l = converted(left, t, true), r = converted(right, t, true);
  return narrowed({wrap(l, Prec::Product) + (quotient ? " / " : " % ") + wrap(r, Prec::Unary),
                   Prec::Product, combined(l.type, r.type)},
                  t);
}

/// Floor division and its rest.
CExpr::Piece CExpr::division(const Expr& left, const Expr& right, bool quotient, const Type& t) {
  if (real(t)) {
    if (quotient) {
      helpers_.include("math.h");
      return {helpers_.math("floor", t.scalar) + "(" +
                  wrap(converted(left, t, true), Prec::Product) + " / " +
                  wrap(converted(right, t, true), Prec::Unary) + ")",
              Prec::Postfix, t};
    }
    return {helpers_.function("floor_mod", t.scalar) + "(" + value(left, t) + ", " +
                value(right, t) + ")",
            Prec::Postfix, t};
  }
  if (is_unsigned(t.scalar) || (not_negative(left) && positive(right)))
    return truncated(left, right, quotient, t);
  return {helpers_.function(quotient ? "floor_div" : "floor_mod", t.scalar) + "(" + value(left, t) +
              ", " + value(right, t) + ")",
          Prec::Postfix, t};
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
      Piece l = print(x.left, t), r = print(x.right, t);
      if (!(combined(l.type, r.type) == t)) {
        const auto* number = x.left.as<IntLit>();
        l = number ? real_literal(static_cast<double>(number->value), t)
                   : converted(x.left, t, true);
        if (!(l.type == t)) l = converted(x.left, t, true);
      }
      return {wrap(l, Prec::Product) + " / " + wrap(r, Prec::Unary), Prec::Product, t};
    }
    case BinaryOp::Shl:
    case BinaryOp::Shr: {
      const Piece l = converted(x.left, t, true), r = print(x.right, {});
      const auto side = [](const Piece& p) {  // compilers warn of sums in shifts
        return p.prec == Prec::Sum ? "(" + p.text + ")" : wrap(p, Prec::Product);
      };
      return narrowed({side(l) + (x.op == BinaryOp::Shl ? " << " : " >> ") + side(r), Prec::Shift,
                       promoted(l.type)},
                      t);
    }
  }
  throw InternalError("no such operator");
}

CExpr::Piece CExpr::print_power(const Expr& e, const Expr& base, const Expr& exponent,
                                const std::optional<Type>& wanted) {
  const Type t = type(e, wanted);
  const auto n = as_int(exponent);
  if (integral(t))
    return narrowed({helpers_.function("power", promoted(t).scalar) + "(" + value(base, t) + ", " +
                         value(exponent, t) + ")",
                     Prec::Postfix, promoted(t)},
                    t);
  if (n == 2 && (base.as<Var>() || base.as<Load>())) {
    const std::string x = wrap(converted(base, t, true), Prec::Product);
    return is_pair(t) ? pair_call("mul", t, {x, x}) : Piece{x + "*" + x, Prec::Product, t};
  }
  if (is_pair(t)) return print_pair_binary(Binary{BinaryOp::Pow, base, exponent}, t);
  helpers_.include(complex(t) ? "complex.h" : "math.h");
  return {helpers_.math("pow", t.scalar) + "(" + value(base, t) + ", " + value(exponent, t) + ")",
          Prec::Postfix, t};
}

CExpr::Piece CExpr::print_nary(const Expr& e, const Nary& x, const std::optional<Type>& wanted) {
  if (x.op == NaryOp::And || x.op == NaryOp::Or) {
    std::string out;
    for (const Expr& t : x.terms)
      out += (out.empty()           ? ""
              : x.op == NaryOp::And ? " && "
                                    : " || ") +
             wrap(print(t, {}), Prec::BitOr);  // && within || in parentheses, as compilers ask
    return {out, x.op == NaryOp::And ? Prec::And : Prec::Or, Scalar::Bool};
  }
  const Type t = type(e, wanted);
  if (is_pair(t)) return print_pairs(x, t);
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
  std::string out;
  std::vector<Piece> pieces;
  std::vector<bool> minus;
  for (const Expr& term : x.terms) {
    const auto* u = term.as<Unary>();
    const bool subtract = x.op == NaryOp::Add && !pieces.empty() && u && u->op == UnaryOp::Neg;
    minus.push_back(subtract);
    pieces.push_back(print(subtract ? u->arg : term, t));
  }
  // From the first operation on, C must compute in our type.
  const Type own = promoted(t);
  if (!(combined(pieces[0].type, pieces[1].type) == own)) {
    const Expr& first = x.terms[0];
    const auto* number = first.as<IntLit>();
    pieces[0] = number && real(t) ? real_literal(static_cast<double>(number->value), t)
                                  : converted(first, own, true);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Piece& p = pieces[i];
    // What C would not convert to our type by itself: signed next to unsigned.
    if (i > 0 && !(combined(own, p.type) == own))
      p = {"(" + helpers_.type(own) + ")" + wrap(p, Prec::Unary), Prec::Unary, own};
    std::string text = wrap(p, i == 0 ? sign.inner : sign.next);
    if (i > 0 && text[0] == '-') text = "(" + text + ")";
    out += i == 0 ? text : (minus[i] ? sign.minus : sign.plus) + text;
  }
  return narrowed({out, sign.prec, own}, t);
}

CExpr::Piece CExpr::print_compare(const Expr& e, const Compare& x) {
  const std::optional<Type> t = typer_.operand_type(e);
  ensure(t.has_value(), "a comparison without a type");
  if (is_pair(*t)) {
    const Piece p = pair_call("equal", *t, {value(x.left, *t), value(x.right, *t)});
    return {(x.op == CompareOp::Ne ? "!" : "") + p.text, Prec::Unary, Scalar::Bool};
  }
  Piece l = print(x.left, t), r = print(x.right, t);
  if (!(combined(l.type, r.type) == promoted(*t))) {
    l = converted(x.left, promoted(*t), true);
    if (!(combined(l.type, r.type) == promoted(*t))) r = converted(x.right, promoted(*t), true);
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
  return {wrap(l, Prec::Shift) + text(x.op) + wrap(r, Prec::Shift), prec, Scalar::Bool};
}

CExpr::Piece CExpr::extremum(bool min, const Exprs& args, const Type& t) {
  const std::string name = helpers_.extremum(min, t.scalar);
  std::string text = value(args[0], t);
  for (std::size_t i = 1; i < args.size(); ++i)
    text = name + "(" + text + ", " + value(args[i], t) + ")";
  return {text, Prec::Postfix, t};
}

}  // namespace moonloop
