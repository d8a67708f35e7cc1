#pragma once
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "frontends/fortran/flang.h"

namespace moonloop::fortran {

/// Declarations of modules and of routines around others in which Flang finds an error, such as a
/// kind that a module without source may have: Flang takes the default in its place, so that
/// nothing which depends on them means what the source says.
class WrongDeclarations {
 public:
  /// `errors`: Flang's, at these places.
  WrongDeclarations(const fp::Program& program, const Places& places,
                    const std::vector<Diagnostic>& errors);

  /// Whether a variable, a constant, a component or a procedure is declared in such a statement, or
  /// in one that names another one of them.
  bool has(const sem::Symbol& symbol) const;
  /// Why a routine on these lines cannot be read; components count where they become variables.
  std::vector<Diagnostic> used_in(const Source* source, const FortranFile::Lines& lines) const;

 private:
  struct Use {
    Span at;
    const sem::Symbol* symbol;
  };
  bool mark(const sem::Symbol& symbol);

  const Places& places_;
  std::set<const char*> statements_;  // where they begin in the text that Flang parses
  std::vector<Use> uses_;             // of what is declared in them
};

}  // namespace moonloop::fortran
