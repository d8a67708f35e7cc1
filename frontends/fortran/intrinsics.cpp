#include "frontends/fortran/intrinsics.h"

#include <map>

namespace moonloop::fortran {
namespace {

/// Functions that are the same under another name or their own.
const std::map<std::string, std::string>& renamed() {
  static const std::map<std::string, std::string> kNames{
      {"abs", "abs"},      {"acos", "acos"},        {"acosh", "acosh"}, {"aimag", "imag"},
      {"asin", "asin"},    {"asinh", "asinh"},      {"atan2", "atan2"}, {"atanh", "atanh"},
      {"conjg", "conj"},   {"cos", "cos"},          {"cosh", "cosh"},   {"erf", "erf"},
      {"erfc", "erfc"},    {"exp", "exp"},          {"hypot", "hypot"}, {"log", "log"},
      {"log10", "log10"},  {"max", "max"},          {"min", "min"},     {"sin", "sin"},
      {"sinh", "sinh"},    {"sqrt", "sqrt"},        {"tan", "tan"},     {"tanh", "tanh"},
      {"gamma", "tgamma"}, {"log_gamma", "lgamma"}, {"aint", "trunc"},  {"anint", "round"}};
  return kNames;
}

Expr choice(const Expr& c, const Expr& yes, const Expr& no, const Span& at) {
  return Expr(Select{c, yes, no}, at);
}

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
    const Expr difference(Nary{NaryOp::Add, {args[0], Expr(Unary{UnaryOp::Neg, args[1]}, at)}}, at);
    return integers ? choice(less, difference, lit(0), at) : call("fdim", args, at);
  }
  if (name == "sign") {
    if (!integers) return call("copysign", args, at);
    const Expr size = call("abs", {args.at(0)}, at);
    return choice(Expr(Compare{CompareOp::Ge, args.at(1), lit(0)}, at), size,
                  Expr(Unary{UnaryOp::Neg, size}, at), at);
  }
  if (name == "merge") return choice(args.at(2), args.at(0), args.at(1), at);
  if (name == "iand") return bits(NaryOp::BitAnd);
  if (name == "ior") return bits(NaryOp::BitOr);
  if (name == "ieor") return bits(NaryOp::BitXor);
  if (name == "not") return Expr(Unary{UnaryOp::BitNot, args.at(0)}, at);
  return std::nullopt;
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

}  // namespace moonloop::fortran
