#pragma once
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/plan/known_values.h"
#include "codegen/plan/matrix_shapes.h"
#include "codegen/plan/plan_node.h"
#include "core/order/tree.h"

/// The loop tree made ready for a target: loops over work-items stand in it, every loop has a
/// number, and each temporary has a place where it lives.
namespace moonloop {

/// Where a loop around several work-items runs of which each computes its own bounds: from the
/// least first value to the greatest end of all of them. Each runs what is within its own. Names of
/// scalars, on devices in local memory, that work-items put together before the loop; an empty one:
/// that end of the range is the same for all.
struct CommonTrips {
  std::string first, end;   // the end is exclusive
  std::vector<int> starts;  // the instructions that begin with no iteration, for the whole group
};

/// A temporary that every work-item, or every iteration of an `ilp` or `vec` loop, has its own copy
/// of, where the copies must outlive that loop: an array with leading axes for these.
struct Expansion {
  std::vector<std::string> axes;  // `l.N` or an iname; outer first
  Exprs extent;                   // over parameters
  /// By instruction that accesses it: the index along each axis.
  std::map<int, Exprs> index;
};

/// An instruction that reads or writes a temporary, or is in a loop whose bounds read it.
struct TemporaryUse {
  int insn = -1;
  bool reads = false, writes = false;
};

inline constexpr int kDeviceAxes = 3;           // of groups, and of work-items
inline constexpr std::int64_t kWarpItems = 32;  // that CUDA runs in step

/// An iname that a device's hardware counts.
struct HardwareIname {
  bool group = false;  // `g.N`, else `l.N`
  int axis = 0;
  Expr first;   // its least value, over parameters; the hardware counts from 0
  Expr extent;  // values from the first to the last
};

/// Work-items of a group put what they accumulated together; then each of them has the result. They
/// do so in halves through local memory, where `in_order` each with the next one that has some, or,
/// where `shuffles`, through registers in each warp and
/// then through local memory for what the warps have.
struct GroupReduction {
  /// Neighbouring axes as one: work-items at neighbouring places differ by `stride` in number.
  struct Span {
    std::int64_t stride = 1, items = 1;
    Expr place;  // of the work-item
  };
  int update = -1;          // the instruction that accumulates in each work-item
  std::vector<int> axes;    // `l.N` that it is spread over
  Expr number;              // of the work-item in its group, axis 0 fastest
  std::vector<Span> spans;  // what it is spread over, with more than one work-item
  bool shuffles = false;
  bool in_order = false;  // neighbours put their parts together, the earlier one's first
  bool repeats = false;   // in a loop, so that its memory is used again
  // Names: temporaries in local memory and of the partner's values, one for each accumulator; that
  // number, and how far the partner is.
  std::vector<std::string> shared, partner;
  std::string item, reach;
};

/// A statement `sum += left*right` that a warp's matrix unit does at once for all values of the
/// inames `depth` (from 0 on), `pair` (2) and, where there is one, `half` (2). Work-items are 4
/// along `column` by 8 along `row`; each has the element of row `row + 8*half` and column
/// `2*column + pair`.
struct MatrixStep {
  int insn = -1;
  const MatrixShape* shape = nullptr;
  std::string depth, pair, half;
  std::string row, column;  // inames tagged `l.1` and `l.0`
  /// The first has no column in it, the second no row. Both have the type that the shape takes, or
  /// one that becomes it.
  Expr left, right;
};

/// One kernel on the device.
struct LaunchPlan {
  std::vector<std::string> inames;      // that the hardware counts, sorted
  std::array<Expr, 3> groups;           // number along each axis; null: none is numbered
  std::array<Expr, 3> items;            // of work-items in a group, the same way
  std::array<bool, 3> one_group{};      // at least one along the axis, for statements that are
  std::array<bool, 3> one_item{};       // not spread over it
  std::vector<std::string> host_loops;  // inames of the loops on the host around it
  /// Groups along each axis before the first one that has something to do in an iteration of the
  /// host's loops: over parameters and `host_loops`, as `groups` is then; null: it is the same for
  /// all iterations, and there are none. The hardware counts from there.
  std::array<Expr, 3> skipped;

  const Expr& number(bool group, int axis) const {
    return (group ? groups : items).at(static_cast<std::size_t>(axis));
  }
  bool at_least_one(bool group, int axis) const {
    return (group ? one_group : one_item).at(static_cast<std::size_t>(axis));
  }
  /// Whether several work-items may stand along the axis.
  bool has_items(int axis) const { return number(false, axis) && as_int(number(false, axis)) != 1; }
};

struct Plan {
  Kernel kernel;  // completed, without rules and reductions
  Target target = Target::C;
  bool reasons = false;  // whether it says why, for who reads it; costs isl's samples
  bool called_by_threads = false;  // see GenerateOptions
  bool outline = false;  // no text of it is needed, see outline_loops()
  std::vector<PlanNode> roots;
  std::vector<std::string> locals;              // temporaries that live for the whole call
  std::map<std::string, Expansion> expansions;  // by temporary
  /// By temporary: the inames tagged `ilp` or `vec` whose iterations each have their own.
  std::map<std::string, std::vector<std::string>> lane_copies;
  std::vector<LaunchPlan> launches;        // on a device
  std::vector<GroupReduction> reductions;  // on a device
  std::vector<MatrixStep> matrix_steps;    // on CUDA
  std::vector<CommonTrips> common_trips;
  /// On CUDA: statements that copy from global to local memory and need not wait for it; the
  /// barrier at the end of a loop around them does.
  std::set<int> copies_ahead;
  /// Of these, those in a `vec` loop whose elements follow each other in both places: how many
  /// bytes one copy takes.
  std::map<int, std::int64_t> bytes_ahead;
  /// Scalars that bounds of loops need and that one work-item of a group has other values of than
  /// the next, or none.
  std::set<std::string> apart;
  KnownValues known;                              // on a device: what the host knows too
  std::map<std::string, HardwareIname> hardware;  // on a device, by iname
  std::map<std::string, AddressSpace> spaces;     // on a device, by temporary; none is Auto
  /// On a device, complex variables of which all atomic updates are sums: each part by itself.
  std::set<std::string> sums;
  /// On a device, variables whose atomic updates take locks; whether each element has its own.
  std::map<std::string, bool> locked;
  std::string locks;                               // the temporary that they are in; empty: none
  std::map<std::string, Program> callees;          // kernels that it calls, by name
  NameMap<std::vector<TemporaryUse>> uses;         // by temporary, in order of execution
  std::vector<std::vector<std::string>> loops_of;  // by instruction: loops around it, outer first
  std::vector<std::vector<int>> nodes_of;          // the ids of those loops

  /// Of a device: is this a temporary in that memory?
  bool lies_in(const std::string& name, AddressSpace space) const {
    const auto s = spaces.find(name);
    return s != spaces.end() && s->second == space;
  }
};

/// The plan as text, one loop or leaf a line.
std::string print_plan(const Plan& plan);

/// What numbers the copies that work-items or lanes have: `l.N`, or another iname by itself.
std::string copy_axis(const Kernel& k, const std::string& iname);

// ---- Passes; codegen/lower.cpp has them in order
// --------------------------------------------------

/// Nests a completed kernel, with `l.auto` loops on axes of a device. Refuses `unsupported` what
/// the target cannot express.
Nested nest_for(Kernel k, Target target);
/// Without scalars that nobody reads and that stand for what is elsewhere: they ordered the calls
/// that write them, and the nest has that order now.
Kernel without_stand_ins_for_elsewhere(Kernel k);
/// The tree as nodes of a plan, leaves put together.
std::vector<PlanNode> plan_nodes(const LoopTree& tree);
/// Gives each node its number and each instruction the loops around it.
void number_nodes(Plan& plan);

/// `ilp` and `vec` (codegen/plan/lanes.cpp). find: sets `lane_copies`. place: puts each statement
/// into loops of its own over its lanes.
void find_lane_copies(Plan& plan);
void place_lanes(Plan& plan);

/// The tree below `roots` with loops over the work-item inames inserted
/// (codegen/plan/work_items.cpp). Ids are not set yet. A run of statements goes into one loop nest
/// over work-items as long as no statement needs what another work-item does in the run; elsewhere
/// the nest is split, which gives what a barrier gives on a GPU.
std::vector<PlanNode> place_work_items(const Kernel& k, std::vector<PlanNode> roots);

/// Cuts the tree into kernels for a device (codegen/plan/launches.cpp): sets `roots`, `launches`,
/// `hardware` and `spaces`. Loops with groups inside run on the host; their children, and the
/// roots, share a kernel as long as no group needs what another one does.
void place_launches(Plan& plan, const LoopTree& tree, const std::vector<PlanNode>& roots);

/// Refuses `unsupported` a group that reads from local memory, or from a private array, what
/// another one wrote there: each has its own (codegen/plan/local_copies.cpp). Of a kernel that is
/// cut, with spaces.
void require_own_copies(const Plan& plan);

/// Reductions over work-items (codegen/plan/group_reductions.cpp). find: sets `reductions` of a
/// kernel with its `hardware`; refuses `unsupported` those over groups and those whose order
/// matters. place: puts each before the statements that use its result.
void find_group_reductions(Plan& plan);
void place_group_reductions(Plan& plan);

/// Puts barriers into the kernels (codegen/plan/barriers.cpp): between two accesses of one element
/// by different work-items of a group, one of which writes, there is one; as few as that takes.
void place_barriers(Plan& plan);
/// Finds copies into local memory that later iterations of a loop need, not the one that they are
/// in (codegen/plan/copies_ahead.cpp): sets `copies_ahead`, and `in_flight` of barriers. Cost: isl
/// for pairs of subscripts of such a temporary.
void place_copies_ahead(Plan& plan);
/// Whether work-items wait for one another at the node or below.
bool waits_in(const PlanNode& node);

/// Lets all work-items of a group run a loop equally often where they wait in it, or it stands
/// around loops over them, also where each computes its own bounds (codegen/plan/common_trips.cpp):
/// sets `apart` and `common_trips`, and puts what they need before these loops.
void place_common_trips(Plan& plan);

/// Sets `uses`, `expansions` and the `locals` of the plan and its nodes (codegen/plan/storage.cpp).
/// A temporary lives as deep inside as its values permit: one that carries a value from one
/// iteration of a sequential loop to the next lives outside of it, never outside of a parallel loop
/// whose iterations each have their own. `tree` is that of the kernel before work-items were
/// placed.
void place_temporaries(Plan& plan, const LoopTree& tree);

}  // namespace moonloop
