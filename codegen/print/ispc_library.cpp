#include "codegen/print/ispc_library.h"

#include <set>

#include "codegen/language.h"

namespace moonloop {
namespace {

/// Functions of ISPC with the meaning that C's have. Its `fmod` divides by a reciprocal, its
/// `round` takes halves to even numbers.
const std::set<std::string> kSame{"acos", "asin", "atan", "atan2", "cbrt",  "ceil", "cos",   "cosh",
                                  "erf",  "erfc", "exp",  "expm1", "floor", "log",  "log1p", "pow",
                                  "sin",  "sinh", "sqrt", "tan",   "tanh",  "trunc"};

/// The bodies of functions that are short: T is the type, W the integer of its width, S the sign's
/// bit, F the function that makes a real number of its bits.
std::string short_body(const std::string& name) {
  if (name == "copysign") return "return F((intbits(a) & ~S) | (intbits(b) & S));";
  if (name == "fdim") return "return a != a || b != b ? a + b : a > b ? a - b : 0;";
  if (name == "round")
    return "T whole = trunc(a);\n"
           "  if (abs(a - whole) >= 0.5f) whole += a < 0 ? -1 : 1;\n"
           "  return whole;";
  if (name == "fmod")  // all steps are exact
    return "T rest = abs(a), part = abs(b);\n"
           "  if (!(part > 0) || !(rest - rest == 0)) return (a*b)/(a*b);\n"
           "  const T least = part;\n"
           "  if (rest < least || part - part != 0) return a;\n"
           "  while (part <= rest/2) part *= 2;\n"
           "  for (; part >= least; part /= 2)\n"
           "    if (rest >= part) rest -= part;\n"
           "  return moonloop_copysign(rest, a);";
  return "";
}

int arguments_of(const std::string& name) {
  if (name == "fma") return 3;
  static const std::set<std::string> kTwo{"copysign", "fdim", "fmod", "hypot"};
  return kTwo.count(name) ? 2 : 1;
}

void replace_words(std::string& text, const std::string& word, const std::string& by) {
  const auto part_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const std::size_t end = at + word.size();
    const bool whole = (at == 0 || !part_of_name(text[at - 1])) &&
                       (end == text.size() || !part_of_name(text[end]));
    if (whole) text.replace(at, word.size(), by);
    at += whole ? by.size() : 1;
  }
}

}  // namespace

std::string ispc_function(const std::string& name) {
  if (name == "fabs") return "abs";
  return kSame.count(name) ? name : "moonloop_" + name;
}

std::string ispc_definition(const std::string& name, Scalar s) {
  if (name == "fabs" || kSame.count(name)) return "";
  const bool single = s == Scalar::F32;
  const std::string c_name = name + (single ? "f" : ""), own = ispc_function(name);
  const int n = arguments_of(name);
  static constexpr const char* kNames[] = {"a", "b", "c"};
  std::string out, call, types;
  std::string body = short_body(name);
  if (body.empty()) {
    for (int i = 0; i < n; ++i)
      types += (i ? ", uniform " : "uniform ") + type_name(Language::Ispc, s);
    out += "extern \"C\" uniform " + type_name(Language::Ispc, s) + " " + c_name + "(" + types +
           ");\n";
  }
  for (const Spelling& type : spellings(Language::Ispc)) {
    std::string parameters, values, lanes;
    for (int i = 0; i < n; ++i) {
      parameters += (i ? ", " : "") + type(s) + " " + kNames[i];
      values += std::string(i ? ", " : "") + kNames[i];
      lanes += (i ? ", extract(" : "extract(") + std::string(kNames[i]) + ", lane)";
    }
    std::string text = body;
    if (text.empty())
      text = type.many == "uniform "
                 ? "return " + c_name + "(" + values + ");"
                 : "T out = a;\n  foreach_active (lane) out = insert(out, lane, " + c_name + "(" +
                       lanes + "));\n  return out;";
    replace_words(text, "T", type(s));
    replace_words(text, "S", single ? "0x80000000u" : "0x8000000000000000ull");
    replace_words(text, "F", single ? "floatbits" : "doublebits");
    out += function_prefix(Language::Ispc) + type(s) + " " + own + "(" + parameters + ") {\n  " +
           text + "\n}\n";
  }
  return out;
}

std::string ispc_special(bool infinity, Scalar s) {
  if (s == Scalar::F32) return infinity ? "floatbits(0x7f800000u)" : "floatbits(0x7fc00000u)";
  return infinity ? "doublebits(0x7ff0000000000000ull)" : "doublebits(0x7ff8000000000000ull)";
}

}  // namespace moonloop
