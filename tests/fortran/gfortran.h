#pragma once
#include <dlfcn.h>

#include <array>
#include <cmath>
#include <cstring>

#include "frontends/fortran/fortran.h"
#include "runtime/process.h"
#include "scripts/script.h"
#include "tests/runtime/support.h"

/// Fortran through Moonloop and through gfortran, on the same data.
namespace moonloop::test {

/// A product of matrices as in an old program.
inline const char* const kProduct = R"(
subroutine dgemm(m, n, l, alpha, a, b, c)
  implicit none
  real*8 a(m, l), b(l, n), c(m, n), alpha
  integer m, n, k, i, j, l
  do j = 1, n
    do k = 1, l
      do i = 1, m
        c(i, j) = c(i, j) + alpha*b(k, j)*a(i, k)
      end do
    end do
  end do
end subroutine
)";

/// gfortran orders operations as it likes, so that its results have no bounds of their own: some
/// hundred rounding errors of an element, or of the array's root mean square.
inline BoundAt rounding_of(const Buffer& b) {
  const Scalar s = b.layout().type.scalar;
  if (b.layout().type.is_record() || !(is_real(s) || is_complex(s)))
    return [](const std::byte*) { return 0.0; };
  const bool single = s == Scalar::F32 || s == Scalar::C64;
  const int parts = is_complex(s) ? 2 : 1;
  const auto size = [single, parts](const std::byte* at) {
    double squares = 0;
    for (int i = 0; i < parts; ++i) {
      float f = 0;
      double d = 0;
      if (single)
        std::memcpy(&f, at + 4 * i, 4), d = f;
      else
        std::memcpy(&d, at + 8 * i, 8);
      squares += d * d;
    }
    return std::sqrt(squares);
  };
  double squares = 0, n = 0;
  for (Cursor c(b); c; c.next())
    if (const double v = size(c.at()); std::isfinite(v)) squares += v * v, n += 1;
  const double rms = n > 0 ? std::sqrt(squares / n) : 0;
  const double factor = 512 * (single ? 0x1p-23 : 0x1p-52);
  return [=](const std::byte* at) { return factor * std::fmax(size(at), rms); };
}

inline const Source* fortran_source(const std::string& text, const std::string& name = "t.f90") {
  return add_source(name, text);
}

struct Imported {
  std::vector<Kernel> original, transformed;
};

/// The kernels of a text, before and after its blocks.
inline Imported import(const std::string& text, const std::string& name = "t.f90") {
  const Source* source = fortran_source(text, name);
  const FortranFile file = parse_fortran(source);
  if (!file.left_out.empty()) throw Error(file.left_out.front().why);
  Imported out{file.kernels, file.kernels};
  for (const FortranFile::Transform& t : file.transforms)
    out.transformed = run_transform_script(t.source, out.transformed, {}, t.code.c_str());
  return out;
}

/// Why a call in a text stays a call, by the first warning that says so; nothing where none does.
inline std::string why_kept(const std::string& text) {
  for (const FortranFile::Warning& w : parse_fortran(fortran_source(text)).warnings)
    if (w.what.code == "kept-call") return w.what.notes.at(0).text;
  return "";
}

/// The library that gfortran makes of a file.
class Library {
 public:
  Library(const std::string& text, const std::string& name) {
    const std::string source = folder_ / name;
    spit(source, text);
    const ProcessResult r = run_process({find_program("gfortran"), "-O0", "-fPIC", "-shared", "-J",
                                         folder_.path(), "-o", folder_ / "r.so", source});
    INFO(r.output);
    REQUIRE(r.status == 0);
    library_ = dlopen((folder_ / "r.so").c_str(), RTLD_NOW);
    REQUIRE(library_ != nullptr);
  }
  ~Library() { dlclose(library_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Calls a routine; all its arguments are addresses. `module`: that it is in, or empty.
  void call(const std::string& routine, const std::string& module, std::vector<void*> a) const {
    const std::string symbol = module.empty() ? routine + "_" : "__" + module + "_MOD_" + routine;
    void* const function = dlsym(library_, symbol.c_str());
    REQUIRE(function != nullptr);
    REQUIRE(a.size() <= 10);
    a.resize(10);
    using F = void (*)(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*);
    reinterpret_cast<F>(function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
  }

 private:
  Folder folder_;
  void* library_ = nullptr;
};

struct RoutineOf {
  std::string file, routine, module;
};

/// Runs `after`, which transforms made of `before`: the interpreter and gfortran give the same.
inline void same_as_gfortran(const Kernel& before, const Kernel& after, const Library& library,
                             const RoutineOf& which, const std::vector<GivenValues>& sizes,
                             const std::vector<Target>& targets) {
  for (const GivenValues& params : sizes)
    for (const Target target : targets) {
      CAPTURE(params);
      CAPTURE(to_string(target));
      RunRequest request;
      request.target = target;
      request.params = params;
      request.verify = true;
      const RunResult r = run_kernel(after, before, request);
      CHECK(r.verification->equal());
      std::vector<Buffer> arrays;
      std::vector<std::array<std::byte, 16>> scalars(r.scalars.size());
      std::vector<void*> arguments;
      arrays.reserve(r.arrays.size());
      std::size_t scalar = 0;
      for (const Argument& a : before.args) {
        if (a.is_array) {
          arrays.emplace_back(r.array(a.name).layout());
          arrays.back().fill(a.name);
          arguments.push_back(arrays.back().data());
          continue;
        }
        REQUIRE(r.scalars.at(scalar).name == a.name);
        store_value(r.scalars[scalar].type.scalar, r.scalars[scalar].value, scalars[scalar].data());
        arguments.push_back(scalars[scalar++].data());
      }
      library.call(which.routine, which.module, arguments);
      for (const Buffer& b : arrays) {
        const Comparison c = compare(b, r.array(b.layout().name), rounding_of(b));
        CHECK_MESSAGE(c.equal(), c.array, c.index, ": gfortran has ", c.expected, ", ours ",
                      c.found);
      }
    }
}

/// The same of the text's only routine on C and OpenMP, its blocks applied.
inline void same_as_gfortran(const std::string& text, const std::vector<GivenValues>& sizes,
                             const std::string& name = "t.f90") {
  const Imported k = import(text, name);
  REQUIRE(k.original.size() == 1);
  const Library library(text, name);
  same_as_gfortran(k.original[0], k.transformed[0], library, {name, k.original[0].name, ""}, sizes,
                   {Target::C, Target::OpenMP});
}

}  // namespace moonloop::test
