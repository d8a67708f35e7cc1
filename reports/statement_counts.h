#pragma once
#include <string>
#include <vector>

#include "core/model/kernel.h"
#include "runtime/evaluate.h"

/// What each statement of a kernel does at given sizes, for pages that shade them.
namespace moonloop {

struct StatementCount {
  std::string statement;  // its id in the kernel with reductions realized
  std::string number;     // decimal; of any size
  bool exact = true;      // false: at most so many
};

/// Those that do something, by id; together they are what op_counts() counts, and what
/// mem_counts() counts in bytes. Fail as these do, and as Count::eval does.
std::vector<StatementCount> operations_by_statement(const Kernel& k, const Integers& sizes);
std::vector<StatementCount> bytes_by_statement(const Kernel& k, const Integers& sizes);

/// By id of a statement that a reduction became: the id of the one with the reduction.
std::vector<std::pair<std::string, std::string>> statements_of_reductions(const Kernel& k);

}  // namespace moonloop
