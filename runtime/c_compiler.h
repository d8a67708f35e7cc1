#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "runtime/cache.h"

/// The system's C compiler, and the libraries that it makes of generated programs.
namespace moonloop {

struct CCompiler {
  std::vector<std::string> command;  // the program's absolute path, then words that belong to it
  std::string version;               // the first line that it prints about itself
  std::string str() const;           // `cc`'s path and version
};

/// `$CC`, which may hold options after the program, else `cc`. Fails `no-compiler`.
CCompiler find_c_compiler();
/// The same for a program by name, whatever its language; nothing when there is none.
std::optional<CCompiler> find_c_compiler(const std::string& name);
/// Whether it compiles and links a program with OpenMP.
bool supports_openmp(const CCompiler& cc);

struct CompileOptions {
  /// Lets the compiler contract a*b + c into one operation with one rounding, as C compilers do by
  /// default and as GPUs do. Off, every operation rounds by itself, as the interpreter does.
  bool contract = true;
  int level = 3;  // of optimization
};

/// The ISPC compiler: `$ISPC`, else `ispc`. Fails `no-compiler`.
CCompiler find_ispc_compiler();
/// Whether there is one.
bool has_ispc_compiler();

/// The options given to the compiler, besides names of files; `$MOONLOOP_CFLAGS` comes last.
///
/// -O3 -march=native: the result runs here and now. -fno-math-errno: errno is not read, and sqrt
/// becomes an instruction. Never -ffast-math: sums keep their order and NaN its meaning, except
/// where a kernel declares a reduction. Contraction: see CompileOptions. Symbols of the library
/// bind to itself, even if the process has others of the same name.
std::vector<std::string> compile_flags(Target target, const CompileOptions& options);

/// A loaded library; unloaded with its last copy, except that one with OpenMP stays, because the
/// threads of its pool may.
class Library {
 public:
  /// Fails `cannot-load`.
  Library(const std::string& path, bool stays);
  /// The address of a symbol. Fails `cannot-load`.
  void* find(const std::string& symbol) const;

 private:
  std::shared_ptr<void> handle_;
};

/// Compiles a translation unit into a library, or takes it from the cache. Fails `compiler-failed`
/// with the compiler's output, `no-compiler`, `cannot-load`.
Library compile(const std::string& source, Target target, const CompileOptions& options = {},
                const Cache& cache = Cache::standard());

/// A compiled kernel.
class Executable {
 public:
  /// Compiles a program for Target::C, Target::OpenMP or Target::Ispc; the tasks of the last run
  /// in threads of OpenMP.
  explicit Executable(const Program& program, const CompileOptions& options = {},
                      const Cache& cache = Cache::standard());
  /// The entry of `program` in a library that holds it and its uniform entry.
  Executable(const Program& program, Library library);

  /// `args` points at the value of each scalar and at the base of each array, in the order of the
  /// program's parameters.
  void operator()(void* const* args) const { entry_(args); }

 private:
  Library library_;
  void (*entry_)(void* const*) = nullptr;
};

/// C code to append to a program's source: a function `moonloop_call_NAME` that takes an array of
/// pointers, so that any parameter list can be called.
std::string uniform_entry(const Program& program);

}  // namespace moonloop
