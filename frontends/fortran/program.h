#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/fortran_box.h"
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
  bool gives = false;                 // a component of the record that a function gives
  std::shared_ptr<const FortranComponent> component;  // of an argument of a derived type
  /// Of a module, a common block and the like; then it is an argument that no call gives.
  std::shared_ptr<const FortranOuter> outer;
  bool hidden = false, guarded = false;  // of a module: private, protected
  /// How many elements the last axis may have at most, where that varies in the routine.
  Expr room;
  std::shared_ptr<const FortranBox> box;  // the address of what a caller passes
  std::vector<int> alternates;            // it says which alternate return it was
  bool allocatable = false, optional = false;
  bool pointer = false;            // without `dummy` what it points to is known, see pointers.h
  bool target = false;             // assignments through pointers may change it
  std::string pointer_attributes;  // of an argument, as Fortran has them
  std::string procedure;           // the address of one: its attributes, `real(8), external`
  // Arguments of ours: the length of an axis, the array of whose axis this is the first subscript,
  // the argument whose value at the routine's start this is, and the one that may be there.
  bool extent = false;
  std::string lower_of, entry_of, present_of;
  std::string memory_of;    // it says whether this allocatable or pointer has memory
  std::string memory_flag;  // of a local variable: the scalar that says so, for what is called
  int axis = 0;             // of the first two, from 0
  std::string storage;      // in `equivalence`: the array, of one axis from 1, with its elements
  std::int64_t before = 0;  // and how many come before these
  Intent intent = Intent::Unknown;
  std::vector<Bounds> bounds;
  std::vector<Expr> initial;  // in the order of the elements, the first axis fastest
  std::string written;        // of a component: `p%x`
  std::vector<std::size_t> ranks;  // and how many axes `p` and each component on the path have
};

/// A variable's name for messages, as the source has it.
inline const std::string& shown(const Variable& v) {
  return v.written.empty() ? v.name : v.written;
}

struct Effects;
struct Output;
struct Statement;
struct UnknownModules;
class WrongDeclarations;
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
  bool elemental = false;                   // for each element of the arguments that are arrays
  std::vector<std::size_t> own_axes = {};   // then, of each argument: the first ones, which stay
  bool gives_record = false;                // of a function: its last arguments are the result's
  std::set<std::size_t> keeps_bounds = {};  // arguments that have these of the pointers passed
  std::vector<std::string> declared = {};   // types of what is passed and given, see procedures.h
  /// The same call by such a routine, where the callee turns out to be no kernel; or none.
  std::vector<SubroutineCall> otherwise = {};
  /// What the callee does to variables of modules; null: anything. See effects.h.
  std::shared_ptr<const Effects> effects = {};
};
/// The program ends, with a text and a status. A statement that leaves the routine follows.
struct Stop {
  std::string text;
  std::int64_t status = 0;
  bool done = false;  // a statement that stays Fortran before it ends the program
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
  Exprs upper = {};  // the last ones, where its axes are others than the target's
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
  bool gives_record = false;  // a function whose result is its last arguments, the components
  bool is_program = false;    // a main program
  std::string host;           // the routine around, whose variables it may use
  std::map<std::string, Variable> variables;
  mutable std::map<std::string, int> numbered;  // by stem: lower numbers are taken (fresh_name)
  /// Its own that are no variables of kernels, and why, which counts where it uses them.
  std::map<std::string, std::vector<Diagnostic>> unreadable;
  std::set<std::string> boxed;        // those of them that Fortran keeps, see flang_boxes.h
  std::set<std::string> sized_later;  // its own that get bounds of then, see sizes.h
  Body body;
  Body defaults;  // assignments of what components have where the scope of their
                  // variable begins
  FortranFile::Home home;
  std::vector<WithoutEffect> without_effect;
  std::vector<Span> conditional;  // lines for OpenMP alone that are left out
  std::vector<Span> independent;  // IVDEP
  bool kept_apart = false;        // statements run for one thread at a time, as in `critical`
  bool begins_team = false;       // by OpenMP's `parallel` and its like
  /// What cannot be in a routine that such a team calls, if its threads do not share all of it.
  std::optional<std::pair<Span, const char*>> of_one_thread;
  bool elsewhere = false;         // in a file that is read for its modules
  /// Its calls stay calls, of the kernel that it is; within another routine, with that one's
  /// variables as further arguments.
  bool apart = false;
  std::vector<std::string> adopted;
  bool wide = false;  // it counts in 64 bits, as a kernel that calls it, or that it calls, does
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
  std::shared_ptr<const Effects> effects;  // of a call of it, see effects.h; null: anything
  std::shared_ptr<const UnknownModules> unknown;
  std::shared_ptr<const WrongDeclarations> wrong;  // around it; null: none
  std::vector<Diagnostic> errors;  // why it is not a kernel; then the rest may be wrong
};

}  // namespace moonloop::fortran
