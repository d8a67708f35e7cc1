#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/model/kernel.h"

/// The schedule that isl finds for a kernel's dependences: in which order its instances may run
/// instead, as affine functions of their loops.
namespace moonloop {

/// A node of isl's schedule tree.
struct AffineSchedule {
  /// Band: instances in the order of its members' values, one member after the other. Sequence: of
  /// the children, one after the other. Set: of the children in any order. Leaf: at once.
  enum class Kind { Band, Sequence, Set, Leaf } kind = Kind::Leaf;
  struct Member {
    /// Instances with different values, equal in the members before, do not depend on each other.
    bool parallel = false;
    /// By statement: the value, over its loops and parameters.
    std::vector<std::pair<std::string, Expr>> values;
  };
  std::vector<Member> members;
  /// No dependence is negative along a member: the members may change places, and be tiled.
  bool permutable = false;
  std::vector<std::string> statements;  // that the node is about
  std::vector<AffineSchedule> children;
};
const char* to_string(AffineSchedule::Kind kind);  // band, sequence, set, leaf

/// For what stands in the loop `within`, for each iteration of the loops around it; empty: for all.
/// Statements are those of the realized kernel. The dependences are to be kept, and to be short.
/// Inames in teams (`l.N`, `ilp`) count as loops inside of the others. Fails `not-proved` where isl
/// might take too long: for dependences in many parts, of many constraints or with divisions. Cost:
/// isl for each pair of accesses that conflict, and its linear programs.
///
/// Source: S. Verdoolaege and G. Janssens, "Scheduling for PPCG", report CW 706, KU Leuven, 2017.
AffineSchedule affine_schedule(const Kernel& k, const std::string& within);

}  // namespace moonloop
