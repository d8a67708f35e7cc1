#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "core/tree.h"

/// The loop tree made ready for a target: loops over work-items stand in it, every loop has a
/// number, and it is known where the tree falls into pieces for isl.
namespace moonloop {

struct PlanNode {
  int id = -1;                     // in pre-order of creation, unique; also of leaves
  std::string iname;               // empty: a leaf
  std::vector<int> insns;          // leaf: consecutive instructions of the same loops
  std::vector<PlanNode> children;  // in order of execution
  /// The subtree's bounds need a temporary that the enclosing loops compute, so its bounds cannot be
  /// computed together with theirs.
  bool separate = false;
  bool is_loop() const { return !iname.empty(); }
};

/// A temporary that every work-item has its own copy of, where the copies must outlive a loop over
/// work-items: an array with one axis more for each of these inames.
struct Expansion {
  std::vector<std::string> inames;
  Exprs lower, extent;  // by iname
};

struct Plan {
  Kernel kernel;  // completed, without rules and reductions
  Target target = Target::C;
  std::vector<PlanNode> roots;
  std::map<std::string, Expansion> expansions;     // by temporary
  std::vector<std::vector<std::string>> loops_of;  // by instruction: loops around it, outer first
  std::vector<std::vector<int>> nodes_of;          // the ids of those loops
};

/// Places the work-item loops of a nested kernel and cuts the tree into pieces. Refuses
/// `unsupported` what the target cannot express.
Plan make_plan(const Nested& nested, Target target);

/// The plan as text, one loop or leaf a line.
std::string print_plan(const Plan& plan);

// ---- For plan.cpp: codegen/work_items.cpp --------------------------------------------------------

/// The tree below `nodes` with loops over the work-item inames (`l.N`, `l.auto`) inserted. Ids are
/// not set yet.
struct WorkItems {
  std::vector<PlanNode> roots;
  std::map<std::string, Expansion> expansions;
};
WorkItems place_work_items(const Kernel& k, std::vector<PlanNode> roots);

}  // namespace moonloop
