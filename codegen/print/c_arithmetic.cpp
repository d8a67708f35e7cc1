#include "codegen/print/c_arithmetic.h"

#include "codegen/language.h"
#include "codegen/print/ispc_library.h"
#include "core/infer/typing.h"

namespace moonloop {
namespace {

/// The unsigned type of the same width, in which bits that are shifted out are not an overflow.
Scalar bits_of(Scalar s) {
  switch (s) {
    case Scalar::I8: return Scalar::U8;
    case Scalar::I16: return Scalar::U16;
    case Scalar::I32: return Scalar::U32;
    case Scalar::I64: return Scalar::U64;
    default: return s;
  }
}

/// NaN and infinities as C has them. The quotient is rounded down from the exact one: `a / b` may
/// have been rounded up to an integer.
std::string real_division(bool quotient, Scalar s, const Spelling& type) {
  const auto math = [&](const std::string& f) {
    if (type.language == Language::Ispc) return ispc_function(f);
    return math_function(type.language, f, s);
  };
  const std::string t = type(s);
  const std::string rest = "  " + t + " const r = " + math("fmod") + "(a, b);\n";
  if (!quotient)
    return rest + "  if (r == 0) return " + math("copysign") +
           "(r, b);\n"
           "  return (r < 0) != (b < 0) ? r + b : r;\n";
  return "  if (b == 0) return a / b;\n" + rest + "  " + t +
         " q = (a - r) / b;\n"
         "  if (r != 0 && (r < 0) != (b < 0)) q -= 1;\n"
         "  if (q == 0) return " +
         math("copysign") + "(q, a / b);\n  " + t + " const whole = " + math("floor") +
         "(q);\n"
         "  return q - whole > " +
         (s == Scalar::F32                  ? "0.5f"
          : type.language == Language::Ispc ? "0.5d"
                                            : "0.5") +
         " ? whole + 1 : whole;\n";
}

}  // namespace

std::vector<Spelling> spellings(Language language) {
  if (language != Language::Ispc) return {{language}};
  return {{language, "uniform "}, {language, "varying "}};
}

std::optional<Arithmetic> arithmetic(const std::string& base, Scalar s, const Spelling& type) {
  const std::string t = type(s), wide = type(Scalar::I64);
  const std::string width = std::to_string(8 * size_of(s));
  if (is_real(s) && (base == "floor_div" || base == "floor_mod"))
    return Arithmetic{t, t + " a, " + t + " b", real_division(base == "floor_div", s, type)};
  if (base == "quotient")  // a GPU divides zeros by a call, several times as slowly as others
    return Arithmetic{t, t + " a, " + t + " b",
                      "  if (a == 0 && b != 0 && fabs(b) <= 1.7976931348623157e308) return a*b;\n"
                      "  return a / b;\n"};
  if (base == "shift_left" || base == "shift_right") {
    const std::string inside = "n >= 0 && n < " + width;
    const bool left = base == "shift_left", sign = !left && !is_unsigned(s);
    const std::string body =
        sign   ? "a >> (" + inside + " ? n : " + std::to_string(8 * size_of(s) - 1) + ")"
        : left ? inside + " ? (" + t + ")((" + type(bits_of(s)) + ")a << n) : 0"
               : inside + " ? a >> n : 0";
    return Arithmetic{t, t + " a, " + wide + " n", "  return " + body + ";\n"};
  }
  if (base == "compare") {  // -1, 0 or 1, of a signed number with an unsigned one
    const std::string u = type(Scalar::U64);
    return Arithmetic{type.many + "int", wide + " a, " + u + " b",
                      "  return a < 0 || (" + u + ")a < b ? -1 : (" + u + ")a > b" +
                          (type.language == Language::Ispc ? " ? 1 : 0" : "") + ";\n"};
  }
  return std::nullopt;
}

}  // namespace moonloop
