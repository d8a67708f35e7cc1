#pragma once
#include "frontends/fortran/uses.h"

namespace moonloop::fortran {

/// Which variables statements may assign, themselves and through calls.
class AssignedNames {
 public:
  /// `all`, the routines of the input, has to outlive this. `calls_may_stay`: of routines of the
  /// input too, so that what is known of their effects counts, or that nothing is.
  explicit AssignedNames(const std::vector<Routine>& all, bool calls_may_stay = false);

  /// Of a routine and of those within it, whose variables may be its own.
  std::set<std::string> of(const Routine& r) const;
  /// Of some statements of `r`. Cost: linear in them.
  std::set<std::string> of(const Body& body, const Routine& r) const;

 private:
  void add(const Body& body, const Routine& r, std::set<std::string>& out) const;
  void add_call(const std::string& name, const Exprs& arguments, const Routine& r,
                std::set<std::string>& out) const;
  static void note_all_outer(const Routine& r, std::set<std::string>& out);
  static void note_path(const std::string& path, const Routine& r, std::set<std::string>& out);
  static void note_effects(const Effects* e, const Routine& r, std::set<std::string>& out);

  const std::vector<Routine>& all_;
  const bool calls_may_stay_;
  std::map<std::string, std::set<std::string>> by_routine_;
};

/// In the bounds of the routine's arrays, puts a variable of our own, whose `entry_of` is the
/// argument, in the place of each integer argument that is in `assigned` or may be given back.
void keep_entry_values(Routine& r, const std::set<std::string>& assigned);

/// That variable of an argument, made where there is none yet.
Expr value_at_entry(Routine& r, const std::string& name);

/// Once all calls are inlined: makes the variables arguments of the routine, or the arguments
/// themselves where nothing assigns these.
void settle_entry_values(Routine& r);

}  // namespace moonloop::fortran
