#pragma once
// Flang's headers are heavy: a file that includes this one takes a minute and 3 GB to compile, so
// they are few, and what they hand on is in program.h.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <flang/Evaluate/expression.h>
#include <flang/Evaluate/tools.h>
#include <flang/Parser/parse-tree.h>
#include <flang/Parser/parsing.h>
#include <flang/Parser/tools.h>
#include <flang/Semantics/semantics.h>
#include <flang/Semantics/symbol.h>
#include <flang/Semantics/tools.h>
#pragma GCC diagnostic pop

#include "frontends/fortran/program.h"

namespace moonloop::fortran {

/// Where pieces of the text that Flang works on stand in the user's files.
class Places {
 public:
  /// `path` is what Flang reads as `source`.
  Places(const Source* source, std::string path, const Fortran::parser::AllCookedSources& cooked)
      : cooked_(cooked), sources_{{std::move(path), source}} {}
  Span of(Fortran::parser::CharBlock block) const;
  Span of(const std::optional<Fortran::parser::ProvenanceRange>& range) const;

 private:
  const Fortran::parser::AllCookedSources& cooked_;
  mutable std::map<std::string, const Source*> sources_;  // by path; included files as they come
};

using SomeExpr = Fortran::evaluate::Expr<Fortran::evaluate::SomeType>;

/// `e` with the place `at`. Fails `unsupported`.
Expr to_expr(const SomeExpr& e, const Span& at);
/// The same of an argument of a call, where a constant of characters is a text.
Expr to_argument(const SomeExpr& e, const Span& at);
/// A bound or an extent, in which conversions between kinds of integers mean nothing.
Expr to_index(const Fortran::evaluate::Expr<Fortran::evaluate::SubscriptInteger>& e,
              const Span& at);
/// The elements of a constant, the first axis fastest.
std::vector<Expr> to_elements(const SomeExpr& e, const Span& at);

}  // namespace moonloop::fortran
