#pragma once
#include "frontends/fortran/effects.h"
#include "frontends/fortran/flang.h"

namespace moonloop::fortran {

/// What procedures do to variables of modules, from Flang's trees: also those that are no kernels.
class ProcedureEffects {
 public:
  /// The variables, and components of them, by their symbols.
  using Names = std::map<const sem::Symbol*, std::string>;
  struct Known {
    Names names, moves;  // as in Effects; of components the moved ones alone
    std::shared_ptr<const Effects> effects;
  };

  /// The procedures of a file. Those in whose lines `errors` are, are not known.
  void add(const fp::Program& program, const Places& places, const std::vector<Diagnostic>& errors);
  /// Of a procedure and those that it calls; null where one of these is not known. Remembered.
  const Known* of(const sem::Symbol& procedure) const;
  /// The same of a statement's procedures, all together; null for none of them, too.
  std::shared_ptr<const Effects> of(const std::set<const sem::Symbol*>& procedures) const;

 private:
  struct Own;

  std::map<const sem::Symbol*, std::shared_ptr<const Own>> own_;
  std::map<std::string, std::shared_ptr<const Own>> global_;  // by name, in no module
  mutable std::map<const sem::Symbol*, std::optional<Known>> known_;
};

}  // namespace moonloop::fortran
