#pragma once
#include "frontends/fortran/flang_effects.h"

// Variables of a routine's own that C cannot have, such as characters of a length that assignments
// change. Fortran keeps each in a box, memory whose address is a number of the kernel, and all
// statements that use such a variable stay Fortran: they take it out of its box and put it back.
namespace moonloop::fortran {

struct Box {
  std::string address;  // the variable that has the box's address, 0 before there is one
  FortranBox what;
  bool pointer = false;                                           // it points somewhere else
  std::shared_ptr<bool> changed = std::make_shared<bool>(false);  // a statement may change it
  bool of_caller = false;  // an argument or a result: the interface makes the box
  Span at;
};
using Boxes = std::map<const sem::Symbol*, Box>;

/// Whether a variable, of a routine's own, can be in a box.
bool can_be_boxed(const sem::Symbol& s);

/// The assignments to all of an allocatable array, of the routine's own, that has the shape already
/// which they would give it: as `allocate` alone says, in terms of arguments that stay as they are.
std::set<const ev::Assignment*> assignments_of_same_shape(const fp::Block& block, const Span& at);

/// Whether it is a record, or an array of records, in memory of the caller: the box has its address.
/// It is in one only where the routine gives parts of it memory, or cannot have it otherwise.
bool is_callers_record(const sem::Symbol& s);

/// Whether a function gives a value that only Fortran can take.
bool gives_boxed(const sem::Symbol& procedure);

/// The variables of `scope` that have to be in boxes: those that `routine` could not read, and
/// allocatable arrays to which the statements give memory in ways that C cannot follow. These are
/// no variables of the routine any more, which gets one for the address of each instead.
Boxes boxes_of(const fp::Block& block, const sem::Scope& scope, const Places& places,
               const ProcedureEffects& procedures, Routine& routine);

/// The lines of Fortran that declare a box and the variable in it, and those before and after a
/// statement that uses it.
struct BoxLines {
  std::string declarations, before, after;
  std::set<std::string> uses;
};
BoxLines lines_of(const Box& box, const std::string& address, const std::string& in_module);

/// Makes the boxes of a routine, whose statements have been read, end with it.
void end_boxes(const Boxes& boxes, Routine& routine, Body& body);

/// The argument that is the address of a routine's box.
std::string address_of_box(const std::string& name, const Routine& routine);

}  // namespace moonloop::fortran
