#include "core/expr/parse_expr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/base/diagnostic.h"
#include "core/expr/external_arguments.h"

namespace moonloop {

// ---- The cursor.

const Token& TokenStream::peek(std::size_t ahead) const {
  static const Token kEnd{Tok::End, "", {}};
  if (tokens_.empty()) return kEnd;
  return tokens_[std::min(i_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::next() {
  Token t = peek();
  if (i_ + 1 < tokens_.size()) ++i_;
  return t;
}

Token TokenStream::remove(std::size_t ahead) {
  const auto at = tokens_.begin() + static_cast<std::ptrdiff_t>(i_ + ahead);
  Token t = *at;
  tokens_.erase(at);
  return t;
}

bool TokenStream::at(std::string_view text, std::size_t ahead) const {
  const Token& t = peek(ahead);
  return (t.kind == Tok::Punct || t.kind == Tok::Name) && t.text == text;
}

bool TokenStream::accept(std::string_view text) {
  if (!at(text)) return false;
  next();
  return true;
}

namespace {

/// A token as messages show it.
std::string shown(const Token& t) {
  switch (t.kind) {
    case Tok::End: return "the end";
    case Tok::Newline: return "the end of the line";
    case Tok::String: return "a string";
    case Tok::Name:
    case Tok::Number:
    case Tok::Punct: return "`" + t.text + "`";
  }
  throw InternalError("no such token");
}

}  // namespace

Token TokenStream::expect(std::string_view text, std::string_view where) {
  if (!at(text))
    fail("syntax", peek().at, "found {}, expected `{}` {}", shown(peek()), text, where);
  return next();
}

Token TokenStream::expect_name(std::string_view what) {
  if (peek().kind != Tok::Name)
    fail("syntax", peek().at, "found {}, expected {}", shown(peek()), what);
  return next();
}

// ---- Expressions.

namespace {

constexpr int kMaxDepth = 200;

/// A parsed expression and the height of its tree: recursion over it is safe below the limit.
struct Part {
  Expr e;
  int height = 1;
};

/// Python's binding strengths of the binary operators, weakest first.
enum Binding {
  kBindsOr = 1,
  kBindsAnd,
  kBindsNot,
  kBindsCompare,
  kBindsBitOr,
  kBindsBitXor,
  kBindsBitAnd,
  kBindsShift,
  kBindsAdd,
  kBindsMul,
  kBindsUnary
};

struct Operator {
  enum class Kind { Nary, Minus, Binary, Compare, Product } kind;
  int level;
  NaryOp nary = NaryOp::Add;
  BinaryOp binary = BinaryOp::Div;
  CompareOp compare = CompareOp::Eq;
};

std::optional<Operator> operator_at(const Token& t) {
  using K = Operator::Kind;
  struct Row {
    std::string_view text;
    Operator op;
  };
  static const Row kRows[] = {{"or", {K::Nary, kBindsOr, NaryOp::Or}},
                              {"and", {K::Nary, kBindsAnd, NaryOp::And}},
                              {"|", {K::Nary, kBindsBitOr, NaryOp::BitOr}},
                              {"^", {K::Nary, kBindsBitXor, NaryOp::BitXor}},
                              {"&", {K::Nary, kBindsBitAnd, NaryOp::BitAnd}},
                              {"+", {K::Nary, kBindsAdd, NaryOp::Add}},
                              {"*", {K::Nary, kBindsMul, NaryOp::Mul}},
                              {"-", {K::Minus, kBindsAdd}},
                              {"/", {K::Binary, kBindsMul, {}, BinaryOp::Div}},
                              {"//", {K::Binary, kBindsMul, {}, BinaryOp::FloorDiv}},
                              {"%", {K::Binary, kBindsMul, {}, BinaryOp::Mod}},
                              {"@", {K::Product, kBindsMul}},
                              {"<<", {K::Binary, kBindsShift, {}, BinaryOp::Shl}},
                              {">>", {K::Binary, kBindsShift, {}, BinaryOp::Shr}},
                              {"==", {K::Compare, kBindsCompare, {}, {}, CompareOp::Eq}},
                              {"!=", {K::Compare, kBindsCompare, {}, {}, CompareOp::Ne}},
                              {"<", {K::Compare, kBindsCompare, {}, {}, CompareOp::Lt}},
                              {"<=", {K::Compare, kBindsCompare, {}, {}, CompareOp::Le}},
                              {">", {K::Compare, kBindsCompare, {}, {}, CompareOp::Gt}},
                              {">=", {K::Compare, kBindsCompare, {}, {}, CompareOp::Ge}}};
  if (t.kind != Tok::Punct && t.kind != Tok::Name) return std::nullopt;
  if (t.kind == Tok::Name && t.text != "or" && t.text != "and") return std::nullopt;
  if (t.kind == Tok::Punct &&
      std::string_view(")],:{}=(").find(t.text[0]) != std::string_view::npos && t.text.size() == 1)
    return std::nullopt;
  for (const Row& r : kRows)
    if (t.text == r.text) return r.op;
  if (t.kind == Tok::Punct && t.text == "&&") fail("syntax", t.at, "`&&` is written `and` here");
  if (t.kind == Tok::Punct && t.text == "||") fail("syntax", t.at, "`||` is written `or` here");
  return std::nullopt;
}

class Parser {
 public:
  explicit Parser(TokenStream& in) : in_(in) {}

  Part ternary() {
    const Nested guard(*this);
    Part value = climb(kBindsOr);
    if (!in_.at("if")) return value;
    in_.next();
    Part cond = climb(kBindsOr);
    in_.expect("else", "of `value if condition else value`");
    Part other = ternary();
    const Span at = join(value.e.at(), other.e.at());
    return made(Select{cond.e, value.e, other.e}, at,
                std::max({value.height, cond.height, other.height}));
  }

 private:
  /// Counts how deep the recursion is.
  struct Nested {
    explicit Nested(Parser& p) : p(p) {
      if (++p.nesting_ > kMaxDepth) too_deep(p.in_.peek().at);
    }
    ~Nested() { --p.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;
    Parser& p;
  };
  [[noreturn]] static void too_deep(const Span& at) {
    fail("too-deep", at, "the expression is nested more than {} levels deep", kMaxDepth);
  }

  template <class T>
  static Part made(T op, const Span& at, int below) {
    if (below + 1 > kMaxDepth) too_deep(at);
    return {Expr(std::move(op), at), below + 1};
  }

  /// Operands of one n-ary operation. `first` is spliced in when it is the same operation: terms
  /// are combined from the left either way.
  Part nary(const Operator& op, const Part& first) {
    Exprs terms;
    int height = first.height;
    const auto* same = first.e.as<Nary>();
    if (same && same->op == op.nary) {
      terms = same->terms;
      --height;
    } else {
      terms.push_back(first.e);
    }
    for (;;) {
      const auto o = operator_at(in_.peek());
      const bool minus = o && o->kind == Operator::Kind::Minus && op.nary == NaryOp::Add;
      if (!minus && !(o && o->kind == Operator::Kind::Nary && o->nary == op.nary)) break;
      const Span sign = in_.next().at;
      Part term = operand(op.level);
      if (minus) term = made(Unary{UnaryOp::Sub, term.e}, join(sign, term.e.at()), term.height);
      height = std::max(height, term.height);
      terms.push_back(term.e);
    }
    const Span at = join(terms.front().at(), terms.back().at());
    return made(Nary{op.nary, std::move(terms)}, at, height);
  }

  /// The right operand of an operator of `level`: whatever binds more strongly.
  Part operand(int level) { return climb(level + 1); }

  Part climb(int level) {
    if (level <= kBindsNot && in_.at("not")) {
      const Nested guard(*this);
      const Span at = in_.next().at;
      Part arg = climb(kBindsNot);
      Part e = made(Unary{UnaryOp::Not, arg.e}, join(at, arg.e.at()), arg.height);
      return continue_with(std::move(e), level);
    }
    return continue_with(unary(), level);
  }

  Part continue_with(Part left, int level) {
    for (;;) {
      const auto op = operator_at(in_.peek());
      if (!op || op->level < level) return left;
      switch (op->kind) {
        case Operator::Kind::Nary: left = nary(*op, left); break;
        case Operator::Kind::Minus:
          left = nary(Operator{Operator::Kind::Nary, kBindsAdd, NaryOp::Add}, left);
          break;
        case Operator::Kind::Binary: {
          in_.next();
          Part right = operand(op->level);
          const Span at = join(left.e.at(), right.e.at());
          left = made(Binary{op->binary, left.e, right.e}, at, std::max(left.height, right.height));
          break;
        }
        case Operator::Kind::Compare: left = comparison(std::move(left)); break;
        case Operator::Kind::Product: {  // of matrices, a function of arrays
          in_.next();
          Part right = operand(op->level);
          const Span at = join(left.e.at(), right.e.at());
          left = made(Call{"@", {left.e, right.e}, {}}, at, std::max(left.height, right.height));
          break;
        }
      }
    }
  }

  /// `a < b <= c` is `a < b and b <= c`, as in Python.
  Part comparison(Part left) {
    Exprs all;
    int height = 0;
    Part from = std::move(left);
    for (;;) {
      const auto op = operator_at(in_.peek());
      if (!op || op->kind != Operator::Kind::Compare) break;
      in_.next();
      Part to = operand(kBindsCompare);
      const int h = std::max(from.height, to.height);
      Part c = made(Compare{op->compare, from.e, to.e}, join(from.e.at(), to.e.at()), h);
      height = std::max(height, c.height);
      all.push_back(c.e);
      from = std::move(to);
    }
    if (all.size() == 1) return {all.front(), height};
    const Span at = join(all.front().at(), all.back().at());
    return made(Nary{NaryOp::And, std::move(all)}, at, height);
  }

  Part unary() {
    const Token& t = in_.peek();
    if (t.kind == Tok::Punct && (t.text == "-" || t.text == "+" || t.text == "~")) {
      const Nested guard(*this);
      const Token sign = in_.next();
      // The least integer has no positive counterpart.
      if (sign.text == "-" && in_.peek().text == "9223372036854775808" && !in_.at("**", 1)) {
        const Span at = join(sign.at, in_.next().at);
        return {Expr(IntLit{std::numeric_limits<std::int64_t>::min(), {}}, at), 1};
      }
      Part arg = unary();
      const Span at = join(sign.at, arg.e.at());
      if (sign.text == "+") return arg;
      if (sign.text == "~") return made(Unary{UnaryOp::BitNot, arg.e}, at, arg.height);
      if (const auto* n = arg.e.as<IntLit>(); n && !n->type && n->value > 0)
        return {Expr(IntLit{-n->value, {}}, at), 1};
      return made(Unary{UnaryOp::Neg, arg.e}, at, arg.height);
    }
    if (in_.at("!")) fail("syntax", in_.peek().at, "`!` is written `not` here");
    return power();
  }

  Part power() {
    Part base = postfix();
    if (!in_.at("**")) return base;
    const Nested guard(*this);
    in_.next();
    Part exponent = unary();
    const Span at = join(base.e.at(), exponent.e.at());
    return made(Binary{BinaryOp::Pow, base.e, exponent.e}, at,
                std::max(base.height, exponent.height));
  }

  Part postfix() {
    Part e = primary();
    for (;;) {
      if (in_.accept(".")) {
        const Token name = in_.expect_name("the name of a field after `.`");
        e = made(Field{e.e, name.text}, join(e.e.at(), name.at), e.height);
      } else if (in_.at("[") && is_array_value(e.e)) {  // `(a + b)[1:]`, a function of arrays
        in_.next();
        Exprs args{e.e};
        int height = e.height;
        const Span last = subscripts(args, height, to_string(e.e));
        e = made(Call{"[]", std::move(args), {}}, join(e.e.at(), last), height);
      } else {
        return e;
      }
    }
  }

  /// Whether an array may be the value: not that of a number, nor a part of the grammar around.
  static bool is_array_value(const Expr& e) {
    return !(e.as<IntLit>() || e.as<FloatLit>() || e.as<BoolLit>() || e.as<ComplexLit>());
  }

  Part primary() {
    const Token& t = in_.peek();
    switch (t.kind) {
      case Tok::Number: return number(in_.next());
      case Tok::Name: return name();
      case Tok::String: fail("syntax", t.at, "a string is not allowed in an expression");
      case Tok::Newline:
      case Tok::End: fail("syntax", t.at, "found {}, expected an expression", shown(t));
      case Tok::Punct: break;
    }
    if (t.text != "(") fail("syntax", t.at, "found `{}`, expected an expression", t.text);
    in_.next();
    Part e = ternary();
    if (in_.at(","))
      fail("syntax", in_.peek().at,
           "found `,`, expected `)`; a tuple is not allowed in an expression");
    in_.expect(")", "to close the parenthesis");
    return e;
  }

  static Part number(const Token& t) {
    const std::string& s = t.text;
    const bool hex = s.size() > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
    if (hex || s.find_first_not_of("0123456789") == std::string::npos) {
      std::int64_t v = 0;
      const char* begin = s.data() + (hex ? 2 : 0);
      const auto [end, error] = std::from_chars(begin, s.data() + s.size(), v, hex ? 16 : 10);
      if (error != std::errc() || end != s.data() + s.size())
        fail(
            "integer-overflow", t.at,
            "the integer `{}` exceeds int64, which literals are; `cast(uint64, -1)` is the largest "
            "uint64",
            s.size() <= 40 ? s : s.substr(0, 37) + "...");
      return {Expr(IntLit{v, std::nullopt}, t.at), 1};
    }
    return real(t);
  }

  static Part real(const Token& t) {
    std::string s = t.text;
    std::optional<Scalar> size;
    bool imaginary = false;
    if (s.back() == 'f')
      size = Scalar::F32, s.pop_back();
    else if (s.back() == 'd')
      size = Scalar::F64, s.pop_back();
    if (!s.empty() && s.back() == 'j') imaginary = true, s.pop_back();
    // Fortran's exponent letter makes a double.
    if (const auto d = s.find_first_of("dD"); d != std::string::npos) {
      s[d] = 'e';
      if (!size) size = Scalar::F64;
    }
    double v = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error == std::errc::result_out_of_range) {
      // Too small rounds to zero, as anywhere; too large is an error.
      const double wide = std::strtod(s.c_str(), nullptr);
      if (std::isinf(wide)) fail("bad-number", t.at, "the number `{}` exceeds float64", t.text);
      v = wide;
    } else if (error != std::errc() || end != s.data() + s.size()) {
      fail("bad-number", t.at, "`{}` is not a number", t.text);
    }
    if (size == Scalar::F32 && std::isinf(static_cast<float>(v)))
      fail("bad-number", t.at, "the number `{}` exceeds float32", t.text);
    if (!imaginary) return {Expr(FloatLit{v, size}, t.at), 1};
    if (size) size = size == Scalar::F32 ? Scalar::C64 : Scalar::C128;
    return {Expr(ComplexLit{0, v, size}, t.at), 1};
  }

  Part name() {
    const Token t = in_.next();
    if (t.text == "True" || t.text == "False") return {Expr(BoolLit{t.text == "True"}, t.at), 1};
    static const std::string_view kWords[] = {"and", "or", "not", "else"};
    if (std::find(std::begin(kWords), std::end(kWords), t.text) != std::end(kWords) ||
        (t.text == "if" && !in_.at("(")))
      fail("syntax", t.at, "found `{}`, expected an expression", t.text);
    std::string tag;
    Span at = t.at;
    if (in_.at("$")) {
      in_.next();
      const Token tag_name = in_.expect_name("a tag after `$`");
      tag = tag_name.text;
      at = join(at, tag_name.at);
    }
    if (in_.at("[")) return subscripted(t, tag);
    if (in_.at("(")) return called(t, tag);
    if (tag.empty() && (t.text == "nan" || t.text == "inf"))
      return {Expr(FloatLit{t.text == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                            : std::numeric_limits<double>::infinity(),
                            {}},
                   at),
              1};
    return {Expr(Var{t.text, tag}, at), 1};
  }

  Part subscripted(const Token& array, const std::string& tag) {
    in_.next();
    Exprs index;
    int height = 0;
    // `a[[e]]`: the flat index.
    if (in_.at("[")) {
      in_.next();
      Part e = ternary();
      in_.expect("]", "to close the flat index");
      const Token last = in_.expect("]", "to close the flat index");
      return made(Load{array.text, {e.e}, tag, true}, join(array.at, last.at), e.height);
    }
    // `a[()]`: of an array without axes.
    if (in_.at("(") && in_.at(")", 1)) {
      in_.next();
      in_.next();
    } else {
      const Span last = subscripts(index, height, array.text);
      return made(Load{array.text, std::move(index), tag, false}, join(array.at, last), height);
    }
    const Token last = in_.expect("]", fmt::format("to close the subscript of `{}`", array.text));
    return made(Load{array.text, std::move(index), tag, false}, join(array.at, last.at), height);
  }

  /// Behind `[`, up to the `]`, whose place is returned.
  Span subscripts(Exprs& index, int& height, const std::string& of) {
    const bool paren = in_.at("(") && whole_index_in_parens();
    if (paren) in_.next();
    for (;;) {
      Part e = slice_or_expr();
      height = std::max(height, e.height);
      index.push_back(e.e);
      if (!in_.accept(",")) break;
      if (in_.at("]")) break;  // a trailing comma
    }
    if (paren) in_.expect(")", "to close the subscript");
    return in_.expect("]", fmt::format("to close the subscript of `{}`", of)).at;
  }

  /// At `(` of `a[(i, j)]`: the parenthesis ends at the `]` and has a comma at its top level.
  bool whole_index_in_parens() const {
    int depth = 0;
    bool comma = false;
    for (std::size_t n = 0;; ++n) {
      const Token& t = in_.peek(n);
      if (t.kind == Tok::End) return false;
      if (t.kind != Tok::Punct) continue;
      if (t.text == "(" || t.text == "[") ++depth;
      if (t.text == ")" || t.text == "]") --depth;
      if (t.text == "," && depth == 1) comma = true;
      if (depth == 0) return comma && in_.at("]", n + 1);
    }
  }

  Part slice_or_expr() {
    const auto part_follows = [&] { return !in_.at(":") && !in_.at(",") && !in_.at("]"); };
    Part start;
    const Span at = in_.peek().at;
    if (!in_.at(":")) {
      start = ternary();
      if (!in_.at(":")) return start;
    } else {
      start.height = 0;
    }
    Span end = in_.next().at;
    int height = start.height;
    Slice s{start.e, {}, {}};
    const auto read = [&](Expr& into) {
      Part p = ternary();
      height = std::max(height, p.height);
      end = p.e.at();
      into = p.e;
    };
    if (part_follows()) read(s.stop);
    if (in_.at(":")) {
      end = in_.next().at;
      if (part_follows()) read(s.step);
    }
    return made(std::move(s), join(at, end), height);
  }

  // ---- Calls and what looks like one.

  Part called(const Token& name, const std::string& tag) {
    in_.next();
    if (tag.empty()) {
      if (name.text == "cast") return cast(name);
      if (name.text == "reduce" || name.text == "simul_reduce") return long_reduction(name);
      if (const auto op = parse_reduce_op(name.text); op && starts_inames(*op))
        return reduction(name, *op, false);
      if (name.text == "cse") return cse();
    }
    Exprs args;
    int height = 0;
    const Span close = arguments(args, height, parse_reduce_op(name.text).has_value());
    const Span at = join(name.at, close);
    if (tag.empty() && name.text == "if") {
      if (args.size() != 3)
        fail("syntax", at, "`if(condition, yes, no)` takes 3 arguments, got {}", args.size());
      return made(Select{args[0], args[1], args[2]}, at, height);
    }
    if (tag.empty() && name.text == "address" && args.size() == 1)
      if (const auto* of = args[0].as<Load>(); of && !of->linear && of->tag.empty())
        return {address(of->array, of->index, at), height};
    return made(Call{name.text, std::move(args), tag}, at, height);
  }

  /// Arguments up to the closing parenthesis, whose place is returned. `of_axes`: `axis=(0, 1)` and
  /// `keepdims=True` may be among them, as calls of `axis=` and `keepdims=`.
  Span arguments(Exprs& args, int& height, bool of_axes = false) {
    while (!in_.at(")")) {
      if (of_axes && in_.at("=", 1) && (in_.at("axis") || in_.at("keepdims"))) {
        args.push_back(axes());
        if (!in_.accept(",")) break;
        continue;
      }
      if (of_axes && in_.peek().kind == Tok::Name && in_.at("=", 1))
        fail("unsupported", in_.peek().at,
             "found the option `{}=`; a reduction of arrays has `axis=` and `keepdims=`",
             in_.peek().text);
      if (in_.peek().kind == Tok::Name && in_.at("=", 1))
        fail("unsupported", in_.peek().at,
             "found the argument `{}=`; arguments have no names here, only an order",
             in_.peek().text);
      if (in_.peek().kind == Tok::String) {  // of an external function
        const Token t = in_.next();
        args.push_back(text_literal(t.text, t.at));
        if (!in_.accept(",")) break;
        continue;
      }
      Part a = in_.at("[") ? sub_array() : ternary();
      height = std::max(height, a.height);
      args.push_back(a.e);
      if (!in_.accept(",")) break;
    }
    return in_.expect(")", "to close the argument list").at;
  }

  /// `axis=1`, `axis=(0, 1)`, `keepdims=True`.
  Expr axes() {
    const Token name = in_.next();
    in_.next();
    Exprs values;
    const bool several = in_.at("(");
    if (several) in_.next();
    do values.push_back(ternary().e);
    while (several && in_.accept(",") && !in_.at(")"));
    Span end = values.back().at();
    if (several) end = in_.expect(")", "to close the axes").at;
    return Expr(Call{name.text + "=", std::move(values), {}}, join(name.at, end));
  }

  /// `[i, j]: a[i, j, k]`.
  Part sub_array() {
    const Span at = in_.peek().at;
    std::vector<std::string> inames = names_in("[", "]");
    in_.expect(":", "after the inames of a sub-array");
    Part e = postfix();
    if (!e.e.as<Load>())
      fail("syntax", e.e.at(), "found `{}`, expected a part of an array", to_string(e.e));
    return made(SubArray{std::move(inames), e.e}, join(at, e.e.at()), e.height);
  }

  std::vector<std::string> names_in(std::string_view open, std::string_view close) {
    in_.expect(open, "before a list of inames");
    std::vector<std::string> names;
    while (!in_.at(close)) {
      names.push_back(in_.expect_name("an iname").text);
      if (!in_.accept(",")) break;
    }
    in_.expect(close, "after a list of inames");
    return names;
  }

  /// After `op(`: whether inames follow. `min(a, b)` and `max(a, b)` are functions as well, so that
  /// for them only a bracketed list is certain here; the kernel's parser knows which names are
  /// inames.
  bool starts_inames(ReduceOp op) const {
    const bool function_too = op == ReduceOp::Min || op == ReduceOp::Max;
    // `sum(a, axis=1)` is of an array.
    const auto ends = [&](std::size_t comma) {
      return in_.at(",", comma) && !in_.at("=", comma + 2);
    };
    if (in_.peek().kind == Tok::Name) return !function_too && ends(1);
    if (in_.at("[")) return !is_sub_array();
    if (!in_.at("(")) return false;
    std::size_t n = 1;
    for (;; n += 2) {
      if (in_.at(")", n) && n > 1) break;
      if (in_.peek(n).kind != Tok::Name) return false;
      if (in_.at(",", n + 1)) continue;
      if (!in_.at(")", n + 1)) return false;
      n += 1;
      break;
    }
    return ends(n + 1) && (!function_too || n > 2);
  }

  /// At `[`: names up to `]`, then a colon.
  bool is_sub_array() const {
    std::size_t n = 1;
    while (in_.peek(n).kind == Tok::Name || in_.at(",", n)) ++n;
    return in_.at("]", n) && in_.at(":", n + 1);
  }

  std::vector<std::string> reduction_inames() {
    if (in_.at("(")) return names_in("(", ")");
    if (in_.at("[")) return names_in("[", "]");
    return {in_.expect_name("an iname or a list of inames").text};
  }

  /// Behind `op(`.
  Part reduction(const Token& head, ReduceOp op, bool simultaneous) {
    const Span inames_at = in_.peek().at;
    std::vector<std::string> inames = reduction_inames();
    for (std::size_t i = 0; i < inames.size(); ++i)
      if (std::find(inames.begin(), inames.begin() + static_cast<std::ptrdiff_t>(i), inames[i]) !=
          inames.begin() + static_cast<std::ptrdiff_t>(i))
        fail("duplicate-iname", inames_at, "the reduction names `{}` twice", inames[i]);
    in_.expect(",", "after the inames of a reduction");
    Exprs args;
    int height = 0;
    if (in_.at("make_tuple") && in_.at("(", 1)) {  // argmax(i, make_tuple(v, i))
      in_.next();
      in_.next();
      arguments(args, height);
      in_.accept(",");
      const Span close = in_.expect(")", "to close the reduction").at;
      return finish(head, close, op, std::move(inames), std::move(args), height, simultaneous);
    }
    const Span close = arguments(args, height);
    return finish(head, close, op, std::move(inames), std::move(args), height, simultaneous);
  }

  Part finish(const Token& head, const Span& close, ReduceOp op, std::vector<std::string> inames,
              Exprs args, int height, bool simultaneous) {
    const Span at = join(head.at, close);
    const std::size_t wanted = static_cast<std::size_t>(arity(op));
    if (args.size() != wanted)
      fail("wrong-arg-count", at, "a reduction by `{}` takes {} expression{}, got {}",
           to_string(op), wanted, wanted == 1 ? "" : "s", args.size());
    if (inames.empty() && wanted == 1) return {args.front(), height};
    if (inames.empty()) fail("syntax", at, "a reduction by `{}` needs an iname", to_string(op));
    return made(Reduce{op, std::move(inames), std::move(args), simultaneous}, at, height);
  }

  /// Behind `reduce(` or `simul_reduce(`.
  Part long_reduction(const Token& head) {
    const Token op_name = in_.expect_name("the operation of the reduction");
    std::string text = op_name.text;
    if (text == "segmented") {
      in_.expect("(", "after `segmented`");
      text += "(" + in_.expect_name("`sum`, `product`, `min` or `max`").text + ")";
      in_.expect(")", "after the operation of `segmented`");
    }
    const auto op = parse_reduce_op(text);
    if (!op)
      fail("unknown-reduction", op_name.at,
           "no reduction `{}`; there are sum, product, min, max, any, all, argmin, argmax, "
           "segmented(sum), segmented(product), segmented(min), segmented(max)",
           text);
    in_.expect(",", "after the operation of a reduction");
    return reduction(head, *op, head.text == "simul_reduce");
  }

  /// Behind `cast(`: `float64, e`, also `np:dtype('float64'), e` and `"float64", e`.
  Part cast(const Token& head) {
    Token type = in_.peek();
    if (type.kind == Tok::String) {
      in_.next();
    } else {
      type = in_.expect_name("a type");
      if (type.text == "np" && (in_.accept(":") || in_.accept(".")))
        type = in_.expect_name("a type");
      if (type.text == "dtype" && in_.accept("(")) {
        type = in_.next();
        in_.expect(")", "after the type");
      }
    }
    const auto scalar = parse_scalar(type.text);
    if (!scalar) fail("unknown-type", type.at, "no type `{}`", type.text);
    in_.expect(",", "after the type of a cast");
    Part e = ternary();
    const Token close = in_.expect(")", "to close the cast");
    return made(Cast{Type(*scalar), e.e}, join(head.at, close.at), e.height);
  }

  /// Behind `cse(`: `e`, `e, "tag"`, `e, "tag", "name"`. Its value is that of `e`.
  Part cse() {
    Part e = ternary();
    while (in_.accept(",")) {
      if (in_.peek().kind != Tok::String && in_.peek().kind != Tok::Name)
        fail("syntax", in_.peek().at, "found {}, expected a tag or a name of `cse`",
             shown(in_.peek()));
      in_.next();
    }
    in_.expect(")", "to close `cse`");
    return e;
  }

  TokenStream& in_;
  int nesting_ = 0;
};

}  // namespace

Expr parse_expr(TokenStream& in) { return Parser(in).ternary().e; }

std::optional<Expr> operated(const Token& op, const Expr& a, const Expr& b) {
  using K = Operator::Kind;
  const Span at = join(a.at(), b.at());
  if (op.kind == Tok::Punct && op.text == "**") return Expr(Binary{BinaryOp::Pow, a, b}, at);
  const std::optional<Operator> o = operator_at(op);
  if (!o || op.kind == Tok::Name) return std::nullopt;
  if (o->kind == K::Minus)
    return Expr(Nary{NaryOp::Add, {a, Expr(Unary{UnaryOp::Sub, b}, at)}}, at);
  if (o->kind == K::Nary) return Expr(Nary{o->nary, {a, b}}, at);
  if (o->kind == K::Binary) return Expr(Binary{o->binary, a, b}, at);
  if (o->kind == K::Product) return Expr(Call{"@", {a, b}, {}}, at);
  return std::nullopt;
}

Expr parse_expression(const std::string& text, const Span& at) {
  const Source* source = add_source("<expression>", text);
  try {
    TokenStream in(tokenize(source, 0, source->text.size()));
    Expr e = parse_expr(in);
    while (in.peek().kind == Tok::Newline) in.next();
    if (!in.done()) fail("syntax", in.peek().at, "found {} after the expression", shown(in.peek()));
    return e;
  } catch (const Error& e) {
    if (!at) throw;
    std::vector<Diagnostic> all = e.diagnostics();
    for (Diagnostic& d : all) d.notes.push_back({at, "in the expression given here"});
    throw Error(std::move(all));
  }
}

}  // namespace moonloop
