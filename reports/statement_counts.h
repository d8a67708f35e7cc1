#pragma once
#include <string>
#include <vector>

#include "core/expr/evaluate.h"
#include "core/model/kernel.h"

/// The work of each statement of a kernel at given sizes, for pages that shade them.
namespace moonloop {

struct StatementCount {
  std::string statement;  // its id in the kernel with reductions realized
  std::string number;     // decimal; of any size
  bool exact = true;      // false: an upper bound
};

/// Those that do something, by id; their sums are the counts of op_counts(), and of mem_counts() in
/// bytes. Fail as these do, and as Count::eval does.
std::vector<StatementCount> operations_by_statement(const Kernel& k, const Integers& sizes);
std::vector<StatementCount> bytes_by_statement(const Kernel& k, const Integers& sizes);

/// By id of a statement that a reduction became: the id of the one with the reduction.
std::vector<std::pair<std::string, std::string>> statements_of_reductions(const Kernel& k);

}  // namespace moonloop
