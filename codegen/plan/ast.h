#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/expr/expr.h"
#include "core/model/kernel.h"

/// The target program: the form between the loop tree and the text. Expressions are those of
/// core/expr/expr.h over the names of the kernel; besides, bounds and guards from isl contain calls
/// of the functions below, whose operands are integers.
namespace moonloop {

/// C's `/` and `%`, where they agree with floor division: the dividend is not negative (or, of
/// `kTruncDiv`, the division is exact; or, of `kTruncMod`, only the test for zero counts).
inline constexpr const char* kTruncDiv = "truncated /";
inline constexpr const char* kTruncMod = "truncated %";
inline bool is_truncated(const Call& c) { return c.name == kTruncDiv || c.name == kTruncMod; }
/// The number of the work-item in its group, and of the group, along an axis: the operand.
inline constexpr const char* kLocalId = "local id";
inline constexpr const char* kGroupId = "group id";

struct Stmt;
using Block = std::vector<Stmt>;

/// How a loop's iterations run in a language that has more than one way: in turn, in the lanes of a
/// gang, or as tasks that are launched.
enum class Iterations { InTurn, Lanes, Tasks };

/// `for (iname = lower; iname < upper; iname += step)`, `<=` when `inclusive`.
struct Loop {
  std::string iname;
  Expr lower, upper;
  bool inclusive = false;
  std::int64_t step = 1;
  std::vector<std::string> pragmas;  // lines in front, without `#pragma `
  Expr only_while;                   // or null: ends where this does not hold before an iteration
  Block body;
  /// For a `vec` loop on a device, whose body is one Run: its iterations, printed side by side.
  std::int64_t lanes = 0;
  /// For the outermost of such loops around one Run: `Plan::matrix_steps[matrix]` does them at
  /// once.
  std::optional<int> matrix = std::nullopt;
  Iterations iterations = Iterations::InTurn;
  /// With Tasks: this loop and how many of those in it, each the whole body of the one around it,
  /// are launched together.
  int together = 1;
};

struct If {
  Expr cond;
  Block body;
  Block otherwise = {};  // what runs where the condition does not hold
};

/// Ends the innermost loop around, or its iteration.
struct Leave {
  enum class Way { Break, Continue } way;
};

/// The block in braces; with `iname`, the constant `iname = value` is known in it.
struct Scope {
  std::string iname;
  Expr value;
  Block body;
  std::vector<std::string> pragmas = {};  // as a loop's
};

/// Instruction `insn`, with `values` in the place of inames that are not loops around it.
struct Run {
  int insn = -1;
  std::map<std::string, Expr> values;
  std::map<std::string, bool> declares;  // scalars that it writes and declares; true: for good
};

/// Storage for a temporary, until the end of the enclosing block. `zero`: it starts with that
/// value, since what sets it is under a condition that a GroupCombine of it is not under.
struct Declare {
  std::string temporary;
  bool zero = false;
};
/// Frees the memory that a Declare took from the heap.
struct Release {
  std::string temporary;
};

/// All work-items of the group wait for one another, and see all writes to these memories.
struct Sync {
  bool local = false, global = false;
  std::optional<int> in_flight = std::nullopt;  // as of a Barrier
};

/// The work-items of the group combine their parts of a reduction, `Plan::reductions[index]`; then
/// each of them has the result. All of them wait. `values`: as in Run. `cond`, where it is not
/// null: whether the lane has an accumulator, which is an element of an array.
struct GroupCombine {
  int index = -1;
  std::map<std::string, Expr> values;
  Expr cond = {};
};

/// The block as one kernel on the device, `Plan::launches[index]`.
struct Launch {
  int index = 0;
  Block body;
};

struct Stmt {
  std::variant<Loop, If, Leave, Scope, Run, Declare, Release, Sync, GroupCombine, Launch> op;
};

/// Whether work-items wait for one another somewhere in the block.
bool waits_within(const Block& block);

/// How many statements of the kernel are written out in it.
std::int64_t statements_in(const Block& block);

/// The block of one statement, which a list in braces would copy.
Block only(Stmt s);

/// Whether the block itself declares something, so that it needs braces.
bool declares(const Block& block);

/// Calls `visit` on each statement within, outer ones first.
template <class F>
void for_each_within(const Block& block, const F& visit) {
  for (const Stmt& s : block) {
    visit(s);
    if (const auto* x = std::get_if<Loop>(&s.op)) for_each_within(x->body, visit);
    if (const auto* c = std::get_if<Scope>(&s.op)) for_each_within(c->body, visit);
    if (const auto* i = std::get_if<If>(&s.op))
      for_each_within(i->body, visit), for_each_within(i->otherwise, visit);
  }
}

/// Adds the names that it declares somewhere within, with the inames of loops.
void collect_declared(const Block& block, std::set<std::string>& out);

/// The parts of a conjunction; a condition that is none is one part.
Exprs conjuncts(const Expr& cond);
/// Whether a term is one of these.
bool holds_term(const Exprs& terms, const Expr& term);

/// Whether the name occurs in some expression in the block, including values for inames.
bool says(const Block& block, const std::string& name);

/// Replaces the iname, which has the type `index`, by `value` in all expressions below.
void substitute(Block& block, const std::string& iname, const Expr& value, Scalar index);
/// Puts `value` in the place of the scalar in bounds and guards, but not in instructions'
/// expressions.
void put_in_bounds(Block& block, const std::string& scalar, const Expr& value);
/// `e` with `values` in the place of inames; outside of subscripts, with the result of `typed` for
/// a value: it has to keep the type of an iname, in which the rest is computed.
Expr with_values(const Expr& e, const std::map<std::string, Expr>& values,
                 const std::function<Expr(const Expr&)>& typed);

/// The expression with constants folded and neutral elements dropped in sums and products; only for
/// expressions of integers.
Expr fold_index(const Expr& e);

/// The expression of integers with the arms of choices that numbers decide, `i if 0 == 0 else j`.
Expr without_decided_choices(const Expr& e);

/// Quotients that isl made, as the kernel language has them.
Expr without_truncation(const Expr& e);

/// Takes barriers out of guards: `if (c) { A; barrier; B; }` becomes
/// `if (c) A; barrier; if (c) B;`. The conditions must be on scalars that the block does not write.
/// Guards stay around a whole loop that waits, whose condition is the same for all work-items, and
/// where they distinguish groups: `by_group` says whether a condition does only that.
void spread_guards(Block& block, const std::function<bool(const Expr&)>& by_group);

/// Joins neighbours under equal conditions, where the first cannot change the condition, and takes
/// conditions on scalars out of loops that do not change them. `writes` gives what an instruction
/// writes.
void tidy_guards(Block& block, const std::function<std::set<std::string>(int)>& writes);

/// Ends loops one after the other whose iterations do nothing once some scalar is false: all that
/// could make it true again is under it, or under its value at the iteration's beginning.
void end_loops_early(Block& block, const Kernel& k);

}  // namespace moonloop
