#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/kernel.h"

/// A Fortran file as the reader hands it on: names resolved, constants folded, conversions written
/// out, and nothing of Flang left. Names are in lower case. Expressions are the core's with
/// Fortran's meaning: subscripts begin at the arrays' lower bounds, a call's name is the Fortran
/// intrinsic's. A character is its code.
namespace moonloop::fortran {

/// Of one axis. Without `lower` it is 1; without `upper` the size is assumed.
struct Bounds {
  Expr lower, upper;
};

struct Variable {
  std::string name;
  Span at;
  Type type;
  bool logical = false;    // kept as an integer of that size where the caller sees it
  bool character = false;  // one, as its code
  bool dummy = false, value = false, array = false;
  bool constant = false;  // a named constant, or never assigned after its initial value
  Intent intent = Intent::Unknown;
  std::vector<Bounds> bounds;
  std::vector<Expr> initial;  // in the order of the elements, the first axis fastest
};

struct Statement;
using Body = std::vector<Statement>;

struct Assignment {
  Expr to, value;
};
/// What a directive of OpenMP demands of the loop below it.
struct Directive {
  Span at;
  std::string tag;  // of `loops` nested loops
  int loops = 1;
  struct Reduction {
    std::string op;  // `+`, `*`, `min`, `max`
    std::string variable;
  };
  std::vector<Reduction> reductions;
};

struct Do {
  std::string variable;
  Expr from, to, step;  // without `step` it is 1
  std::shared_ptr<Body> body;
  std::shared_ptr<const Directive> directive;
};
/// The arms of `if` or `select case`; the last one may have no condition.
struct Choice {
  struct Arm {
    Expr condition;
    std::shared_ptr<Body> body;
  };
  std::vector<Arm> arms;
};
/// `return`, or `cycle` or `exit` of a loop: 0 is the innermost one.
struct Leave {
  enum class Kind { Return, Cycle, Exit } kind;
  int loop = 0;
};
/// A call of what stands in another file.
struct ExternalCall {
  std::string name;
  Exprs arguments;
};

struct Statement {
  Span at;
  std::variant<Assignment, Do, Choice, Leave, ExternalCall> what;
};

struct Routine {
  std::string name;
  Span at;
  std::vector<std::string> arguments;  // of a function, its result last
  bool function = false;
  std::map<std::string, Variable> variables;
  Body body;
};

/// A block in comments.
struct Block {
  std::string name;         // of a tag; empty for a transform
  int first = 0, last = 0;  // lines between its two ends
  Span at;
};

struct Blocks {
  std::vector<Block> tagged;
  std::vector<Block> transforms;
};

/// The blocks in a file's comments. Fails `syntax` for one that does not end or does not begin.
Blocks read_blocks(const Source* source);

/// The Lua in a transform's comments, each line and column where it is in the file.
std::string transform_text(const Source* source, const Block& block);

/// Whether a file is in fixed form, by its name.
bool is_fixed_form(const Source* source);

struct Preprocessing {
  std::vector<std::pair<std::string, std::string>> defines;
  std::vector<std::string> include_folders;
};

/// Parses and checks a file with Flang, and reads its subroutines and functions. Throws Flang's own
/// errors, all of them, as `fortran`, and `unsupported` for what lies outside of the subset.
std::vector<Routine> read_routines(const Source* source, const Preprocessing& how);

/// Makes `return`, `exit` and `cycle` choices: what follows one goes into the arm that goes on, or
/// asks a new logical variable whether to go on.
void remove_leaves(Routine& routine);

/// A local scalar that several loops write before they read it, and nothing else reads, becomes one
/// for each of these loops.
void split_scalars(Routine& routine);

/// A routine as a kernel in Fortran's order, and what its directives demand: Lua by line.
struct Lowered {
  Kernel kernel;
  std::vector<std::pair<int, std::string>> steps;
};
Lowered lower(const Routine& routine, const Blocks& blocks);

}  // namespace moonloop::fortran
