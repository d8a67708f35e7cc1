#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/count/evaluations.h"

/// How far apart in memory neighbouring iterations of a loop access an array.
namespace moonloop {

/// An access to a variable in an evaluation; scalars have no subscripts.
struct MemoryAccess {
  const std::string* name;
  const Exprs* index;
  const Tag* tag;
  bool linear = false;  // the one subscript counts elements in memory
};
/// Nothing for expressions that are no access.
std::optional<MemoryAccess> access_of(const Expr& e);

/// The shape of an array of `k`, whose shapes are inferred, and the strides of its axes, in
/// elements.
const Exprs& array_shape(const Kernel& k, const std::string& array);
Exprs axis_strides(const Kernel& k, const std::string& array);

/// The distance in elements between the accesses of iterations of `iname` that follow each other,
/// at a program point; null where it is not the same for all. `axes`: see axis_strides().
Expr stride_along(ProgramPoints& points, int point, const std::string& iname,
                  const MemoryAccess& access, const Exprs& axes);

/// An access of an instruction to an array, argument or temporary.
struct StridedAccess {
  std::string instruction;  // its id
  std::string variable;
  Type type;
  bool write = false;
  Exprs index;
  std::vector<std::string> inames;                    // around it, those of reductions too
  std::vector<std::pair<std::string, Expr>> strides;  // by iname, null: unknown; 0 is left out
};
/// All of them, or those of instructions in the loop `within`, in the order of evaluation; equal
/// ones of an instruction once. Cost: a look at each subscript for each iname in it.
std::vector<StridedAccess> strided_accesses(const Kernel& k, const std::string& within = {});

}  // namespace moonloop
