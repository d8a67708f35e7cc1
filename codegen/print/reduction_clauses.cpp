#include "codegen/print/reduction_clauses.h"

#include <map>

namespace moonloop {
namespace {

/// Whether the copies of an accumulator, if it has some, are an array that a clause can name.
bool is_small_array(const std::string& acc, const Plan& plan) {
  constexpr std::int64_t kMost = 1024;  // elements, on the stack of each thread
  const auto it = plan.expansions.find(acc);
  if (it == plan.expansions.end()) return true;
  std::int64_t all = 1;
  for (const Expr& e : it->second.extent) {
    const auto n = as_int(e);
    if (!n || *n > kMost) return false;
    all *= *n;
    if (all > kMost) return false;
  }
  return true;
}

std::string clause_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return "+";
    case ReduceOp::Product: return "*";
    case ReduceOp::Min: return "min";
    case ReduceOp::Max: return "max";
    case ReduceOp::Any: return "||";
    case ReduceOp::All: return "&&";
    case ReduceOp::ArgMin:
    case ReduceOp::ArgMax:
    case ReduceOp::SegmentedSum:
    case ReduceOp::SegmentedProduct:
    case ReduceOp::SegmentedMin:
    case ReduceOp::SegmentedMax: break;
  }
  throw InternalError("a reduction of two values in a clause");
}

}  // namespace

std::string reduction_clauses(const Loop& loop, const std::set<std::string>& inames,
                              const Plan& plan, const CNames& identifiers,
                              std::optional<NoClause>& no_clause) {
  std::map<std::string, std::string> names;  // by operator
  for (const SharedAccumulator& a : shared_accumulators(loop, inames, plan)) {
    if (a.update->lhs.size() > 1) {
      no_clause = NoClause{a, "is not supported"};
      return {};
    }
    if (!is_small_array(a.name, plan)) {
      no_clause = NoClause{
          a, fmt::format("of as many elements at once as {} has iterations, which is not a small "
                         "constant, is not supported",
                         quoted_list(plan.expansions.at(a.name).axes))};
      return {};
    }
    std::string& list = names[clause_of(a.update->reduce_op)];
    list += (list.empty() ? "" : ", ") + identifiers.of(a.name);
  }
  std::string out;
  for (const auto& [op, list] : names) out += " reduction(" + op + ":" + list + ")";
  return out;
}

}  // namespace moonloop
