#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "codegen/language.h"
#include "codegen/plan/matrix_shapes.h"
#include "core/model/kernel.h"

namespace moonloop {

/// Two declarations of a function that is defined elsewhere as one, with `void *` where they have
/// pointers to different types; nothing where they differ in another way.
std::optional<std::string> joined_declarations(const std::string& one, const std::string& other);

/// Identifiers of the generated code for the names of a kernel: the same name, with `_` appended
/// where the table of codegen/reserved.h has it, and `_kernel` where it has the function's name.
class CNames {
 public:
  /// `cxx`: words of C++ are taken, too.
  CNames(const Kernel& k, Surroundings around, bool cxx = false);
  /// The identifier of a variable.
  const std::string& of(const std::string& name) const;
  const std::string& function() const { return function_; }
  /// From here on, names are recorded, as they are for devices.
  void record_uses() {
    records_ = true;
    used_.clear();
  }
  /// Names of the kernel passed to of() since the last call.
  std::set<std::string> take_used() const { return std::exchange(used_, {}); }
  /// `identifier` is printed for `name` from here on; the one that was before.
  std::string redirect(const std::string& name, std::string identifier);
  /// A new identifier, `base` if it is free.
  std::string fresh(const std::string& base);

 private:
  std::map<std::string, std::string> by_name_;
  std::set<std::string> taken_;
  std::map<std::string, int> next_;  // by the beginning of fresh names: the number to try
  std::string function_;
  Surroundings around_;
  bool records_;  // the used names
  mutable std::set<std::string> used_;
};

/// Features that the text for a device uses beyond the core of its language.
enum class Feature {
  Fp64,
  Int64Atomics,   // additions and exchanges
  Int64Extremes,  // atomic minima and maxima
  Infinity,
  NotANumber,
  PairAsWord,  // complex numbers in atomic exchanges
};

/// Functions that the generated code contains, each printed when first used.
class Helpers {
 public:
  explicit Helpers(Language language) : language_(language) {}
  Language language() const { return language_; }
  /// As type_name() and math_function() in the current language; with the header that C needs.
  std::string type(const Type& t);
  std::string math(const std::string& name, Scalar s);
  /// The name of a function on integers or reals of one type: `floor_div`, `floor_mod`, `min`,
  /// `max`, `power`, `square`, `cube`, `fourth`, those of arithmetic(); for instance
  /// `floor_div_i32`.
  std::string function(const std::string& base, Scalar s);
  /// The function for the lesser or greater of two values; on reals as C's `fmin`, or with
  /// `any_of_nan` either value where one is not a number.
  std::string extremum(bool min, Scalar s, bool any_of_nan);
  /// A function on complex numbers in a language without them: `mul_c64`, `exp_c128`.
  std::string complex(const std::string& base, Scalar s);
  /// The function on a device that makes a float of a float16's bits, `half_value`, or the nearest
  /// bits of a float or a double, `half_bits` and `half_bits_f64`.
  std::string half(const std::string& name);
  /// The function of CUDA by which a warp adds a product of small matrices: (sums…, left, right),
  /// of doubles themselves or of `unsigned const *`, words.
  std::string matrix_unit(const MatrixShape& s);
  /// (words, row): the words of 1, 2 or 4 parts of 8 rows with 16 bytes each in local memory, whose
  /// addresses work-items have in their order in the warp; `transposed` as of 8 columns of halves.
  std::string load_matrices(int parts, bool transposed);
  /// A word of two halves' bits, or of four bytes; and (words): floats rounded to tf32, in place.
  std::string pack(Scalar s);
  std::string round_to_tf32(int words);
  /// Functions of CUDA for the work-items of a warp that update one element: the number of them for
  /// the first, else 0; and (address, &value, function) whether it is the first, which gets what
  /// the function makes of all values.
  std::string number_of_equal();
  std::string first_of_equal();
  std::string copy_ahead();  // (to, from, there): zero if not there; does not wait
  std::string copy_bytes_ahead(std::int64_t bytes);  // the same, 4, 8 or 16 of them
  std::string await_copies(int last);  // waits for those begun before the last so many calls
  /// The macro of C11 that makes a complex number of its parts, which clang does not find in the
  /// headers of some C libraries.
  std::string complex_of_parts(Scalar s);
  /// Memory that is not on the stack, from the beginning of a cache line on: a function that takes
  /// bytes and ends the program when there is none, and one that gives back what it returned.
  std::string allocate();
  std::string release();
  /// The functions that end the program where a claim does not hold: a subscript is outside of its
  /// array, two arguments share memory, a variable has no value.
  std::string outside();
  std::string apart();
  std::string unset();
  /// Declares a function that is defined elsewhere; false if it is declared otherwise already.
  bool external(const std::string& name, const std::string& declaration) {
    std::string& known = functions_.emplace(name, declaration).first->second;
    const std::optional<std::string> both = joined_declarations(known, declaration);
    if (both) known = *both;
    return both.has_value();
  }
  void include(const std::string& header) {
    if (has_headers(language_)) headers_.insert(header);
  }
  /// Says of a function of C's library, `expf`, that glibc has one for vectors, where it has, so
  /// that compilers vectorize loops with it, as Fortran's do by themselves.
  void vectorize(const std::string& function, Scalar of);
  /// For C, the type of as many reals as a register has, but at most `bytes`, a power of 2 from 16
  /// to 64; one of them for compilers without vectors. And the constant that says how many.
  std::string vector(Scalar s, std::int64_t bytes);
  std::string lanes_of(Scalar s, std::int64_t bytes);
  /// As element_type() in the current language.
  std::string element(const Type& t);
  /// Notes that the text uses it. Types and the functions from here do so by themselves.
  void use(Feature f) { features_.insert(f); }
  const std::set<Feature>& features() const { return features_; }

  /// Takes over what the text of another function needs.
  void add(const Helpers& o) {
    functions_.insert(o.functions_.begin(), o.functions_.end());
    headers_.insert(o.headers_.begin(), o.headers_.end());
    features_.insert(o.features_.begin(), o.features_.end());
  }

  const std::map<std::string, std::string>& functions() const { return functions_; }
  const std::set<std::string>& headers() const { return headers_; }

 private:
  void check_own(const std::string& name) const;  // that the table of names has it
  void note(const Type& t);                       // what its name needs

  Language language_;
  std::map<std::string, std::string> functions_;  // text by name
  std::set<std::string> headers_;
  std::set<Feature> features_;
};

}  // namespace moonloop
