#include "codegen/c_names.h"

#include <array>

#include "core/infer.h"

namespace moonloop {
namespace {

constexpr std::array kReserved{"I",         "INFINITY",   "NAN",    "NULL",     "_Bool",
                               "_Complex",  "_Imaginary", "abort",  "alignas",  "aligned_alloc",
                               "allocate",  "asm",        "auto",   "bool",     "break",
                               "calloc",    "case",       "char",   "complex",  "const",
                               "continue",  "default",    "do",     "double",   "else",
                               "enum",      "errno",      "extern", "false",    "float",
                               "for",       "fprintf",    "free",   "goto",     "if",
                               "imaginary", "inline",     "int",    "int16_t",  "int32_t",
                               "int64_t",   "int8_t",     "j0",     "j1",       "jn",
                               "linux",     "long",       "main",   "malloc",   "register",
                               "restrict",  "return",     "short",  "signed",   "size_t",
                               "sizeof",    "static",     "stderr", "struct",   "switch",
                               "true",      "typedef",    "typeof", "uint16_t", "uint32_t",
                               "uint64_t",  "uint8_t",    "union",  "unix",     "unsigned",
                               "void",      "volatile",   "while",  "y0",       "y1",
                               "yn"};

constexpr std::array kDeviceReserved{
    "barrier",      "blockDim",     "blockIdx",  "bool2",     "char2",     "char4",
    "constant",     "double2",      "double4",   "event_t",   "float2",    "float4",
    "get_group_id", "get_local_id", "global",    "gridDim",   "half",      "half_bits",
    "half_value",   "image2d_t",    "int2",      "int4",      "kernel",    "local",
    "long2",        "long4",        "private",   "ptrdiff_t", "read_only", "sampler_t",
    "threadIdx",    "uchar",        "uint",      "ulong",     "ushort",    "vec_type_hint",
    "warpSize",     "write_only",   "class",     "delete",    "new",       "operator",
    "private",      "public",       "template",  "this",      "throw",     "try",
    "using",        "virtual",      "namespace", "friend",    "catch",     "typename",
    "mutable",      "export",       "explicit",  "protected", "clamp",     "dot",
    "cross",        "length",       "distance",  "normalize", "mix",       "step",
    "sign",         "radians",      "degrees",   "select",    "shuffle",   "vload2",
    "vload4",       "vstore2",      "vstore4",   "any",       "all",       "mad",
    "rotate",       "hadd",         "popcount",  "clz",       "prefetch",  "fract",
    "min",          "max"};

/// `i32`, `f64`, …
std::string suffix(Scalar s) {
  switch (s) {
    case Scalar::Bool: return "bool";
    case Scalar::I8: return "i8";
    case Scalar::I16: return "i16";
    case Scalar::I32: return "i32";
    case Scalar::I64: return "i64";
    case Scalar::U8: return "u8";
    case Scalar::U16: return "u16";
    case Scalar::U32: return "u32";
    case Scalar::U64: return "u64";
    case Scalar::F16: return "f16";
    case Scalar::F32: return "f32";
    case Scalar::F64: return "f64";
    case Scalar::C64: return "c64";
    case Scalar::C128: return "c128";
  }
  return "";
}

std::string body_of(const std::string& base, Scalar s, Language language) {
  const auto math = [&](const std::string& f) { return math_function(language, f, s); };
  const std::string t = type_name(language, s);
  if (base == "min") return "  return b < a ? b : a;\n";
  if (base == "max") return "  return b > a ? b : a;\n";
  if (base == "floor_div" && is_real(s)) return "  return " + math("floor") + "(a / b);\n";
  if (base == "floor_mod" && is_real(s))
    return "  " + t + " const r = " + math("fmod") +
           "(a, b);\n"
           "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n";
  if (base == "floor_div") return "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n";
  if (base == "floor_mod")
    return "  " + t +
           " const r = a % b;\n"
           "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n";
  if (base == "power") {
    const std::string negative =
        is_unsigned(s) ? ""
                       : "  if (n < 0) return x == 1 ? 1 : x == -1 ? (n % 2 != 0 ? -1 : 1) : 0;\n";
    return negative + "  " + t +
           " result = 1;\n"
           "  for (; n != 0; n /= 2) {\n"
           "    if (n % 2 != 0) result *= x;\n"
           "    if (n != 1) x *= x;\n"
           "  }\n"
           "  return result;\n";
  }
  throw InternalError("no helper function `" + base + "`");
}

}  // namespace

CNames::CNames(const Kernel& k, Language language) : records_(language != Language::C) {
  for (const char* r : kReserved) taken_.insert(r);
  if (records_)
    for (const char* r : kDeviceReserved) taken_.insert(r);
  for (const std::string& f : function_names())
    for (const char* prefix : {"", "c"})
      for (const char* end : {"", "f"}) taken_.insert(prefix + f + end);
  std::set<std::string> names = k.all_names();
  names.insert(k.name);
  for (const std::string& n : names)
    if (!taken_.count(n)) by_name_.emplace(n, n);
  for (const auto& [n, c] : by_name_) taken_.insert(c);
  for (const std::string& n : names)
    if (!by_name_.count(n)) by_name_.emplace(n, fresh(n + "_"));
}

const std::string& CNames::of(const std::string& name) const {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) throw InternalError("code generation meets the unknown name " + name);
  if (records_) used_.insert(name);
  return it->second;
}

std::string CNames::fresh(const std::string& base) {
  std::string name = base;
  for (int i = 0; !taken_.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

std::string Helpers::function(const std::string& base, Scalar s) {
  const std::string name = base + "_" + suffix(s), t = type(s);
  if (!functions_.count(name)) {
    if (is_real(s)) include("math.h");
    const std::string params = base == "power" ? t + " x, " + t + " n" : t + " a, " + t + " b";
    functions_[name] = function_prefix(language_) + t + " " + name + "(" + params + ") {\n" +
                       body_of(base, s, language_) + "}\n";
  }
  return name;
}

std::string Helpers::extremum(bool min, Scalar s) {
  if (!is_real(s)) return function(min ? "min" : "max", s);
  include("math.h");
  return math(min ? "fmin" : "fmax", s);
}

std::string Helpers::allocate() {
  include("stdio.h");
  include("stdlib.h");
  functions_["allocate"] =
      "static void *allocate(size_t bytes) {\n"
      "  void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);\n"
      "  if (!memory) {\n"
      "    fprintf(stderr, \"no memory for a temporary of %zu bytes\\n\", bytes);\n"
      "    abort();\n"
      "  }\n"
      "  return memory;\n"
      "}\n";
  return "allocate";
}

}  // namespace moonloop
