#pragma once
#include "frontends/fortran/program.h"

/// The steps from a file to routines that lower() takes, in the order in which they run.
namespace moonloop::fortran {

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
/// loop's own scalars and sums. With `lanes`, a `simd` loop inside of a loop that reduces has sums
/// of its own; without, it is one of the loops that the reduction goes over.
void share_data(Routine& routine, bool lanes);

}  // namespace moonloop::fortran
