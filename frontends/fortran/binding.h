#pragma once
#include "frontends/fortran/program.h"
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {

/// An argument whose elements are no part of the caller's array axis by axis, which Fortran allows:
/// they follow one another in memory.
class NotByAxes : public Error {
 public:
  using Error::Error;
};

/// A call that cannot be one of a function of its own: the body has to be put in its place.
class NotAlone : public Error {
 public:
  using Error::Error;
};

/// The dummy arguments of a call as the caller has them.
///
/// A scalar is the caller's variable or element, its value where it stays as it is, or a copy. An
/// array is a part of one of the caller's, axis by axis.
class Binding {
 public:
  /// Adds to `before` what comes before the called routine's body and to `after` what comes after
  /// it, and new variables to `caller`. `assigned`: the caller's variables that are assigned before
  /// the call. `around`: the loops around it. Fails `unsupported`, with NotByAxes where that is the
  /// reason.
  Binding(Routine& caller, const Routine& callee, Exprs arguments, const std::vector<Routine>& all,
          const std::set<std::string>& assigned, const std::vector<const Do*>& around,
          const Span& at, Body& before, Body& after);

  /// The called routine's statements in the caller's names.
  Body body(const Body& b) const;
  /// A variable of the called routine's own.
  Expr own(const std::string& name) const;
  /// What is passed for an argument of the called routine, of ours too, where it is a function of
  /// its own. Fails `unsupported`, NotAlone.
  Expr given(const std::string& name) const;
  /// The result of a function.
  Expr result() const;
  /// The caller's variables that the called routine assigns.
  const std::set<std::string>& changed() const { return changed_; }

 private:
  struct Axis {
    Expr fixed;        // its subscript; null where the dummy's next axis runs along it
    Expr first, last;  // of the dummy's elements; `last` may be unknown
    Expr step = lit(1);
  };
  struct View {
    std::string array;
    std::vector<Axis> axes;
    std::vector<Expr> lower;  // of the dummy's axes
    bool whole = false;       // the array itself
  };

  void without_absent(std::vector<const Variable*>& dummies, Exprs& arguments, const Uses& uses);
  void memory_of_arguments(const std::vector<const Variable*>& dummies, const Exprs& arguments);
  const Variable* optional_of_caller(const Expr& argument) const;
  void adopt(const std::string& name);
  void adopt_outer();
  void first_subscript(const Variable& dummy, const Expr& argument, std::size_t axis);
  void scalar(const Variable& dummy, const Expr& argument);
  void extents(const Variable& dummy, const Expr& argument);
  void array(const Variable& dummy, const Expr& argument);
  View view(const Variable& dummy, const Expr& argument) const;
  void match(const Variable& dummy, View& v, bool from_element) const;
  Expr copy(const Variable& dummy, const Expr& value);
  void check_bound(const Expr& e, const Variable& v) const;
  void check_bounds(Variable& v) const;
  void entry_value(const Variable& entry, const Expr& argument);
  Expr as_at_entry(const Expr& e) const;
  Expr settled(const Expr& place);
  bool changes(const Expr& e) const;
  void check_type(const Variable& dummy, const Expr& argument) const;

  Expr expr(const Expr& e) const;
  Expr address(const Expr& procedure) const;
  Expr passed(const Expr& e, const std::string& callee, const Span& at) const;
  Expr passed_to_kernel(const Expr& e, const Variable& dummy, const Span& at) const;
  Expr truth(const Expr& place) const;
  Expr element(const View& v, const Exprs& index, const Span& at) const;
  Expr whole(const View& v, const Span& at) const;

  Routine& caller_;
  const Routine& callee_;
  const std::vector<Routine>& all_;
  const std::set<std::string>& before_call_;  // assigned by then, in the caller's names
  const std::vector<const Do*>& around_;
  Span at_;
  Body& before_;
  Body& after_;
  std::set<std::string> assigned_;  // by the called routine, in its names
  std::set<std::string> changed_;   // by the called routine, in the caller's names
  std::map<std::string, Expr> scalars_;
  std::map<std::string, View> arrays_;
  std::map<std::string, std::string> names_;
};

}  // namespace moonloop::fortran
