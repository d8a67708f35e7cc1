#pragma once
#include "frontends/fortran/effects.h"
#include "frontends/fortran/flang.h"

namespace moonloop::fortran {

/// What a part of a Fortran text does itself to variables of modules, and what it calls.
struct OwnEffects {
  /// Variables, and components of them, by their symbols: a component may be in several.
  using Names = std::map<const sem::Symbol*, std::set<std::string>>;
  /// Variables that a call gives to a procedure, or to one of several, which may move them.
  struct Passed {
    std::set<const sem::Symbol*> callees;
    std::vector<ev::SymbolVector> given;
  };

  Names names, changes, moves;  // as in Effects; components among `names` have no paths
  Names records;                // with parts that it moves, or assigns by procedures
  std::set<const sem::Symbol*> calls;
  std::set<std::string> externals;  // that it calls, which are in no module
  std::vector<Passed> passed;
  bool moves_dummies = false;  // it moves one, or a part of one
  bool follows = false, sets = false;
  bool unknown = false;  // it calls what is not known, or moves what cannot be named
};

OwnEffects own_effects(const fp::SubroutineSubprogram& s, std::vector<const fp::Name*>& entries);
OwnEffects own_effects(const fp::FunctionSubprogram& s, std::vector<const fp::Name*>& entries);
OwnEffects own_effects(const fp::Block& b);
OwnEffects own_effects(const fp::ActionStmt& s);
OwnEffects own_effects(const fp::CallStmt& s);
OwnEffects own_effects(const fp::ExecutableConstruct& c);
OwnEffects own_effects(const fp::Expr& e);

/// Variables, from the first one on, get other memory: adds this.
void add_moved(const ev::SymbolVector& symbols, OwnEffects& out);

/// The part of a record that an assignment of the whole moves or assigns by a procedure; null for
/// none.
const sem::Symbol* moved_part(const SomeExpr& assigned);
/// The allocatable array or scalar that is assigned as a whole, and may get another shape; null for
/// others, as for names of an `associate`.
const sem::Symbol* whole_allocatable(const SomeExpr& assigned);

/// Whether a value, of an array, has the shape that the variable has already, as it is made of it
/// element by element, like that of `u = u + dt*v`.
bool keeps_shape(const SomeExpr& to, const SomeExpr& value);

/// What procedures do to variables of modules, from Flang's trees: also those that are no kernels.
class ProcedureEffects {
 public:
  struct Known {
    OwnEffects::Names names, moves;
    std::shared_ptr<const Effects> effects;
  };

  /// The procedures of a file. Those in whose lines `errors` are, are not known.
  void add(const fp::Program& program, const Places& places, const std::vector<Diagnostic>& errors);
  /// Of a procedure and those that it calls; null where one of these is not known. Remembered.
  const Known* of(const sem::Symbol& procedure) const;
  /// The same of a part of a procedure.
  std::optional<Known> of(OwnEffects part) const;
  /// Adds what the procedures that it calls do to what it gives them.
  void resolve(OwnEffects& part) const;
  /// The text of an interface in the file, by its procedure; empty where there is none.
  std::string interface_of(const sem::Symbol& procedure) const;
  /// Whether it may give one of its arguments other memory.
  bool may_move_dummies(const sem::Symbol& procedure) const;

 private:
  using Own = std::shared_ptr<OwnEffects>;

  Own find(const sem::Symbol& procedure) const;
  bool gives_records(const OwnEffects& own) const;
  void settle() const;

  std::map<const sem::Symbol*, Own> own_;
  std::map<std::string, Own> global_;  // by name, in no module
  std::map<const sem::Symbol*, std::string> interfaces_;
  mutable std::map<const sem::Symbol*, std::optional<Known>> known_;
  mutable bool settled_ = false;
};

}  // namespace moonloop::fortran
