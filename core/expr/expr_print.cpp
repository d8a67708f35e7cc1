#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/base/diagnostic.h"
#include "core/expr/external_arguments.h"

namespace moonloop {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

/// Python's binding strengths, weakest first.
enum Level {
  kTernary,
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kAdd,
  kMul,
  kUnary,
  kPow,
  kAtom
};

struct NaryStyle {
  Level level;
  const char* text;
};
NaryStyle style(NaryOp op) {
  switch (op) {
    case NaryOp::Add: return {kAdd, " + "};
    case NaryOp::Mul: return {kMul, "*"};
    case NaryOp::BitAnd: return {kBitAnd, " & "};
    case NaryOp::BitOr: return {kBitOr, " | "};
    case NaryOp::BitXor: return {kBitXor, " ^ "};
    case NaryOp::And: return {kAnd, " and "};
    case NaryOp::Or: return {kOr, " or "};
  }
  throw InternalError("no such n-ary operator");
}

struct BinaryStyle {
  Level level;
  const char* text;
};
BinaryStyle style(BinaryOp op) {
  switch (op) {
    case BinaryOp::Div: return {kMul, " / "};
    case BinaryOp::FloorDiv: return {kMul, " // "};
    case BinaryOp::Mod: return {kMul, " % "};
    case BinaryOp::Pow: return {kPow, "**"};
    case BinaryOp::Shl: return {kShift, " << "};
    case BinaryOp::Shr: return {kShift, " >> "};
  }
  throw InternalError("no such binary operator");
}

const char* text(CompareOp op) {
  switch (op) {
    case CompareOp::Eq: return " == ";
    case CompareOp::Ne: return " != ";
    case CompareOp::Lt: return " < ";
    case CompareOp::Le: return " <= ";
    case CompareOp::Gt: return " > ";
    case CompareOp::Ge: return " >= ";
  }
  throw InternalError("no such comparison");
}

/// The shortest decimal that reads back as `v`, always with a point or an exponent.
std::string number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  std::string s = fmt::format("{}", v);
  return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
}

std::string real_literal(double v, std::optional<Scalar> type) {
  if (!type) return number(v);
  if (!std::isfinite(v)) return fmt::format("cast({}, {})", Type(*type).str(), number(v));
  if (*type == Scalar::F32) return number(v) + "f";
  if (*type == Scalar::F64) return number(v) + "d";
  return fmt::format("cast({}, {})", Type(*type).str(), number(v));
}

std::string imaginary_literal(const ComplexLit& x) {
  if (x.type == Scalar::C64) return number(x.im) + "jf";
  if (x.type) return fmt::format("cast({}, {}j)", Type(*x.type).str(), number(x.im));
  return number(x.im) + "j";
}

struct Text {
  std::string s;
  Level level;
};

class Printer {
 public:
  std::string at_least(const Expr& e, Level level) {
    Text t = print(e);
    return t.level >= level ? std::move(t.s) : "(" + t.s + ")";
  }

  std::string list(const Exprs& es) {
    std::string out;
    for (const Expr& e : es) {
      if (!out.empty()) out += ", ";
      out += at_least(e, kTernary);
    }
    return out;
  }

 private:
  static std::string tagged(const std::string& name, const std::string& tag) {
    return tag.empty() ? name : name + "$" + tag;
  }

  /// A literal below zero is `-` with what follows; `minus` says whether that is so.
  static bool starts_with_minus(const Expr& e) {
    if (const auto* x = e.as<IntLit>()) return !x->type && x->value < 0;
    if (const auto* x = e.as<FloatLit>())
      return std::signbit(x->value) && !std::isnan(x->value) &&
             (!x->type || std::isfinite(x->value));
    if (const auto* x = e.as<ComplexLit>())
      return x->re == 0 && x->im < 0 && (!x->type || x->type == Scalar::C64);
    return false;
  }

  /// The operand of a minus: in parentheses when it starts with one too.
  std::string no_minus(const Expr& e, Level level) {
    std::string s = at_least(e, level);
    return s[0] == '-' ? "(" + s + ")" : s;
  }

  Text literal(std::string s) {
    const Level level = s[0] == '-' ? kUnary : kAtom;
    return {std::move(s), level};
  }

  std::string inames(const std::vector<std::string>& names) {
    if (names.size() == 1) return names[0];
    return fmt::format("({})", fmt::join(names, ", "));
  }

  Text nary(const Nary& x) {
    const NaryStyle how = style(x.op);
    // Only a first term may be on the same level: the parser groups from the left.
    std::string out = at_least(x.terms.front(), how.level);
    const Level above = static_cast<Level>(how.level + 1);
    for (std::size_t i = 1; i < x.terms.size(); ++i) {
      const Expr& t = x.terms[i];
      if (x.op == NaryOp::Add) {
        const auto* u = t.as<Unary>();
        if (u && u->op == UnaryOp::Sub) {
          out += " - " + no_minus(u->arg, above);
          continue;
        }
        if (starts_with_minus(t)) {
          out += " - " + print(t).s.substr(1);
          continue;
        }
        if (u && u->op == UnaryOp::Neg) {  // in its own type
          out += " + (" + print(t).s + ")";
          continue;
        }
      }
      out += how.text;
      out += at_least(t, above);
    }
    return {std::move(out), how.level};
  }

  Text binary(const Binary& x) {
    const BinaryStyle how = style(x.op);
    if (x.op == BinaryOp::Pow)  // to the right, and weaker than a sign on its right side
      return {at_least(x.left, kAtom) + how.text + at_least(x.right, kUnary), kPow};
    return {at_least(x.left, how.level) + how.text +
                at_least(x.right, static_cast<Level>(how.level + 1)),
            how.level};
  }

  Text unary(const Unary& x) {
    switch (x.op) {
      case UnaryOp::Neg:
      case UnaryOp::Sub: return {"-" + no_minus(x.arg, kUnary), kUnary};
      case UnaryOp::BitNot: return {"~" + at_least(x.arg, kUnary), kUnary};
      case UnaryOp::Not: return {"not " + at_least(x.arg, kNot), kNot};
    }
    throw InternalError("no such unary operator");
  }

  std::string reduce(const Reduce& x) {
    const std::string op = to_string(x.op), args = list(x.args);
    if (x.simultaneous) return fmt::format("simul_reduce({}, {}, {})", op, inames(x.inames), args);
    // Just `max(i, e)` could also be the function of two values.
    const bool function_too = x.op == ReduceOp::Min || x.op == ReduceOp::Max;
    if (within_segments(x.op) || (function_too && x.inames.size() == 1))
      return fmt::format("reduce({}, {}, {})", op, inames(x.inames), args);
    return fmt::format("{}({}, {})", op, inames(x.inames), args);
  }

  std::string slice(const Slice& x) {
    std::string out;
    if (x.start) out += at_least(x.start, kTernary);
    out += ":";
    if (x.stop) out += at_least(x.stop, kTernary);
    if (x.step) out += ":" + at_least(x.step, kTernary);
    return out;
  }

  Text print(const Expr& e) {
    if (!e) return {"<absent>", kAtom};
    return e.visit(overload{
        [&](const IntLit& x) {
          if (x.type) return Text{fmt::format("cast({}, {})", Type(*x.type).str(), x.value), kAtom};
          return literal(std::to_string(x.value));
        },
        [&](const FloatLit& x) { return literal(real_literal(x.value, x.type)); },
        [&](const ComplexLit& x) {
          if (x.re == 0) return literal(imaginary_literal(x));
          std::optional<Scalar> part;
          if (x.type) part = *x.type == Scalar::C64 ? Scalar::F32 : Scalar::F64;
          ComplexLit im{0, x.im, x.type};
          return nary(Nary{NaryOp::Add, {Expr(FloatLit{x.re, part}), Expr(im)}});
        },
        [&](const BoolLit& x) { return Text{x.value ? "True" : "False", kAtom}; },
        [&](const Var& x) { return Text{tagged(x.name, x.tag.str()), kAtom}; },
        [&](const Load& x) {
          std::string index = x.index.empty() ? "()" : list(x.index);
          if (x.linear) index = "[" + index + "]";
          return Text{tagged(x.array, x.tag.str()) + "[" + index + "]", kAtom};
        },
        [&](const Field& x) { return Text{at_least(x.base, kAtom) + "." + x.name, kAtom}; },
        [&](const Unary& x) { return unary(x); }, [&](const Binary& x) { return binary(x); },
        [&](const Nary& x) { return nary(x); },
        [&](const Compare& x) {
          return Text{at_least(x.left, kBitOr) + text(x.op) + at_least(x.right, kBitOr), kCompare};
        },
        [&](const Select& x) {
          return Text{fmt::format("{} if {} else {}", at_least(x.yes, kOr), at_least(x.cond, kOr),
                                  at_least(x.no, kTernary)),
                      kTernary};
        },
        [&](const Call& x) {
          if (const auto text = as_text(e)) return Text{quoted(*text), kAtom};
          if (const Exprs* a = as_address(e); a && a->size() > 1)
            return Text{fmt::format("address({}[{}])", at_least((*a)[0], kAtom),
                                    list({a->begin() + 1, a->end()})),
                        kAtom};
          if (x.name == "@" && x.args.size() == 2)
            return Text{at_least(x.args[0], kMul) + " @ " + at_least(x.args[1], kUnary), kMul};
          if (x.name == "[]")
            return Text{
                at_least(x.args[0], kAtom) + "[" + list({x.args.begin() + 1, x.args.end()}) + "]",
                kAtom};
          if (x.name.back() == '=')  // of a function of arrays
            return Text{x.args.size() == 1 ? x.name + at_least(x.args[0], kTernary)
                                           : x.name + "(" + list(x.args) + ")",
                        kTernary};
          return Text{tagged(x.name, x.tag.str()) + "(" + list(x.args) + ")", kAtom};
        },
        [&](const Reduce& x) { return Text{reduce(x), kAtom}; },
        [&](const Cast& x) {
          return Text{fmt::format("cast({}, {})", x.type.str(), at_least(x.arg, kTernary)), kAtom};
        },
        [&](const Slice& x) { return Text{slice(x), kTernary}; },
        [&](const SubArray& x) {
          return Text{fmt::format("[{}]: {}", fmt::join(x.inames, ", "), at_least(x.load, kAtom)),
                      kTernary};
        }});
  }
};

struct ReduceName {
  ReduceOp op;
  const char* name;
};
constexpr std::array<ReduceName, 12> kReduceNames{
    {{ReduceOp::Sum, "sum"},
     {ReduceOp::Product, "product"},
     {ReduceOp::Min, "min"},
     {ReduceOp::Max, "max"},
     {ReduceOp::ArgMin, "argmin"},
     {ReduceOp::ArgMax, "argmax"},
     {ReduceOp::Any, "any"},
     {ReduceOp::All, "all"},
     {ReduceOp::SegmentedSum, "segmented(sum)"},
     {ReduceOp::SegmentedProduct, "segmented(product)"},
     {ReduceOp::SegmentedMin, "segmented(min)"},
     {ReduceOp::SegmentedMax, "segmented(max)"}}};

}  // namespace

std::string to_string(const Expr& e) { return Printer().at_least(e, kTernary); }
std::string to_string(const Exprs& es) { return Printer().list(es); }

std::string to_string(ReduceOp op) { return kReduceNames[static_cast<std::size_t>(op)].name; }

std::optional<ReduceOp> parse_reduce_op(std::string_view name) {
  for (const ReduceName& r : kReduceNames)
    if (name == r.name) return r.op;
  return std::nullopt;
}

int arity(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Product:
    case ReduceOp::Min:
    case ReduceOp::Max:
    case ReduceOp::Any:
    case ReduceOp::All: return 1;
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax:
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: return 2;
  }
  throw InternalError("no such reduction");
}

std::optional<ReduceOp> within_segments(ReduceOp op) {
  switch (op) {
    case ReduceOp::SegmentedSum: return ReduceOp::Sum;
    case ReduceOp::SegmentedProduct: return ReduceOp::Product;
    case ReduceOp::SegmentedMin: return ReduceOp::Min;
    case ReduceOp::SegmentedMax: return ReduceOp::Max;
    case ReduceOp::Sum:
    case ReduceOp::Product:
    case ReduceOp::Min:
    case ReduceOp::Max:
    case ReduceOp::Any:
    case ReduceOp::All:
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax: return {};
  }
  throw InternalError("no such reduction");
}

}  // namespace moonloop
