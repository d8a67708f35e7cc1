#include "codegen/print/c_names.h"

#include <functional>

#include "codegen/print/c_arithmetic.h"
#include "codegen/print/ispc_library.h"
#include "core/infer/infer.h"

namespace moonloop {
namespace {

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

/// Whether it is a power of a real or complex number by a whole one, of 32 or of 64 bits.
bool is_power_by_whole(const std::string& base) {
  return base == "int_power" || base == "long_power";
}

std::string exponent_of(const std::string& base, const Spelling& type) {
  return type(base == "int_power" ? Scalar::I32 : Scalar::I64);
}

std::string body_of(const std::string& base, Scalar s, const Spelling& type) {
  const std::string t = type(s);
  if (base == "min" || base == "max") {  // of two reals the one that is a number
    const std::string op = base == "min" ? " < " : " > ";
    return "  return b" + op + "a" + (is_real(s) ? " || a != a" : "") + " ? b : a;\n";
  }
  if (base == "lesser") return "  return b < a ? b : a;\n";  // neither a NaN, or either will do
  if (base == "greater") return "  return b > a ? b : a;\n";
  if (base == "square") return "  return x*x;\n";
  if (base == "cube") return "  return x*x*x;\n";
  if (base == "fourth") return "  return x*x*(x*x);\n";
  if (base == "power5") return "  " + t + " const s = x*x;\n  return s*s*x;\n";
  if (base == "power6") return "  " + t + " const c = x*x*x;\n  return c*c;\n";
  if (base == "power7") return "  " + t + " const c = x*x*x;\n  return c*c*x;\n";
  if (base == "power8") return "  " + t + " const s = x*x;\n  return s*s*(s*s);\n";
  if (base == "floor_div")
    return std::string("  return a / b - (a % b != 0 && (a < 0) != (b < 0)") +
           (type.language == Language::Ispc ? " ? 1 : 0);\n" : ");\n");
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
  if (is_power_by_whole(base)) {  // by squares; the reciprocal when Fortran's compilers take it
    const std::string n = exponent_of(base, type);
    const bool first = base == "long_power";
    return std::string(first ? "  if (n < 0) x = 1 / x;\n" : "") + "  " + t +
           " result = n % 2 != 0 ? x : 1;\n"
           "  for (" +
           n +
           " m = n / 2; m != 0; m /= 2) {\n"
           "    x *= x;\n"
           "    if (m % 2 != 0) result *= x;\n"
           "  }\n"
           "  return " +
           (first ? "result" : "n < 0 ? 1 / result : result") + ";\n";
  }
  throw InternalError("no helper function `" + base + "`");
}

}  // namespace

CNames::CNames(const Kernel& k, Surroundings around, bool cxx)
    : around_(around),
      records_(around == Surroundings::OpenCL || around == Surroundings::Cuda ||
               around == Surroundings::Ispc) {
  const bool device = records_;
  // Names outside of the function: the caller's view of records, and external functions.
  const std::function<void(const Type&)> add_records = [&](const Type& t) {
    if (!t.is_record()) return;
    taken_.insert(unreserved(around_, NameUse::Global, t.record->name));
    for (const Record::Field& f : t.record->fields) add_records(f.type);
  };
  for (const Argument& a : k.args)
    if (a.type) add_records(*a.type);
  for (const auto& [n, t] : k.temporaries)
    if (t.type) add_records(*t.type);
  for (const auto& [f, gives] : k.externals) taken_.insert(f + "_");
  for (const auto& [f, callee] : k.callees)
    for (const char* end : {"", "_kernel"}) taken_.insert(f + end);
  function_ = k.name;
  const auto is_taken = [&](const std::string& f) {
    return is_reserved(around_, NameUse::Global, f) || taken_.count(f) > 0;
  };
  if (is_taken(function_)) function_ += "_kernel";
  if (is_taken(function_)) function_ = "kernel_" + k.name;  // of a family: by its beginning
  while (is_taken(function_)) function_ += "_";
  // One of the kernel's functions, or with `any` a possible one.
  const auto is_function = [&](const std::string& n, bool any) {
    if (!n.starts_with(function_)) return false;
    const std::string end = n.substr(function_.size());
    return end.empty() || end.starts_with(any ? "_" : "_kernel") || end == "_of_c" ||
           end.starts_with("_task");
  };
  const auto is_free = [&](const std::string& n) {
    if (is_reserved(around_, NameUse::Local, n) || taken_.count(n)) return false;
    if (cxx && is_reserved(Surroundings::Cuda, NameUse::Local, n)) return false;
    if (!device) return true;
    const Temporary* t = k.find_temporary(n);
    if (t && t->read_only)  // a table next to the functions
      return !is_reserved(around_, NameUse::Global, n) && !is_function(n, true);
    // The host's functions of CUDA call one another, those of ISPC launch others.
    return (around_ != Surroundings::Cuda && around_ != Surroundings::Ispc) ||
           !(k.find_arg(n) || t) || !is_function(n, false);
  };
  const std::set<std::string> names = k.all_names();
  for (const std::string& n : names)
    if (is_free(n)) by_name_.emplace(n, n);
  for (const auto& [n, c] : by_name_) taken_.insert(c);
  taken_.insert(function_);
  for (const std::string& n : names) {
    if (by_name_.count(n)) continue;
    const Temporary* t = k.find_temporary(n);
    const bool table = device && t && t->read_only;
    by_name_.emplace(n, fresh(table ? "table_" + n : n + "_"));
  }
}

const std::string& CNames::of(const std::string& name) const {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) throw InternalError("code generation meets the unknown name " + name);
  if (records_) used_.insert(name);
  return it->second;
}

std::string CNames::redirect(const std::string& name, std::string identifier) {
  return std::exchange(by_name_.at(name), std::move(identifier));
}

std::string CNames::fresh(const std::string& base) {
  // Names reserved by their beginning stay so with any end.
  const bool by_beginning = is_reserved(around_, NameUse::Local, base + "_0");
  const std::string root = by_beginning ? "name_" + base : base;
  const auto [next, first] = next_.try_emplace(root, 0);  // what came before stays taken
  for (std::string name = root;; name = root + "_" + std::to_string(next->second++))
    if ((first || name != root) && !is_reserved(around_, NameUse::Local, name) &&
        taken_.insert(name).second)
      return name;
}

std::string Helpers::function(const std::string& base, Scalar s) {
  const std::string name = base + "_" + suffix(s);
  type(s);  // is used
  if (functions_.count(name)) return name;
  check_own(name);
  if (is_real(s) && base.starts_with("floor")) {
    include("math.h");
    for (const char* needed : {"copysign", "floor", "fmod"}) math(needed, s);
  }
  std::string& text = functions_[name];
  for (const Spelling& spelt : spellings(language_)) {
    if (const auto f = arithmetic(base, s, spelt)) {
      text += function_prefix(language_) + f->result + " " + name + "(" + f->parameters + ") {\n" +
              f->body + "}\n";
      continue;
    }
    const std::string t = spelt(s);
    const bool one = base == "square" || base == "cube" || base == "fourth" ||
                     (base.starts_with("power") && base != "power");
    const std::string params = one               ? t + " x"
                               : base == "power" ? t + " x, " + t + " n"
                               : is_power_by_whole(base)
                                   ? t + " x, " + exponent_of(base, spelt) + " n"
                                   : t + " a, " + t + " b";
    text += function_prefix(language_) + t + " " + name + "(" + params + ") {\n" +
            body_of(base, s, spelt) + "}\n";
  }
  return name;
}

std::string Helpers::math(const std::string& name, Scalar s) {
  if (language_ != Language::Ispc) return math_function(language_, name, s);
  const auto define = [&](const std::string& f) {  // in front of what calls it
    const std::string text = ispc_definition(f, s);
    const std::string order = f == "copysign" ? " 0 " : " 1 ";
    if (!text.empty()) functions_[order + f + "_" + suffix(s)] = text;
  };
  if (name == "fmod") define("copysign");
  define(name);
  return ispc_function(name);
}

void Helpers::note(const Type& t) {
  if (t.is_record()) return;  // its definition is printed
  if (t.scalar == Scalar::Bool) include("stdbool.h");
  if (is_integer(t.scalar)) include("stdint.h");
  if (is_complex(t.scalar)) include("complex.h");
  if (t.scalar == Scalar::F64 || t.scalar == Scalar::C128) use(Feature::Fp64);
}

std::string Helpers::type(const Type& t) {
  note(t);
  return type_name(language_, t);
}

std::string Helpers::element(const Type& t) {
  note(t);
  return element_type(language_, t);
}

void Helpers::check_own(const std::string& name) const {
  if (!is_reserved(surroundings_of(language_), NameUse::Local, name))
    throw InternalError("codegen/reserved.cpp misses the helper function `" + name + "`");
}

std::string Helpers::extremum(bool min, Scalar s, bool any_of_nan) {
  // Compilers make calls of C's fmin, but one or two instructions of the comparisons.
  const bool compares = language_ == Language::C || language_ == Language::Ispc;
  if (any_of_nan && is_real(s) && compares) return function(min ? "lesser" : "greater", s);
  if (!is_real(s) || compares) return function(min ? "min" : "max", s);
  include("math.h");
  return math(min ? "fmin" : "fmax", s);
}

void Helpers::vectorize(const std::string& function, Scalar of) {
  const std::string type = of == Scalar::F32 ? "float" : "double",
                    base = of == Scalar::F32 ? function.substr(0, function.size() - 1) : function;
  const bool two = base == "pow";
  static const std::set<std::string> kInLibmvec{"cos", "exp", "log", "pow", "sin"};
  if (language_ != Language::C || !kInLibmvec.count(base)) return;
  functions_["vectors " + function] =
      "#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)\n"
      "__attribute__((__simd__(\"notinbranch\"))) " +
      type + " " + function + "(" + type + (two ? ", " + type : "") + ");\n#endif\n";
}

namespace {

/// `f64`, or `f64_32` for at most 32 bytes.
std::string end_of_vector(Scalar s, std::int64_t bytes) {
  return (s == Scalar::F32 ? "f32" : "f64") + (bytes == 64 ? "" : "_" + std::to_string(bytes));
}

constexpr const char* kRegisters =
    "/* Bytes of the registers for vectors. */\n"
    "#if defined(__AVX512F__)\n#define VECTOR_BYTES 64\n"
    "#elif defined(__AVX__)\n#define VECTOR_BYTES 32\n"
    "#else\n#define VECTOR_BYTES 16\n#endif\n";

}  // namespace

std::string Helpers::lanes_of(Scalar s, std::int64_t bytes) {
  return "lanes_" + end_of_vector(s, bytes);
}

std::string Helpers::vector(Scalar s, std::int64_t bytes) {
  const std::string type = s == Scalar::F32 ? "float" : "double", end = end_of_vector(s, bytes);
  functions_["vector bytes"] = kRegisters;
  const std::string length =
      bytes == 64 ? "VECTOR_BYTES" : fmt::format("VECTOR_BYTES < {0} ? VECTOR_BYTES : {0}", bytes);
  functions_["vector_" + end] = fmt::format(
      "#if defined(__GNUC__)\n"
      "typedef {0} vector_{1} __attribute__((vector_size({2}), aligned({3}), may_alias));\n"
      "#else\ntypedef {0} vector_{1};\n#endif\n"
      "enum {{ lanes_{1} = sizeof(vector_{1})/sizeof({0}) }};\n",
      type, end, length, size_of(s));
  return "vector_" + end;
}

std::string Helpers::complex_of_parts(Scalar s) {
  include("complex.h");
  const std::string name = s == Scalar::C64 ? "CMPLXF" : "CMPLX";
  const std::string part = s == Scalar::C64 ? "float" : "double";
  functions_[name] = fmt::format(
      "#ifndef {0}\n#define {0}(re, im) __builtin_complex(({1})(re), ({1})(im))\n#endif\n", name,
      part);
  return name;
}

std::string Helpers::allocate() {
  include("stdint.h");
  include("stdio.h");
  include("stdlib.h");
  functions_["allocate"] =
      "/* Lines of the cache; not by aligned_alloc, which seldom reuses what has been freed. */\n"
      "static void *allocate(size_t bytes) {\n"
      "  if (bytes > (size_t)-1 / 2) bytes = 0; /* an extent below 0: no element is used */\n"
      "  char *memory = (char *)malloc(bytes + 192);\n"
      "  if (!memory) {\n"
      "    fprintf(stderr, \"no memory for a temporary of %zu bytes\\n\", bytes);\n"
      "    abort();\n"
      "  }\n"
      "  char *aligned = memory + 128 - (uintptr_t)memory % 64;\n"
      "  ((void **)aligned)[-1] = memory;\n"
      "  return aligned;\n"
      "}\n";
  return "allocate";
}

std::string Helpers::release() {
  include("stdlib.h");
  functions_["release"] =
      "static void release(void *memory) {\n"
      "  free(((void **)memory)[-1]);\n"
      "}\n";
  return "release";
}

}  // namespace moonloop
