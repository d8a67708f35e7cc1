#pragma once
#include <optional>
#include <string>

#include "core/expr/expr.h"
#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Fortran's elemental intrinsic `name` in the kernel language; `integers` says that its result is
/// an integer. Nothing for a function that the language does not have.
std::optional<Expr> elemental(const std::string& name, const Exprs& args, bool integers,
                              const Span& at);

/// The same for those on the bits of integers, which are of this kind.
std::optional<Expr> on_bits(const std::string& name, const Exprs& args, Scalar kind,
                            const Span& at);


/// The same for those that statements on arrays compute, see kMade; `rank`: of the result. Fails
/// `unsupported` for forms that are not known.
std::optional<Expr> made_of_arrays(const std::string& name, const Exprs& args, int rank,
                                   const Span& at);

/// LSAME of the BLAS: whether two characters are one letter, large or small.
Expr same_letter(const Expr& a, const Expr& b, const Span& at);

/// `z%re = x` as `z = x + (0, 1)*z%im`.
Assignment whole_complex(const Call& part, const Expr& value, int kind, const Span& at);

}  // namespace moonloop::fortran
