#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/kernel.h"

/// Types of expressions: what inference, checks, the interpreter and code generation agree on.
///
/// Sized operands are promoted as numpy does, with these exceptions: int32 (and smaller) with
/// float32 is float32, and with complex64 complex64; arithmetic on bool is arithmetic on int32, and
/// on float16 on float32: such a value is rounded where it is stored or cast.
/// Unsized literals adapt:
///  * an integer takes the type of a sized integer operand of 32 or 64 bits when it fits, and never
///    widens a real one; alone it is int32, or int64 when it does not fit;
///  * a real literal next to float64 is float64. Next to float32, to integers or alone it has the
///    precision of the context (the type of what is assigned); without one it is float32 when that
///    is exact, else float64.
/// The operands of an operation are evaluated in the context of its own type.
namespace moonloop {

/// The type of an expression, with what is needed to let literals adapt.
struct Typed {
  enum class Weak { No, Int, Float, Complex };  // made of unsized literals only
  Type type;
  Weak weak = Weak::No;
  std::optional<std::int64_t> value;  // of Weak::Int, when it is known
  bool fits_single = true;            // of the others: exact in single precision
};

/// The type of arithmetic on values of a type: float32 for float16, else the type itself.
Type computed_as(const Type& t);
/// The type of an operation on sized operands.
Scalar promote(Scalar a, Scalar b);
/// Operands of arithmetic together, literals adapted.
Typed combine(const std::vector<Typed>& operands, const std::optional<Type>& wanted);
/// The real type of a complex one; others unchanged.
Scalar real_part(Scalar s);
Scalar single_or_double_complex(Scalar s);  // the complex type with the precision of `s`

/// Type of result `i` of a reduction over values of type `arg` (the i-th argument).
Type reduced_type(ReduceOp op, std::size_t i, const Type& arg);

/// How the language treats a function.
enum class FnClass {
  Real,           // real in, real out; integers become float64
  RealOrComplex,  // the same, complex to complex
  Promoting,      // min, max: the common type
  Integer,        // truncdiv, truncmod: of integers, the common type
  Magnitude,      // abs: complex to real, others unchanged
  Component,      // real, imag
  Conjugate,      // conj
  Test,           // isnan: bool
  Bessel,         // (integer, real)
};
struct FnInfo {
  std::string_view name;
  FnClass cls;
  int args;  // number of arguments; -1: two or more
};
const FnInfo* find_function(std::string_view name);

using VariableTypes = std::unordered_map<std::string, std::optional<Type>>;

class Typer {
 public:
  /// Types from the kernel's arguments and temporaries; other names count as inames or parameters.
  explicit Typer(const Kernel& k) : k_(k) {}
  /// Types from `vars`, which holds every name that may occur.
  Typer(const Kernel& k, const VariableTypes& vars) : k_(k), vars_(&vars) {
    for (const Argument& a : k.args) args_.emplace(a.name, &a);
  }

  /// Nothing when the type of some variable in it is not known yet. Fails `unknown-name`,
  /// `unknown-function`, `wrong-arg-count`, `bad-operand`, `type-mismatch`.
  std::optional<Typed> type(const Expr& e, const std::optional<Type>& wanted = {}) const;

  /// The type to which an operation converts its operands first (sums, comparisons, `//`, calls);
  /// for nodes without such a type, nothing.
  std::optional<Type> operand_type(const Expr& e, const std::optional<Type>& wanted = {}) const;

  /// Checks all that `type` does not need to look at: subscripts and what they hold.
  void check(const Expr& e, const std::optional<Type>& wanted = {}) const;

  const Argument* argument(const std::string& name) const;

 private:
  using Operands = std::vector<Typed>;
  std::optional<Type> variable(const std::string& name, const Span& at) const;
  std::optional<Operands> operands(const Exprs& es, const std::optional<Type>& wanted) const;
  std::optional<Typed> binary(const Expr& e, const Binary& x,
                              const std::optional<Type>& wanted) const;
  std::optional<Typed> nary(const Expr& e, const Nary& x, const std::optional<Type>& wanted) const;
  std::optional<Typed> compare(const Expr& e, const Compare& x) const;
  std::optional<Typed> called(const Expr& e, const Call& x,
                              const std::optional<Type>& wanted) const;
  std::optional<Typed> reduce(const Reduce& x, const std::optional<Type>& wanted) const;

  const Kernel& k_;
  const VariableTypes* vars_ = nullptr;
  std::unordered_map<std::string, const Argument*> args_;  // filled together with vars_
};

}  // namespace moonloop
