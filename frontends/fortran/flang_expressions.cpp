#include <bit>

#include "core/base/half.h"
#include "core/model/external.h"
#include "frontends/fortran/flang.h"
#include "frontends/fortran/flang_ieee.h"
#include "frontends/fortran/flang_records.h"
#include "frontends/fortran/intrinsics.h"
#include "frontends/fortran/names.h"
#include "frontends/fortran/procedures.h"
#include "frontends/fortran/sections.h"
#include "frontends/fortran/texts.h"

// Flang's typed expressions as the core's.
namespace moonloop::fortran {
namespace {

/// The function of LAPACK that compares two letters, whatever their case.
constexpr std::string_view kSameLetter = "lsame";

class Converter {
 public:
  /// `argument`: of a routine of the program, where constants of characters are texts, not codes.
  Converter(const Span& at, bool index, bool argument = false)
      : at_(at), index_(index), argument_(argument) {}

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
    if constexpr (T::category == TypeCategory::Character) {
      if constexpr (T::kind != 1) unsupported("a character of several bytes");
      for (const auto letter : c.values()) out.push_back(code_of(static_cast<char>(letter)));
    } else if constexpr (T::category != TypeCategory::Derived) {
      for (const auto& v : c.values()) out.push_back(literal<T>(v));
    }
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
    if constexpr (T::category == TypeCategory::Logical) return Scalar::Bool;
    if constexpr (T::category != TypeCategory::Logical && T::category != TypeCategory::Derived)
      if (const auto t = numeric_type(ev::DynamicType(T::category, T::kind))) return *t;
    unsupported(fmt::format("`{}(kind={})`", name_of(T::category), T::kind));
  }

  // ---- Values.

  /// An integer of another kind than most are says so, but not in a subscript.
  std::optional<Scalar> sized(Scalar kind) const {
    return index_ || kind == Scalar::I32 ? std::nullopt : std::optional(kind);
  }
  template <typename T, typename V>
  Expr literal(const V& v) const {
    if constexpr (T::category == TypeCategory::Integer) {
      return Expr(IntLit{v.ToInt64(), sized(type<T>().scalar)}, at_);
    } else if constexpr (T::category == TypeCategory::Real) {
      return Expr(FloatLit{real<T>(v), type<T>().scalar}, at_);
    } else if constexpr (T::category == TypeCategory::Complex) {
      using Part = typename T::Part;
      return Expr(ComplexLit{real<Part>(v.REAL()), real<Part>(v.AIMAG()), type<T>().scalar}, at_);
    } else if constexpr (T::category == TypeCategory::Logical) {
      return Expr(BoolLit{v.IsTrue()}, at_);
    } else if constexpr (T::category == TypeCategory::Character && T::kind == 1) {
      return argument_ || v.size() != 1 ? text_literal(v, at_) : code_of(static_cast<char>(v[0]));
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
      if constexpr (T::category == TypeCategory::Character)
        if (c.Rank() > 0 && c.LEN() != 1) return texts(c);
      if (c.Rank() > 1) {
        Exprs table{lit(c.Rank())};
        for (const auto n : c.shape()) table.push_back(lit(n));
        for (const Expr& v : elements(c)) table.push_back(v);
        return call(kTable, std::move(table), at_);
      }
      if (c.Rank() == 1) return call(kValues, elements(c), at_);
      return literal<T>(*c.GetScalarValue());
    }
  }

  template <typename T>
  Expr visit(const ev::ArrayConstructor<T>& c) const {
    if constexpr (T::category == TypeCategory::Derived || T::category == TypeCategory::Character) {
      unsupported("an array constructor of this type");
    } else {
      return call(kValues, pieces<T>(c), at_);
    }
  }
  template <typename T>
  Exprs pieces(const ev::ArrayConstructorValues<T>& values) const {
    Exprs out;
    for (const auto& v : values) {
      if (const auto* one = std::get_if<ev::Expr<T>>(&v.u)) {
        if (one->Rank() > 1) unsupported("an array of several axes in an array constructor");
        out.push_back(visit(*one));
        continue;
      }
      const auto& loop = std::get<ev::ImpliedDo<T>>(v.u);
      const Converter index(at_, true);
      Exprs implied{var(loop.name().ToString(), at_), index.visit(loop.lower()),
                    index.visit(loop.upper()), index.visit(loop.stride())};
      for (const Expr& e : pieces<T>(loop.values())) implied.push_back(e);
      out.push_back(call(kImplied, std::move(implied), at_));
    }
    return out;
  }
  Expr visit(const ev::ImpliedDoIndex& i) const { return var(i.name.ToString(), at_); }

  // ---- Places.

  /// A variable by the name it has here, with a subscript or a Slice for each axis.
  struct Place {
    std::string name;
    Exprs index;
  };
  Expr all() const { return Expr(Slice{Expr(), Expr(), lit(1)}, at_); }
  Place place(const sem::SymbolRef& s) const {
    if (const SomeExpr* selector = associated(*s)) {
      const auto part = ev::ExtractSubstring(*selector);
      if (part && part->GetParentIf<ev::DataRef>()) {
        Place p = place(*part);
        number_from_one(p);
        return p;
      }
      const auto ref = ev::ExtractDataRef(*selector);
      if (!ref) unsupported(fmt::format("`{}`, associated with a value,", s->name().ToString()));
      Place p = std::visit([&](const auto& x) { return place(x); }, ref->u);
      if (!std::holds_alternative<sem::SymbolRef>(ref->u)) number_from_one(p);
      return p;
    }
    return {variable_name(*s), Exprs(axes_of_place(*s), all())};
  }
  /// The letters of a text come before its own axes.
  static std::size_t axes_of_place(const sem::Symbol& s) {
    return static_cast<std::size_t>(s.Rank()) + (is_text(s) ? 1 : 0);
  }
  /// What a name of an `associate` stands for; null for other names.
  static const SomeExpr* associated(const sem::Symbol& s) {
    const auto* details = s.GetUltimate().detailsIf<sem::AssocEntityDetails>();
    return details && details->expr() ? &*details->expr() : nullptr;
  }
  /// A section has its own subscripts, which begin at 1: its slices get a written start.
  void number_from_one(Place& p) const {
    for (std::size_t axis = 0; axis < p.index.size(); ++axis) {
      const auto* s = p.index[axis].as<Slice>();
      if (!s || s->start) continue;
      const Expr first = call(std::string(kBound) + "lbound",
                              {var(p.name, at_), lit(static_cast<std::int64_t>(axis) + 1)}, at_);
      p.index[axis] = Expr(Slice{first, s->stop, s->step}, at_);
    }
  }
  /// Subscript `inner` of the section that `outer` is along its axis.
  Expr within(const Expr& outer, const Expr& inner) const {
    const auto& o = *outer.as<Slice>();
    if (!o.start) return inner;  // the array's own
    const auto moved = [&](const Expr& e) {
      return index_add({o.start, index_mul(o.step, index_sub(e, lit(1)))});
    };
    const auto* s = inner.as<Slice>();
    return s ? section_within(o, *s, moved, at_) : moved(inner);
  }
  Place place(const ev::Component& c) const {
    Place p = std::visit([&](const auto& x) { return place(x); }, c.base().u);
    p.name += "_" + name_of_component(*c.symbol(), at_);
    p.index.insert(p.index.begin(), axes_of_place(*c.symbol()), all());
    return p;
  }
  Place place(const ev::ArrayRef& a) const {
    Place p = a.base().IsSymbol() ? place(*a.base().UnwrapSymbolRef())
                                  : place(*a.base().UnwrapComponent());
    std::size_t axis = is_text(a.GetLastSymbol()) ? 1 : 0;  // of those along which the base runs
    for (const ev::Subscript& s : a.subscript()) {
      while (!p.index.at(axis).as<Slice>()) ++axis;
      p.index[axis] = within(p.index[axis], subscript(s));
      ++axis;
    }
    return p;
  }
  Place place(const ev::CoarrayRef&) const { unsupported("a coarray"); }
  Expr subscript(const ev::Subscript& s) const {
    if (const auto* one = std::get_if<ev::IndirectSubscriptIntegerExpr>(&s.u)) {
      return Converter(at_, true).visit(one->value());
    }
    const auto& triplet = std::get<ev::Triplet>(s.u);
    const auto part = [&](const auto& e) { return e ? Converter(at_, true).visit(*e) : Expr(); };
    const auto step = Converter(at_, true).visit(triplet.stride());
    return Expr(Slice{part(triplet.lower()), part(triplet.upper()), step}, at_);
  }
  Expr access(const Place& p) const {
    bool whole = true;
    for (const Expr& i : p.index) {
      const auto* s = i.as<Slice>();
      whole = whole && s && !s->start && !s->stop && as_int(s->step) == 1;
    }
    return whole ? var(p.name, at_) : load(p.name, p.index, at_);
  }

  template <typename T>
  Expr visit(const ev::Designator<T>& d) const {
    const Expr place = std::visit([&](const auto& x) { return visit(x); }, d.u);
    if constexpr (T::category == TypeCategory::Logical) {
      const auto base = d.GetBaseObject();
      const sem::Symbol* symbol = base.symbol();
      if (symbol && is_kept_as_integer(sem::GetAssociationRoot(*symbol)))
        return Expr(Compare{CompareOp::Ne, place, lit(0)}, at_);
    }
    return place;
  }
  /// A logical variable that callers, other routines or other calls of this one have too.
  static bool is_kept_as_integer(const sem::Symbol& s) {
    return sem::IsDummy(s) || is_outer(s) || (sem::IsSaved(s) && !sem::IsNamedConstant(s));
  }
  Expr visit(const sem::SymbolRef& s) const {
    const SomeExpr* selector = associated(*s);
    if (associated_value(*s)) return var(variable_name(*s), at_);
    if (selector && !ev::ExtractDataRef(*selector)) return visit(*selector);
    return access(place(s));
  }
  Expr visit(const ev::ArrayRef& a) const { return access(place(a)); }
  Expr visit(const ev::Component& c) const { return access(place(c)); }
  Expr length_of_text(const sem::Symbol& symbol, const std::string& name) const {
    if (has_assumed_length(symbol)) return var(extent_name(name, 0), at_);
    return call(std::string(kBound) + "ubound", {var(name, at_), lit(1)}, at_);
  }
  Expr visit(const ev::DescriptorInquiry& q) const {
    const sem::Symbol& symbol = q.base().GetLastSymbol();
    if (!q.base().IsSymbol())
      return inquiry_of_place(place(*q.base().UnwrapComponent()), is_text(symbol), q);
    if (associated(symbol))
      return inquiry_of_place(place(sem::SymbolRef{symbol}), is_text(symbol), q);
    if (q.field() == ev::DescriptorInquiry::Field::LowerBound && begins_at_one(symbol))
      return lit(1);
    const std::string name = variable_name(symbol);
    const bool letters = q.field() == ev::DescriptorInquiry::Field::Len;
    const int axis = q.dimension() + (is_text(symbol) && !letters ? 1 : 0);
    const auto bound = [&](const char* end) { return bound_of(end, name, symbol, axis, at_); };
    if (letters) {
      if (!is_text(symbol)) return lit(1);
      const Expr n = length_of_text(symbol, name);
      return index_ ? n : Expr(Cast{Type(moonloop::Scalar::I64), n}, at_);
    }
    if (q.field() == ev::DescriptorInquiry::Field::LowerBound &&
        (sem::IsAllocatable(symbol) || sem::IsPointer(symbol)))
      return bound("lbound");
    if (q.field() != ev::DescriptorInquiry::Field::Extent) unsupported("an inquiry of this kind");
    const Expr n = is_assumed_shape(symbol) ? var(extent_name(name, axis), at_)
                                            : length(bound("lbound"), bound("ubound"), 1);
    return index_ ? n : Expr(Cast{Type(moonloop::Scalar::I64), n}, at_);
  }
  /// The first subscript of an axis, or how many there are, of a component or of what a name of an
  /// `associate` stands for.
  Expr inquiry_of_place(const Place& p, bool text, const ev::DescriptorInquiry& q) const {
    const bool letters = q.field() == ev::DescriptorInquiry::Field::Len;
    int left = letters ? 0 : q.dimension();  // axes that run before the one in question
    std::size_t axis = text && !letters ? 1 : 0;
    if (letters && !p.index.at(0).as<Slice>()) return lit(1);
    while (!p.index.at(axis).as<Slice>() || left-- > 0) ++axis;
    const auto bound = [&](const char* end) {
      return bound_of(end, p.name, q.base().GetLastSymbol(), static_cast<int>(axis), at_);
    };
    const auto& s = *p.index[axis].as<Slice>();
    if (q.field() == ev::DescriptorInquiry::Field::LowerBound)
      return s.start ? lit(1) : bound("lbound");
    const bool counts = letters || q.field() == ev::DescriptorInquiry::Field::Extent;
    if (!counts) unsupported("an inquiry of this kind");
    return length(s.start ? s.start : bound("lbound"), s.stop ? s.stop : bound("ubound"), s.step);
  }
  Expr visit(const ev::CoarrayRef&) const { unsupported("a coarray"); }
  /// The letters from one to another; one alone by its code.
  Expr visit(const ev::Substring& s) const {
    const auto* parent = s.GetParentIf<ev::DataRef>();
    if (!parent) unsupported("a part of a constant that is not known now");
    const Place p = place(s);
    return is_text(parent->GetLastSymbol()) ? load(p.name, p.index, at_) : access(p);
  }
  Place place(const ev::Substring& s) const {
    Place p = std::visit([&](const auto& x) { return place(x); }, s.GetParentIf<ev::DataRef>()->u);
    const bool text = is_text(s.GetParentIf<ev::DataRef>()->GetLastSymbol());
    if (!text || !p.index.at(0).as<Slice>()) return p;  // one letter
    const Converter index(at_, true);
    const auto upper = s.upper();
    const Expr from = index.visit(s.lower()), to = upper ? index.visit(*upper) : Expr();
    Expr& letters = p.index.at(0);
    letters = within(letters, to && equal(from, to) ? from : Expr(Slice{from, to, lit(1)}, at_));
    return p;
  }
  Expr visit(const ev::ComplexPart& c) const {
    const Expr whole = std::visit([&](const auto& x) { return visit(x); }, c.complex().u);
    return call(c.part() == ev::ComplexPart::Part::RE ? "real" : "imag", {whole}, at_);
  }

  // ---- Operations.

  /// An operand, a number without its kind where the `other` one has that kind.
  static Expr beside(const Expr& e, const Expr& other) {
    const auto* n = e.as<IntLit>();
    return n && n->type && !as_int(other) ? Expr(IntLit{n->value, {}}, e.at()) : e;
  }
  Expr nary(NaryOp op, const Expr& a, const Expr& b) const {
    const auto* left = a.as<Nary>();
    Exprs terms = left && left->op == op ? left->terms : Exprs{beside(a, b)};
    terms.push_back(beside(b, a));
    return Expr(Nary{op, std::move(terms)}, at_);
  }
  template <typename T>
  Expr visit(const ev::Parentheses<T>& x) const {
    if constexpr (T::category == TypeCategory::Derived) {
      unsupported("a value of a derived type");
    } else {
      const Expr inner = visit(x.left());
      // The value is passed, a copy, and not the place.
      if (!argument_ || !(inner.as<Var>() || inner.as<Load>() || inner.as<Field>())) return inner;
      if constexpr (T::category == TypeCategory::Character)
        return call(std::string(kOfTexts) + "//", {inner}, at_);
      else
        return Expr(Cast{type<T>(), inner}, at_);
    }
  }

  // ---- Texts, see texts.h.

  /// A constant array of texts: as a table of letters.
  template <typename C>
  Expr texts(const C& c) const {
    Exprs table{lit(c.Rank() + 1), lit(c.LEN())};
    for (const auto n : c.shape()) table.push_back(lit(n));
    for (const Expr& v : elements(c)) table.push_back(v);
    return call(std::string(kOfTexts) + kTable, std::move(table), at_);
  }

  /// A text of constants and of letters that variables have, where these are known one by one.
  template <int KIND>
  Expr visit(const ev::Concat<KIND>& x) const {
    if constexpr (KIND != 1) unsupported("a character of several bytes");
    const Converter part(at_, index_, true);
    std::string text;
    Exprs codes, parts;
    bool constant = true, known = true;
    const auto add = [&](const auto& operand) {
      const Expr e = part.visit(operand);
      parts.push_back(e);
      if (const auto t = as_text(e)) {
        text += *t;
        for (const char c : *t) codes.push_back(code_of(c));
        return;
      }
      constant = false;
      if (const Exprs* more = as_letters(e))
        codes.insert(codes.end(), more->begin(), more->end());
      else if (is_letter(operand))
        codes.push_back(e);
      else
        known = false;
    };
    add(x.left()), add(x.right());
    if (!known) return call(std::string(kOfTexts) + "//", std::move(parts), at_);
    return constant ? text_literal(text, at_) : letters(std::move(codes), at_);
  }
  template <int KIND>
  Expr visit(const ev::SetLength<KIND>& x) const {
    return visit(x.left());  // what is assigned gets the length of its place
  }
  /// Whether there is one letter, whatever the program does.
  template <typename T>
  static bool is_letter(const ev::Expr<T>& e) {
    const auto n = e.LEN();
    return n && ev::ToInt64(*n) == 1;
  }
  static bool is_letter(const ev::Expr<ev::SomeCharacter>& e) {
    return std::visit([](const auto& x) { return is_letter(x); }, e.u);
  }

  template <int KIND>
  Expr visit(const ev::Relational<ev::Type<TypeCategory::Character, KIND>>& x) const {
    if constexpr (KIND != 1) unsupported("a character of several bytes");
    const Expr a = visit(x.left()), b = visit(x.right());
    const bool order = x.opr != Fortran::common::RelationalOperator::EQ &&
                       x.opr != Fortran::common::RelationalOperator::NE;
    const auto number = [&](const Expr& e) { return order ? number_of_letter(e) : e; };
    if (is_letter(x.left()) && is_letter(x.right()))
      return Expr(Compare{operation(x.opr), number(a), number(b)}, at_);
    if (x.left().Rank() + x.right().Rank() > 0) unsupported("a comparison of arrays of texts");
    return compared_texts(operation(x.opr), a, b, at_);
  }

  /// Intrinsics of texts; null for others.
  template <typename T>
  Expr of_texts(const std::string& name, const ev::FunctionRef<T>& f) const {
    static constexpr std::string_view kNames =
        " adjustl adjustr achar char iachar ichar index len len_trim lge lgt lle llt repeat scan "
        "trim verify ";
    if (kNames.find(" " + name + " ") == std::string_view::npos) return Expr();
    const auto given = [&](std::size_t i) {
      const auto& all = f.arguments();
      return i < all.size() && all[i] ? all[i]->UnwrapExpr() : nullptr;
    };
    const SomeExpr* first = given(0);
    if (!first || f.Rank() > 0) unsupported(fmt::format("`{}` of an array", name));
    const Converter text(at_, index_, true);
    const Expr a = text.visit(*first);
    if (name == "char" || name == "achar") {
      const Expr letter(Cast{Type(moonloop::Scalar::I8), a}, at_);
      return argument_ ? letters({letter}, at_) : letter;
    }
    if (const auto* v = a.as<Var>(); v && name == "len" && is_text(first->GetType())) {
      const Expr n = length_of_text(*ev::GetLastSymbol(*first), v->name);
      return index_ ? n : Expr(Cast{type<T>(), n}, at_);
    }
    if (name == "ichar" || name == "iachar")
      return Expr(Cast{type<T>(), call(std::string(kOfTexts) + "ichar", {a}, at_)}, at_);
    if (name == "repeat")
      return call(std::string(kOfTexts) + name, {a, to_expr(*given(1), at_)}, at_);
    if (name.starts_with("adjust") && !is_text(first->GetType()))  // of one letter: that
      return argument_ ? a : first_letter(a);
    Exprs args{a};
    if (const SomeExpr* second = given(1); second && name != "len" && name != "len_trim")
      args.push_back(text.visit(*second));
    if (name.starts_with("l") && args.size() == 2)
      return compared_texts(name == "lge"   ? CompareOp::Ge
                            : name == "lgt" ? CompareOp::Gt
                            : name == "lle" ? CompareOp::Le
                                            : CompareOp::Lt,
                            args[0], args[1], at_);
    if (const SomeExpr* back = args.size() == 2 ? given(2) : nullptr) {
      const Expr b = text.visit(*back);
      if (!b.as<BoolLit>())
        unsupported(fmt::format("a `back` of `{}` that is not a constant", name));
      args.push_back(b);
    }
    const Expr out = call(std::string(kOfTexts) + name, std::move(args), at_);
    if constexpr (T::category == TypeCategory::Integer) return Expr(Cast{type<T>(), out}, at_);
    return out;
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
    const Expr a = visit(x.left()), b = visit(x.right());
    return difference(beside(a, b), beside(b, a), at_);
  }
  template <typename T>
  Expr visit(const ev::Multiply<T>& x) const {
    return nary(NaryOp::Mul, visit(x.left()), visit(x.right()));
  }
  template <typename T>
  Expr visit(const ev::Divide<T>& x) const {
    const Expr a = visit(x.left()), b = visit(x.right());
    if constexpr (T::category == TypeCategory::Integer)
      return call("truncdiv", {beside(a, b), beside(b, a)}, at_);
    else
      return Expr(Binary{BinaryOp::Div, a, b}, at_);
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
    if constexpr (T::category == TypeCategory::Character) unsupported("`max` or `min` of texts");
    const Expr a = visit(x.left()), b = visit(x.right());
    return call(x.ordering == ev::Ordering::Less ? "min" : "max", {beside(a, b), beside(b, a)},
                at_);
  }
  template <typename TO, TypeCategory FROM>
  Expr visit(const ev::Convert<TO, FROM>& x) const {
    const Expr inner = visit(x.left());
    if constexpr (TO::category == TypeCategory::Logical) return inner;
    if constexpr (TO::category == TypeCategory::Integer && FROM == TypeCategory::Integer) {
      if (index_) return inner;
      if (const auto* n = inner.as<IntLit>())
        return Expr(IntLit{n->value, sized(type<TO>().scalar)}, at_);
      if (ev::UnwrapExpr<ev::DescriptorInquiry>(x.left())) {
        const auto* wide = inner.as<Cast>();
        if (wide && TO::kind == 4) return wide->arg;  // `size(a)` is an argument of that kind
      }
    }
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
  static CompareOp operation(Fortran::common::RelationalOperator op) {
    switch (op) {
      case Fortran::common::RelationalOperator::LT: return CompareOp::Lt;
      case Fortran::common::RelationalOperator::LE: return CompareOp::Le;
      case Fortran::common::RelationalOperator::EQ: return CompareOp::Eq;
      case Fortran::common::RelationalOperator::NE: return CompareOp::Ne;
      case Fortran::common::RelationalOperator::GE: return CompareOp::Ge;
      case Fortran::common::RelationalOperator::GT: return CompareOp::Gt;
    }
    return CompareOp::Eq;
  }
  template <typename T>
  Expr visit(const ev::Relational<T>& x) const {
    const Expr a = visit(x.left()), b = visit(x.right());
    return Expr(Compare{operation(x.opr), beside(a, b), beside(b, a)}, at_);
  }

  template <typename T>
  Expr visit(const ev::FunctionRef<T>& f) const {
    const auto known = intrinsic_name(f.proc());
    if (known && (*known == "present" || *known == kAssociated)) return whether_present(*known, f.arguments(), at_);
    if (known && *known == "allocated")
      if (const Expr e = whether_allocated(f.arguments(), at_)) return e;
    if constexpr (T::category != TypeCategory::Derived)
      if (known)
        if (const Expr e = of_texts<T>(*known, f)) return e;
    const Converter of_argument(at_, index_, !known);
    Exprs args;  // null ones are optional and not there
    bool arrays = false, derived = false;
    std::vector<Conditional> conditional;
    std::size_t number = 0;
    for (const auto& a : f.arguments()) {
      const SomeExpr* value = a ? a->UnwrapExpr() : nullptr;
      if (a && !value) unsupported(fmt::format("this argument of `{}`", f.proc().GetName()));
      if (const Expr there =
              value && !known ? whether_there(*value, f.proc().GetSymbol(), number, at_) : Expr())
        conditional.emplace_back(args.size(), there);
      ++number;
      arrays |= value && value->Rank() > 0, derived |= value && as_derived(*value);
      if (value && as_derived(*value))
        for (const Expr& e : to_arguments(*value, at_)) args.push_back(e);
      else
        args.push_back(value ? of_argument.visit(*value) : Expr());
    }
    if (!known) return where_there<T>(f, args, std::move(conditional));
    const std::string& name = *known;
    if constexpr (T::category == TypeCategory::Character) {
      const auto n = f.LEN();
      if (!n || ev::ToInt64(*n) != 1) unsupported(fmt::format("the intrinsic `{}` of texts", name));
    }
    if constexpr (T::category != TypeCategory::Derived && T::category != TypeCategory::Character)
      if (const Expr e = of_arrays<T>(name, f, args)) return e;
    std::erase_if(args, [](const Expr& a) { return !a; });
    if (arrays && f.Rank() == 0) unsupported(fmt::format("the intrinsic `{}` of an array", name));
    constexpr bool integers = T::category == TypeCategory::Integer;
    const bool rounds = name == "floor" || name == "ceiling" || name == "nint";
    if (rounds) args.resize(1);  // the other one is the kind of the result
    auto e = elemental(name, args, integers, at_);
    if constexpr (integers)
      if (!e) e = on_bits(name, args, type<T>().scalar, at_);
    if (name == "btest") e = on_bits(name, args, moonloop::Scalar::I64, at_);  // of any kind
    if constexpr (T::category != TypeCategory::Derived && T::category != TypeCategory::Character)
      if (!e && f.Rank() == 0 && !derived)
        return Expr(Cast{type<T>(), call(std::string(kFunction) + kIntrinsic + name, args, at_)},
                    at_);
    if (!e) unsupported(fmt::format("the intrinsic `{}`", name));
    if constexpr (T::category == TypeCategory::Integer)
      if (rounds) return Expr(Cast{type<T>(), *e}, at_);
    return *e;
  }

  using Conditional = std::pair<std::size_t, Expr>;  // an argument, there where this holds
  template <typename T, typename F>
  Expr where_there(const F& f, Exprs args, std::vector<Conditional> conditional) const {
    constexpr bool text = T::category == TypeCategory::Character;
    if constexpr (text || T::category == TypeCategory::Derived)
      check_there(f.arguments(), f.proc().GetSymbol(), at_);
    else if (f.Rank() > 0)
      check_there(f.arguments(), f.proc().GetSymbol(), at_);
    else if (!conditional.empty()) {
      const auto [place, there] = conditional.back();
      conditional.pop_back();
      const Expr with = where_there<T>(f, args, conditional);
      args[place] = Expr();
      const Expr without = where_there<T>(f, std::move(args), conditional);
      return call(kWhereThere, {there, with, without, Expr(Cast{type<T>(), lit(0)})}, at_);
    }
    return function<T>(f, std::move(args));
  }

  /// A function of the input, or one that another file has.
  template <typename T, typename F>
  Expr function(const F& f, Exprs args) const {
    for (Expr& a : args)
      if (!a) a = call(kAbsent, {}, at_);
    std::string name = name_of_function(f.proc(), at_);
    if (const sem::Symbol* s = f.proc().GetSymbol(); s && sem::IsDummy(*s)) {
      if (f.Rank() > 0) unsupported(fmt::format("the array that `{}` gives", name));
      args.insert(args.begin(), procedure_in(var(name, at_), at_));
      name = kThrough;
    }
    if (name == kSameLetter) {
      if (args.size() != 2) unsupported("`lsame` of other than two letters");
      const Expr a = first_letter(args[0]), b = first_letter(args[1]);
      return as_int(a) ? same_letter(b, a, at_) : same_letter(a, b, at_);
    }
    const sem::Symbol* symbol = f.proc().GetSymbol();
    if (const auto* d =
            symbol ? symbol->GetUltimate().detailsIf<sem::SubprogramDetails>() : nullptr;
        d && d->stmtFunction())
      return statement_function(*d, args);
    if constexpr (T::category == TypeCategory::Character)
      if (f.Rank() == 0) {
        const auto n = f.LEN();
        const bool text = !n || ev::ToInt64(*n) != 1;
        const bool elsewhere = !symbol || is_in_another_file(*symbol, at_);
        if (text && elsewhere)
          unsupported(fmt::format("the text that `{}` of another file gives", name));
        if (text) return call(kArrayFunction + name, args, at_);
        if (elsewhere) return call(kLetter, {call(kFunction + name, args, at_)}, at_);
      }
    const bool of_elements =
        f.Rank() > 0 && symbol && symbol->GetUltimate().attrs().test(sem::Attr::ELEMENTAL);
    if (f.Rank() > 0 && !of_elements) return call(kArrayFunction + name, args, at_);
    const Expr value = call((of_elements ? kElemental : kFunction) + name, args, at_);
    if constexpr (T::category != TypeCategory::Derived && T::category != TypeCategory::Character)
      if (symbol && may_be_in_another_file(*symbol, at_) &&
          (T::category != TypeCategory::Logical || T::kind == 4))
        return Expr(Cast{type<T>(), value}, at_);
    return value;
  }

  /// The statement function's expression for these arguments. Flang converts it to its type.
  Expr statement_function(const sem::SubprogramDetails& f, const Exprs& args) const {
    std::map<std::string, Expr> values;
    for (std::size_t i = 0; i < args.size(); ++i)
      values.emplace(f.dummyArgs().at(i)->name().ToString(), args[i]);
    return substitute(Converter(at_, index_).visit(*f.stmtFunction()), values);
  }

  /// Intrinsics that take whole arrays, see sections.h; null for others.
  template <typename T, typename F>
  Expr of_arrays(const std::string& name, const F& f, const Exprs& args) const {
    const auto arg = [&](std::size_t i) { return i < args.size() ? args[i] : Expr(); };
    const auto axis = [&](int axes) {  // the second argument, from 1 to `axes`
      const auto n = as_int(without_casts(arg(1)));
      if (!n) unsupported(fmt::format("a `dim` of `{}` that is not a constant", name));
      if (*n < 1 || *n > axes)
        fail("bad-axis", at_, "the `dim` of `{}` is {}, and the axes are 1 to {}", name, *n, axes);
      return lit(*n);
    };
    const int rank = f.arguments().empty() || !f.arguments()[0] ? 0 : f.arguments()[0]->Rank();
    if (name == "lbound" || name == "ubound") {
      if (const Expr e = bound_of_records(name, f.arguments(), at_)) return e;
      const auto t = f.arguments()[0] ? f.arguments()[0]->GetType() : std::nullopt;
      const int letters = is_text(t) ? 1 : 0;
      if (letters && !arg(1)) unsupported(fmt::format("`{}` of an array of texts", name));
      if (arg(1) && f.Rank() == 0)
        return call(kBound + name, {args[0], lit(*as_int(axis(rank)) + letters)}, at_);
      return call(kBound + name, {args[0]}, at_);
    }
    if (const auto made = made_of_arrays(name, args, f.Rank(), at_)) return *made;
    if (name == "matmul" || name == "transpose") return call(kArrays + name, args, at_);
    if (name == "spread")
      return call(kArrays + name, {args[0], axis(f.Rank()), without_casts(args[2])}, at_);
    if (name == "dot_product") {
      if constexpr (T::category == TypeCategory::Logical) unsupported("`dot_product` of logicals");
      const Expr left =
          T::category == TypeCategory::Complex ? call("conj", {args[0]}, at_) : args[0];
      return call(kOfArray + name, {left, args[1]}, at_);
    }
    if (name == "norm2" && !arg(1))
      return call("sqrt",
                  {call(kOfArray + std::string("sum"), {nary(NaryOp::Mul, args[0], args[0])}, at_)},
                  at_);
    const bool extreme = name == "maxval" || name == "minval";
    if (!extreme && name != "sum" && name != "product" && name != "any" && name != "all" &&
        name != "count")
      return Expr();
    const bool masked = extreme || name == "sum" || name == "product";
    Exprs out{args[0], Expr(), Expr()};  // array, axis, value for no elements
    if (arg(1)) out[1] = axis(rank);
    if (f.Rank() == 0) out[1] = Expr();
    if constexpr (T::category == TypeCategory::Integer || T::category == TypeCategory::Real)
      if (extreme) {
        const auto most = T::Scalar::HUGE();
        out[2] = literal<T>(name == "minval" ? most : negated<T>(most));
      }
    if constexpr (T::category != TypeCategory::Logical)
      if (masked && arg(2)) {
        const Expr none = extreme ? out[2] : Expr(Cast{type<T>(), lit(name == "sum" ? 0 : 1)}, at_);
        out[0] = Expr(Select{arg(2), args[0], none}, at_);
      }
    if (!out[2]) out.pop_back();
    if (out[1]) return call(kArrays + name, out, at_);
    out.erase(out.begin() + 1);
    return call(kOfArray + name, std::move(out), at_);
  }
  template <typename T, typename V>
  static V negated(const V& v) {
    if constexpr (T::category == TypeCategory::Integer)
      return v.NOT();  // the least one
    else
      return v.Negate();
  }

  /// One that is passed: an argument, or in another file.
  Expr visit(const ev::ProcedureDesignator& p) const { return passed_procedure(p, at_); }

  template <typename X>
  Expr visit(const X&) const {
    unsupported("an expression of this form");
  }

  Span at_;
  bool index_, argument_;
};

}  // namespace

Expr to_expr(const SomeExpr& e, const Span& at) { return Converter(at, false).visit(e); }

Exprs to_arguments(const SomeExpr& e, const Span& at) {
  if (const auto* d = as_derived(e)) return derived_values(*d, at);
  return {Converter(at, false, true).visit(e)};
}

Expr to_index(const ev::Expr<ev::SubscriptInteger>& e, const Span& at) {
  return Converter(at, true).visit(e);
}

std::vector<Expr> to_elements(const SomeExpr& e, const Span& at) {
  return Converter(at, false).elements(e);
}

}  // namespace moonloop::fortran
