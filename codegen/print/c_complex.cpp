#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include "codegen/print/c_expr.h"
#include "core/base/diagnostic.h"
#include "core/base/half.h"

// Complex numbers in languages without them: OpenCL and CUDA have pairs, `float2` and `double2`,
// and their operations are functions that the generated code contains.
namespace moonloop {
namespace {

struct Definition {
  std::string_view name;
  int level;                    // uses only functions of lower levels
  std::string_view parameters;  // z, w: complex; x, y: real
  std::string_view uses;        // one or several of those, with spaces between
  std::string_view body;        // PAIR(re, im); `R` the type of a part; M_f the function f on reals
};

// asin and similar functions by Kahan's formulas, which keep the branch cuts; division by Smith's,
// which does
// not overflow midway.
constexpr std::array kDefinitions{
    Definition{"neg", 0, "z", "", "return PAIR(-z.x, -z.y);"},
    Definition{"add", 0, "z w", "", "return PAIR(z.x + w.x, z.y + w.y);"},
    Definition{"sub", 0, "z w", "", "return PAIR(z.x - w.x, z.y - w.y);"},
    Definition{"scale", 0, "z x", "", "return PAIR(z.x*x, z.y*x);"},
    Definition{"shrink", 0, "z x", "", "return PAIR(z.x / x, z.y / x);"},
    Definition{"mul", 0, "z w", "", "return PAIR(z.x*w.x - z.y*w.y, z.x*w.y + z.y*w.x);"},
    Definition{"div", 0, "z w", "",
               "if (M_fabs(w.x) >= M_fabs(w.y)) {\n"
               "    R const q = w.y / w.x, d = w.x + w.y*q;\n"
               "    return PAIR((z.x + z.y*q) / d, (z.y - z.x*q) / d);\n"
               "  }\n"
               "  R const q = w.x / w.y, d = w.x*q + w.y;\n"
               "  return PAIR((z.x*q + z.y) / d, (z.y*q - z.x) / d);"},
    Definition{"conj", 0, "z", "", "return PAIR(z.x, -z.y);"},
    Definition{"abs", 0, "z", "", "return M_hypot(z.x, z.y);"},
    Definition{"equal", 0, "z w", "", "return z.x == w.x && z.y == w.y;"},
    Definition{"exp", 0, "z", "",
               "R const e = M_exp(z.x);\n  return PAIR(e*M_cos(z.y), e*M_sin(z.y));"},
    Definition{"log", 0, "z", "", "return PAIR(M_log(M_hypot(z.x, z.y)), M_atan2(z.y, z.x));"},
    Definition{"sqrt", 0, "z", "",
               "R const m = M_hypot(z.x, z.y), a = M_sqrt((m + M_fabs(z.x)) / 2);\n"
               "  R const b = a == 0 ? 0 : z.y / (2*a);\n"
               "  return z.x >= 0 ? PAIR(a, b) : PAIR(M_fabs(b), M_copysign(a, z.y));"},
    Definition{"sin", 0, "z", "", "return PAIR(M_sin(z.x)*M_cosh(z.y), M_cos(z.x)*M_sinh(z.y));"},
    Definition{"cos", 0, "z", "", "return PAIR(M_cos(z.x)*M_cosh(z.y), -M_sin(z.x)*M_sinh(z.y));"},
    Definition{"sinh", 0, "z", "", "return PAIR(M_sinh(z.x)*M_cos(z.y), M_cosh(z.x)*M_sin(z.y));"},
    Definition{"cosh", 0, "z", "", "return PAIR(M_cosh(z.x)*M_cos(z.y), M_sinh(z.x)*M_sin(z.y));"},
    Definition{"tan", 1, "z", "div",
               "R const t = M_tan(z.x), h = M_tanh(z.y);\n"
               "  return div_T(PAIR(t, h), PAIR(1, -t*h));"},
    Definition{"tanh", 1, "z", "div",
               "R const h = M_tanh(z.x), t = M_tan(z.y);\n"
               "  return div_T(PAIR(h, t), PAIR(1, h*t));"},
    Definition{"asinh", 1, "z", "sqrt",
               "T const a = sqrt_T(PAIR(1 + z.y, -z.x)), b = sqrt_T(PAIR(1 - z.y, z.x));\n"
               "  return PAIR(M_asinh(a.x*b.y - b.x*a.y), M_atan2(z.y, a.x*b.x - a.y*b.y));"},
    Definition{"acosh", 1, "z", "sqrt",
               "T const a = sqrt_T(PAIR(z.x - 1, z.y)), b = sqrt_T(PAIR(z.x + 1, z.y));\n"
               "  return PAIR(M_asinh(a.x*b.x + a.y*b.y), 2*M_atan2(a.y, b.x));"},
    Definition{"acos", 1, "z", "sqrt",
               "T const a = sqrt_T(PAIR(1 - z.x, -z.y)), b = sqrt_T(PAIR(1 + z.x, z.y));\n"
               "  return PAIR(2*M_atan2(a.x, b.x), M_asinh(b.x*a.y - b.y*a.x));"},
    Definition{"atanh", 0, "z", "",
               "R const p = 1 + z.x, m = 1 - z.x, s = z.y*z.y;\n"
               "  return PAIR(M_log((p*p + s) / (m*m + s)) / 4, M_atan2(2*z.y, p*m - s) / 2);"},
    Definition{"asin", 2, "z", "sqrt asinh",
               "T const a = asinh_T(PAIR(-z.y, z.x));\n  return PAIR(a.y, -a.x);"},
    Definition{"atan", 1, "z", "atanh",
               "T const a = atanh_T(PAIR(-z.y, z.x));\n  return PAIR(a.y, -a.x);"},
    Definition{"square", 1, "z", "mul", "return mul_T(z, z);"},
    Definition{"cube", 1, "z", "mul", "return mul_T(mul_T(z, z), z);"},
    Definition{"fourth", 1, "z", "mul", "T const s = mul_T(z, z);\n  return mul_T(s, s);"},
    Definition{"power5", 2, "z", "mul fourth", "return mul_T(fourth_T(z), z);"},
    Definition{"power6", 2, "z", "mul cube", "T const c = cube_T(z);\n  return mul_T(c, c);"},
    Definition{"power7", 2, "z", "mul cube",
               "T const c = cube_T(z);\n  return mul_T(mul_T(c, c), z);"},
    Definition{"power8", 2, "z", "mul fourth", "T const s = fourth_T(z);\n  return mul_T(s, s);"},
    Definition{"pow", 1, "z w", "mul log exp",
               "if (z.x == 0 && z.y == 0) return PAIR(w.x == 0 && w.y == 0 ? 1 : 0, 0);\n"
               "  return exp_T(mul_T(w, log_T(z)));"},
};

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
}

}  // namespace

std::string complex_pair(Language language, Scalar s, const std::string& re,
                         const std::string& im) {
  const std::string type = type_name(language, Type(s));
  return (language == Language::Cuda ? "make_" + type : "(" + type + ")") + "(" + re + ", " + im +
         ")";
}

std::string Helpers::complex(const std::string& base, Scalar s) {
  const auto* d = std::find_if(kDefinitions.begin(), kDefinitions.end(),
                               [&](const Definition& x) { return x.name == base; });
  if (d == kDefinitions.end()) throw InternalError("no function `" + base + "` on complex numbers");
  const std::string end = s == Scalar::C64 ? "_c64" : "_c128";
  const std::string name = base + end;
  const std::string key = "complex " + std::to_string(d->level) + " " + name;
  if (functions_.count(key)) return name;
  check_own(name);
  std::string rest(d->uses);
  while (!rest.empty()) {
    const std::size_t space = std::min(rest.find(' '), rest.size());
    complex(rest.substr(0, space), s);
    rest.erase(0, space + 1);
  }
  const std::string t = type(s), r = type(real_part(s));
  std::string parameters;
  for (const char c : d->parameters)
    if (c != ' ') parameters += (parameters.empty() ? "" : ", ") + (c == 'x' ? r : t) + " " + c;
  std::string body(d->body);
  for (std::size_t at = 0; (at = body.find("M_", at)) != std::string::npos;) {
    const std::size_t open = body.find('(', at);
    const std::string f = math(body.substr(at + 2, open - at - 2), real_part(s));
    body.replace(at, open - at, f);
    at += f.size();
  }
  replace_all(body, "PAIR", language_ == Language::Cuda ? "make_" + t : "(" + t + ")");
  replace_all(body, "R const", r + " const");
  replace_all(body, "T const", t + " const");
  replace_all(body, "_T(", end + "(");
  const std::string result = base == "abs" ? r : base == "equal" ? "int" : t;
  functions_[key] = function_prefix(language_) + result + " " + name + "(" + parameters +
                    ") {\n  " + body + "\n}\n";
  return name;
}

bool CExpr::is_pair(const Type& t) const {
  return helpers_.language() != Language::C && !t.is_record() && is_complex(t.scalar);
}

namespace {

/// Sums and products of numbers.
std::optional<std::complex<double>> folded(const Expr& e) {
  if (const auto n = as_int(e)) return static_cast<double>(*n);
  if (const auto* f = e.as<FloatLit>()) return f->value;
  if (const auto* c = e.as<ComplexLit>()) return std::complex<double>(c->re, c->im);
  if (const Expr* of = negated(e)) {
    const auto x = folded(*of);
    return x ? std::optional(-*x) : std::nullopt;
  }
  const auto* n = e.as<Nary>();
  if (!n || (n->op != NaryOp::Add && n->op != NaryOp::Mul)) return std::nullopt;
  std::complex<double> out = n->op == NaryOp::Add ? 0 : 1;
  for (const Expr& t : n->terms) {
    const auto x = folded(t);
    if (!x) return std::nullopt;
    out = n->op == NaryOp::Add ? out + *x : out * *x;
  }
  return out;
}

bool is_number(const Expr& e) { return as_int(e).has_value() || e.as<FloatLit>() != nullptr; }
}  // namespace

/// On devices no function may make the value, not even infinities or NaNs.
std::string CExpr::constant(const Expr& e, const Type& t) {
  const bool device = is_device(plan_.target);
  const bool half = t == Type(Scalar::F16) && device;
  const auto z = device && (half || is_pair(t) || (!t.is_record() && is_real(t.scalar)))
                     ? folded(e)
                     : std::nullopt;
  const auto literal_of = [&](double v, const Type& part) {
    if (std::isfinite(v)) return real_literal(v, part).text;
    const std::string zero = part == Type(Scalar::F32) ? "0.0f" : "0.0",
                      one = part == Type(Scalar::F32) ? "1.0f" : "1.0";
    return fmt::format("({}/{})", std::isnan(v) ? zero : v < 0 ? "-" + one : one, zero);
  };
  if (!half && !is_pair(t))
    return z && !std::isfinite(z->real()) ? literal_of(z->real(), t) : value(e, t);
  if (!z) fail("unsupported", e.at(), "`{}` is not a constant on a device", to_string(e));
  if (half) return fmt::format("0x{:04x}", half_bits(static_cast<float>(z->real())));
  const Type part = real_part(t.scalar);
  const std::string re = literal_of(z->real(), part), im = literal_of(z->imag(), part);
  if (helpers_.language() == Language::Cuda) return "{" + re + ", " + im + "}";
  return complex_pair(helpers_.language(), t.scalar, re, im);
}

/// `e` is real beside operands of the complex type `t`.
bool CExpr::is_real_beside(const Expr& e, const Type& t) const {
  return is_number(e) || !is_pair(type(e, t));
}

/// `e` in type `to`, where it or `to` is a pair.
CExpr::Piece CExpr::converted_pair(const Expr& e, const Type& to) {
  const bool pair = is_pair(to);
  if (pair && is_real_beside(e, to))
    return {complex_pair(helpers_.language(), to.scalar,
                         converted(e, real_part(to.scalar), true).text, "0"),
            Prec::Postfix, to};
  const Piece p = print(e, to);
  if (p.type == to) return p;
  if (!pair) {  // the real part
    const Type part = real_part(p.type.scalar);
    const std::string text = wrap(p, Prec::Postfix) + ".x";
    if (part == to) return {text, Prec::Postfix, to};
    return {"(" + helpers_.type(to) + ")" + text, Prec::Unary, to};
  }
  return pair_as(p, to);
}

/// A pair in another precision.
CExpr::Piece CExpr::pair_as(const Piece& p, const Type& to) const {
  const std::string z = wrap(p, Prec::Postfix),
                    part = "(" + helpers_.type(real_part(to.scalar)) + ")";
  return {complex_pair(helpers_.language(), to.scalar, part + z + ".x", part + z + ".y"),
          Prec::Postfix, to};
}

CExpr::Piece CExpr::pair_call(const std::string& function, const Type& t,
                              const std::vector<std::string>& arguments) {
  std::string text = helpers_.complex(function, t.scalar) + "(";
  for (const std::string& a : arguments) text += (&a == &arguments[0] ? "" : ", ") + a;
  return {text + ")", Prec::Postfix, t};
}

/// A sum or a product.
CExpr::Piece CExpr::print_pairs(const Nary& x, const Computation& c) {
  const bool add = x.op == NaryOp::Add;
  std::optional<Piece> whole;  // real until a complex operand comes
  for (std::size_t i = 0; i < x.terms.size(); ++i) {
    const Expr& term = x.terms[i];
    const Type& t = c.operands[i];
    const Type part = real_part(t.scalar);
    if (whole && is_pair(whole->type) && !(whole->type == t)) whole = pair_as(*whole, t);
    if (whole && !is_pair(whole->type) && !(whole->type == part)) whole = cast(*whole, part);
    const auto* u = term.as<Unary>();
    const bool minus = add && whole && u && u->op == UnaryOp::Sub;
    const Expr& e = minus ? u->arg : term;
    const bool real = is_real_beside(e, c.result);
    const Piece p = converted(e, real ? part : t, true);
    if (!whole) {
      whole = p;
    } else if (real && !is_pair(whole->type)) {
      const std::string op = add ? (minus ? " - " : " + ") : "*";
      const Prec own = add ? Prec::Sum : Prec::Product;
      whole = Piece{wrap(*whole, own) + op + wrap(p, add ? Prec::Product : Prec::Unary), own, part};
    } else if (!add && real != !is_pair(whole->type)) {
      whole = real ? pair_call("scale", t, {whole->text, p.text})
                   : pair_call("scale", t, {p.text, whole->text});
    } else {
      const auto pair = [&](const Piece& y) {
        return is_pair(y.type) ? y.text : complex_pair(helpers_.language(), t.scalar, y.text, "0");
      };
      whole = pair_call(!add ? "mul" : minus ? "sub" : "add", t, {pair(*whole), pair(p)});
    }
  }
  if (is_pair(whole->type)) return *whole;
  return {complex_pair(helpers_.language(), c.result.scalar, whole->text, "0"), Prec::Postfix,
          c.result};
}

CExpr::Piece CExpr::print_pair_binary(const Binary& x, const Type& t) {
  if (x.op == BinaryOp::Div && is_real_beside(x.right, t))
    return pair_call("shrink", t,
                     {value(x.left, t), converted(x.right, real_part(t.scalar), true).text});
  return pair_call(x.op == BinaryOp::Div ? "div" : "pow", t, {value(x.left, t), value(x.right, t)});
}

}  // namespace moonloop
