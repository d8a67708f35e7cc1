#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "core/order/reordered.h"

/// The registry: one table row per transform. It feeds the Lua bindings, `moonloop doc`,
/// docs/reference.md, completion and replay.
namespace moonloop {

enum class Kind {
  Str,  // a string
  Int,  // an integer
  Num,  // a number
  Bool,
  Names,    // a comma-separated string or an array of strings
  Tags,     // `{i = "g.0"}` or `"i:g.0, j:l.0"`
  IntPair,  // `{1, 0}`
  Numbers,  // `{n = 16}`
  Reals,    // `{n = 16, alpha = 0.5}`
  Match,    // a `within`
  Any,      // anything; `false` is Python's None
};

struct Param {
  std::string name;
  Kind kind;
  std::string help;
  bool required = false;
  std::string fallback = {};  // the default as Lua text, for help; the function itself applies it
  bool positional = false;    // may also be given positionally, in table order
};

/// The option `unsafe` of each transform that only reorders. `run_op` implements it: the row runs
/// without its proof, the present order becomes the kernel's meaning, and the trace lists the
/// claim.
Param unsafe_option();

/// Decoded arguments: kinds are checked, unknown names refused, before an Op runs.
class Args {
 public:
  Args(ValueDict values, Span at, Proof proof)
      : values_(std::move(values)), at_(at), proof_(proof) {}
  bool has(std::string_view name) const;       // given, and not nil
  bool is_false(std::string_view name) const;  // given as `false` (Python's None)
  std::string str(std::string_view name, const std::string& fallback = {}) const;
  std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const;
  bool boolean(std::string_view name, bool fallback = false) const;
  std::vector<std::string> names(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view name) const;  // Tags
  std::pair<std::int64_t, std::int64_t> int_pair(std::string_view name) const;
  std::vector<std::pair<std::string, std::int64_t>> numbers(std::string_view name) const;
  std::vector<std::pair<std::string, double>> reals(std::string_view name) const;  // not integers
  const Value* raw(std::string_view name) const;
  const Span& at() const { return at_; }  // the caller's line in the script
  /// Whether the step proves itself: not with the option `unsafe`, nor where run_op is told so.
  Proof proof() const { return boolean("unsafe") ? Proof::LeftOut : proof_; }

 private:
  ValueDict values_;
  Span at_;
  Proof proof_;
};

struct Op {
  std::string name;
  std::string doc;             // first line: summary; then paragraphs. The refusals, at the end
  std::vector<Param> params;   // without the kernel, which always comes first
  std::string example_kernel;  // kernel text; the example runs in a test
  std::string example;         // Lua that uses global `knl`
  /// The implementation; exactly one is set. `query` returns a value instead of a kernel.
  std::function<Kernel(const Kernel&, const Args&)> run;
  std::function<Value(const Kernel&, const Args&)> query;
  std::string alias_of = {};  // `temporary_to_subst` is `assignment_to_subst`
};

/// A wrong argument, `number` counting the kernel as #1. Its code is `bad-argument` and its text
/// `bad argument #2 to 'split_iname' (<reason>)`; a method call, which does not count its object,
/// rewrites it with `number - 1`.
class BadArgument : public Error {
 public:
  BadArgument(int number, std::string function, std::string reason, Span at);
  int number;
  std::string function, reason;
};

/// All rows, alphabetical.
const std::vector<const Op*>& all_ops();
const Op* find_op(std::string_view name);

/// Checks `positional` and `options` against the table (count, kinds, names) and runs the row.
/// A wrong argument, also an iname or another name that the kernel lacks, throws BadArgument. Adds
/// the step to the kernel's trace. Without a proof, the caller has to prove the result.
Kernel run_op(const Op& op, const Kernel& k, ValueList positional, ValueDict options, Span at = {},
              Proof proof = Proof::Made);
Value run_query(const Op& op, const Kernel& k, const ValueList& positional,
                const ValueDict& options, Span at = {});

}  // namespace moonloop
