#pragma once
#include <optional>
#include <string>

#include "core/interpreter/interpreter_nodes.h"

/// Counting while the interpreter runs. Code compiled without a tally has no trace of it.
namespace moonloop::interp {

/// `v`, whose evaluation adds `times` to `*counter`.
Value counting(Value v, std::int64_t* counter, std::int64_t times = 1);
std::unique_ptr<Store> counting(std::unique_ptr<Store> s, std::int64_t* counter);
/// Evaluates a value and stores nothing.
std::unique_ptr<Store> evaluation(Value v);

/// The name of the operation that a node's evaluation is, and how many of them.
struct OperationName {
  std::string name;
  std::int64_t times = 1;
};
std::optional<OperationName> operation_name(const Expr& e);
std::optional<std::string> operation_name(ReduceOp op);
/// The variable that a node loads from, when it is the whole of an access.
const std::string* loaded_name(const Expr& e);

}  // namespace moonloop::interp
