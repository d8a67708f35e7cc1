#pragma once
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "core/count/count.h"
#include "core/expr/evaluate.h"

/// The work of a kernel as functions of its parameters: what predictions are made from.
namespace moonloop::cost {

/// Iterations of loops whose bounds the kernel computes, by iname: what a caller assumes.
using AssumedTrips = std::map<std::string, double>;

/// What predictions simplify, in words, each once.
using Remarks = std::set<std::string>;

/// A number of instances.
struct Amount {
  std::optional<Count> count;  // nothing where it is too hard: then its box counts
  Set points;
  std::string what;                   // `the instances of a`, for messages
  std::string instruction;            // of whose loops it counts
  std::vector<std::string> computed;  // inames whose bounds the kernel computes: not in the points
  std::string because;                // a temporary that such a bound needs
  bool exact = true;                  // else an upper bound: conditions depend on data

  /// Fails `data-dependent-count` without trips for `computed`, `missing-parameter`,
  /// `unbounded-count`.
  double at(const Integers& params, const AssumedTrips& trips, Remarks& remarks) const;
};
using SharedAmount = std::shared_ptr<const Amount>;

/// A loop around statements; on devices also one that the hardware counts.
struct WorkLoop {
  int node = 0;  // the number of the loop in the plan: statements in one loop have it in common
  std::string iname;
  std::optional<InameTag> tag;
  double stride = 1;                  // of the values of its iname
  std::optional<double> extent = {};  // of iterations at most, where no parameter decides that
  bool is(TagKind kind) const { return tag && tag->kind == kind; }
};

/// An access to an array: at each instance of its point, once.
struct WorkAccess {
  std::string array;
  Exprs index;  // one for each axis, or a flat one
  bool flat = false, write = false;
};

/// Kinds of operations.
enum class Operations { Add, Multiply, Divide, Function, Power };

struct WorkPoint {
  SharedAmount instances;
  std::map<std::pair<Scalar, Operations>, double> operations;  // at each instance
  std::vector<WorkAccess> accesses;
  bool conditional = false;  // not at all instances of the loops
};

struct WorkStatement {
  std::string id;
  std::vector<WorkLoop> loops;        // outer first
  std::vector<SharedAmount> reached;  // how often the body of each loop runs
  int kernel = 0;                     // of a device, by number
  std::vector<WorkPoint> points;
  /// It adds to what it wrote before: the inames that its target depends on, and the type.
  std::optional<std::set<std::string>> accumulator;
  Scalar accumulated = Scalar::F64;
  bool atomic = false;
};

enum class Place { Memory, Local, Private };

struct WorkArray {
  Type type;
  Exprs shape, strides;
  Place place = Place::Memory;
  bool argument = false, read = false, written = false;
  bool comes = false;  // its values are the caller's
};

/// A kernel of a device.
struct WorkKernel {
  std::vector<SharedAmount> launches;  // how often it is launched; none: once
  std::array<Expr, 3> items;           // work-items of a group along each axis; null: 1
  std::int64_t local_bytes = 0;
  std::vector<SharedAmount> barriers;  // that groups meet, all of them together
};

/// All of it. Analysing proves nothing: `k` is any kernel that code can be generated for.
struct Work {
  std::string name;
  Target target = Target::C;
  std::vector<WorkStatement> statements;
  std::map<std::string, WorkArray> arrays;
  std::vector<WorkKernel> kernels;  // of a device
  Remarks remarks;
};

/// Fails as make_plan() does for what the target cannot express. Cost: that of the plan and of
/// counting: milliseconds.
Work work_of(const Kernel& k, Target target);

}  // namespace moonloop::cost
