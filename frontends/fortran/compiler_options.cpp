#include "frontends/fortran/compiler_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "core/base/diagnostic.h"

namespace moonloop {
namespace {

/// Options without a value, as compilers spell them.
struct Plain {
  const char* word;
  void (*set)(FortranOptions&);
};

constexpr int kLong = 1000;  // columns where lines have no end

void define(FortranOptions& o, const std::string& name, const std::string& value) {
  const auto has = [&](const auto& d) { return d.first == name; };
  if (std::none_of(o.defines.begin(), o.defines.end(), has)) o.defines.emplace_back(name, value);
}
/// With the versions of the standards that gfortran 12 and 13 have.
void with_openmp(FortranOptions& o) {
  o.openmp = true;
  define(o, "_OPENMP", "201511");
}
void without_openmp(FortranOptions& o) {
  o.openmp = false;
  std::erase_if(o.defines, [](const auto& d) { return d.first == "_OPENMP"; });
}
void with_openacc(FortranOptions& o) { define(o, "_OPENACC", "201711"); }

constexpr std::array kPlain{
    Plain{"-r8", [](FortranOptions& o) { o.default_real = 8; }},
    Plain{"-real-size=64", [](FortranOptions& o) { o.default_real = 8; }},
    Plain{"-real-size=32", [](FortranOptions& o) { o.default_real = 4; }},
    Plain{"-fdefault-integer-8", [](FortranOptions& o) { o.default_integer = 8; }},
    Plain{"-i8", [](FortranOptions& o) { o.default_integer = 8; }},
    Plain{"-i4", [](FortranOptions& o) { o.default_integer = 4; }},
    Plain{"-integer-size=64", [](FortranOptions& o) { o.default_integer = 8; }},
    Plain{"-integer-size=32", [](FortranOptions& o) { o.default_integer = 4; }},
    Plain{"-ffixed-form", [](FortranOptions& o) { o.fixed_form = true; }},
    Plain{"-fixed", [](FortranOptions& o) { o.fixed_form = true; }},
    Plain{"-Mfixed", [](FortranOptions& o) { o.fixed_form = true; }},
    Plain{"-ffree-form", [](FortranOptions& o) { o.fixed_form = false; }},
    Plain{"-free", [](FortranOptions& o) { o.fixed_form = false; }},
    Plain{"-Mfree", [](FortranOptions& o) { o.fixed_form = false; }},
    Plain{"-ffixed-line-length-none", [](FortranOptions& o) { o.fixed_columns = kLong; }},
    Plain{"-Mextend", [](FortranOptions& o) { o.fixed_columns = 132; }},
    Plain{"-extend-source", [](FortranOptions& o) { o.fixed_columns = 132; }},
    Plain{"-fbackslash", [](FortranOptions& o) { o.backslash = true; }},
    Plain{"-Mbackslash", [](FortranOptions& o) { o.backslash = false; }},
    Plain{"-assume=bscc", [](FortranOptions& o) { o.backslash = true; }},
    Plain{"-fopenmp", with_openmp},
    Plain{"-qopenmp", with_openmp},
    Plain{"-openmp", with_openmp},
    Plain{"-mp", with_openmp},
    Plain{"-fno-openmp", without_openmp},
    Plain{"-fopenmp-simd", [](FortranOptions& o) { o.openmp = true; }},  // gfortran's: no _OPENMP
    Plain{"-fopenacc", with_openacc},
    Plain{"-acc", with_openacc},
};

/// What they would change, and Moonloop does not.
struct Unsupported {
  const char* begin;
  const char* why;
};
constexpr std::array kUnsupported{
    Unsupported{"-fdefault-real-10", "makes `real` 10 bytes long"},
    Unsupported{"-fdefault-real-16", "makes `real` 16 bytes long"},
    Unsupported{"-real-size=128", "makes `real` 16 bytes long"},
    Unsupported{"-r16", "makes `real` 16 bytes long"},
    Unsupported{"-freal-", "changes the length of reals that have a kind"},
    Unsupported{"-finteger-4-integer-8", "changes the length of integers that have a kind"},
    Unsupported{"-fno-automatic", "keeps local variables from call to call"},
    Unsupported{"-noautomatic", "keeps local variables from call to call"},
    Unsupported{"-finit-", "gives local variables a value"},
    Unsupported{"-fdec", "adds another language's constructs"},
};

std::optional<int> number(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::pair<std::string, std::size_t>> option_value(
    const std::vector<std::string>& words, std::size_t i, const std::string& option) {
  if (words[i] == option && i + 1 < words.size()) return std::pair{words[i + 1], std::size_t{2}};
  if (words[i].starts_with(option) && words[i].size() > option.size())
    return std::pair{words[i].substr(option.size()), std::size_t{1}};
  return std::nullopt;
}

void CompilerOptions::add_folder(const std::string& folder) {
  to_.include_folders.push_back(
      folder_.empty() ? folder
                      : (std::filesystem::path(folder_) / folder).lexically_normal().string());
}

std::size_t CompilerOptions::read(const std::vector<std::string>& words, std::size_t i) {
  const std::string& w = words[i];
  for (const Unsupported& u : kUnsupported)
    if (w.starts_with(u.begin))
      fail("unsupported", {}, "`{}` {}, which Moonloop does not have", w, u.why);
  if (w == "-fdefault-real-8") {
    to_.default_real = 8;
    wide_ = true;
    return 1;
  }
  if (w == "-fdefault-double-8") {
    own_double_ = true;
    return 1;
  }
  // Intel's options have their values after a blank or after `=`.
  for (const std::string_view spaced : {"-real-size", "-integer-size", "-extend-source", "-assume"})
    if (w == spaced && i + 1 < words.size()) {
      const std::string& value = words[i + 1];
      if (spaced == "-extend-source") {
        if (const auto n = number(value)) return to_.fixed_columns = *n, 2;
        break;
      }
      const std::string whole = w + "=" + value;
      const std::size_t known = read({whole}, 0);
      return known ? known + 1 : 0;
    }
  for (const std::string_view with_number :
       {"-ffixed-line-length-", "-ffixed-line-length=", "-extend-source=", "-extend-source"})
    if (w.starts_with(with_number))
      if (const auto n = number(std::string_view(w).substr(with_number.size()))) {
        to_.fixed_columns = *n == 0 ? kLong : *n;
        return 1;
      }
  for (const Plain& p : kPlain)
    if (w == p.word) return p.set(to_), 1;
  if (w.starts_with("-mp=")) return with_openmp(to_), 1;  // NVIDIA's, as in -mp=gpu
  if (w.starts_with("-acc=")) return with_openacc(to_), 1;
  if (const auto d = option_value(words, i, "-D")) {
    const std::size_t equals = d->first.find('=');
    to_.defines.emplace_back(d->first.substr(0, equals),
                             equals == std::string::npos ? "1" : d->first.substr(equals + 1));
    return d->second;
  }
  if (const auto u = option_value(words, i, "-U")) {
    std::erase_if(to_.defines, [&](const auto& d) { return d.first == u->first; });
    return u->second;
  }
  if (const auto language = option_value(words, i, "-x");
      language && language->first.starts_with('f')) {  // gfortran's; FORTRAN 77 is in fixed form
    if (language->first.starts_with("f77") && !to_.fixed_form) to_.fixed_form = true;
    return language->second;
  }
  for (const char* folder : {"-I", "-J"})
    if (const auto f = option_value(words, i, folder)) return add_folder(f->first), f->second;
  if (w == "-module" && i + 1 < words.size()) return add_folder(words[i + 1]), 2;
  return 0;
}

void CompilerOptions::finish() {
  if (wide_ && !own_double_) to_.default_double = 16;
}

}  // namespace moonloop
