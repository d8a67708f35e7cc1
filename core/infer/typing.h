#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/infer/promotion.h"
#include "core/model/kernel.h"

/// Types of expressions: what inference, checks, the interpreter and code generation agree on. The
/// rules are those of core/infer/promotion.h; the operands of an operation are evaluated in the
/// context of its own type.
namespace moonloop {

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

/// The types to which an operation converts its operands, in their order, and its result. In a sum
/// or product the result of the operands before the n-th is converted to `operands[n]` like the
/// n-th itself, where n > 0; a Sub there stands for its argument. Conditions stay as they are.
struct Computation {
  std::vector<Type> operands;
  Type result;
  std::vector<Type> contexts = {};  // in which the operands of a sum or product are evaluated
};

using VariableTypes = std::unordered_map<std::string, std::optional<Type>>;

class Typer {
 public:
  /// Types from the kernel's arguments and temporaries; other names count as inames or parameters.
  explicit Typer(const Kernel& k) : k_(k) {}
  /// Types from `vars`, which holds every name that may occur. `stay`: they do not change from the
  /// first question on, so that each operation is looked at only once.
  Typer(const Kernel& k, const VariableTypes& vars, bool stay = false)
      : k_(k), vars_(&vars), stay_(stay) {
    for (const Argument& a : k.args) args_.emplace(a.name, &a);
  }

  /// Nothing when the type of some variable in it is not known yet. Fails `unknown-name`,
  /// `unknown-function`, `wrong-arg-count`, `bad-operand`, `type-mismatch`.
  std::optional<Typed> type(const Expr& e, const std::optional<Type>& wanted = {}) const;

  /// How an operation is computed; nothing while some type is not known. The interpreter and code
  /// generation convert operands as this says and in no other way.
  std::optional<Computation> computation(const Expr& e,
                                         const std::optional<Type>& wanted = {}) const;

  /// Calls `visit` with each part that `e` evaluates to a value, itself first, and with its
  /// context; parts of subscripts have none. Calls of rules are followed by what their bodies
  /// evaluate. `visit` says whether to go into the parts. Nothing while some type is not known.
  using VisitPart = std::function<bool(const Expr& part, const std::optional<Type>& wanted)>;
  void for_each_part(const Expr& e, const std::optional<Type>& wanted,
                     const VisitPart& visit) const;

  /// Checks all that `type` does not need to look at: subscripts and their parts.
  void check(const Expr& e, const std::optional<Type>& wanted = {}) const;

  const Argument* argument(const std::string& name) const;

 private:
  using Operands = std::vector<Typed>;
  std::optional<Typed> find_type(const Expr& e, const std::optional<Type>& wanted) const;
  std::optional<Type> variable(const std::string& name, const Span& at) const;
  std::optional<Operands> operands(const Exprs& es, const std::optional<Type>& wanted) const;
  std::optional<Typed> binary(const Expr& e, const Binary& x,
                              const std::optional<Type>& wanted) const;
  std::optional<Typed> nary(const Expr& e, const Nary& x, const std::optional<Type>& wanted,
                            std::vector<Type>* steps = nullptr) const;
  std::optional<Typed> called(const Expr& e, const Call& x,
                              const std::optional<Type>& wanted) const;
  std::optional<Typed> reduce(const Reduce& x, const std::optional<Type>& wanted) const;
  std::optional<Sides> sides(const Expr& e, const Compare& x) const;

  const Kernel& k_;
  const VariableTypes* vars_ = nullptr;
  std::unordered_map<std::string, const Argument*> args_;  // filled together with vars_
  bool stay_ = false;
  /// Results of `type` for an operation in a context, by the operation's address.
  struct Known {
    Expr e;  // keeps the address
    std::optional<Type> wanted;
    std::optional<Typed> type;
  };
  mutable std::unordered_multimap<const void*, Known> known_;
};

}  // namespace moonloop
