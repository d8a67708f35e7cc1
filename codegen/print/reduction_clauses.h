#pragma once
#include <optional>
#include <set>
#include <string>

#include "codegen/plan/ast.h"
#include "codegen/plan/plan.h"
#include "codegen/print/c_names.h"
#include "codegen/print/shared_accumulators.h"

/// OpenMP's clauses for accumulators that lanes or threads share.
namespace moonloop {

/// An accumulator of which each lane or thread cannot have a part in a clause.
struct NoClause {
  SharedAccumulator accumulator;
  std::string why;  // the end of a message: "is not supported"
};

/// ` reduction(+:acc)` for each operator of the loops `inames`, of which `loop` is the outermost;
/// empty where nothing is shared. `no_clause` is set instead where some accumulator has several
/// values, or is not a small array.
std::string reduction_clauses(const Loop& loop, const std::set<std::string>& inames,
                              const Plan& plan, const CNames& identifiers,
                              std::optional<NoClause>& no_clause);

}  // namespace moonloop
