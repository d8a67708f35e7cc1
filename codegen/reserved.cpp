#include "codegen/reserved.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>

#include "codegen/reserved_words.h"
#include "core/infer/infer.h"

namespace moonloop {
namespace {

using Words = std::unordered_set<std::string_view>;

Words words_of(std::initializer_list<std::string_view> texts) {
  Words out;
  std::size_t length = 0;
  for (const std::string_view text : texts) length += text.size();
  out.reserve(length / 8);  // room for words of some length: no moving while it grows
  for (std::string_view text : texts)
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(' '), text.size());
      if (end > 0) out.insert(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  return out;
}

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

/// Removes `what` from the front or the end of `text`, if it is there.
bool strip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}
bool strip_end(std::string_view& text, std::string_view what) {
  if (!text.ends_with(what)) return false;
  text.remove_suffix(what.size());
  return true;
}
void strip_digits(std::string_view& text) {
  while (!text.empty() && digit(text.front())) text.remove_prefix(1);
}
template <std::size_t N>
bool strip_one(std::string_view& text, const std::array<std::string_view, N>& of) {
  return std::any_of(of.begin(), of.end(), [&](std::string_view w) { return strip(text, w); });
}
template <std::size_t N>
bool is_one(std::string_view text, const std::array<std::string_view, N>& of) {
  return std::find(of.begin(), of.end(), text) != of.end();
}

// ---- Patterns that stand for many names --------------------------------------------------------

/// `INT32_MAX`, `UINT_FAST16_WIDTH`, `LLONG_MIN`, `SIZE_MAX`, `INT8_C`.
bool is_limit(std::string_view s) {
  static constexpr std::array<std::string_view, 6> ends{"_MAX", "_MIN", "_WIDTH", "_BIT", "_C", ""};
  static constexpr std::array<std::string_view, 25> types{
      "CHAR",    "SCHAR",  "UCHAR",   "SHRT",       "USHRT",     "INT",        "UINT",
      "LONG",    "ULONG",  "LLONG",   "ULLONG",     "LONG_LONG", "ULONG_LONG", "BOOL",
      "SIZE",    "SSIZE",  "PTRDIFF", "SIG_ATOMIC", "WCHAR",     "WINT",       "INTMAX",
      "UINTMAX", "INTPTR", "UINTPTR", "MB_LEN"};
  for (std::string_view end : ends) {
    std::string_view rest = s;
    if (end.empty() || !strip_end(rest, end)) continue;
    if (is_one(rest, types)) return true;
    strip(rest, "U");
    if (!strip(rest, "INT")) continue;
    if (!strip(rest, "_FAST")) strip(rest, "_LEAST");
    const std::size_t before = rest.size();
    strip_digits(rest);
    if (rest.empty() && before > 0) return true;
  }
  return false;
}

/// `M_PI`, `M_PIf64x`, `M_SQRT1_2_F`.
bool is_constant(std::string_view s) {
  static constexpr std::array<std::string_view, 13> names{
      "2_SQRTPI", "SQRT1_2", "LOG10E", "LOG2E", "SQRT2", "PI_2", "PI_4",
      "1_PI",     "2_PI",    "LN10",   "LN2",   "PI",    "E"};
  if (!strip(s, "M_") || !strip_one(s, names)) return false;
  if (s == "_F" || s == "_H" || s == "l" || s == "f" || s.empty()) return true;
  if (!strip(s, "f")) return false;
  strip_digits(s);
  return s.empty() || s == "x";
}

/// Macros in any surroundings, and names that the languages reserve for their compilers.
bool is_macro(std::string_view s) {
  static constexpr std::array<std::string_view, 12> families{
      "FP_",    "FLT_",   "DBL_", "LDBL_",    "HALF_", "FLT16_",
      "FLT32_", "FLT64_", "SNAN", "HUGE_VAL", "SEEK_", "MOONLOOP_"};
  if (s.starts_with("__") || (s.size() > 1 && s[0] == '_' && upper(s[1]))) return true;
  std::string_view rest = s;
  return is_limit(s) || is_constant(s) || strip_one(rest, families) || s == "CMPLX" ||
         s == "CMPLXF" || s == "CMPLXL";
}

/// `int32_t`, `uint_fast8_t`, `intptr_t`, `size_t`.
bool is_c_type(std::string_view s) {
  if (s == "size_t" || s == "ptrdiff_t") return true;
  if (!strip_end(s, "_t")) return false;
  strip(s, "u");
  if (!strip(s, "int")) return false;
  if (s == "max" || s == "ptr") return true;
  if (!strip(s, "_fast")) strip(s, "_least");
  const std::size_t before = s.size();
  strip_digits(s);
  return s.empty() && before > 0;
}

/// Functions that generated code brings along: `floor_mod_i32`, `mul_c128`.
bool is_helper(std::string_view s) {
  static constexpr std::array<std::string_view, 14> ends{"_bool", "_i8",  "_i16", "_i32", "_i64",
                                                         "_u8",   "_u16", "_u32", "_u64", "_f16",
                                                         "_f32",  "_f64", "_c64", "_c128"};
  static const Words bases = words_of(
      {"min max lesser greater floor_div floor_mod power int_power long_power square cube fourth "
       "neg add sub scale "
       "shrink mul div conj "
       "abs shift_left shift_right compare half_bits "
       "quotient equal exp log sqrt sin cos sinh cosh tan tanh asinh acosh acos atanh asin atan "
       "pow "});
  static const Words whole =
      words_of({"allocate release half_value half_bits pair_of_word word_of_pair "
                "pack_halves pack_bytes copy_ahead copy_bytes_ahead await_copies first_of_equal "
                "number_of_equal "
                "warp_meeting warp_meets "});
  static constexpr std::array<std::string_view, 9> starts{
      "moonloop_",  "mma_",      "load_matrices", "round_to_tf32", "vector_f32",
      "vector_f64", "lanes_f32", "lanes_f64",     "VECTOR_BYTES"};
  if (whole.count(s)) return true;
  for (std::string_view start : starts)
    if (s.starts_with(start)) return true;
  for (std::string_view end : ends)
    if (std::string_view base = s; strip_end(base, end)) {
      if (bases.count(base)) return true;
      // The same with a number at the end: powers of a fixed exponent.
      while (!base.empty() && digit(base.back())) base.remove_suffix(1);
      if (bases.count(base)) return true;
    }
  return false;
}

/// `sinf`, `csqrtl`, `lgammaf64_r`, `f32addf64`.
bool is_mathematical(std::string_view s) {
  static const Words bases = words_of({reserved::kMathematics});
  static constexpr std::array<std::string_view, 11> ends{
      "f128x", "f128", "f64x", "f32x", "f64", "f32", "f16", "bf16", "l", "f", ""};
  strip_end(s, "_r");
  for (std::string_view end : ends)
    if (std::string_view base = s; strip_end(base, end) && bases.count(base)) return true;
  static constexpr std::array<std::string_view, 6> narrow{"add", "sub",  "mul",
                                                          "div", "sqrt", "fma"};
  if (!strip(s, "f")) return false;
  strip_digits(s);
  strip(s, "x");
  if (!strip_one(s, narrow) || !strip(s, "f")) return false;
  strip_digits(s);
  strip(s, "x");
  return s.empty();
}

/// Functions of the kernel language: `sin`, `csinf`.
bool is_called(std::string_view s) {
  static const std::vector<std::string> names = function_names();
  static const Words bases(names.begin(), names.end());
  static const Words others = words_of(
      {"abort aligned_alloc calloc errno exit fprintf free j0 j1 jn llabs main malloc y0 y1 yn "
       "cabs cabsf carg cargf cimag cimagf cproj creal crealf fabs fabsf fma fmaf "});
  if (others.count(s)) return true;
  for (std::string_view prefix : {"", "c"})
    for (std::string_view end : {"", "f"})
      if (std::string_view base = s;
          strip(base, prefix) && strip_end(base, end) && bases.count(base))
        return true;
  return false;
}

/// Families of the C library and of OpenMP's.
bool is_family(std::string_view s) {
  static constexpr std::array<std::string_view, 25> families{
      "pthread_", "posix_",   "inet6_", "inet_", "aio_",  "argz_",  "argp_",  "envz_", "sched_",
      "sem_",     "mq_",      "thrd_",  "mtx_",  "cnd_",  "ether_", "epoll_", "fts_",  "fts64_",
      "gnu_",     "obstack_", "pkey_",  "omp_",  "ompx_", "GOMP_",  "GOACC_"};
  return strip_one(s, families);
}

/// `float4`, `ulonglong2`, `double4_32a`.
bool is_vector(std::string_view s, bool opencl) {
  static constexpr std::array<std::string_view, 14> elements{
      "ulonglong", "longlong", "uchar", "char",  "ushort", "short", "uint",
      "int",       "ulong",    "long",  "float", "double", "half",  "bool"};
  if (!strip_one(s, elements)) return false;
  static constexpr std::array<std::string_view, 8> lengths{"2",  "3",     "4",     "8",
                                                           "16", "4_16a", "4_32a", "1"};
  return is_one(s, lengths) && (opencl || s != "8");
}

bool taken_by_opencl(NameUse use, std::string_view s) {
  static const Words members = words_of({reserved::kOpenCLKeywords, reserved::kOpenCLMacros});
  static const Words locals = words_of({reserved::kOpenCLFunctions});
  static constexpr std::array<std::string_view, 10> extensions{
      "CLK_",    "CL_",    "cl_khr_", "cl_ext_",   "cl_intel_",
      "cl_amd_", "cl_nv_", "cl_arm_", "cl_clang_", "cl_pocl_"};
  static constexpr std::array<std::string_view, 17> families{
      "as_",         "convert_",    "atomic_", "atom_",       "vload",  "vstore",
      "read_image",  "write_image", "native_", "async_",      "intel_", "sub_group_",
      "work_group_", "amd_",        "arm_",    "get_kernel_", "cl_"};
  std::string_view rest = s;
  if (members.count(s) || is_vector(s, true) || strip_one(rest, extensions)) return true;
  if (s.starts_with("as_") || s == "MAXFLOAT") return true;
  if (use == NameUse::Member) return false;
  if (locals.count(s)) return true;
  // Variables may be called like a function of a family that is never called.
  return strip_one(rest, families) && (use == NameUse::Global || !s.starts_with("cl_"));
}

bool taken_by_cuda(NameUse use, std::string_view s) {
  static const Words members = words_of({reserved::kCudaMacros});
  static const Words locals = words_of({reserved::kCudaWords});
  const auto begins = [&](std::string_view with) {
    return s.size() > with.size() && s.starts_with(with) && !lower(s[with.size()]);
  };
  if (members.count(s) || s.starts_with("CUDA") || s.starts_with("CU_") || begins("cuda"))
    return true;
  if (use == NameUse::Member) return false;
  return locals.count(s) || begins("atomic") || is_vector(s, false) ||
         (s.starts_with("make_") && (is_vector(s.substr(5), false) || begins("make_cuda"))) ||
         (use == NameUse::Global && begins("cu"));
}

bool taken_by_ispc(std::string_view s) {
  static const Words words = words_of({reserved::kIspcWords});
  return words.count(s) > 0 || s.starts_with("ISPC");
}

bool taken_by_c(NameUse use, std::string_view s) {
  static const Words members = words_of({reserved::kKeywords, reserved::kMacros});
  static const Words globals = words_of({reserved::kTypes, reserved::kLibrary});
  if (members.count(s) || is_macro(s)) return true;
  if (use == NameUse::Member) return false;
  if (is_c_type(s) || is_helper(s) || is_called(s)) return true;
  return use == NameUse::Global && (globals.count(s) || is_mathematical(s) || is_family(s));
}

bool taken_by_fortran(std::string_view s) {
  static const Words names = words_of({reserved::kFortranNames});
  std::string small(s);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return names.count(small) > 0;
}

}  // namespace

bool is_reserved(Surroundings around, NameUse use, std::string_view name) {
  if (around == Surroundings::Fortran) return taken_by_fortran(name);
  if (taken_by_c(use, name)) return true;
  switch (around) {
    case Surroundings::C:
    case Surroundings::Fortran: return false;
    case Surroundings::OpenCL: return taken_by_opencl(use, name);
    case Surroundings::Cuda: return taken_by_cuda(use, name);
    case Surroundings::Ispc: return taken_by_ispc(name);
    case Surroundings::OpenCLHost:
      return name.starts_with("cl_") || name.starts_with("CL_") ||
             (name.size() > 2 && name.starts_with("cl") && upper(name[2]));
  }
  return false;
}

std::vector<std::string> reserved_names(Surroundings around, NameUse use) {
  static const Words all = words_of(
      {reserved::kKeywords, reserved::kMacros, reserved::kTypes, reserved::kLibrary,
       reserved::kMathematics, reserved::kOpenCLKeywords, reserved::kOpenCLMacros,
       reserved::kOpenCLFunctions, reserved::kCudaWords, reserved::kCudaMacros,
       reserved::kIspcWords, reserved::kFortranNames,
       "INT32_MAX UINT64_C INT_FAST16_MIN LLONG_MAX SIZE_MAX M_PI M_SQRT1_2 HUGE_VAL FP_NAN "
       "FLT_MAX DBL_EPSILON CMPLX __LINE__ _Complex int32_t uint8_t size_t uintptr_t "
       "floor_mod_i32 min_i32 max_u64 power_i64 mul_c128 allocate release half_bits sqrtf csin "
       "expl "
       "moonloop_entry MOONLOOP_RESTRICT pthread_create omp_get_thread_num float4 int2 double16 "
       "uchar8 CLK_LOCAL_MEM_FENCE cl_khr_fp64 cl_int cl_mem clFinish CL_SUCCESS as_float "
       "atomic_add atom_add convert_int vload4 vstore4 cudaMalloc cudaError_t make_float2 "
       "atomicAdd CUDART_VERSION "});
  std::vector<std::string> out;
  for (std::string_view w : all)
    if (is_reserved(around, use, w)) out.emplace_back(w);
  std::sort(out.begin(), out.end());
  return out;
}

std::string unreserved(Surroundings around, NameUse use, const std::string& name) {
  std::string_view plain = name;  // a name that ends in `_` makes room for the one before
  while (!plain.empty() && !is_reserved(around, use, plain) && plain.ends_with('_'))
    plain.remove_suffix(1);
  return !plain.empty() && is_reserved(around, use, plain) ? name + "_" : name;
}

}  // namespace moonloop
