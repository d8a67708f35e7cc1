#include <bit>

#include "core/external.h"
#include "core/half.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/intrinsics.h"
#include "frontends/fortran/sections.h"

// Flang's typed expressions as the core's.
namespace moonloop::fortran {
namespace {

namespace ev = Fortran::evaluate;
namespace sem = Fortran::semantics;
using Fortran::common::TypeCategory;

std::optional<Type> type_of(TypeCategory category, int kind) {
  switch (category) {
    case TypeCategory::Integer:
      switch (kind) {
        case 1: return Scalar::I8;
        case 2: return Scalar::I16;
        case 4: return Scalar::I32;
        case 8: return Scalar::I64;
        default: return std::nullopt;
      }
    case TypeCategory::Real:
      if (kind == 2) return Scalar::F16;
      if (kind == 4) return Scalar::F32;
      if (kind == 8) return Scalar::F64;
      return std::nullopt;
    case TypeCategory::Complex:
      if (kind == 4) return Scalar::C64;
      if (kind == 8) return Scalar::C128;
      return std::nullopt;
    case TypeCategory::Logical: return Scalar::Bool;
    default: return std::nullopt;
  }
}

const char* name_of(TypeCategory category) {
  switch (category) {
    case TypeCategory::Integer: return "integer";
    case TypeCategory::Real: return "real";
    case TypeCategory::Complex: return "complex";
    case TypeCategory::Character: return "character";
    case TypeCategory::Logical: return "logical";
    default: return "derived";
  }
}

class Converter {
 public:
  /// `texts`: constants of characters are texts, not codes.
  Converter(const Span& at, bool index, bool texts = false)
      : at_(at), index_(index), texts_(texts) {}

  template <typename T>
  Expr visit(const ev::Expr<T>& e) const {
    return std::visit([&](const auto& x) { return visit(x); }, e.u);
  }

  template <typename T>
  std::vector<Expr> elements(const ev::Expr<T>& e) const {
    return std::visit([&](const auto& x) { return elements(x); }, e.u);
  }
  template <typename T>
  std::vector<Expr> elements(const ev::Constant<T>& c) const {
    std::vector<Expr> out;
    if constexpr (T::category != TypeCategory::Derived && T::category != TypeCategory::Character)
      for (const auto& v : c.values()) out.push_back(literal<T>(v));
    return out;
  }
  template <typename X>
  std::vector<Expr> elements(const X&) const {
    return {};
  }

 private:
  [[noreturn]] void unsupported(const std::string& what) const {
    fail("unsupported", at_, "{} is not supported in Fortran kernels", what);
  }

  template <typename T>
  Type type() const {
    if (const auto t = type_of(T::category, T::kind)) return *t;
    unsupported(fmt::format("`{}(kind={})`", name_of(T::category), T::kind));
  }

  // ---- Values.

  template <typename T, typename V>
  Expr literal(const V& v) const {
    if constexpr (T::category == TypeCategory::Integer) {
      return Expr(IntLit{v.ToInt64(), {}}, at_);
    } else if constexpr (T::category == TypeCategory::Real) {
      return Expr(FloatLit{real<T>(v), type<T>().scalar}, at_);
    } else if constexpr (T::category == TypeCategory::Complex) {
      using Part = typename T::Part;
      return Expr(ComplexLit{real<Part>(v.REAL()), real<Part>(v.AIMAG()), type<T>().scalar}, at_);
    } else if constexpr (T::category == TypeCategory::Logical) {
      return Expr(BoolLit{v.IsTrue()}, at_);
    } else if constexpr (T::category == TypeCategory::Character && T::kind == 1) {
      if (texts_) return text_literal(v, at_);
      if (v.size() != 1) unsupported("a character constant of other than one letter");
      return lit(static_cast<unsigned char>(v[0]));
    } else {
      unsupported("a character constant");
    }
  }

  template <typename T, typename V>
  double real(const V& v) const {
    const std::uint64_t bits = v.RawBits().ToUInt64();
    if constexpr (T::kind == 8) return std::bit_cast<double>(bits);
    if constexpr (T::kind == 4)
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if constexpr (T::kind == 2)
      return static_cast<double>(half_value(static_cast<std::uint16_t>(bits)));
    unsupported(fmt::format("`real(kind={})`", T::kind));
  }

  template <typename T>
  Expr visit(const ev::Constant<T>& c) const {
    if constexpr (T::category == TypeCategory::Derived) {
      unsupported("a constant of a derived type");
    } else {
      if (c.Rank() > 0) unsupported("a constant array as a whole");
      return literal<T>(*c.GetScalarValue());
    }
  }

  // ---- Places.

  template <typename T>
  Expr visit(const ev::Designator<T>& d) const {
    const Expr place = std::visit([&](const auto& x) { return visit(x); }, d.u);
    if constexpr (T::category == TypeCategory::Logical) {
      const auto* symbol = d.GetLastSymbol();
      if (symbol && sem::IsDummy(symbol->GetUltimate()))  // an integer, as the caller has it
        return Expr(Compare{CompareOp::Ne, place, lit(0)}, at_);
    }
    return place;
  }
  Expr visit(const sem::SymbolRef& s) const { return var(s->name().ToString(), at_); }
  Expr visit(const ev::ArrayRef& a) const {
    if (!a.base().IsSymbol()) unsupported("a component of a derived type");
    Exprs index;
    for (const ev::Subscript& s : a.subscript()) {
      const auto* one = std::get_if<ev::IndirectSubscriptIntegerExpr>(&s.u);
      if (!one) {
        const auto& triplet = std::get<ev::Triplet>(s.u);
        const auto part = [&](const auto& e) {
          return e ? Converter(at_, true).visit(*e) : Expr();
        };
        const auto step = Converter(at_, true).visit(triplet.stride());
        index.push_back(Expr(Slice{part(triplet.lower()), part(triplet.upper()), step}, at_));
        continue;
      }
      if (one->value().Rank() > 0) unsupported("a vector subscript");
      index.push_back(Converter(at_, true).visit(one->value()));
    }
    return load(a.base().GetFirstSymbol().name().ToString(), index, at_);
  }
  Expr visit(const ev::Component&) const { unsupported("a component of a derived type"); }
  Expr visit(const ev::CoarrayRef&) const { unsupported("a coarray"); }
  Expr visit(const ev::Substring&) const { unsupported("a substring"); }
  Expr visit(const ev::ComplexPart& c) const {
    const Expr whole = std::visit([&](const auto& x) { return visit(x); }, c.complex().u);
    return call(c.part() == ev::ComplexPart::Part::RE ? "real" : "imag", {whole}, at_);
  }

  // ---- Operations.

  Expr nary(NaryOp op, const Expr& a, const Expr& b) const {
    const auto* left = a.as<Nary>();
    Exprs terms = left && left->op == op ? left->terms : Exprs{a};
    terms.push_back(b);
    return Expr(Nary{op, std::move(terms)}, at_);
  }
  template <typename T>
  Expr visit(const ev::Parentheses<T>& x) const {
    if constexpr (T::category == TypeCategory::Derived)
      unsupported("a value of a derived type");
    else
      return visit(x.left());
  }
  template <typename T>
  Expr visit(const ev::Negate<T>& x) const {
    return Expr(Unary{UnaryOp::Neg, visit(x.left())}, at_);
  }
  template <typename T>
  Expr visit(const ev::Add<T>& x) const {
    return nary(NaryOp::Add, visit(x.left()), visit(x.right()));
  }
  template <typename T>
  Expr visit(const ev::Subtract<T>& x) const {
    if (index_) return index_sub(visit(x.left()), visit(x.right()));
    return nary(NaryOp::Add, visit(x.left()), Expr(Unary{UnaryOp::Neg, visit(x.right())}, at_));
  }
  template <typename T>
  Expr visit(const ev::Multiply<T>& x) const {
    return nary(NaryOp::Mul, visit(x.left()), visit(x.right()));
  }
  template <typename T>
  Expr visit(const ev::Divide<T>& x) const {
    if constexpr (T::category == TypeCategory::Integer)
      return call("truncdiv", {visit(x.left()), visit(x.right())}, at_);
    else
      return Expr(Binary{BinaryOp::Div, visit(x.left()), visit(x.right())}, at_);
  }
  template <typename T>
  Expr visit(const ev::Power<T>& x) const {
    return Expr(Binary{BinaryOp::Pow, visit(x.left()), visit(x.right())}, at_);
  }
  template <typename T>
  Expr visit(const ev::RealToIntPower<T>& x) const {
    return Expr(Binary{BinaryOp::Pow, visit(x.left()), visit(x.right())}, at_);
  }
  template <typename T>
  Expr visit(const ev::Extremum<T>& x) const {
    return call(x.ordering == ev::Ordering::Less ? "min" : "max",
                {visit(x.left()), visit(x.right())}, at_);
  }
  template <typename TO, TypeCategory FROM>
  Expr visit(const ev::Convert<TO, FROM>& x) const {
    const Expr inner = visit(x.left());
    if constexpr (TO::category == TypeCategory::Logical) return inner;
    if constexpr (TO::category == TypeCategory::Integer && FROM == TypeCategory::Integer)
      if (index_ || inner.as<IntLit>()) return inner;
    return Expr(Cast{type<TO>(), inner}, at_);
  }
  template <int KIND>
  Expr visit(const ev::ComplexComponent<KIND>& x) const {
    return call(x.isImaginaryPart ? "imag" : "real", {visit(x.left())}, at_);
  }
  template <int KIND>
  Expr visit(const ev::ComplexConstructor<KIND>& x) const {
    const Scalar s = KIND == 4 ? Scalar::C64 : Scalar::C128;
    const Expr unit(ComplexLit{0, 1, s}, at_);
    return nary(NaryOp::Add, visit(x.left()),
                Expr(Nary{NaryOp::Mul, {visit(x.right()), unit}}, at_));
  }
  template <int KIND>
  Expr visit(const ev::Not<KIND>& x) const {
    return Expr(Unary{UnaryOp::Not, visit(x.left())}, at_);
  }
  template <int KIND>
  Expr visit(const ev::LogicalOperation<KIND>& x) const {
    const Expr a = visit(x.left()), b = visit(x.right());
    const auto differ = [&](CompareOp op) {  // of truth values, as the integers 0 and 1
      const auto bit = [&](const Expr& e) { return Expr(Select{e, lit(1), lit(0)}, at_); };
      return Expr(Compare{op, bit(a), bit(b)}, at_);
    };
    switch (x.logicalOperator) {
      case Fortran::common::LogicalOperator::And: return nary(NaryOp::And, a, b);
      case Fortran::common::LogicalOperator::Or: return nary(NaryOp::Or, a, b);
      case Fortran::common::LogicalOperator::Eqv: return differ(CompareOp::Eq);
      case Fortran::common::LogicalOperator::Neqv: return differ(CompareOp::Ne);
      case Fortran::common::LogicalOperator::Not: break;
    }
    unsupported("this logical operation");
  }
  Expr visit(const ev::Relational<ev::SomeType>& x) const {
    return std::visit([&](const auto& y) { return visit(y); }, x.u);
  }
  template <typename T>
  Expr visit(const ev::Relational<T>& x) const {
    const auto op = [&] {
      switch (x.opr) {
        case Fortran::common::RelationalOperator::LT: return CompareOp::Lt;
        case Fortran::common::RelationalOperator::LE: return CompareOp::Le;
        case Fortran::common::RelationalOperator::EQ: return CompareOp::Eq;
        case Fortran::common::RelationalOperator::NE: return CompareOp::Ne;
        case Fortran::common::RelationalOperator::GE: return CompareOp::Ge;
        case Fortran::common::RelationalOperator::GT: return CompareOp::Gt;
      }
      return CompareOp::Eq;
    }();
    return Expr(Compare{op, visit(x.left()), visit(x.right())}, at_);
  }

  template <typename T>
  Expr visit(const ev::FunctionRef<T>& f) const {
    const auto* known = f.proc().GetSpecificIntrinsic();
    const std::string outside = known ? "" : f.proc().GetName();
    if (!known && outside != "lsame") unsupported(fmt::format("the call of `{}`", outside));
    Exprs args;
    bool arrays = false;
    for (const auto& a : f.arguments()) {
      const SomeExpr* value = a ? a->UnwrapExpr() : nullptr;
      if (!a) continue;  // an optional one that is not there
      if (!value) unsupported(fmt::format("this argument of `{}`", f.proc().GetName()));
      arrays |= value->Rank() > 0;
      args.push_back(visit(*value));
    }
    if (!known) {
      if (args.size() != 2) unsupported("`lsame` of other than two letters");
      return same_letter(args[0], args[1], at_);
    }
    if (arrays && f.Rank() == 0) return of_array<T>(known->name, std::move(args));
    const bool integers = T::category == TypeCategory::Integer;
    const auto e = elemental(known->name, args, integers, at_);
    if (!e) unsupported(fmt::format("the intrinsic `{}`", known->name));
    return *e;
  }

  /// A scalar of an array: the arguments, and what it is of no elements where that is no neutral
  /// value.
  template <typename T>
  Expr of_array(const std::string& name, Exprs args) const {
    const std::size_t wanted = name == "dot_product" ? 2 : 1;
    const bool extreme = name == "maxval" || name == "minval";
    const bool known = extreme || name == "sum" || name == "product" || name == "any" ||
                       name == "all" || name == "count" || name == "dot_product";
    if (!known) unsupported(fmt::format("the intrinsic `{}` of an array", name));
    if (args.size() != wanted) unsupported(fmt::format("`dim` or `mask` of `{}`", name));
    if constexpr (T::category == TypeCategory::Integer || T::category == TypeCategory::Real)
      if (extreme) {
        const auto most = T::Scalar::HUGE();
        args.push_back(literal<T>(name == "minval" ? most : negated<T>(most)));
      }
    return call(kOfArray + name, std::move(args), at_);
  }
  template <typename T, typename V>
  static V negated(const V& v) {
    if constexpr (T::category == TypeCategory::Integer)
      return v.NOT();  // the least one
    else
      return v.Negate();
  }

  // ---- What has no counterpart.

  template <typename X>
  Expr visit(const X&) const {
    unsupported("an expression of this form");
  }

  Span at_;
  bool index_, texts_;
};

}  // namespace

Expr to_expr(const SomeExpr& e, const Span& at) { return Converter(at, false).visit(e); }

Expr to_argument(const SomeExpr& e, const Span& at) { return Converter(at, false, true).visit(e); }

Expr to_index(const ev::Expr<ev::SubscriptInteger>& e, const Span& at) {
  return Converter(at, true).visit(e);
}

std::vector<Expr> to_elements(const SomeExpr& e, const Span& at) {
  return Converter(at, false).elements(e);
}

}  // namespace moonloop::fortran
