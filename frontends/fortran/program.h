#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/model/kernel.h"
#include "frontends/fortran/directive.h"
#include "frontends/fortran/fortran.h"

/// The reader's form of a Fortran file: names resolved, constants folded, conversions written out,
/// and nothing of Flang left. Names are in lower case. Expressions are the core's with Fortran's
/// meaning: subscripts begin at the arrays' lower bounds, sections have Slices among them, a name
/// alone may be a whole array. A character is its code, a text an array of these, see texts.h. A
/// component of a derived type is a variable of its own, `p_x` of `p%x`; its own subscripts come
/// before those of `p`.
namespace moonloop::fortran {

/// The bounds of one axis. Without `lower` it is 1; without `upper` the size is assumed.
struct Bounds {
  Expr lower, upper;
};

struct Variable {
  std::string name;
  Span at;
  Type type;
  bool logical = false;  // an integer of that size for those who see it from outside
  bool kept = false;     // a routine of another file sees the logical array
  bool character = false, text = false;  // as its code; its first axis has a text's letters
  bool dummy = false, value = false, array = false;
  bool constant = false;              // a named constant, or never assigned after its initial value
  bool saved = false;                 // keeps its value from call to call
  bool result = false, host = false;  // of a function; of the routine around
  std::shared_ptr<const FortranComponent> component;  // of an argument of a derived type
  /// Of a module, a common block and the like; then it is an argument that no call gives.
  std::shared_ptr<const FortranOuter> outer;
  bool allocatable = false, optional = false;
  bool pointer = false;            // without `dummy` what it points to is known, see pointers.h
  std::string pointer_attributes;  // of an argument, as Fortran has them
  std::string procedure;           // the address of one: its attributes, `real(8), external`
  // Arguments of ours: the length of an axis, the array of whose axis this is the first subscript,
  // the argument whose value at the routine's start this is, and the one that may be there.
  bool extent = false;
  std::string lower_of, entry_of, present_of;
  int axis = 0;             // of the first two, from 0
  std::string storage;      // in `equivalence`: the array, of one axis from 1, with its elements
  std::int64_t before = 0;  // and how many come before these
  Intent intent = Intent::Unknown;
  std::vector<Bounds> bounds;
  std::vector<Expr> initial;  // in the order of the elements, the first axis fastest
};

struct Output;
struct Statement;
struct UnknownModules;
using Body = std::vector<Statement>;

struct Assignment {
  Expr to, value;
  bool atomic = false;
};
/// Arms of one shape: assignments (and `where`s) to the elements where its mask holds and those
/// before did not. The last one may have none.
struct Where {
  struct Arm {
    Expr mask;
    std::shared_ptr<Body> body;
  };
  std::vector<Arm> arms;
};
/// `forall`, each of whose assignments is made for all values of the variables at once, or
/// `do concurrent`. The variables are known only in it.
struct Forall {
  struct Range {
    std::string variable;
    Expr from, to, step;  // without `step` it is 1
  };
  std::vector<Range> ranges;  // outer ones first
  Expr mask;                  // or null
  std::shared_ptr<Body> body;
  bool concurrent = false;
  std::vector<std::string> locals;    // of each iteration
  std::vector<std::string> initials;  // those that begin with the value before
};
/// A loop without a variable goes on until it is left.
struct Do {
  std::string variable;
  Expr from, to, step;  // without `step` it is 1
  std::shared_ptr<Body> body;
  std::shared_ptr<const Directive> directive;
  bool endless = false;  // it had no variable, and counts its turns
};
/// The arms of `if` or `select case`; the last one may have no condition.
struct Choice {
  struct Arm {
    Expr condition;
    std::shared_ptr<Body> body;
  };
  std::vector<Arm> arms;
  bool lasting = false;  // nothing in an arm runs once its condition has been made false
};
/// `return`, or `cycle` or `exit` of a loop: 0 is the innermost one.
struct Leave {
  enum class Kind { Return, Cycle, Exit } kind;
  int loop = 0;
};
/// A call of a subroutine, in another file where no routine of the input has its name. There an
/// array, or an element that means the array from there on, stands for its address, and a
/// function's value goes to `result`.
/// Where `output` is, a routine of the interface does that with the arguments' values.
struct SubroutineCall {
  std::string name;
  Exprs arguments;
  Expr result = {};
  std::shared_ptr<const Output> output = {};  // see output.h
  /// Of a routine of the input that is a kernel of its own: which arguments it may change.
  std::shared_ptr<const std::vector<bool>> changes = {};
  bool elemental = false;                  // for each element of the arguments that are arrays
  std::vector<std::string> declared = {};  // types of what is passed and given, see procedures.h
  /// The same call by such a routine, where the callee turns out to be no kernel; or none.
  std::vector<SubroutineCall> otherwise = {};
};
/// The program ends, with a text and a status. A statement that leaves the routine follows.
struct Stop {
  std::string text;
  std::int64_t status = 0;
};

/// Statements that run once and may be left by `exit`: a Leave counts them as a loop.
struct Scope {
  std::shared_ptr<Body> body;
};
/// `goto`, and a label. structure_jumps() puts others in their places.
struct Jump {
  std::uint64_t label = 0;
};
struct Mark {
  std::uint64_t label = 0;
};

/// `p => a(:, 2)`. resolve_pointers() puts the target in the places of the name.
struct PointerAssignment {
  std::string pointer;
  Expr target;  // a variable, an element, or a section; null: nothing
  Exprs lower;  // the first subscript along each axis of the pointer, where they are written
};

struct Statement {
  Span at;
  std::variant<Assignment, Do, Choice, Leave, SubroutineCall, Where, Forall, Stop, Scope, Jump,
               Mark, PointerAssignment>
      what;
};

struct Routine {
  /// In a module `module::name`, within another routine `host%name`. Once calls are inlined it is
  /// the bare name.
  std::string name;
  Span at;
  std::vector<std::string> arguments;  // of a function, its result last; then the extents
  bool function = false;
  std::string host;  // the routine around, whose variables it may use
  std::map<std::string, Variable> variables;
  mutable std::map<std::string, int> numbered;  // by stem: lower numbers are taken (fresh_name)
  /// Its own that are no variables of kernels, and why, which counts where it uses them.
  std::map<std::string, std::vector<Diagnostic>> unreadable;
  Body body;
  FortranFile::Home home;
  std::vector<WithoutEffect> without_effect;
  std::vector<Span> independent;  // IVDEP
  bool elsewhere = false;         // in a file that is read for its modules
  /// Its calls stay calls, of the kernel that it is; within another routine, with that one's
  /// variables as further arguments.
  bool apart = false;
  std::vector<std::string> adopted;
  /// How it can be called where it is no kernel: by addresses, or by Fortran in a module; or not.
  struct ByAddress {
    std::optional<Type> gives;  // a function
    bool in_module = false, is_private = false;
  };
  std::optional<ByAddress> by_address;
  /// Calls of routines of the input that stay calls, or are bodies although the routine is `apart`;
  /// each callee once, and what is in the way.
  struct KeptCall {
    std::string callee;
    Span at;
    Diagnostic why;
    bool inlined = false;
  };
  std::vector<KeptCall> kept_calls;
  std::shared_ptr<const UnknownModules> unknown;
  std::vector<Diagnostic> errors;  // why it is not a kernel; then the rest may be wrong
};

/// Parses and checks a file with Flang, and reads its subroutines and functions, and those of the
/// files whose modules it uses. Throws Flang's own errors, all of them, as `fortran`. A routine
/// outside of the subset has its errors, `unsupported`.
std::vector<Routine> read_routines(const Source* source, const FortranOptions& how);

/// Makes loops, and scopes that statements leave, of the jumps in a routine. A jump into the middle
/// of such a loop goes to its beginning, with a new variable that says where to go on. Fails
/// `unsupported` for a jump into a construct of the source.
void structure_jumps(Routine& routine);

/// Puts elements of the storage that `equivalence` shares in the places of those of its variables.
/// Fails `unsupported` for parts of variables of several axes.
void share_storage(Routine& routine);

/// Makes loops over elements of assignments to arrays, of `where` and `forall`, and loops of
/// `do concurrent`. What these need once, such as scalars of arrays, comes before them. `all`: what
/// the routine may call.
void expand_arrays(Routine& routine, const std::vector<Routine>& all);

/// Puts the routines' bodies in the places of their calls, so that no call within the input is
/// left, and leaves out those within others or in other files. A routine that calls itself, one
/// that has errors, or with arguments that are not part of one array axis by axis, gets an error,
/// `unsupported`.
std::vector<Routine> inline_calls(std::vector<Routine> routines);

/// Makes `return`, `exit` and `cycle` choices: what follows one goes into the arm that goes on, or
/// tests a new logical variable.
void remove_early_exits(Routine& routine);

/// Makes integers that each iteration of a loop adds the same to expressions of the loop's
/// variable, where the increment is a constant or an argument.
void recognize_inductions(Routine& routine);

/// In a loop, puts the value of a local integer that is a sum or product of variables of loops,
/// arguments and numbers in the places where it is read.
void forward_subscripts(Routine& routine);

/// A local scalar that several loops write before they read it, and nothing else reads, becomes one
/// for each of these loops.
void split_scalars(Routine& routine);

/// Gives the loops below IVDEP's directives claims; a directive above something else, or above a
/// loop that does not run in lanes, such as one with a loop or a call inside or one that carries a
/// scalar, has no effect. The first part comes after reading, the second before lowering.
void attach_independence(Routine& routine);
void settle_independence(Routine& routine);

/// Writes the private variables and the reductions of directives out, where these mean more than a
/// loop's own scalars and sums.
void share_data(Routine& routine);

}  // namespace moonloop::fortran
