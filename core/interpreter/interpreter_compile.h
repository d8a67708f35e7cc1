#pragma once
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/infer/typing.h"
#include "core/interpreter/interpreter.h"
#include "core/interpreter/interpreter_nodes.h"

namespace moonloop::interp {

/// Memory of an array, or of a scalar temporary.
struct Storage {
  Type type;
  std::vector<std::int64_t> shape, strides;  // elements
  char* data = nullptr;
  std::vector<char> own;     // of temporaries
  Shadow* shadow = nullptr;  // of written variables, in runs with bounds
  /// Work-item inames that each have a copy of their own: further axes after the others, counted
  /// from `first`.
  struct Copies {
    std::string iname;
    std::int64_t first, extent, stride;
    bool grows = false;  // its last value is not known before the run: the last axis
    std::int64_t most() const { return grows ? std::numeric_limits<std::int64_t>::max() : extent; }
  };
  std::vector<Copies> copies;
  char unset = 0;  // the bytes of unwritten elements
  /// Makes room for the copies up to that of `last`, of the iname whose last value is not known.
  /// Cost: a copy of the memory where there is less than that.
  void reach(std::int64_t last);
};

/// Where all values of a run are.
struct Memory {
  std::unordered_map<std::string, Storage> arrays;       // arguments and temporaries
  std::unordered_map<std::string, ScalarValue> scalars;  // arguments and parameters; constant
  std::unordered_map<std::string, Type> scalar_types;
  std::unordered_map<std::string, std::unique_ptr<std::int64_t>> inames;

  std::int64_t* iname(const std::string& name);  // its place, made on the first call
};

/// Compiles the expressions of a realized kernel.
class Compiler {
 public:
  Compiler(const Kernel& k, Memory& memory) : k_(k), memory_(memory), typer_(k) {}

  Value value(const Expr& e, const std::optional<Type>& wanted = {});
  /// Code compiled from now on counts its work in `tally`, unless null. Returns the tally before.
  Tally* tell(Tally* tally) { return std::exchange(tally_, tally); }
  Value value_as(const Expr& e, const Type& t) { return convert(value(e, t), t); }
  /// An integer that counts elements or iterations; no intermediate result is cut to its type.
  IntPtr index(const Expr& e);
  IntPtr condition(const Expr& e) { return truth(value(e)); }
  Access access(const Expr& e);  // of a Var, Load or Field
  Access target(const Expr& e);  // of an assignee
  Type type(const Expr& e, const std::optional<Type>& wanted = {}) const;

  /// The stores of the statement; several stores are prepared before any is committed.
  std::vector<std::unique_ptr<Store>> statement(const Instruction& insn);

 private:
  Access element(const Expr& shown, const std::string& name, const Exprs& index, bool linear);
  Subscript subscript(const Expr& e);
  bool linear(const Expr& e, std::int64_t factor, Subscript& out) const;
  Value untold(const Expr& e, const std::optional<Type>& wanted);
  std::vector<std::unique_ptr<Store>> stores(const Instruction& insn);
  /// The values that a reduction of two accumulators takes in, evaluated once for the tally.
  void tell_arguments(const Instruction& insn, std::vector<std::unique_ptr<Store>>& out);
  Value variable(const Var& x, const Expr& e);
  Value call(const Expr& e, const Call& x, const std::optional<Type>& wanted);
  Value sum(const Expr& e, const Nary& x, const std::optional<Type>& wanted);
  Value comparison(const Expr& e, const Compare& x);
  Computation computation(const Expr& e, const std::optional<Type>& wanted) const;
  /// In the context of `context`, then converted.
  Value operand(const Expr& e, const Type& context, const Type& to) {
    return convert(value(e, context), to);
  }
  Value reduced(ReduceOp op, const Expr& acc, const Expr& arg);
  void arg_update(const Instruction& insn, std::vector<std::unique_ptr<Store>>& out);
  void segmented_update(const Instruction& insn, std::vector<std::unique_ptr<Store>>& out);
  Value either_flag(const Instruction& insn, const Type& flag);
  /// Those of the terms that are accumulators of sums, or their negatives, where their own terms
  /// may be added one by one instead.
  std::vector<AddedSum> added_sums(const Exprs& terms);
  /// A step of a sum, where that needs its bound; else null.
  std::unique_ptr<Store> summed(const Expr& lhs, const Expr& term, const Expr& restart);
  std::unique_ptr<Store> summed(const Expr& lhs, const Expr& rhs);

  const Kernel& k_;
  Memory& memory_;
  Typer typer_;
  std::optional<std::set<std::string>> accumulators_;  // of sums
  bool wide_ = false;
  Tally* tally_ = nullptr;
};

/// The value that an assignment gives the `i`-th place on its left: all of it, or that part of a
/// tuple.
const Expr& assigned(const Instruction& insn, std::size_t i);
/// The place of a variable among the terms of `lhs = … + lhs + …`; nothing for another statement.
std::optional<std::size_t> place_in_sum(const Expr& lhs, const Expr& rhs);

/// Variables that are summed up, step by step.
std::set<std::string> summed_variables(const Kernel& k);
/// Variables of integers whose values reals may decide: by conversions, comparisons, subscripts of
/// assignees, bounds of loops.
std::set<std::string> decided_integers(const Kernel& k);
/// Bounds for an array of type `t`, all 0, of `bytes` bytes from `origin` on.
Shadow make_shadow(const Type& t, const char* origin, std::size_t bytes, const Accuracy& accuracy,
                   bool sums);

/// The neutral element of a reduction's `i`-th value.
Value neutral(ReduceOp op, std::size_t i, const Type& t);

}  // namespace moonloop::interp
