#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/expr/expr_node.h"
#include "core/expr/type.h"

/// The rules of promotion: the type in which an operation computes, for all users (type inference,
/// the interpreter, code generation). docs/language.md has them as a table.
///
/// Sized operands are promoted as numpy does, with these exceptions: int32 (and smaller) with
/// float32 is float32, and with complex64 complex64; arithmetic on bool is arithmetic on int32, and
/// on float16 on float32: such a value is rounded where it is stored or cast.
/// Unsized literals adapt:
///  * an integer takes the type of a sized integer operand of 32 or 64 bits when it fits, and never
///    widens a real one; alone it is int32, or int64 when it does not fit. Beside an unsigned
///    operand of `+`, `-`, `*`, `&`, `|` and `^` a negative one fits too: it wraps;
///  * a real literal next to float64 is float64. Next to float32, to integers or alone it has the
///    precision of the context (the type of what is assigned); without one it is float32 when that
///    is exact, else float64.
namespace moonloop {

/// The type of an expression, with the data that lets literals adapt.
struct Typed {
  enum class Weak { No, Int, Float, Complex };  // made of unsized literals only
  Type type;
  Weak weak = Weak::No;
  std::optional<std::int64_t> value;  // of Weak::Int, when it is known
  bool fits_single = true;            // of the others: exact in single precision
};

Typed strong(Type t);
/// An unsized literal where `wanted` is the type of the context.
Typed weak_int(std::optional<std::int64_t> value, const std::optional<Type>& wanted);
Typed weak_real(bool complex, bool fits_single, const std::optional<Type>& wanted);
bool exact_single(double v);
/// An integer or a bool.
bool integral(const Type& t);
/// `wanted` where it is an integer: the context of operations that reals do not have.
std::optional<Type> integer_context(const std::optional<Type>& wanted);

/// The type of arithmetic on values of a type: float32 for float16, else the type itself.
Type computed_as(const Type& t);
/// The type of arithmetic on sized operands.
Scalar promote(Scalar a, Scalar b);
/// Operands together, literals adapted; with `wraps` negative ones to unsigned types too.
Typed combine(std::span<const Typed> operands, const std::optional<Type>& wanted,
              bool wraps = false);

// ---- Operators. Not to be called for what cannot be an operand (a record, a complex number of
// `<<`).

Typed promoted(UnaryOp op, const Typed& arg, const std::optional<Type>& wanted);
/// Shifts convert only their left operand; the others both. Nothing where integers have no common
/// integer type (int64 and uint64) and the operator needs one.
std::optional<Typed> promoted(BinaryOp op, const Typed& left, const Typed& right,
                              const std::optional<Type>& wanted);
/// One step of a sum or product, from left to right: `before` is the result of the terms so far.
std::optional<Typed> promoted(NaryOp op, const Typed& before, const Typed& term,
                              const std::optional<Type>& wanted);
/// The types that the two sides of a comparison are converted to: their common type, or, where that
/// would not hold all their values, int64 on one side and uint64 on the other, which compare as
/// numbers.
struct Sides {
  Type left, right;
};
Sides compared(const Typed& left, const Typed& right);
/// The branches of a conditional expression.
Typed chosen(const Typed& yes, const Typed& no, const std::optional<Type>& wanted);

}  // namespace moonloop
