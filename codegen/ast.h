#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/expr.h"

/// The target program: what stands between the loop tree and the text. Expressions are those of
/// core/expr.h over the names of the kernel; besides, bounds and guards that isl made hold calls of
/// the three functions below, whose operands are integers.
namespace moonloop {

/// C's `/` and `%`, where they agree with floor division: the dividend is not negative (or, of
/// `kTruncDiv`, the division is exact; or, of `kTruncMod`, only the test for zero counts).
inline constexpr const char* kTruncDiv = "truncated /";
inline constexpr const char* kTruncMod = "truncated %";

struct Stmt;
using Block = std::vector<Stmt>;

/// `for (iname = lower; iname < upper; iname += step)`, `<=` when `inclusive`.
struct Loop {
  std::string iname;
  int node = -1;  // PlanNode::id of the loop that this is, or is a part of
  Expr lower, upper;
  bool inclusive = false;
  std::int64_t step = 1;
  std::vector<std::string> pragmas;  // lines in front, without `#pragma `
  bool parallel = false;             // iterations may run at the same time: a scope of its own
  Block body;
};

struct If {
  Expr cond;
  Block then, otherwise;
};

/// `const index iname = value;`
struct Let {
  std::string iname;
  Expr value;
};

/// Instruction `insn` with `values` in the place of inames that are no loop around it.
struct Run {
  int insn = -1;
  std::map<std::string, Expr> values;
  bool declares = false;            // the statement also declares the scalar that it writes
  std::vector<std::string> pragmas;
};

/// Storage for a temporary, until the end of the enclosing block.
struct Declare {
  std::string temporary;
  bool on_heap = false;
};
/// Gives back what a Declare on the heap took.
struct Release {
  std::string temporary;
};

struct Stmt {
  std::variant<Loop, If, Let, Run, Declare, Release> op;
};

}  // namespace moonloop
